package observe

import (
	"context"
	"errors"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// probe is a store that can be taken away.
type probe struct {
	mu    sync.Mutex
	err   error
	hangs bool
	asked int
}

func (p *probe) look(ctx context.Context) error {
	p.mu.Lock()
	p.asked++
	err, hangs := p.err, p.hangs
	p.mu.Unlock()
	if hangs {
		<-ctx.Done()
		return ctx.Err()
	}
	return err
}

func (p *probe) looks() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.asked
}

func (p *probe) set(err error, hangs bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.err, p.hangs = err, hangs
}

func newHealth(t *testing.T, p func(context.Context) error) (*Health, *notes) {
	t.Helper()
	n := &notes{}
	h, err := NewHealth(HealthConfig{Probe: p, Log: n.logger()})
	if err != nil {
		t.Fatal(err)
	}
	return h, n
}

// ready asks for readiness and checks the answer.
func (h *Health) ready(t *testing.T, status int, body string) {
	t.Helper()
	w := httptest.NewRecorder()
	h.Ready(w, httptest.NewRequest("GET", "/readyz", nil))
	if got := strings.TrimSpace(w.Body.String()); w.Code != status || got != body {
		t.Errorf("%d %s, want %d %s", w.Code, got, status, body)
	}
}

const isReady = `{"status":"ready"}`

func TestReadinessNamesWhatIsMissing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &probe{err: errors.New("dial secret-host:4222: refused")}
		h, log := newHealth(t, p.look)
		h.ready(t, 503, `{"status":"not ready","not_ready":["started","journal"]}`)
		h.Started()
		h.ready(t, 503, `{"status":"not ready","not_ready":["journal"]}`)
		p.set(nil, false)
		time.Sleep(probeAge)
		h.ready(t, 200, isReady)
		p.set(errors.New("gone"), false)
		h.ready(t, 200, isReady) // what was found a moment ago
		time.Sleep(probeAge)
		h.ready(t, 503, `{"status":"not ready","not_ready":["journal"]}`)
		p.set(nil, false)
		time.Sleep(probeAge)
		h.Draining()
		h.ready(t, 503, `{"status":"not ready","not_ready":["serving"]}`)
		synctest.Wait() // what is logged is logged after the answer
		if n := log.count("cannot be reached"); n != 2 || log.count("again") != 2 || log.count("secret-host") != 1 {
			t.Errorf("the log says %s", &log.text)
		}
		h.Close()
	})
}

func TestTheProcessIsAliveWhateverElse(t *testing.T) {
	h, _ := newHealth(t, func(context.Context) error { return errAway })
	w := httptest.NewRecorder()
	h.Live(w, nil)
	if w.Code != 200 || strings.TrimSpace(w.Body.String()) != `{"status":"ok"}` {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	h.Close()
}

// A store that hangs, even one that does not heed its context, holds nobody
// up, and however many ask it is looked at once.
func TestReadinessIsAnsweredWithinASecond(t *testing.T) {
	for name, heeds := range map[string]bool{"heeds its context": true, "does not": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, stuck := &probe{hangs: true}, make(chan struct{})
				h, _ := newHealth(t, func(ctx context.Context) error {
					err := p.look(ctx)
					if !heeds {
						<-stuck
					}
					return err
				})
				h.Started()
				var wg sync.WaitGroup
				for range 50 {
					wg.Go(func() {
						began := time.Now()
						h.ready(t, 503, `{"status":"not ready","not_ready":["journal"]}`)
						if took := time.Since(began); took >= time.Second {
							t.Errorf("it took %v", took)
						}
					})
				}
				wg.Wait()
				if n := p.looks(); n != 1 {
					t.Errorf("the store was looked at %d times", n)
				}
				close(stuck)
				synctest.Wait()
				p.set(nil, false)
				time.Sleep(probeAge)
				h.ready(t, 200, isReady)
				h.Close()
				h.ready(t, 503, `{"status":"not ready","not_ready":["serving"]}`)
			})
		})
	}
}

func TestACallerWhoLeavesIsNotWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, _ := newHealth(t, (&probe{hangs: true}).look)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		began := time.Now()
		h.Ready(httptest.NewRecorder(), httptest.NewRequest("GET", "/readyz", nil).WithContext(ctx))
		if took := time.Since(began); took != 0 {
			t.Errorf("it took %v", took)
		}
		h.Close()
	})
}

func TestAJournalIsReachedByReading(t *testing.T) {
	if err := Reaches(newJournal(t))(t.Context()); err != nil {
		t.Errorf("an empty journal: %v", err)
	}
	if err := Reaches(broken{err: errAway})(t.Context()); err == nil {
		t.Error("a journal that fails is reached")
	}
	if _, err := NewHealth(HealthConfig{}); err == nil {
		t.Error("a health without anything was made")
	}
}
