//go:build !plant || !unix

package plant

// Measure does nothing in this build.
func Measure() (stop func()) { return func() {} }
