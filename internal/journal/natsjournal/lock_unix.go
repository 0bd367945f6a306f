//go:build unix

package natsjournal

import (
	"os"
	"syscall"
)

// tryLock takes the lock of an open file, which ends with the file or its
// process.
func tryLock(f *os.File) error {
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
}

// unlock gives the lock back. Closing the file is not enough: a program that
// this process starts at the same moment has a copy of the file until it is
// loaded, and the lock would stay for that long.
func unlock(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_UN) }
