//go:build !race

package form_test

// raced says that the race detector is on, which makes everything slow.
const raced = false
