//go:build crash

package crash

import (
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// Two hundred answers to one question arrive at once, each from a page that
// was open. One is taken; the others are told so, and change nothing.
func TestTwoHundredAnswersAtOnceOneWins(t *testing.T) {
	const people = 200
	w := newWorld(t)
	g := w.site.up(w.site.start())
	b := &bench{world: w, g: g, asker: &client{http: w.http}}
	if err := b.asker.open(w.life, g); err != nil {
		t.Fatal(err)
	}
	it, call := b.ask(t)
	defer call.body.Close()
	who, err := g.visit(w.life, w.http)
	if err != nil {
		t.Fatal(err)
	}
	var opened, sent sync.WaitGroup
	var won, told atomic.Int64
	opened.Add(people)
	for range people {
		sent.Go(func() {
			token, status, body, err := who.page(w.life, w.book, it)
			opened.Done()
			opened.Wait() // all have it before them
			if err != nil || token == "" {
				t.Errorf("the page: %d %s %v", status, shorten(body), err)
				return
			}
			status, body, err = who.submit(w.life, w.book, it, token, newValue(it.n, "page"))
			switch {
			case err != nil:
				t.Error(err)
			case status == http.StatusOK:
				won.Add(1)
			case status == http.StatusGone && strings.Contains(body, "no longer open"):
				told.Add(1)
			default:
				t.Errorf("the answer: %d %s", status, shorten(body))
			}
		})
	}
	sent.Wait()
	if won.Load() != 1 || told.Load() != people-1 {
		t.Errorf("%d were told that their answer was taken, and %d that it came too late", won.Load(), told.Load())
	}
	m, err := call.next()
	if err != nil {
		t.Fatal(err)
	}
	b.collect(it.n, m)
	if s := w.book.settle(t); s.Heard != 1 || s.Again != 0 || s.Results != 1 {
		t.Errorf("the backend and the client: %+v", s)
	}
}
