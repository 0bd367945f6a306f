//go:build crash

package crash

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"sync"
	"testing"
	"time"
)

// loadConfig is the configuration of a gateway under load, before the address
// of its backend.
const loadConfig = "asks: { timeout: 1h, rate_per_minute: 1000000, burst: 1000000, max_open_per_principal: 100000, max_open_per_session: 1000 }\n" +
	"journal: { max_bytes: 256MiB }\naudit: { max_bytes: 16MiB }\nbackends:\n  one: { url: "

// world is the load on a site: clients of both eras that call a tool which
// asks, and people who answer. They outlive each gateway and go on with the
// next.
type world struct {
	t    testing.TB
	site *site
	book *ledger
	http *http.Client

	life    context.Context // of the people
	end     context.CancelFunc
	people  sync.WaitGroup
	askers  sync.WaitGroup
	calling context.Context // ends when no new call is to begin
	rest    context.CancelFunc

	mu      sync.Mutex
	now     *gateway
	epoch   int
	started chan struct{} // closed with the next gateway
}

// newWorld makes a site with its backend. Nobody is there yet.
func newWorld(t testing.TB) *world {
	t.Helper()
	w := &world{t: t, book: newLedger(), started: make(chan struct{})}
	w.site = newSite(t, loadConfig+newBackend(t, w.book)+" }\n")
	transport := &http.Transport{MaxIdleConnsPerHost: 64}
	w.http = &http.Client{Transport: transport}
	w.life, w.end = context.WithCancel(context.Background())
	w.calling, w.rest = context.WithCancel(w.life)
	t.Cleanup(func() {
		w.end()
		w.askers.Wait()
		w.people.Wait()
		transport.CloseIdleConnections()
	})
	return w
}

// crew lets clients and people begin.
func (w *world) crew(legacy, modern, people int) {
	for i := range legacy {
		w.askers.Go(func() { w.legacy(rand.New(rand.NewPCG(1, uint64(i)))) })
	}
	for i := range modern {
		w.askers.Go(func() { w.modern(rand.New(rand.NewPCG(2, uint64(i)))) })
	}
	for i := range people {
		w.people.Go(func() { w.person(rand.New(rand.NewPCG(3, uint64(i)))) })
	}
}

// serve says that a gateway is up.
func (w *world) serve(g *gateway) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = g
	w.epoch++
	close(w.started)
	w.started = make(chan struct{})
}

// gateway waits for a gateway that is not that of this epoch. It gives nil
// when ctx ends.
func (w *world) gateway(ctx context.Context, not int) (*gateway, int) {
	for {
		w.mu.Lock()
		g, epoch, started := w.now, w.epoch, w.started
		w.mu.Unlock()
		if g != nil && epoch > not {
			return g, epoch
		}
		select {
		case <-started:
		case <-ctx.Done():
			return nil, 0
		}
	}
}

// quiet is how long nothing at all must have happened before whatever is owed
// still is taken for lost.
const quiet = 8 * time.Second

// finish lets everything that was promised come to its end, with the gateway
// that runs now. What is owed then is lost.
func (w *world) finish() {
	w.rest()
	defer w.end()
	give := time.NewTimer(quiet)
	defer give.Stop()
	for {
		owed, changed := w.book.owed()
		if len(owed) == 0 {
			return
		}
		select {
		case <-changed:
			give.Reset(quiet)
		case <-give.C:
			return
		}
	}
}

// legacy is a client of the legacy era that makes one call after another.
func (w *world) legacy(rng *rand.Rand) {
	c := &client{http: w.http}
	epoch := 0
	for {
		g, now := w.gateway(w.calling, epoch)
		if g == nil {
			return
		}
		// As long as nothing fails, the next call goes to the same gateway.
		for c.open(w.life, g) == nil && w.legacyCall(c, g, &now, rng) && w.calling.Err() == nil {
			g, now = w.gateway(w.calling, now-1)
			if g == nil {
				return
			}
		}
		epoch = now
	}
}

