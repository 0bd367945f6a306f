//go:build worlds

package worlds

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"io"
	mathrand "math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"

	"github.com/answerback/answerback/test/crash/lossyfs"
)

// patience is how long anything may take before a world fails. It bounds a
// hang; nothing is expected to come near it.
const patience = 60 * time.Second

// scale is how many times faster the gateway's times run: an hour of the
// configuration is a second of the world.
const scale = 3600

// site is where the gateways of a world run, one after another: a
// configuration, a data directory, and an address that stays the same.
type site struct {
	t     testing.TB
	dir   string
	front *front
	disk  *lossyfs.Disk // nil for the machine's own
	fuse  *fuse.Server
	extra int    // reloads so far
	yaml  string // the configuration without what reloads add
	bug   string // planted in the gateway; "" for none
	point string // at which the next gateway dies; "" for nowhere

	mu     sync.Mutex
	now    *process
	epoch  int           // how many gateways have come up
	change chan struct{} // closed and replaced with every start
}

// process is one life of the gateway.
type process struct {
	cmd  *exec.Cmd
	up   chan string   // gets its port
	done chan struct{} // closed at its end

	mu  sync.Mutex
	log strings.Builder
}

func newSite(t testing.TB, lossy bool, bug string) *site {
	s := &site{t: t, dir: t.TempDir(), front: newFront(t), bug: bug, change: make(chan struct{})}
	if lossy {
		if err := os.MkdirAll(s.journal(), 0o700); err != nil {
			t.Fatal(err)
		}
		s.disk = lossyfs.New()
		s.mount()
		t.Cleanup(s.unmount)
	}
	return s
}

func (s *site) config() string  { return filepath.Join(s.dir, "answerback.yaml") }
func (s *site) data() string    { return filepath.Join(s.dir, "data") }
func (s *site) journal() string { return filepath.Join(s.data(), "journal") }

// base is the address under which everybody reaches the gateway.
func (s *site) base() string { return "http://" + s.front.addr() }

func (s *site) mount() {
	server, err := s.disk.Mount(s.journal())
	if err != nil {
		s.t.Fatalf("a world with power cuts needs root and /dev/fuse: %v", err)
	}
	s.fuse = server
}

func (s *site) unmount() {
	if s.fuse == nil {
		return
	}
	// The kernel gives back the files of a process that was killed a moment after
	// its end.
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	err := s.fuse.Unmount()
	for err != nil {
		select {
		case <-time.After(20 * time.Millisecond):
			err = s.fuse.Unmount()
			continue
		case <-deadline.C:
		}
		s.t.Errorf("the disk cannot be taken away: %v", err)
		break
	}
	s.fuse = nil
}

// configure writes the configuration file, as careful editors do.
func (s *site) configure() {
	text := "listen: 127.0.0.1:0\npublic_url: " + s.base() + "\ndata_dir: " + s.data() + "\n" + s.yaml
	if s.extra > 0 {
		text += fmt.Sprintf("  extra-%d: { url: http://127.0.0.1:1/mcp }\n", s.extra)
	}
	if err := os.WriteFile(s.config()+".new", []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
	if err := os.Rename(s.config()+".new", s.config()); err != nil {
		s.t.Fatal(err)
	}
}

// command is the gateway's binary with arguments, in the world's time.
func (s *site) command(args ...string) *exec.Cmd {
	cmd := exec.Command(binary, append(args, "--config", s.config())...)
	cmd.Env = append(os.Environ(), fmt.Sprintf("ANSWERBACK_TIME_SCALE=%d", scale), "ANSWERBACK_BUG="+s.bug, "ANSWERBACK_KILL_AT="+s.point)
	return cmd
}

var serving = regexp.MustCompile(`msg=serving url=http://127\.0\.0\.1:(\d+)/mcp|msg=serving .*listen=127\.0\.0\.1:(\d+)`)

// start runs a gateway and waits until it serves. It is an error where it
// does not.
func (s *site) start() error {
	p := &process{cmd: s.command("serve"), up: make(chan string, 1), done: make(chan struct{})}
	stderr, err := p.cmd.StderrPipe()
	if err == nil {
		err = p.cmd.Start()
	}
	if err != nil {
		return err
	}
	go func() {
		defer close(p.done)
		lines := bufio.NewScanner(stderr)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			p.mu.Lock()
			p.log.WriteString(lines.Text() + "\n")
			p.mu.Unlock()
			if m := serving.FindStringSubmatch(lines.Text()); m != nil {
				select {
				case p.up <- m[1] + m[2]:
				default:
				}
			}
		}
		_, _ = io.Copy(io.Discard, stderr)
		_ = p.cmd.Wait() // how it ended is in its state
	}()
	s.t.Cleanup(func() { p.kill() })
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case port := <-p.up:
		s.front.lead("127.0.0.1:" + port)
	case <-p.done:
		return fmt.Errorf("the gateway refused to start: %s", tail(p.text(), 1500))
	case <-timer.C:
		p.kill()
		return fmt.Errorf("the gateway did not serve within %s: %s", patience, tail(p.text(), 1500))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now = p
	s.epoch++
	close(s.change)
	s.change = make(chan struct{})
	return nil
}

