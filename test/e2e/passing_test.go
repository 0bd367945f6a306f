package e2e

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/answerback/answerback/internal/wire"
	"github.com/answerback/answerback/test/rig"
)

// passingAdds bounds what the gateway may add to a question that passes
// through it, with the time of whoever answers left out.
const passingAdds = 10 * time.Millisecond

// Questions that pass between two live connections take hardly longer than
// without the gateway, with more than a hundred of them open at once; none of
// them is stored; and nothing is left when they have ended.
func TestPassingQuestionsAreQuickAndLeaveNothing(t *testing.T) {
	b := rig.NewBackend(t, map[string]rig.Script{"tools/call ask": func(c *rig.Call) {
		a := c.Ask(c.ID(), "elicitation/create", formParams)
		c.Result(`{"got":` + string(a.Field(a.Result)) + `}`)
	}})
	g := rig.Start(t, durable+rig.Metrics+"asks: { burst: 10000 }\nlimits: { sessions_per_principal: 500 }\nbackends:\n  one: { url: "+b.URL+" }\n")
	ask := func(c *rig.Client) (time.Duration, wire.Message) {
		began := time.Now()
		s := c.Tool("ask", "{}")
		c.Answer(s.Next(), `{"action":"accept"}`)
		return time.Since(began), s.Final()
	}
	direct, through := rig.Dial(t, b.URL, rig.AllCaps), rig.Dial(t, g.URL, rig.AllCaps)
	const open, rounds, asks = 128, 5, 21
	// crowd opens many questions, and has all of them answered afterwards.
	crowd := func(during func()) {
		type pending struct {
			c *rig.Client
			s *rig.Stream
			q wire.Message
		}
		all := make([]pending, open)
		parallel(open, func(i int) {
			c := rig.Dial(t, g.URL, rig.AllCaps)
			s := c.Tool("ask", "{}")
			all[i] = pending{c, s, s.Next()}
		})
		if got := g.Metric(t, `answerback_asks_open{kind="form"}`); got != open {
			t.Errorf("%v questions are open, want %d", got, open)
		}
		during()
		parallel(open, func(i int) {
			p := all[i]
			answer := fmt.Sprintf(`{"action":"accept","content":{"i":%d}}`, i)
			p.c.Answer(p.q, answer)
			r := p.s.Final()
			equal(t, "the answer", member(r, r.Result, "got"), answer)
			p.c.Close()
		})
	}
	// The first crowd leaves what is meant to stay: connections for later calls.
	crowd(func() { ask(direct); ask(through) })
	rig.Eventually(t, func() bool { return g.Metric(t, "answerback_sessions_open") == 1 }, "sessions that were ended are still open")
	files, routines := handles(t, g), g.Metric(t, "go_goroutines")

	added := time.Hour
	crowd(func() {
		// What else the machine does only ever adds, so the quietest round counts.
		for range rounds {
			var without, with [asks]time.Duration
			for i := range asks {
				without[i], _ = ask(direct)
				var m wire.Message
				with[i], m = ask(through)
				equal(t, "the result", string(m.Field(m.Result)), `{"got":{"action":"accept"}}`)
			}
			added = min(added, median(with[:])-median(without[:]))
		}
	})
	t.Logf("with %d questions open the gateway adds %v to another one", open, added)
	if added > passingAdds {
		t.Errorf("the gateway adds %v to a question that passes through, want at most %v", added, passingAdds)
	}

	writes := func(operation string) float64 {
		return g.Metric(t, `answerback_journal_seconds_count{operation="`+operation+`"}`)
	}
	// The start itself puts one item on a shelf: the epoch of the gateway.
	for operation, most := range map[string]float64{"create": 0, "update": 0, "shelf_put": 1, "shelf_delete": 0} {
		if n := writes(operation); n > most {
			t.Errorf("%v times %s at the journal, for questions that pass through", n, operation)
		}
	}
	const all = 2*open + rounds*asks + 1
	if n := g.Metric(t, `answerback_asks_total{ending="answered",kind="form"}`); n != all {
		t.Errorf("%v questions were answered, want %d", n, all)
	}
	// Less than one for each question of a crowd: the second one may have had
	// a few more connections to the backend at the same time.
	const slack = open / 2
	rig.Eventually(t, func() bool {
		return handles(t, g) <= files+slack && g.Metric(t, "go_goroutines") <= routines+slack &&
			g.Metric(t, `answerback_asks_open{kind="form"}`) == 0
	}, "questions, open files or goroutines are left behind")

	// The control: a question that somebody is promised is written.
	s := through.Tool("ask", "{}")
	q := s.Next()
	id, _ := wire.Unquote(q.Field(q.ID))
	if status, body := rig.SignIn(t, g).Do("GET", "/asks/"+id, nil); status != 200 {
		t.Fatalf("the page: %d %s", status, body)
	}
	through.Answer(q, `{"action":"accept"}`)
	s.Final()
	if writes("create") != 1 {
		t.Error("a question that is kept was not written: this test counts nothing")
	}
}

func median(all []time.Duration) time.Duration {
	slices.Sort(all)
	return all[len(all)/2]
}
