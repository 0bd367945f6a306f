//go:build !plant || !unix

package plant

// Measure does nothing in this build, and there is nothing to stop.
func Measure() (stop func()) { return nil }
