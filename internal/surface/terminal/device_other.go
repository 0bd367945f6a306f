//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package terminal

import "os"

// IsTerminal reports whether a file is a terminal, which cannot be told here:
// nobody is asked.
func IsTerminal(*os.File) bool { return false }

// Hide returns what Config.Hide needs: nothing hides here.
func Hide(*os.File) func() (func() error, error) { return nil }

// Flush returns what Config.Flush needs: nothing is forgotten here.
func Flush(*os.File) func() { return nil }
