package natsjournal

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/answerback/answerback/internal/journal"
)

// proxy stands between us and a server, and can fail in two ways.
type proxy struct {
	listener net.Listener
	target   string

	mu    sync.Mutex
	deaf  bool // what the server says is lost
	lost  int  // how often something was
	down  bool // nobody gets through
	conns map[net.Conn]struct{}
	wg    sync.WaitGroup
}

func newProxy(t *testing.T, target string) *proxy {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{listener: l, target: target, conns: map[net.Conn]struct{}{}}
	p.wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			p.wg.Go(func() { p.serve(c) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		p.cut()
		p.wg.Wait()
	})
	return p
}

func (p *proxy) serve(client net.Conn) {
	defer client.Close()
	upstream, err := net.Dial("tcp", p.target)
	if err != nil {
		return
	}
	defer upstream.Close()
	p.mu.Lock()
	if p.down {
		p.mu.Unlock()
		return
	}
	p.conns[client], p.conns[upstream] = struct{}{}, struct{}{}
	p.mu.Unlock()
	var wg sync.WaitGroup
	wg.Go(func() {
		defer client.Close()
		defer upstream.Close()
		_, _ = io.Copy(upstream, client)
	})
	buf := make([]byte, 64<<10)
	for {
		n, err := upstream.Read(buf)
		if err != nil {
			break
		}
		p.mu.Lock()
		deaf := p.deaf
		if deaf {
			p.lost++
		}
		p.mu.Unlock()
		if !deaf {
			if _, err := client.Write(buf[:n]); err != nil {
				break
			}
		}
	}
	client.Close()
	upstream.Close()
	wg.Wait()
}

// set changes how the proxy fails, and cuts all connections where asked to.
func (p *proxy) set(deaf, down bool) {
	p.mu.Lock()
	p.deaf, p.down = deaf, down
	p.mu.Unlock()
}

func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		c.Close()
		delete(p.conns, c)
	}
}

// throughProxy gives a journal that reaches its server through a proxy, and
// one that reaches it directly.
func throughProxy(t *testing.T, timeout time.Duration) (*proxy, *Journal, *Journal) {
	t.Helper()
	s, cfg := external(t, func(_ *server.Options, c *Config) { c.Timeout = timeout })
	direct := open(t, cfg)
	p := newProxy(t, s.Addr().String())
	cfg.URL = "nats://" + p.listener.Addr().String()
	return p, open(t, cfg), direct
}

// The acknowledgement is lost and the connection too. The write is repeated,
// loses to itself, and is recognised as ours.
func TestALostAcknowledgementIsMadeUpFor(t *testing.T) {
	p, j, direct := throughProxy(t, 20*time.Second)
	p.set(true, false)
	type result struct {
		rev journal.Rev
		err error
	}
	done := make(chan result, 1)
	go func() {
		rev, err := j.Create(t.Context(), ask("one"))
		done <- result{rev, err}
	}()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		if _, err := direct.Get(t.Context(), ask("one").Key); err == nil {
			break
		}
		<-tick.C
	}
	p.set(false, false)
	p.cut()
	got := <-done
	if got.err != nil {
		t.Fatal(got.err)
	}
	stored, err := direct.Get(t.Context(), ask("one").Key)
	if err != nil || stored.Rev != got.rev || stored.Rev.Version != 1 {
		t.Errorf("stored at %+v, told %+v: %v", stored.Rev, got.rev, err)
	}
}

// The same, but somebody else wins while we cannot hear: then we have lost.
func TestALostAcknowledgementOfALostWrite(t *testing.T) {
	p, j, direct := throughProxy(t, 20*time.Second)
	r := create(t, direct, ask("one"))
	p.set(true, false)
	winner := settle(t, direct, r, time.Hour)
	done := make(chan error, 1)
	go func() {
		r.Settled, r.Keep = true, time.Hour
		_, err := j.Update(t.Context(), r)
		done <- err
	}()
	p.set(false, false)
	p.cut()
	err := <-done
	e, ok := errors.AsType[*journal.Error](err)
	if !ok || !errors.Is(err, journal.Conflict) || e.Current == nil || e.Current.Rev != winner.Rev {
		t.Errorf("got %v", err)
	}
}

// A reply is lost and the connection is not, as when a leader dies. The read
// is sent again, long before its time is over.
func TestALostReplyIsMadeUpFor(t *testing.T) {
	const timeout = 5 * time.Minute
	p, j, direct := throughProxy(t, timeout)
	r := create(t, direct, ask("one"))
	for name, read := range map[string]func() error{
		"Get": func() error {
			_, err := j.Get(t.Context(), r.Key)
			return err
		},
		"List": func() error {
			_, err := j.List(t.Context(), r.Shard, r.Addressee, 1)
			return err
		},
	} {
		p.mu.Lock()
		p.deaf, p.lost = true, 0
		p.mu.Unlock()
		began := time.Now()
		done := make(chan error, 1)
		go func() { done <- read() }()
		until(t, "a reply is lost", func() bool {
			p.mu.Lock()
			defer p.mu.Unlock()
			return p.lost > 0
		})
		p.set(false, false)
		if err := <-done; err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if took := time.Since(began); took > timeout/2 {
			t.Errorf("%s took %v", name, took)
		}
	}
}

func TestAnOutageIsToldInTimeAndLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	p, j, direct := throughProxy(t, time.Second)
	missed := make(chan struct{}, 10)
	stop, err := j.Watch(t.Context(), home, func(w journal.Wake) {
		if w.Missed {
			missed <- struct{}{}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	p.set(false, true)
	p.cut()
	for name, call := range map[string]func(context.Context) error{
		"Create": func(ctx context.Context) error { _, err := j.Create(ctx, ask("one")); return err },
		"Get":    func(ctx context.Context) error { _, err := j.Get(ctx, ask("one").Key); return err },
		"Append": func(ctx context.Context) error { return j.Append(ctx, []byte("entry")) },
		"List": func(ctx context.Context) error {
			_, err := j.List(ctx, 1, "anna", 1)
			return err
		},
		"Open": func(ctx context.Context) error {
			for _, err := range j.Open(ctx, home) {
				return err
			}
			return nil
		},
	} {
		began := time.Now()
		if err := call(t.Context()); !errors.Is(err, journal.Unavailable) {
			t.Errorf("%s: got %v", name, err)
		}
		if took := time.Since(began); took > 15*time.Second {
			t.Errorf("%s took %v", name, took)
		}
	}
	p.set(false, false)
	<-missed // so the connection is back
	if _, err := j.Get(t.Context(), ask("one").Key); !errors.Is(err, journal.NotFound) {
		t.Errorf("what was refused: %v", err)
	}
	create(t, j, ask("two"))
	n := 0
	for range direct.ReadAudit(t.Context(), 0) {
		n++
	}
	if n != 0 {
		t.Errorf("the audit has %d entries that were refused", n)
	}
}

func TestAServerThatIsNotThere(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	cfg := config(t)
	cfg.Dir, cfg.URL = "", "nats://"+l.Addr().String()
	l.Close()
	if _, err := Open(t.Context(), cfg); !errors.Is(err, journal.Unavailable) || !strings.Contains(err.Error(), "NATS") {
		t.Errorf("got %v", err)
	}
}
