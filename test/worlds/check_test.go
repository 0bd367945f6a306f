//go:build worlds

package worlds

import (
	"slices"
	"strings"
)

// check holds what happened against what was promised, and gives what was
// broken.
func (l *ledger) check() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lapseLocked()
	for _, key := range sorted(l.questions) {
		l.checkQuestion(l.questions[key])
	}
	var numbers []int
	for n := range l.calls {
		numbers = append(numbers, n)
	}
	slices.Sort(numbers)
	for _, n := range numbers {
		l.checkCall(l.calls[n])
	}
	return slices.Clone(l.faults)
}

func sorted[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

func distinct(values []string) []string {
	values = slices.Clone(values)
	slices.Sort(values)
	return slices.Compact(values)
}

func (l *ledger) checkQuestion(q *questionNote) {
	heard := distinct(q.heard)
	// After a restore a person may answer anew; the server takes one answer.
	if len(heard) > 1 || len(distinct(q.wire)) > 1 && q.excuse != excuseRestored {
		l.faultLocked("P2: question %s had two outcomes: the tool got %q, the connection %q", q.key, q.heard, q.wire)
	}
	for _, v := range append(slices.Clone(heard), q.wire...) {
		if q.given[v] == 0 && !strings.HasPrefix(v, "end ") {
			l.faultLocked("faked: the backend got %q for question %s, which nobody gave", v, q.key)
		}
	}
	if len(distinct(q.acked)) > 1 && q.excuse != excuseRestored {
		l.faultLocked("P2: two answers to question %s were acknowledged: %q", q.key, q.acked)
	}
	if len(q.acked) > 0 && len(heard) > 0 && q.excuse == "" && !slices.Contains(heard, q.acked[0]) {
		l.faultLocked("P2: %q was acknowledged for question %s, and the backend got %q", q.acked[0], q.key, heard)
	}
	if q.excuse != "" || len(heard) > 0 || q.call.backend == keyedKind {
		return
	}
	if len(q.acked) > 0 {
		l.faultLocked("P1: the answer %q to question %s (%s client, %s backend) was acknowledged, and the backend heard nothing", q.acked, q.key, q.call.client, q.call.backend)
	} else if q.kept {
		l.faultLocked("P1: question %s (%s client, %s backend) was promised to be kept, and could not be answered", q.key, q.call.client, q.call.backend)
	}
}

func (l *ledger) checkCall(c *callNote) {
	if c.runs > c.sent {
		l.faultLocked("P4: call %d was made %d times, and its tool ran %d times", c.n, c.sent, c.runs)
	}
	seen := map[string]int{}
	for _, r := range c.results {
		if seen[r]++; seen[r] > 1 && strings.HasPrefix(r, "accept ") {
			l.faultLocked("once: the result %q of call %d was given out twice", r, c.n)
		}
		value, accepted := strings.CutPrefix(r, "accept ")
		if !accepted || value == "" {
			continue
		}
		key, _, _ := strings.Cut(value, ":")
		q := l.questions[key]
		switch {
		case q == nil || q.call != c:
			l.faultLocked("misrouted: call %d got the result %q of another question", c.n, r)
		case !slices.Contains(q.heard, value):
			l.faultLocked("faked: call %d got the result %q, and its tool got %q", c.n, r, q.heard)
		}
	}
}
