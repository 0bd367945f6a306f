package rig

import (
	"bufio"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// crowdPatience is how long a crowd may take for one command. It bounds a test
// that hangs, and says nothing of speed.
const crowdPatience = 10 * time.Minute

// Crowd is the two processes of rig/crowd: a great many clients, and the server
// that they call.
type Crowd struct {
	Plain  string // the server's address over HTTP/1.1
	Sealed string // the same over HTTP/2, many calls to a connection
	CA     string // the file with the certificate of that

	in    io.Writer
	lines chan string
}

// StartCrowd starts both. They end with the test.
func StartCrowd(t testing.TB) *Crowd {
	t.Helper()
	path := crowdBinary.get(t, "", module+"test/rig/crowd")
	dir := t.TempDir()
	c := &Crowd{CA: dir + "/crowd.pem"}
	_, addresses := c.run(t, exec.Command(path, "server", dir))
	if _, err := fmt.Sscan(next(t, addresses), &c.Plain, &c.Sealed); err != nil {
		t.Fatalf("the crowd's server did not say where it is: %v", err)
	}
	c.in, c.lines = c.run(t, exec.Command(path, "clients"))
	return c
}

func (c *Crowd) run(t testing.TB, cmd *exec.Cmd) (io.Writer, chan string) {
	t.Helper()
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = t.Output()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := make(chan string, 16)
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer close(lines)
		for s := bufio.NewScanner(out); s.Scan(); {
			lines <- s.Text()
		}
		_ = cmd.Wait() // it is killed
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-done
	})
	return in, lines
}

// Do gives the clients a command, and waits until all of them have done it.
func (c *Crowd) Do(t testing.TB, format string, args ...any) {
	t.Helper()
	command := fmt.Sprintf(format, args...)
	began := time.Now()
	fmt.Fprintln(c.in, command)
	answer := next(t, c.lines)
	if !strings.HasPrefix(answer, "done") {
		t.Fatalf("%s: %s", command, answer)
	}
	t.Logf("%s: %s (%.1f s)", command, answer, time.Since(began).Seconds())
}

func next(t testing.TB, lines <-chan string) string {
	t.Helper()
	timer := time.NewTimer(crowdPatience)
	defer timer.Stop()
	select {
	case line, ok := <-lines:
		if !ok {
			t.Fatal("a process of the crowd has ended")
		}
		return line
	case <-timer.C:
		t.Fatal("the crowd does not answer")
		return ""
	}
}
