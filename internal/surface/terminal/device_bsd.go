//go:build darwin || freebsd || netbsd || openbsd || dragonfly

package terminal

import "golang.org/x/sys/unix"

const (
	getTermios = unix.TIOCGETA
	setTermios = unix.TIOCSETA

	unread = 1 // FREAD
)

// flush forgets what was typed and not yet read.
func flush(fd int) error { return unix.IoctlSetPointerInt(fd, unix.TIOCFLUSH, unread) }
