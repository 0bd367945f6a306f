//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package terminal

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// IsTerminal reports whether a file is a terminal.
func IsTerminal(f *os.File) bool {
	return control(f, func(fd int) error {
		_, err := unix.IoctlGetTermios(fd, getTermios)
		return err
	}) == nil
}

// Hide returns what Config.Hide needs for the terminal f.
func Hide(f *os.File) func() (func() error, error) {
	set := func(to *unix.Termios) error {
		return control(f, func(fd int) error { return unix.IoctlSetTermios(fd, setTermios, to) })
	}
	return func() (func() error, error) {
		var before *unix.Termios
		err := control(f, func(fd int) (err error) {
			before, err = unix.IoctlGetTermios(fd, getTermios)
			return err
		})
		if err != nil {
			return nil, err
		}
		quiet := *before
		quiet.Lflag &^= unix.ECHO
		quiet.Lflag |= unix.ICANON | unix.ISIG
		if err := set(&quiet); err != nil {
			return nil, err
		}
		return func() error { return set(before) }, nil
	}
}

// Flush returns what Config.Flush needs for the terminal f.
func Flush(f *os.File) func() {
	return func() { _ = control(f, flush) } // what cannot be forgotten is read
}

// control does something with a file's descriptor. File.Fd would take the
// file's deadlines away.
func control(f *os.File, do func(fd int) error) error {
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	done := conn.Control(func(fd uintptr) { err = do(int(fd)) })
	return errors.Join(done, err)
}
