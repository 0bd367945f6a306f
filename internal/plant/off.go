//go:build !plant

package plant

// Kill does nothing in this build.
func Kill(string) {}

// On is false in this build.
func (Bug) On() bool { return false }
