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
