//go:build race

package rig

// racy reports whether this was compiled with the race detector.
const racy = true
