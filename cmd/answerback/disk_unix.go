//go:build linux || darwin

package main

import "syscall"

// freeSpace is how many bytes can be written to the disk of a directory.
func freeSpace(dir string) (bytes uint64, ok bool) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil || s.Bsize <= 0 {
		return 0, false
	}
	return s.Bavail * uint64(s.Bsize), true
}
