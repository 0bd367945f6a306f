package peer

import (
	"bufio"
	"io"
	"os/exec"
	"testing"
	"time"

	"github.com/answerback/answerback/test/rig"
)

// Run starts a process that is killed at the end of the test.
func Run(t testing.TB, cmd *exec.Cmd) {
	t.Helper()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
}

// FirstLine starts a process and gives the first line that it prints.
func FirstLine(t testing.TB, cmd *exec.Cmd) string {
	t.Helper()
	lines := Output(t, cmd)
	select {
	case line := <-lines:
		return line
	case <-time.After(rig.Patience):
		t.Fatalf("%s printed nothing", cmd.Path)
		return ""
	}
}

// Output starts a process and gives the lines that it prints; the channel is
// closed when it ends.
func Output(t testing.TB, cmd *exec.Cmd) <-chan string {
	t.Helper()
	r, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	Run(t, cmd)
	lines := make(chan string, 64)
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer close(lines)
		s := bufio.NewScanner(r)
		s.Buffer(nil, 8<<20)
		for s.Scan() {
			select {
			case lines <- s.Text():
			default: // nobody reads what a server says later
			}
		}
		_, _ = io.Copy(io.Discard, r)
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-done
	})
	return lines
}
