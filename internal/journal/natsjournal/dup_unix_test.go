//go:build unix

package natsjournal

import (
	"os"
	"syscall"
)

func dup(f *os.File) (uintptr, error) {
	fd, err := syscall.Dup(int(f.Fd()))
	return uintptr(fd), err
}
