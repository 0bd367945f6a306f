package desk

import (
	"fmt"
	"log/slog"
	"runtime"
	"testing"

	"github.com/answerback/answerback/ask"
)

// openMany opens n asks on a fresh desk and returns what each keeps in memory
// beyond its parameters, which all share.
func openMany(tb testing.TB, n int) (bytesPerAsk float64) {
	ids := 0
	k := newKit(tb, func(c *Config) {
		c.MaxOpen, c.MaxOpenPerSession, c.MaxOpenPerPrincipal = n, n, n
		c.RatePerMinute, c.Burst = 1e9, maxBurst
		c.Log = slog.New(slog.DiscardHandler)
		c.Audit = func(Record) {}
		// As long as a real one: key id, home, shard, random part and MAC.
		c.Mint = func(ask.Addressee) string { ids++; return fmt.Sprintf("ask-%060d", ids) }
	})
	a, to := question(), discard{}
	settled := Asker{Settled: func(ask.Outcome) error { return nil }}
	before := heap()
	for range n {
		k.Ask(a, Ways{Client: to}, settled)
	}
	bytesPerAsk = float64(heap()-before) / float64(n)
	if k.Open() != n {
		tb.Fatalf("%d of %d are open: %+v", k.Open(), n, k.Stats())
	}
	if err := k.Close(tb.Context()); err != nil {
		tb.Fatal(err)
	}
	return bytesPerAsk
}

type discard struct{}

func (discard) Show(*ask.Ask) error         { return nil }
func (discard) Withdraw(string, *ask.Error) {}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func TestAnOpenAskIsSmall(t *testing.T) {
	if got := openMany(t, 10_000); got > 1024 {
		t.Errorf("an open ask keeps %.0f bytes, want at most 1024", got)
	}
}

func BenchmarkOpenAsks(b *testing.B) {
	for b.Loop() {
		b.ReportMetric(openMany(b, 200_000), "B/open-ask")
	}
}

func BenchmarkAskAndAnswer(b *testing.B) {
	k := newKit(b, func(c *Config) {
		c.RatePerMinute, c.Burst = 1e9, maxBurst
		c.Log = slog.New(slog.DiscardHandler)
		c.Audit = func(Record) {}
	})
	a, to := question(), discard{}
	b.ReportAllocs()
	for b.Loop() {
		id := k.Ask(a, Ways{Client: to}, Asker{Settled: func(ask.Outcome) error { return nil }})
		if err := k.Answer(id, fromAda, accept); err != nil {
			b.Fatal(err)
		}
	}
}
