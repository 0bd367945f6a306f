//go:build crash

package crash

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/desk"
	"github.com/answerback/answerback/internal/journal"
)

const (
	// askBytes is what an open ask may keep in memory beyond its own bytes.
	askBytes = 2048
	// rearmWithin bounds the work until all of a hundred thousand asks go on
	// after a restart, as time in which all processors are busy with it: what
	// else the machine does must not count.
	rearmWithin = 5 * time.Second
)

// many is how many asks are open at once: a hundred thousand, or what the
// environment says, for runs by hand.
func many(t *testing.T) int {
	text := os.Getenv("ANSWERBACK_MANY")
	if text == "" {
		return 100_000
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("ANSWERBACK_MANY is %q, want a number", text)
	}
	return n
}

// manyAsk is one of them, with bytes of its own: a question for one of a
// thousand people, in a call that can be taken up.
func manyAsk(i int) (a ask.Ask, by desk.Asker, size int) {
	params := fmt.Appendf(nil, `{"message":"Question %d","requestedSchema":{"type":"object","properties":{"value":{"type":"string","title":"What is to be said"}},"required":["value"]}}`, i)
	resume := fmt.Appendf(nil, `{"handle":"%0200d"}`, i)
	session := fmt.Sprintf("session-%040d", i)
	a = ask.Ask{
		Kind: ask.Form, Method: "elicitation/create", Params: params, Backend: "one", During: "tools/call", Name: "ask", Session: session,
		Addressee: ask.Addressee{Principal: ask.Principal{Issuer: ada.Issuer, Subject: strconv.Itoa(i % 1000)}},
	}
	by = desk.Asker{Settled: func(ask.Outcome) error { return nil }, Resume: func() []byte { return resume }, Group: session + "/1", Kept: true}
	return a, by, len(params) + len(resume) + len(session)
}

// heap is what is in use once the garbage is gone.
func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// kept is a store that costs no memory beyond what it is asked to hold.
type kept struct {
	journal.Asks
	n atomic.Uint64
}

func (k *kept) Create(context.Context, journal.Record) (journal.Rev, error) {
	return journal.Rev{Seq: k.n.Add(1), Version: 1, Pinned: true}, nil
}

// An open ask that is kept is small, however many there are.
func TestAHundredThousandOpenAsksAreSmall(t *testing.T) {
	n := many(t)
	d, _ := newDesk(t, t.TempDir(), &kept{}, func(desk.Record) {})
	before, own := heap(), 0
	for i := range n {
		a, by, size := manyAsk(i)
		d.Ask(a, desk.Ways{Client: nobody{}}, by)
		own += size
	}
	each := (float64(heap()-before) - float64(own)) / float64(n)
	t.Logf("%d open asks: %.0f bytes each beyond their own %d", n, each, own/n)
	if d.Open() != n {
		t.Errorf("%d asks are open, want %d", d.Open(), n)
	}
	if each > askBytes {
		t.Errorf("an open ask keeps %.0f bytes, want at most %d", each, askBytes)
	}
	if err := d.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// After a restart all asks go on in good time: the store is opened and
// checked, every ask is read, its asker is taken up, and its timer is set.
func TestAHundredThousandAsksGoOnAfterARestart(t *testing.T) {
	n := many(t)
	dir := inMemory(t)
	fill(t, dir, n)

	began, worked := time.Now(), processorTime(t)
	store := openStore(t, dir+"/journal")
	opened := time.Since(began)
	var taken atomic.Int64
	all := make(chan struct{})
	before := heap()
	restoring := time.Now()
	d, home := newDesk(t, dir, store, func(r desk.Record) {
		if r.Transition == "restarted" && taken.Add(1) == int64(n) {
			close(all)
		}
	})
	got, err := d.Restore(t.Context(), home, func(_ context.Context, group []desk.Stored) []desk.Revived {
		revived := make([]desk.Revived, len(group))
		for i := range revived {
			revived[i] = desk.Revived{Asker: desk.Asker{Settled: func(ask.Outcome) error { return nil }}, Ways: desk.Ways{Client: nobody{}}}
		}
		return revived
	})
	if err != nil || got != n {
		t.Fatalf("restored %d asks: %v", got, err)
	}
	read := time.Since(restoring)
	select {
	case <-all:
	case <-time.After(patience):
		t.Fatalf("%d of %d asks go on", taken.Load(), n)
	}
	took := opened + time.Since(restoring)
	work := (processorTime(t) - worked) / time.Duration(runtime.GOMAXPROCS(0))
	each := float64(heap()-before) / float64(n)
	t.Logf("%d asks: the store opened in %v, they were read in %v, all went on after %v (%v of work); %.0f bytes of memory each, their own included", n, opened, read, took, work, each)
	if limit := rearmWithin * time.Duration(n) / 100_000; work > limit {
		t.Errorf("it took %v of work until all asks went on, want at most %v", work, limit)
	}
	for i := range 10 {
		who := desk.Viewer{Principal: ask.Principal{Issuer: ada.Issuer, Subject: strconv.Itoa(i)}}
		if waiting := d.Waiting(who, n); len(waiting) != n/1000 {
			t.Errorf("person %d has %d questions waiting, want %d", i, len(waiting), n/1000)
		}
	}
	if err := d.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if err := store.Close(context.Background()); err != nil {
		t.Error(err)
	}
}

// processorTime is what this process has worked so far, on all processors.
func processorTime(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// fill leaves a store with n open asks behind.
func fill(t *testing.T, dir string, n int) {
	t.Helper()
	store := openStore(t, dir+"/journal")
	d, _ := newDesk(t, dir, store, func(desk.Record) {})
	next := make(chan int)
	var wg sync.WaitGroup
	for range 32 {
		wg.Go(func() {
			for i := range next {
				a, by, _ := manyAsk(i)
				d.Ask(a, desk.Ways{Client: nobody{}}, by)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	wg.Wait()
	if err := d.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := store.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
}
