//go:build !linux && !darwin

package natsjournal

// diskFree is not known here; the engine tells when the disk is full.
func diskFree(string) (uint64, bool) { return 0, false }
