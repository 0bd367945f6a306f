package observe

import (
	"context"
	"testing"
	"time"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/era"
	"github.com/answerback/answerback/internal/journal"
)

// events are what is counted, each as often as it happens.
func events(m *Metrics) map[string]func() {
	m.Backends([]string{"b"})
	beginning, end := asked("ask-1"), settled("ask-1", ask.Answered, "")
	end.By, end.Surface, end.Action, end.Digest = ada, "page", ask.Accept, "00"
	call := CallStats{Backend: "b", Client: era.Legacy, Server: era.Modern, Work: time.Millisecond, People: time.Second}
	shown := asked("ask-2")
	shown.Transition, shown.Rung = "shown", "page"
	return map[string]func(){
		"call":  func() { m.Call(call) },
		"ask":   func() { m.Record(beginning); m.Record(end) },
		"shown": func() { m.Record(shown) },
		"code":  func() { m.Refused(ask.RateLimited) },
	}
}

func TestCountingDoesNotAllocate(t *testing.T) {
	m := newMetrics(t)
	for name, count := range events(m) {
		if n := testing.AllocsPerRun(1000, count); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
	away := &fakeAudit{before: func(ctx context.Context, _ int) error { <-ctx.Done(); return errAway }}
	a, err := NewAuditor(AuditConfig{Journal: away, Ledger: NewLedger(), Metrics: m, Log: mute, MaxPending: 100_000})
	if err != nil {
		t.Fatal(err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	defer a.Close(ended)
	r := asked("ask-1")
	if n := testing.AllocsPerRun(10_000, func() { a.Record(r) }); n > 0.1 {
		t.Errorf("a record of the audit: %v allocations", n)
	}
}

// One counted event costs at most a microsecond.
func BenchmarkCount(b *testing.B) {
	m := newMetrics(b)
	for name, count := range events(m) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				count()
			}
		})
	}
}

// nowhere is an audit that keeps nothing.
type nowhere struct{ journal.Audit }

func (nowhere) Append(context.Context, ...[]byte) error { return nil }

// BenchmarkAudit is what the desk pays for one record: all counts, its line
// and the queue.
func BenchmarkAudit(b *testing.B) {
	a, err := NewAuditor(AuditConfig{Journal: nowhere{}, Ledger: NewLedger(), Metrics: newMetrics(b), Log: mute, MaxPending: 1 << 20})
	if err != nil {
		b.Fatal(err)
	}
	defer a.Close(b.Context())
	r := asked("ask-1")
	b.ReportAllocs()
	for b.Loop() {
		a.Record(r)
	}
}

// BenchmarkScrape is what a scrape costs with a hundred thousand open.
func BenchmarkScrape(b *testing.B) {
	m := newMetrics(b)
	for i := range 100_000 {
		r := asked("ask-1")
		r.Ask = time.Duration(i).String()
		m.Record(r)
	}
	for b.Loop() {
		if _, err := m.registry.Gather(); err != nil {
			b.Fatal(err)
		}
	}
}
