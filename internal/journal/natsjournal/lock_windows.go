package natsjournal

import (
	"os"

	"golang.org/x/sys/windows"
)

// tryLock takes the lock of an open file, which ends with the file or its
// process. It locks a byte far behind the text, so that others can read that.
func tryLock(f *os.File) error {
	const how = windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY
	return windows.LockFileEx(windows.Handle(f.Fd()), how, 0, 1, 0, &windows.Overlapped{Offset: 1 << 20})
}

// unlock gives the lock back.
func unlock(f *os.File) error {
	return windows.UnlockFileEx(windows.Handle(f.Fd()), 0, 1, 0, &windows.Overlapped{Offset: 1 << 20})
}
