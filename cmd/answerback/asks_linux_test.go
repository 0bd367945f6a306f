package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// asksChild holds the arguments of a test that runs as a program of its own.
const asksChild = "ANSWERBACK_TEST_ASKS"

// TestAsksChild is the command line in a process of its own, with the
// terminal that it was started on.
func TestAsksChild(t *testing.T) {
	args, ok := os.LookupEnv(asksChild)
	if !ok {
		t.Skip("runs as a child of the tests on a terminal")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	root := command(&asks{terminal: openTerminal})
	root.SetArgs(strings.Split(args, " "))
	if err := root.ExecuteContext(ctx); err != nil {
		fmt.Fprintf(os.Stderr, "answerback: %v\n", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// onTerminal runs the command line on a terminal of its own and gives that
// terminal's other end.
func onTerminal(t *testing.T, args string) (screen *os.File, cmd *exec.Cmd) {
	t.Helper()
	screen, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("this machine has no pseudo-terminals: %v", err)
	}
	t.Cleanup(func() { screen.Close() })
	conn, err := screen.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	if done := conn.Control(func(fd uintptr) {
		if err = unix.IoctlSetPointerInt(int(fd), unix.TIOCSPTLCK, 0); err == nil {
			n, err = unix.IoctlGetInt(int(fd), unix.TIOCGPTN)
		}
	}); done != nil || err != nil {
		t.Fatal(done, err)
	}
	tty, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer tty.Close()
	cmd = exec.Command(os.Args[0], "-test.run=^TestAsksChild$")
	cmd.Env = append(os.Environ(), asksChild+"="+args)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, tty, tty
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return screen, cmd
}

// shows reads a screen until it shows text.
func shows(t *testing.T, screen *os.File, text string) {
	t.Helper()
	if err := screen.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	var all []byte
	for !strings.Contains(string(all), text) {
		buf := make([]byte, 4096)
		n, err := screen.Read(buf)
		if err != nil {
			t.Fatalf("the screen does not show %q: %v\n%s", text, err, all)
		}
		all = append(all, buf[:n]...)
	}
}

// On a real terminal: ^C and ^D, at a field and at the last word, send
// nothing and end with status 1; a word that is typed sends the answer.
func TestAsksOnARealTerminal(t *testing.T) {
	k := newAsksKit(t, `{"message":"m","requestedSchema":{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}}`)
	args := "asks --config " + k.config + " answer " + k.id()
	for _, key := range []string{"\x03", "\x04"} {
		for _, late := range []bool{false, true} {
			screen, cmd := onTerminal(t, args)
			shows(t, screen, "  > ")
			if late {
				fmt.Fprint(screen, "Bern\n")
				shows(t, screen, "these words: ")
			}
			fmt.Fprint(screen, key)
			shows(t, screen, "othing was sent")
			if err := cmd.Wait(); cmd.ProcessState.ExitCode() != 1 {
				t.Errorf("%q: %v", key, err)
			}
		}
	}
	k.wantOpen()
	screen, cmd := onTerminal(t, args)
	shows(t, screen, "  > ")
	fmt.Fprint(screen, "Bern\n")
	shows(t, screen, "these words: ")
	fmt.Fprint(screen, "send\n")
	shows(t, screen, "completed: the server has it")
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	k.wantResult(`{"action":"accept","content":{"city":"Bern"}}`)
}