// legacyCall makes one call and sees it to its end, through as many gateways
// as that takes. It is false where the call was lost with its gateway.
func (w *world) legacyCall(c *client, g *gateway, epoch *int, rng *rand.Rand) bool {
	n := w.book.next()
	s, err := c.call(w.life, g, "ask", n)
	if err != nil {
		return false
	}
	last := ""
	own := rng.IntN(3) == 0
	for {
		var m *message
		for m == nil || !m.final() {
			if m, err = s.next(); err != nil {
				break
			}
			if m.Method == "elicitation/create" && own {
				_ = c.answer(w.life, g, m.ID, newValue(n, "client")) // what came of it shows in the result
			}
		}
		s.body.Close()
		if s.last != "" {
			last = s.last
		}
		if err == nil {
			w.collect(n, m)
			return true
		}
		kept, _ := w.book.is(n, func(q *question) bool { return q.kept != "" })
		if !kept || last == "" {
			return false
		}
		if g, *epoch = w.gateway(w.life, *epoch); g == nil {
			return false
		}
		if s, err = c.resume(w.life, g, last); err != nil {
			if _, refused := err.(statusError); refused {
				return false // the answer had reached the backend: the call was not taken up
			}
			s = &stream{body: http.NoBody}
		}
	}
}

// modern is a client of the modern era that makes one call after another.
func (w *world) modern(rng *rand.Rand) {
	c := &client{http: w.http}
	for epoch := 0; ; {
		g, now := w.gateway(w.calling, epoch)
		if g == nil {
			return
		}
		for w.modernCall(c, g, &now, rng) && w.calling.Err() == nil {
			g, now = w.gateway(w.calling, now-1)
			if g == nil {
				return
			}
		}
		epoch = now
	}
}

func (w *world) modernCall(c *client, g *gateway, epoch *int, rng *rand.Rand) bool {
	n := w.book.next()
	m, err := c.modern(w.life, g, n, "")
	own := rng.IntN(2) == 0
	for err == nil && m.Result.ResultType == "input_required" {
		w.book.keep(n, "the client that was sent away")
		state, _ := json.Marshal(m.Result.RequestState)
		rest := `,"requestState":` + string(state)
		if own && len(m.Result.Inputs) > 0 {
			answers := map[string]any{}
			for key := range m.Result.Inputs {
				answers[key] = map[string]any{"action": "accept", "content": map[string]any{"value": newValue(n, "client")}}
			}
			b, _ := json.Marshal(answers)
			rest += `,"inputResponses":` + string(b)
		} else if !w.heard(n) {
			return false
		}
		for {
			if m, err = c.modern(w.life, g, n, rest); err == nil {
				break
			}
			if g, *epoch = w.gateway(w.life, *epoch); g == nil {
				return false
			}
		}
	}
	if err != nil {
		return false
	}
	w.collect(n, m)
	return true
}

// heard waits until the backend has an answer.
func (w *world) heard(n int) bool {
	for {
		so, changed := w.book.is(n, func(q *question) bool { return len(q.heard) > 0 })
		if so {
			return true
		}
		select {
		case <-changed:
		case <-w.life.Done():
			return false
		}
	}
}

// collect takes the end of a call.
func (w *world) collect(n int, m *message) {
	if value, ok := m.value(); ok {
		w.book.note(n, func(q *question) { q.result = value })
		return
	}
	err := m.failure()
	kept, _ := w.book.is(n, func(q *question) bool { return q.kept != "" && len(q.heard) == 0 })
	if kept {
		w.book.wrong(n, "was kept, and its call ended with: %v", err)
	}
}

// person reads the inbox and answers what is there, in any order.
func (w *world) person(rng *rand.Rand) {
	for epoch := 0; ; {
		g, now := w.gateway(w.life, epoch)
		if g == nil {
			return
		}
		epoch = now
		b, err := g.visit(w.life, w.http)
		for err == nil {
			var all []item
			if all, err = b.inbox(w.life, w.book); err != nil || len(all) == 0 {
				select {
				case <-w.life.Done():
				case <-time.After(5 * time.Millisecond): // as somebody who looks again
				}
				continue
			}
			err = b.answer(w.life, w.book, all[rng.IntN(len(all))])
		}
	}
}
