package events

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/contract"
	"github.com/answerback/answerback/internal/relay"
	"github.com/answerback/answerback/internal/seal"
	"github.com/answerback/answerback/internal/wire"
)

// memory is a shelf that ends with its test, and fails when it is told to. The
// one on a store is in the tests of test/e2e.
type memory struct {
	mu     sync.Mutex
	values map[string][]byte
	until  map[string]time.Time
	fails  *ask.Error
}

func newMemory() *memory {
	return &memory{values: make(map[string][]byte), until: make(map[string]time.Time)}
}

func (m *memory) fail(why *ask.Error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.fails = why
}

func (m *memory) Keep(_ context.Context, id string, value []byte, ttl time.Duration) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fails != nil {
		return m.fails
	}
	m.values[id], m.until[id] = slices.Clone(value), time.Now().Add(ttl)
	return nil
}

func (m *memory) Kept(_ context.Context, id string) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fails != nil {
		return nil, m.fails
	}
	if !time.Now().Before(m.until[id]) {
		return nil, nil
	}
	return m.values[id], nil
}

func (m *memory) Below(_ context.Context, prefix string) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		m.mu.Lock()
		ids := slices.Sorted(maps.Keys(m.values))
		m.mu.Unlock()
		for _, id := range ids {
			if value, err := m.Kept(context.Background(), id); strings.HasPrefix(id, prefix+".") && value != nil && !yield(value, err) {
				return
			}
		}
	}
}

// counting serves calls with a result, and counts them.
func counting(runs *int, result string) *fakeGateway {
	return &fakeGateway{serve: func(context.Context, *wire.Message, contract.Peer) string { *runs++; return result }}
}

// lives gives surfaces over one shelf, one after the other.
func lives(t *testing.T, g *fakeGateway, m *memory, change func(*Config)) func() *Surface {
	ring, home := seal.Random(), seal.RandomHome()
	return func() *Surface {
		t.Helper()
		s := newSurface(t, g, func(c *Config) {
			c.Shelf, c.Ring, c.Home = m, ring, home
			if change != nil {
				change(c)
			}
		})
		if err := s.Restore(t.Context()); err != nil {
			t.Fatal(err)
		}
		s.Restored()
		return s
	}
}

func startWith(t *testing.T, s *Surface, key string) (id string, types []string) {
	t.Helper()
	c := open(t, s, "POST", "/one/call", tool, "Idempotency-Key", key)
	id, _ = c.next()["callId"].(string)
	return id, c.types()
}

// TestKeyOutlivesTheMemory: a key whose call had to make room for others still
// finds it.
func TestKeyOutlivesTheMemory(t *testing.T) {
	runs := 0
	s := lives(t, counting(&runs, done), newMemory(), func(c *Config) { c.MaxCallsPerPrincipal = 1 })()
	first, _ := startWith(t, s, "1")
	<-s.calls.find(contract.Caller{Principal: ask.Principal{Issuer: "test"}}, first).done
	startWith(t, s, "2")
	if again, types := startWith(t, s, "1"); again != first || !slices.Equal(types, []string{typeResult}) || runs != 2 {
		t.Errorf("the first key gives %s with %v, want %s, and %d calls ran", again, types, first, runs)
	}
	if w := say(s, "POST", "/one/call", `{"name":"other"}`, "Idempotency-Key", "1"); w.Code != http.StatusUnprocessableEntity {
		t.Errorf("another call with the first key: %d %s", w.Code, w.Body)
	}
	if n := len(s.calls.people[ask.Principal{Issuer: "test"}].calls); n != 1 || s.calls.total != 1 {
		t.Errorf("%d calls are remembered, of %d", n, s.calls.total)
	}
}

// TestKeyNeedsTheShelf: a call with a key that cannot be written down does not
// start, and a later one with the same key does.
func TestKeyNeedsTheShelf(t *testing.T) {
	runs, m := 0, newMemory()
	s := lives(t, counting(&runs, done), m, nil)()
	m.fail(ask.Errorf(ask.StoreFull, "Full."))
	if w := say(s, "POST", "/one/call", tool, "Idempotency-Key", "k"); w.Code != http.StatusServiceUnavailable || !strings.Contains(w.Body.String(), "store_full") || runs != 0 {
		t.Errorf("a start that cannot be written down: %d %s, and %d calls ran", w.Code, w.Body, runs)
	}
	if types := open(t, s, "POST", "/one/call", tool).types(); !slices.Equal(types, []string{typeStarted, typeResult}) {
		t.Errorf("a call without a key: %v", types)
	}
	m.fail(nil)
	if _, types := startWith(t, s, "k"); !slices.Equal(types, []string{typeResult}) || runs != 2 {
		t.Errorf("the key afterwards: %v, and %d calls ran", types, runs)
	}
}

