//go:build crash

package crash

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
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

// patience is how long anything may take before a test fails.
const patience = 30 * time.Second

// site is a configuration and a data directory, on which one gateway runs
// after another.
type site struct {
	t      testing.TB
	dir    string
	binary string
}

// newSite writes a configuration, to which listen and data_dir are added.
func newSite(t testing.TB, yaml string) *site {
	t.Helper()
	s := &site{t: t, dir: t.TempDir(), binary: binaries.planted}
	head := "listen: 127.0.0.1:0\ndata_dir: " + s.data() + "\n"
	if err := os.WriteFile(s.config(), []byte(head+yaml), 0o600); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *site) config() string  { return filepath.Join(s.dir, "answerback.yaml") }
func (s *site) data() string    { return filepath.Join(s.dir, "data") }
func (s *site) journal() string { return filepath.Join(s.data(), "journal") }

// gateway is one process. Once it is ready, its addresses do not change.
type gateway struct {
	cmd    *exec.Cmd
	base   string // http://host:port
	link   string // the token that signs somebody in, once
	ready  chan struct{}
	done   chan struct{} // closed when it has ended
	began  time.Time
	took   time.Duration // from start to ready
	mu     sync.Mutex
	logged strings.Builder

	visiting sync.Once // the link signs in once
	visitor  *browser
	visitErr error
}

var (
	serving = regexp.MustCompile(`msg=serving url=(\S+)/mcp`)
	signing = regexp.MustCompile(`/signin/local\?token=(\S+)`)
)

// start runs a gateway, with additions to its environment. It does not wait.
func (s *site) start(env ...string) *gateway {
	s.t.Helper()
	g := &gateway{cmd: exec.Command(s.binary, "serve", "--config", s.config()), ready: make(chan struct{}), done: make(chan struct{}), began: time.Now()}
	g.cmd.Env = append(os.Environ(), env...)
	stderr, err := g.cmd.StderrPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	if err := g.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	go func() {
		defer close(g.done)
		g.read(stderr)
		_ = g.cmd.Wait() // how it ended is in its state
	}()
	s.t.Cleanup(func() {
		g.kill()
		if s.t.Failed() {
			s.t.Logf("the last of a gateway's log:\n%s", g.tail())
		}
	})
	return g
}

func (g *gateway) read(stderr io.Reader) {
	lines := bufio.NewScanner(stderr)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := lines.Text()
		g.mu.Lock()
		g.logged.WriteString(line + "\n")
		g.mu.Unlock()
		if m := serving.FindStringSubmatch(line); m != nil {
			g.took = time.Since(g.began)
			g.base = m[1]
		}
		if m := signing.FindStringSubmatch(line); m != nil {
			g.link, _ = url.QueryUnescape(m[1])
			close(g.ready)
		}
	}
	_, _ = io.Copy(io.Discard, stderr)
}

func (g *gateway) log() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.logged.String()
}

// tail is the end of the log, as long as somebody may want to read.
func (g *gateway) tail() string {
	log := g.log()
	return log[max(0, len(log)-8000):]
}

// up waits until the gateway serves, and fails the test where it does not.
func (s *site) up(g *gateway) *gateway {
	s.t.Helper()
	select {
	case <-g.ready:
	case <-g.done:
		s.t.Fatalf("the gateway did not start:\n%s", g.tail())
	case <-time.After(patience):
		s.t.Fatalf("the gateway did not say that it serves:\n%s", g.tail())
	}
	return g
}

// kill ends the process as kill -9 does, and waits for its end.
func (g *gateway) kill() {
	if err := g.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		panic(err) // nothing can be shown without it
	}
	<-g.done
}

// killed reports whether the process ended by kill -9, and did not fall.
func (g *gateway) killed() bool {
	status, ok := g.cmd.ProcessState.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && status.Signal() == syscall.SIGKILL
}

// dies waits until the process has killed itself.
func (s *site) dies(g *gateway) {
	s.t.Helper()
	select {
	case <-g.done:
	case <-time.After(patience):
		s.t.Fatalf("the gateway did not die where it was to:\n%s", g.tail())
	}
	if !g.killed() {
		s.t.Fatalf("the gateway ended with %v:\n%s", g.cmd.ProcessState, g.tail())
	}
}

// visit gives a browser that is signed in at the gateway.
func (g *gateway) visit(ctx context.Context, c *http.Client) (*browser, error) {
	g.visiting.Do(func() { g.visitor, g.visitErr = signIn(ctx, g, c) })
	return g.visitor, g.visitErr
}
