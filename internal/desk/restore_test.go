//go:build unix

package desk

import (
	"context"
	"fmt"
	"iter"
	"log/slog"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/journal"
)

// tape is a store that costs nothing but what it is given: it plays back what
// was created.
type tape struct {
	journal.Asks
	mu      sync.Mutex
	records []journal.Record
}

func (x *tape) Create(_ context.Context, r journal.Record) (journal.Rev, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.records = append(x.records, r)
	r.Rev = journal.Rev{Seq: uint64(len(x.records)), Version: 1, Pinned: true}
	x.records[r.Rev.Seq-1].Rev = r.Rev
	return r.Rev, nil
}

func (x *tape) Open(context.Context, string) iter.Seq2[journal.Record, error] {
	return func(yield func(journal.Record, error) bool) {
		for _, r := range x.records {
			if !yield(r, nil) {
				return
			}
		}
	}
}

// roomy is a desk for many asks over a tape. Its ids are as long as real ones.
func roomy(tb testing.TB, x *tape, change func(*Config)) *kit {
	var ids atomic.Int64
	return newKit(tb, func(c *Config) {
		c.MaxOpen, c.MaxOpenPerSession, c.MaxOpenPerPrincipal = 1<<30, 1<<30, 1<<30
		c.RatePerMinute, c.Burst = 1e9, maxBurst
		c.Log, c.Audit, c.Journal = slog.New(slog.DiscardHandler), func(Record) {}, x
		c.Mint = func(a ask.Addressee) string { return fmt.Sprintf("ask-%d-%054d", shardOf(a), ids.Add(1)) }
		if change != nil {
			change(c)
		}
	})
}

// recordMany leaves n open asks on a tape, and says how many bytes of their own
// each has.
func recordMany(tb testing.TB, n int) (x *tape, own int) {
	tb.Helper()
	x = &tape{}
	k := roomy(tb, x, nil)
	for i := range n {
		a := question()
		a.Params = fmt.Appendf(nil, `{"message":"Question %d","requestedSchema":{"type":"object","properties":{"value":{"type":"string"}}}}`, i)
		a.Session = fmt.Sprintf("session-%040d", i)
		a.Addressee.Principal.Subject = fmt.Sprint("person ", i%1000)
		resume := fmt.Appendf(nil, `{"handle":"%0200d"}`, i)
		own = len(a.Params) + len(a.Session) + len(resume)
		k.Ask(a, Ways{Client: discard{}}, Asker{Settled: func(ask.Outcome) error { return nil }, Resume: func() []byte { return resume }, Group: a.Session + "/1", Kept: true})
	}
	if err := k.Close(tb.Context()); err != nil {
		tb.Fatal(err)
	}
	if len(x.records) != n {
		tb.Fatalf("%d of %d asks are stored", len(x.records), n)
	}
	return x, own
}

// restoreAll puts all asks of a tape on a fresh desk, with their timers set.
func restoreAll(tb testing.TB, x *tape, change func(*Config)) *kit {
	tb.Helper()
	k := roomy(tb, x, change)
	n, err := k.Restore(tb.Context(), "home", func(_ context.Context, group []Stored) []Revived {
		revived := make([]Revived, len(group))
		for i := range revived {
			revived[i] = Revived{Asker: Asker{Settled: func(ask.Outcome) error { return nil }}, Ways: Ways{Client: discard{}}}
		}
		return revived
	})
	if err != nil || n != len(x.records) || k.Open() != n {
		tb.Fatalf("restored %d of %d asks, %d are open: %v", n, len(x.records), k.Open(), err)
	}
	return k
}

func closeKit(tb testing.TB, k *kit) {
	tb.Helper()
	if err := k.Close(tb.Context()); err != nil {
		tb.Fatal(err)
	}
}

// processorTime is what this process has worked so far.
func processorTime(tb testing.TB) time.Duration {
	tb.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		tb.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// The work of a restart grows with the number of asks, and not with its
// square: a mere look at all others for each would show.
func TestRestoringIsLinear(t *testing.T) {
	each := func(n int) time.Duration {
		x, _ := recordMany(t, n)
		best := time.Duration(1 << 62)
		for range 2 {
			heap() // what others left behind is not our work
			began := processorTime(t)
			k := restoreAll(t, x, nil)
			best = min(best, (processorTime(t)-began)/time.Duration(n))
			closeKit(t, k)
		}
		return best
	}
	few, many := each(1_000), each(16_000)
	t.Logf("an ask takes %v of 1,000, and %v of 16,000", few, many)
	if many > 2*few {
		t.Errorf("an ask takes %v to restore where there are 16,000, and %v where there are 1,000", many, few)
	}
}

func TestARestoredAskIsSmall(t *testing.T) {
	const n = 10_000
	x, own := recordMany(t, n)
	before := heap()
	k := restoreAll(t, x, nil)
	got := (float64(heap()) - float64(before)) / n
	t.Logf("a restored ask keeps %.0f bytes beyond its own %d", got-float64(own), own)
	if got-float64(own) > 2048 {
		t.Errorf("a restored ask keeps %.0f bytes beyond its own %d, want at most 2048", got-float64(own), own)
	}
	closeKit(t, k)
}

// A restart opens what is sealed once for an ask that goes on, and not at all
// for one that has ended and whose asker was told.
func TestWhatHasEndedIsNotOpenedByARestart(t *testing.T) {
	k := newKit(t, nil)
	r := newResult(t)
	done, open := kept(t, k, r), kept(t, k, newResult(t))
	if _, err := k.Submit(done, adaAtPage, "page", accept); err != nil {
		t.Fatal(err)
	}
	r.now()
	var opened []string
	next := newKit(t, func(c *Config) {
		c.Journal = k.store
		unseal := c.Unseal
		c.Unseal = func(id string, sealed []byte) ([]byte, error) {
			opened = append(opened, id)
			return unseal(id, sealed)
		}
	})
	if n, err := next.Restore(t.Context(), "home", waits(newResult(t))); n != 1 || err != nil {
		t.Fatalf("%d asks came back, %v", n, err)
	}
	if len(opened) != 1 || opened[0] != open {
		t.Errorf("opened %v, want %s alone", opened, open)
	}
	if v, err := next.Look(t.Context(), done, adaAtPage, "page"); err != nil || v.Outcome == nil {
		t.Errorf("what has ended cannot be looked at: %+v, %v", v, err)
	}
	closeKit(t, next)
	closeKit(t, k)
}

// BenchmarkRestore is the desk's part of a restart: everything but reading
// the store.
func BenchmarkRestore(b *testing.B) {
	for _, n := range []int{10_000, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			x, _ := recordMany(b, n)
			before := heap()
			b.ReportAllocs()
			for b.Loop() {
				k := restoreAll(b, x, nil)
				b.StopTimer()
				b.ReportMetric((float64(heap())-float64(before))/float64(n), "B/open-ask")
				closeKit(b, k)
				b.StartTimer()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/ask")
		})
	}
}