// TestRecordsExpire: what is kept of a call that has ended is found in the next
// life for the rest of its time. Then its key starts another.
func TestRecordsExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		runs := 0
		next := lives(t, counting(&runs, done), newMemory(), func(c *Config) { c.Keep = time.Minute })
		id, _ := startWith(t, next(), "k")
		time.Sleep(59 * time.Second)
		s := next()
		if again, _ := startWith(t, s, "k"); again != id || runs != 1 {
			t.Errorf("in time the key gives %s, want %s, and %d calls ran", again, id, runs)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if w := say(s, "GET", "/calls/"+id, ""); w.Code != http.StatusNotFound {
			t.Errorf("the call is still found: %d", w.Code)
		}
		if again, _ := startWith(t, s, "k"); again == id || runs != 2 {
			t.Errorf("later the key gives the same call, and %d calls ran", runs)
		}
	})
}

// TestLargeEnd: a result that is too large to be kept is gone after a restart,
// and its call is known to have run.
func TestLargeEnd(t *testing.T) {
	runs := 0
	next := lives(t, counting(&runs, `{"jsonrpc":"2.0","id":1,"result":{"x":"`+strings.Repeat("x", maxLast)+`"}}`), newMemory(), nil)
	id, types := startWith(t, next(), "k")
	if !slices.Equal(types, []string{typeResult}) {
		t.Fatalf("the call: %v", types)
	}
	s := next()
	if w := say(s, "POST", "/one/call", tool, "Idempotency-Key", "k"); w.Code != http.StatusGone || runs != 1 {
		t.Errorf("by its key: %d, and %d calls ran", w.Code, runs)
	}
	if w := say(s, "GET", "/calls/"+id, ""); w.Code != http.StatusGone {
		t.Errorf("by its id: %d", w.Code)
	}
}

// TestNumbersGoOn: after a restart a consumer that has seen events is told that
// some are lost, and one that has seen none is not.
func TestNumbersGoOn(t *testing.T) {
	runs := 0
	next := lives(t, counting(&runs, done), newMemory(), nil)
	id, _ := startWith(t, next(), "k")
	s := next()
	for seen, want := range map[string][]string{"": {typeStarted, typeResult}, "1": {typeLost, typeStarted, typeResult}} {
		if got := open(t, s, "GET", "/calls/"+id, "", "Last-Event-ID", seen).types(); !slices.Equal(got, want) {
			t.Errorf("after the event %q come %v, want %v", seen, got, want)
		}
	}
}

// TestMarkOfAnother: a call is made again for its own principal alone.
func TestMarkOfAnother(t *testing.T) {
	s := lives(t, &fakeGateway{}, newMemory(), nil)()
	c := s.newCall(contract.Caller{Principal: ask.Principal{Issuer: "test", Subject: "ann"}}, start{tool: "t"})
	defer c.end(callOver)
	c.id = "x"
	mark := c.Mark()
	if !Marked(mark) || Marked([]byte(`{"At":"one"}`)) {
		t.Errorf("the mark is not known: %s", mark)
	}
	none := func(contract.Peer) *relay.Session { t.Error("a session was made"); return nil }
	for _, bad := range [][]byte{mark, []byte(marked), []byte(marked + "[]")} {
		if _, err := s.Return(bad, "x", ask.Principal{Issuer: "test", Subject: "eve"}, none); err == nil {
			t.Errorf("a call was made again from %s", bad)
		}
	}
}

// TestRestoredKeysAreApart: of many calls from before a restart each key finds
// its own.
func TestRestoredKeysAreApart(t *testing.T) {
	runs := 0
	next := lives(t, counting(&runs, done), newMemory(), nil)
	s, ids := next(), make([]string, 20)
	for i := range ids {
		ids[i], _ = startWith(t, s, fmt.Sprint(i))
	}
	s = next()
	for i := range ids {
		if again, _ := startWith(t, s, fmt.Sprint(i)); again != ids[i] {
			t.Errorf("the key %d gives %s, want %s", i, again, ids[i])
		}
	}
	if runs != len(ids) {
		t.Errorf("%d calls ran", runs)
	}
}
