//go:build e2e

package e2e

import (
	"syscall"
	"testing"

	"github.com/answerback/answerback/test/rig"
)

// What one of ten thousand live questions may cost the gateway, its session
// included, in bytes of resident memory after a collection.
const liveQuestion = 80 << 10

// TestTenThousandLiveQuestions: ten thousand questions wait at once, each in a
// call whose client and whose server both hold a stream open. Each answer
// reaches its own question, one of them costs a bounded amount of memory, and
// nothing of them is left behind; nor is there more after ten thousand others.
//
// The clients and the server are processes of their own, so that what is
// measured is the gateway alone. Nine thousand of the calls have a connection
// to the server each, a thousand share one over HTTP/2: with the clients' ten
// thousand that is as much as a limit of 20,000 open files allows. Some
// sessions have two calls.
func TestTenThousandLiveQuestions(t *testing.T) {
	const open, sessions, files = 10_000, 9_000, 20_000
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil || limit.Max < files {
		t.Fatalf("a process may have %d files open, and needs %d for this: raise the hard limit (ulimit -Hn)", limit.Max, files)
	}
	crowd := rig.StartCrowd(t)
	g := rig.StartMeasured(t, durable+rig.Metrics+`
asks: { timeout: 1h, burst: 100000, max_open_per_principal: 10000 }
limits: { sessions_per_principal: 10000 }
backends:
  plain: { url: "`+crowd.Plain+`" }
  sealed: { url: "`+crowd.Sealed+`" }
`, "SSL_CERT_FILE="+crowd.CA)

	// What is meant to stay is there before: pools, connections for later calls.
	for _, name := range []string{"plain", "sealed"} {
		crowd.Do(t, "open 20 %s %s__ask", g.URL, name)
		crowd.Do(t, "ask 1")
	}
	crowd.Do(t, "answer")
	crowd.Do(t, "close")
	before := g.Memory(t)
	answered := 2.0 * 20
	var grown int

	last := before // a round
	for round := 1; round <= 2; round++ {
		crowd.Do(t, "open 4000 %s/plain ask", g.URL)
		crowd.Do(t, "open 4000 %s plain__ask", g.URL)
		idle := g.Memory(t)
		crowd.Do(t, "ask 1")
		alone := g.Memory(t)
		for _, name := range []string{"plain", "sealed"} {
			crowd.Do(t, "open 500 %s/%s ask", g.URL, name)
			crowd.Do(t, "ask 2")
		}
		if got := g.Metric(t, `answerback_asks_open{kind="form"}`); got != open {
			t.Errorf("%v questions are open, want %d", got, open)
		}
		if got := g.Metric(t, "answerback_sessions_open"); got != sessions {
			t.Errorf("%v sessions are open, want %d", got, sessions)
		}
		pending := g.Memory(t)
		each := func(what string, n int, from, to rig.Memory) {
			kb := func(a, b int) float64 { return float64(b-a) / float64(n) / 1024 }
			t.Logf("%s: %.1f KB resident (%.1f before the collection), heap %.1f, stacks %.1f; %.2f goroutines, %.2f files", what,
				kb(from.Resident, to.Resident), kb(from.Resident, to.Before), kb(from.Heap, to.Heap), kb(from.Stacks, to.Stacks),
				float64(to.Goroutines-from.Goroutines)/float64(n), float64(to.Files-from.Files)/float64(n))
		}
		each("a session without a question", 8000, last, idle)
		each("a question on two connections", 8000, idle, alone)
		each("one of all, with its session", open, before, pending)
		if round == 1 {
			grown = pending.Resident - before.Resident
		}
		if cost := (pending.Resident - before.Resident) / open; cost > liveQuestion {
			t.Errorf("a live question costs %d bytes, want at most %d", cost, liveQuestion)
		}

		crowd.Do(t, "answer")
		answered += open
		if n := g.Metric(t, `answerback_asks_total{ending="answered",kind="form"}`); n != answered {
			t.Errorf("%v questions were answered, want %v", n, answered)
		}
		crowd.Do(t, "close")
		if n := g.Metric(t, `answerback_asks_open{kind="form"}`) + g.Metric(t, "answerback_sessions_open"); n != 0 {
			t.Errorf("%v questions and sessions are open when all have ended", n)
		}
		// Connections to the server are kept for later calls: 256 at most, with
		// two goroutines each.
		const kept, slack = 256, 50
		rig.Eventually(t, func() bool {
			return handles(t, g.Gateway) <= before.Files+kept+slack && g.Metric(t, "go_goroutines") <= float64(before.Goroutines+2*kept+slack)
		}, "open files or goroutines are left behind")
		// The runtime keeps what it knows of goroutines for the next ones; the
		// store, what it has read.
		after := g.Memory(t)
		t.Logf("when all have ended: %d MiB, and %d before the first", after.Resident>>20, before.Resident>>20)
		if left := after.Resident - before.Resident; left > grown/5 {
			t.Errorf("%d MiB are left of %d", left>>20, grown>>20)
		}
		last = after
	}
}
