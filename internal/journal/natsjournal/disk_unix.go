//go:build linux || darwin

package natsjournal

import "syscall"

// diskFree gives the bytes that we may still write to the disk of a directory.
func diskFree(dir string) (uint64, bool) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil {
		return 0, false
	}
	return uint64(s.Bavail) * uint64(s.Bsize), true
}
