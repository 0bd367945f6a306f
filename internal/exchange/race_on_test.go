//go:build race

package exchange

// raced says that the race detector is on, which makes a simulation slow.
const raced = true