func (p *process) text() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.log.String()
}

func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	<-p.done
}

// kill ends the gateway as kill -9 does.
func (s *site) kill() {
	s.now.kill()
	s.front.lead("")
}

// stop ends the gateway as an operator does.
func (s *site) stop() error {
	if err := s.now.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-s.now.done:
	case <-timer.C:
		text := s.now.text()
		s.now.kill()
		return fmt.Errorf("the gateway did not end within %s of SIGTERM: %s", patience, tail(text, 1500))
	}
	s.front.lead("")
	if code := s.now.cmd.ProcessState.ExitCode(); code != 0 {
		return fmt.Errorf("the gateway ended with status %d: %s", code, tail(s.now.text(), 1500))
	}
	return nil
}

// cut takes the power away from the gateway and its disk.
func (s *site) cut(rng *mathrand.Rand) {
	s.disk.Cut()
	s.kill()
	s.unmount()
	s.disk.Restore(rng)
	s.mount()
}

// rotate puts a new key on top of the key ring.
func (s *site) rotate() error {
	path := filepath.Join(s.data(), "keys")
	old, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	key := make([]byte, 32)
	if _, err := rand.Read(key); err != nil {
		return err
	}
	return os.WriteFile(path, append([]byte(base64.StdEncoding.EncodeToString(key)+"\n"), old...), 0o600)
}

// next waits until a gateway is up that is newer than the one of this epoch.
func (s *site) next(ctx context.Context, epoch int) (int, error) {
	for {
		s.mu.Lock()
		now, change := s.epoch, s.change
		s.mu.Unlock()
		if now > epoch {
			return now, nil
		}
		select {
		case <-change:
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
}

func (s *site) life() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.epoch
}

func tail(text string, n int) string { return text[max(0, len(text)-n):] }

// front is an address that leads to whichever gateway runs now, connection by
// connection.
type front struct {
	listener net.Listener

	mu    sync.Mutex
	to    string // "" for none
	conns map[net.Conn]bool
	wg    sync.WaitGroup
}

func newFront(t testing.TB) *front {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f := &front{listener: l, conns: map[net.Conn]bool{}}
	f.wg.Go(f.accept)
	t.Cleanup(func() {
		_ = l.Close()
		f.lead("")
		f.wg.Wait()
	})
	return f
}

func (f *front) addr() string { return f.listener.Addr().String() }

// lead leads further connections to an address. Those that are open end.
func (f *front) lead(to string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.to = to
	for c := range f.conns {
		_ = c.Close()
	}
	clear(f.conns)
}

func (f *front) accept() {
	for {
		c, err := f.listener.Accept()
		if err != nil {
			return
		}
		f.wg.Go(func() { f.carry(c) })
	}
}

func (f *front) carry(c net.Conn) {
	defer c.Close()
	f.mu.Lock()
	to := f.to
	f.mu.Unlock()
	if to == "" {
		return
	}
	d, err := net.Dial("tcp", to)
	if err != nil {
		return
	}
	defer d.Close()
	if !f.hold(to, c, d) {
		return
	}
	defer f.release(c, d)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = io.Copy(d, c)
		_ = d.(*net.TCPConn).CloseWrite()
	}()
	_, _ = io.Copy(c, d)
	_ = c.Close()
	<-done
}

// hold keeps the two ends, unless the front leads elsewhere by now.
func (f *front) hold(to string, ends ...net.Conn) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.to != to {
		return false
	}
	for _, c := range ends {
		f.conns[c] = true
	}
	return true
}

func (f *front) release(ends ...net.Conn) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range ends {
		delete(f.conns, c)
	}
}
