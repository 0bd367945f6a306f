package rig

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Patience is how long the rig waits for anything before it fails a test.
const Patience = 20 * time.Second

// Gateway is a running gateway process.
type Gateway struct {
	URL  string // up to and including /mcp
	File string // its configuration
	Cmd  *exec.Cmd

	head   string // what Start put before the configuration
	killed bool
	log    *logBuffer
	done   chan struct{}
	err    error
}

// InMemory makes the gateways that Start runs keep nothing across a restart,
// which starts them faster. A configuration that speaks of its journal is left
// alone. Set it before any test runs.
var InMemory bool

var serving = regexp.MustCompile(`msg=serving url=(\S+)`)

// Start runs the gateway with a configuration, to which listen and data_dir
// are added, and stops it when the test ends. A gateway that does not end
// cleanly, or that printed a data race, fails the test.
func Start(t testing.TB, yaml string) *Gateway {
	t.Helper()
	return write(t, yaml, StartFile)
}

// StartPlanted is Start for a gateway with a bug of package plant in it.
func StartPlanted(t testing.TB, bug, yaml string) *Gateway {
	t.Helper()
	return write(t, yaml, func(t testing.TB, file string) *Gateway {
		cmd := exec.Command(planted(t), "serve", "--config", file)
		cmd.Env = append(os.Environ(), "ANSWERBACK_BUG="+bug)
		return start(t, cmd, file)
	})
}

// StartEnv is Start with further environment variables, each as NAME=value.
func StartEnv(t testing.TB, env []string, yaml string) *Gateway {
	t.Helper()
	return write(t, yaml, func(t testing.TB, file string) *Gateway {
		cmd := command(t, "serve", "--config", file)
		cmd.Env = append(cmd.Env, env...)
		return start(t, cmd, file)
	})
}

// write makes a configuration file and starts a gateway with it.
func write(t testing.TB, yaml string, start func(t testing.TB, file string) *Gateway) *Gateway {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "answerback.yaml")
	head := "listen: 127.0.0.1:0\ndata_dir: " + filepath.Join(dir, "data") + "\n"
	tail := ""
	if InMemory && !strings.Contains(yaml, "journal:") {
		tail = "\njournal: { in_memory: true }\n"
	}
	Write(t, file, head+yaml+tail)
	g := start(t, file)
	g.head = head
	return g
}

// Rewrite gives a gateway that Start made another configuration. The file is
// replaced at once, as careful editors do.
func (g *Gateway) Rewrite(t testing.TB, yaml string) {
	t.Helper()
	Write(t, g.File+".new", g.head+yaml)
	if err := os.Rename(g.File+".new", g.File); err != nil {
		t.Fatal(err)
	}
}

// StartFile runs the gateway with the configuration file given.
func StartFile(t testing.TB, file string) *Gateway {
	t.Helper()
	return start(t, command(t, "serve", "--config", file), file)
}

func start(t testing.TB, cmd *exec.Cmd, file string) *Gateway {
	t.Helper()
	g := &Gateway{Cmd: cmd, File: file, done: make(chan struct{}), log: &logBuffer{}}
	stderr, err := g.Cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Cmd.Start(); err != nil {
		t.Fatal(err)
	}
	url := make(chan string, 1)
	go func() {
		defer close(g.done)
		lines := bufio.NewScanner(stderr)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			g.log.add(lines.Text())
			if m := serving.FindStringSubmatch(lines.Text()); m != nil {
				url <- m[1]
			}
		}
		io.Copy(io.Discard, stderr)
		g.err = g.Cmd.Wait()
	}()
	t.Cleanup(func() { g.stop(t) })
	select {
	case g.URL = <-url:
	case <-g.done:
		t.Fatalf("the gateway did not start: %v\n%s", g.err, g.Log())
	case <-time.After(Patience):
		t.Fatalf("the gateway did not say that it serves\n%s", g.Log())
	}
	return g
}

func command(t testing.TB, args ...string) *exec.Cmd {
	cmd := exec.Command(Binary(t), args...)
	// The race detector would wait a second before the process ends.
	cmd.Env = append(os.Environ(), "GORACE=atexit_sleep_ms=0")
	return cmd
}

