package terminal

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/answerback/answerback/ask"
	"golang.org/x/sys/unix"
)

// pty is a real terminal and the keyboard and screen at its other end.
func pty(t *testing.T) (keyboard, tty *os.File) {
	t.Helper()
	keyboard, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("this machine has no pseudo-terminals: %v", err)
	}
	t.Cleanup(func() { keyboard.Close() })
	n := 0
	err = control(keyboard, func(fd int) (err error) {
		if err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err == nil {
			n, err = unix.IoctlGetInt(fd, unix.TIOCGPTN)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	tty, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tty.Close() })
	return keyboard, tty
}

func echoes(t *testing.T, f *os.File) bool {
	t.Helper()
	on := false
	if err := control(f, func(fd int) error {
		set, err := unix.IoctlGetTermios(fd, getTermios)
		on = err == nil && set.Lflag&unix.ECHO != 0
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return on
}

func TestDevice(t *testing.T) {
	_, tty := pty(t)
	file, err := os.Create(t.TempDir() + "/file")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if !IsTerminal(tty) || IsTerminal(file) {
		t.Error("terminals are not told from files")
	}
	show, err := Hide(tty)()
	if err != nil || echoes(t, tty) {
		t.Errorf("what is typed can be seen: %v", err)
	}
	if err := show(); err != nil || !echoes(t, tty) {
		t.Errorf("what is typed stays hidden: %v", err)
	}
	if _, err := Hide(file)(); err == nil {
		t.Error("a file hides what is typed")
	}
	Flush(file)()
}

func onDevice(t *testing.T, tty *os.File) *Terminal {
	t.Helper()
	term, err := Open(Config{In: tty, Out: tty, IsTerminal: IsTerminal(tty), Hide: Hide(tty), Flush: Flush(tty)})
	if err != nil {
		t.Fatal(err)
	}
	return term
}

// until reads what the screen shows until it shows text.
func until(t *testing.T, keyboard *os.File, text string) string {
	t.Helper()
	if err := keyboard.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	var all []byte
	for !strings.Contains(string(all), text) {
		buf := make([]byte, 4096)
		n, err := keyboard.Read(buf)
		if err != nil {
			t.Fatalf("the screen does not show %q: %v\n%s", text, err, all)
		}
		all = append(all, buf[:n]...)
	}
	return string(all)
}

// On a real terminal secrets are not on the screen, and what was typed before
// it was asked for is forgotten.
func TestAskOnADevice(t *testing.T) {
	keyboard, tty := pty(t)
	term := onDevice(t, tty)
	type result struct {
		d   Decision
		err error
	}
	done := make(chan result, 1)
	q := question(t, `{"password":{"type":"string"}}`, `[]`)
	go func() {
		d, err := term.Ask(t.Context(), q)
		done <- result{d, err}
	}()
	until(t, keyboard, "(not shown) > ")
	fmt.Fprint(keyboard, "hunter2\ndecline\n")
	seen := until(t, keyboard, "these words: ")
	select {
	case r := <-done:
		t.Fatalf("what was typed ahead was taken: %v, %v", r.d.Action, r.err)
	default:
	}
	fmt.Fprint(keyboard, "send\n")
	r := <-done
	if r.err != nil || string(r.d.Content) != `{"password":"hunter2"}` {
		t.Errorf("%s, %v", r.d.Content, r.err)
	}
	if strings.Contains(seen, "hunter2") {
		t.Errorf("the secret is on the screen: %s", seen)
	}
}

func TestDeviceIsLeftAsItWas(t *testing.T) {
	for _, code := range []ask.Code{ask.ClientCancelled, ask.ClientGone} {
		keyboard, tty := pty(t)
		term := onDevice(t, tty)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		q := question(t, `{"password":{"type":"string"}}`, `[]`)
		go func() {
			_, err := term.Ask(ctx, q)
			done <- err
		}()
		until(t, keyboard, "(not shown) > ")
		if code == ask.ClientGone {
			fmt.Fprint(keyboard, "\x04") // the terminal makes an end of input of it
		} else {
			cancel()
		}
		if err := <-done; ask.CodeOf(err) != code {
			t.Errorf("%v, want %s", err, code)
		}
		if !echoes(t, tty) {
			t.Error("what is typed stays hidden")
		}
		cancel()
	}
}
