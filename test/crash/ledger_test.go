//go:build crash

package crash

import (
	"fmt"
	"slices"
	"sync"
	"testing"
)

// ledger is what the harness knows of every question: what somebody was told,
// and what the backend heard. It belongs to the test, so no crash takes it.
type ledger struct {
	mu      sync.Mutex
	all     []*question
	changed chan struct{} // closed and replaced with every change
}

// question is what is known of one.
type question struct {
	runs   int      // how often its tool ran
	heard  []string // each answer that reached the backend
	kept   string   // who was told that it is kept, the first time; "" for nobody
	acked  []string // each answer that somebody was told was taken
	result string   // what the client got in the end
	wrong  []string // what happened that must not
}

func newLedger() *ledger { return &ledger{changed: make(chan struct{})} }

// next numbers a new question.
func (l *ledger) next() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, &question{})
	return len(l.all) - 1
}

// note changes what is known of a question.
func (l *ledger) note(n int, change func(*question)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	change(l.all[n])
	close(l.changed)
	l.changed = make(chan struct{})
}

func (l *ledger) keep(n int, who string) {
	l.note(n, func(q *question) {
		if q.kept == "" {
			q.kept = who
		}
	})
}

func (l *ledger) ack(n int, value string) {
	l.note(n, func(q *question) { q.acked = append(q.acked, value) })
}

func (l *ledger) wrong(n int, format string, args ...any) {
	l.note(n, func(q *question) { q.wrong = append(q.wrong, fmt.Sprintf(format, args...)) })
}

// is reports whether something is so of a question, and gives what is closed
// when that may change.
func (l *ledger) is(n int, so func(*question) bool) (bool, <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return so(l.all[n]), l.changed
}

// owed are the questions that are promised to be kept and were not answered
// at their backend yet.
func (l *ledger) owed() (open []int, changed <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for n, q := range l.all {
		if q.kept != "" && len(q.heard) == 0 {
			open = append(open, n)
		}
	}
	return open, l.changed
}

// sum is what a run came to.
type sum struct {
	Asked, Kept, Acked, Heard, Again, Results int
}

// check holds what was promised against what happened. A test that expects
// faults takes them; the others fail.
func (l *ledger) check() (sum, []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var s sum
	var faults []string
	fault := func(n int, format string, args ...any) {
		faults = append(faults, fmt.Sprintf("question %d ", n)+fmt.Sprintf(format, args...))
	}
	for n, q := range l.all {
		count := func(to *int, so bool) {
			if so {
				*to++
			}
		}
		count(&s.Asked, q.runs > 0)
		count(&s.Kept, q.kept != "")
		count(&s.Acked, len(q.acked) > 0)
		count(&s.Heard, len(q.heard) > 0)
		count(&s.Again, len(q.heard) > 1)
		count(&s.Results, q.result != "")

		values := slices.Clone(q.heard)
		slices.Sort(values)
		switch values = slices.Compact(values); {
		case len(values) > 1:
			fault(n, "was settled twice: the backend heard %q", q.heard)
		case len(values) == 0 && len(q.acked) > 0:
			fault(n, "lost its answer: %q was acknowledged, and the backend heard nothing", q.acked)
		case len(values) == 0 && q.kept != "":
			fault(n, "was lost: %s was told that it is kept, and nobody could answer it", q.kept)
		}
		if len(q.acked) > 1 {
			fault(n, "was settled twice: %q were acknowledged", q.acked)
		}
		if len(values) == 1 && len(q.acked) == 1 && q.acked[0] != values[0] {
			fault(n, "was answered with %q, and the backend heard %q", q.acked[0], values[0])
		}
		if len(values) == 1 && q.result != "" && q.result != values[0] {
			fault(n, "was answered with %q, and the client got the result of %q", values[0], q.result)
		}
		if q.runs > 1 {
			fault(n, "had its tool run %d times", q.runs)
		}
		for _, w := range q.wrong {
			fault(n, "%s", w)
		}
	}
	return s, faults
}

// settle fails the test where a promise was broken, and says what it came to.
func (l *ledger) settle(t testing.TB) sum {
	t.Helper()
	s, faults := l.check()
	for _, f := range faults {
		t.Error(f)
	}
	return s
}