// Run runs the gateway's binary to its end, and gives its exit status and
// what it wrote to standard error.
func Run(t testing.TB, args ...string) (status int, stderr string) {
	t.Helper()
	status, _, stderr = RunAll(t, args...)
	return status, stderr
}

// RunAll is Run that gives standard output too.
func RunAll(t testing.TB, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	cmd := command(t, args...)
	var out, b strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &b
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	timer := time.AfterFunc(Patience, func() { cmd.Process.Kill() })
	defer timer.Stop()
	if err := cmd.Wait(); err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), out.String(), b.String()
}

// Log is what the gateway has logged so far.
func (g *Gateway) Log() string { return g.log.String() }

// Stop ends the gateway as an operator would and waits for it.
func (g *Gateway) Stop() error {
	g.Cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-g.done:
		return g.err
	case <-time.After(Patience):
		g.Cmd.Process.Kill()
		<-g.done
		return context.DeadlineExceeded
	}
}

// Kill ends the gateway as a crash would, and waits for its end.
func (g *Gateway) Kill(t testing.TB) {
	t.Helper()
	g.killed = true
	if err := g.Cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-g.done
}

// Dump has the gateway tell what all its goroutines do, which ends it, and
// gives its whole log with that.
func (g *Gateway) Dump(t testing.TB) string {
	t.Helper()
	g.killed = true
	g.Signal(t, syscall.SIGQUIT)
	_ = g.Wait(t) // it ends with a status of its own
	return g.Log()
}

// Again starts a gateway that has ended once more, with its data. It listens
// somewhere else.
func (g *Gateway) Again(t testing.TB) *Gateway {
	t.Helper()
	return StartFile(t, g.File)
}

// Signal sends the gateway a signal.
func (g *Gateway) Signal(t testing.TB, sig os.Signal) {
	t.Helper()
	if err := g.Cmd.Process.Signal(sig); err != nil {
		t.Fatal(err)
	}
}

// Wait waits for the gateway to end by itself.
func (g *Gateway) Wait(t testing.TB) error {
	t.Helper()
	select {
	case <-g.done:
		return g.err
	case <-time.After(Patience):
		t.Fatalf("the gateway did not end\n%s", g.Log())
		return nil
	}
}

func (g *Gateway) stop(t testing.TB) {
	if g.killed {
		return
	}
	if err := g.Stop(); err != nil {
		t.Errorf("the gateway did not stop cleanly: %v\n%s", err, g.Log())
	}
	if log := g.Log(); strings.Contains(log, "DATA RACE") || strings.Contains(log, "panic:") {
		t.Errorf("the gateway printed a fault\n%s", log)
	} else if t.Failed() {
		t.Logf("the gateway's log:\n%s", log)
	}
}

// WaitLog waits until the log contains a text.
func (g *Gateway) WaitLog(t testing.TB, text string) {
	t.Helper()
	Eventually(t, func() bool { return strings.Contains(g.Log(), text) }, "the log does not say "+text)
}

// Write writes a file.
func Write(t testing.TB, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// Eventually polls until cond holds, and fails the test when it never does.
// It is for what the gateway says nowhere: goroutine counts, memory, logs.
func Eventually(t testing.TB, cond func() bool, otherwise string) {
	t.Helper()
	within(t, Patience, cond, otherwise)
}

func within(t testing.TB, limit time.Duration, cond func() bool, otherwise string) {
	t.Helper()
	deadline := time.NewTimer(limit)
	defer deadline.Stop()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !cond() {
		select {
		case <-deadline.C:
			t.Fatal(otherwise)
		case <-tick.C:
		}
	}
}

// logBuffer keeps what a process logs.
type logBuffer struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *logBuffer) add(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.b.WriteString(line)
	l.b.WriteByte('\n')
}

func (l *logBuffer) Write(text []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(text)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// httpClient keeps no connection when a test is over.
func httpClient(t testing.TB) *http.Client {
	tr := &http.Transport{MaxIdleConnsPerHost: 128, DisableCompression: true}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr}
}
