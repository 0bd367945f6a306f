package e2e

import (
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/answerback/answerback/internal/wire"
	"github.com/answerback/answerback/test/rig"
)

// While the journal is stopped, calls go on, and so do questions that pass
// between two live connections. What would have to be kept is refused, with a
// code that says why. When the journal is back, all of it works again, without
// a restart, and what was kept before is still there.
func TestCallsGoOnWithTheJournalStopped(t *testing.T) {
	t.Parallel()
	ask := func(c *rig.Call) {
		a := c.Ask(c.ID(), "elicitation/create", nameForm)
		if a.Kind == wire.Failure {
			c.Result(`{"refused":` + string(wire.Get(a.Raw, wire.Get(a.Raw, a.Error, "data"), "reason").Of(a.Raw)) + `}`)
			return
		}
		c.Result(`{"got":` + string(a.Field(a.Result)) + `}`)
	}
	b := rig.NewBackend(t, map[string]rig.Script{
		"tools/call ask":   ask,
		"tools/call plain": func(c *rig.Call) { c.Result(`{"content":[]}`) },
	})
	b.LegacyOnly = true // so that a modern client is sent away with a question
	nats := rig.StartNATS(t)
	g := rig.Start(t, "journal: { url: "+nats.URL+" }\nbackends:\n  one: { url: "+b.URL+" }\n")
	legacy, modern := rig.Dial(t, g.URL, rig.AllCaps), rig.NewClient(t, g.URL)
	person := rig.SignIn(t, g)

	plain := func(when string) {
		t.Helper()
		m := legacy.Tool("plain", "{}").Final()
		equal(t, "a call "+when, string(m.Field(m.Result)), `{"content":[]}`)
		m = modern.Modern("1", "tools/call", `{"name":"plain","arguments":{}}`, `{}`).Final()
		if m.Kind == wire.Failure {
			t.Errorf("a modern call %s: %s", when, m.Raw)
		}
	}
	passing := func(when string) {
		t.Helper()
		s := legacy.Tool("ask", "{}")
		legacy.Answer(s.Next(), `{"action":"accept","content":{"name":"Ann"}}`)
		m := s.Final()
		equal(t, "a passing question "+when, string(m.Field(m.Result)), `{"got":{"action":"accept","content":{"name":"Ann"}}}`)
	}
	away := func() wire.Message {
		return modern.Modern("2", "tools/call", `{"name":"ask","arguments":{}}`, `{"elicitation":{"form":{}}}`).Final()
	}
	look := func(id string) (int, string) { return person.Do("GET", "/asks/"+id, nil) }

	plain("before")
	passing("before")
	if m := away(); m.Text(m.ResultType) != "input_required" {
		t.Fatalf("a question that is kept: %s", m.Raw)
	}
	s := legacy.Tool("ask", "{}")
	q := s.Next()
	kept, _ := wire.Unquote(q.Field(q.ID))
	if status, body := look(kept); status != 200 {
		t.Fatalf("the page: %d %s", status, body)
	}

	nats.Stop()
	g.WaitLog(t, "connection lost")
	other := legacy.Tool("ask", "{}")
	o := other.Next()
	open, _ := wire.Unquote(o.Field(o.ID))
	var refused sync.WaitGroup
	refused.Go(func() {
		m := away()
		equal(t, "what the backend hears of a question that would have to be kept", member(m, m.Result, "refused"), `"journal_unavailable"`)
	})
	refused.Go(func() {
		if status, body := look(open); status != 503 || !strings.Contains(body, "still open") || !strings.Contains(body, "Try again in a moment") {
			t.Errorf("a page that would promise that the question is kept: %d %s", status, body)
		}
		if status, body := person.Do("GET", "/history", nil); status != 503 || !strings.Contains(body, "Try again in a moment") {
			t.Errorf("the history: %d %s", status, body)
		}
	})
	plain("with the journal stopped")
	passing("with the journal stopped")
	refused.Wait()
	plain("after what was refused")

	nats.Start()
	rig.Eventually(t, func() bool { status, _ := look(open); return status == 200 }, "the page of an open question does not come back with the journal")
	plain("afterwards")
	passing("afterwards")
	if m := away(); m.Text(m.ResultType) != "input_required" {
		t.Errorf("a question that is kept, afterwards: %s", m.Raw)
	}
	for id, stream := range map[string]*rig.Stream{kept: s, open: other} {
		status, body := person.Answer("/asks/"+id, url.Values{"action": {"accept"}, "f0": {"Eve"}})
		if status != 200 || !strings.Contains(body, "on its way back") {
			t.Fatalf("the answer: %d %s", status, body)
		}
		m := stream.Final()
		equal(t, "what the backend got", string(m.Field(m.Result)), `{"got":{"action":"accept","content":{"name":"Eve"}}}`)
	}
	if status, body := person.Do("GET", "/history", nil); status != 200 || strings.Count(body, "You answered on this site") != 2 || strings.Contains(body, "Eve") {
		t.Errorf("the history, afterwards: %d %s", status, body)
	}
}
