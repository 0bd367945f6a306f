package e2e

import (
	"strings"
	"sync/atomic"
	"testing"

	"github.com/answerback/answerback/internal/wire"
	"github.com/answerback/answerback/test/rig"
)

const page = `{"mode":"url","message":"connect","url":"https://example.com/a?b=<&>","elicitationId":"e-1"}`

// TestCrossPageOfLegacyBackend: a page that a legacy backend wants opened is
// asked for like a form; that it was finished has no place in the modern era.
func TestCrossPageOfLegacyBackend(t *testing.T) {
	t.Parallel()
	b := legacyBackend(t, map[string]rig.Script{"tools/call ask": func(c *rig.Call) {
		a := c.Ask(c.ID(), "elicitation/create", page)
		c.Send(`{"jsonrpc":"2.0","method":"notifications/elicitation/complete","params":{"elicitationId":"e-1"}}`)
		c.Result(`{"got":` + string(a.Field(a.Result)) + `}`)
	}})
	doors(t, b, "", func(t *testing.T, d door, _ *rig.Gateway) {
		c := rig.NewClient(t, d.URL)
		m := call(c, d.Prefix+"ask")
		state, keys := inputs(t, m)
		asked := wire.Get(m.Raw, m.InputRequests, keys["elicitation/create"])
		equal(t, "the page", member(m, asked, "params"), page)
		s := start(c, d.Prefix+"ask", state, answers(keys["elicitation/create"], `{"action":"accept"}`))
		m = s.Next()
		equal(t, "what comes next", string(m.Field(m.Result)), `{"resultType":"complete","got":{"action":"accept"}}`)
	})
}

// TestCrossPagesBeforeACall: a legacy backend that refuses until a page was
// opened has ended its call. A modern client is asked for the page, once, and
// the backend is called anew when it says that the page is finished.
func TestCrossPagesBeforeACall(t *testing.T) {
	t.Parallel()
	var calls atomic.Int32
	b := legacyBackend(t, map[string]rig.Script{"tools/call ask": func(c *rig.Call) {
		if calls.Add(1) < 3 {
			c.Error(`{"code":-32042,"message":"first","data":{"elicitations":[` + page + `]}}`)
			return
		}
		c.Result(`{"ok":true}`)
	}})
	finished := `{"jsonrpc":"2.0","method":"notifications/elicitation/complete","params":{"elicitationId":"e-1"}}`
	g := rig.Start(t, "backends:\n  one: { url: "+b.URL+" }\n")
	c := rig.NewClient(t, g.URL+"/one")
	m := call(c, "ask")
	state, keys := inputs(t, m)
	asked := wire.Get(m.Raw, m.InputRequests, keys["elicitation/create"])
	equal(t, "the page", member(m, asked, "params"), page)

	done := make(chan wire.Message, 1)
	go func() { done <- call(c, "ask", state, answers(keys["elicitation/create"], `{"action":"accept"}`)) }()
	g.WaitLog(t, "ending=answered")
	if n := calls.Load(); n != 1 {
		t.Errorf("called %d times before the page was finished", n)
	}
	b.Push(finished)
	rig.Eventually(t, func() bool { return calls.Load() == 2 }, "the backend was not called again")
	b.Push(finished)
	m = <-done
	equal(t, "the result", string(m.Field(m.Result)), `{"resultType":"complete","ok":true}`)

	calls.Store(0)
	state, keys = inputs(t, call(c, "ask"))
	m = call(c, "ask", state, answers(keys["elicitation/create"], `{"action":"decline"}`))
	wantError(t, "a page that was not opened", m, "-32603", "client_cancelled")
	if n := calls.Load(); n != 1 {
		t.Errorf("called %d times though the page was not opened", n)
	}
}

// TestCrossPageOfModernBackend: a legacy client gets the elicitationId that
// its era demands, is asked once though the backend asks until the page is
// finished, and hears that it is. A client whose version has no such mode is
// never asked.
func TestCrossPageOfModernBackend(t *testing.T) {
	t.Parallel()
	var rounds atomic.Int32
	b := modernBackend(t, map[string]rig.Script{"tools/call ask": func(c *rig.Call) {
		if rounds.Add(1) < 4 {
			needs(c, request("u", "elicitation/create", `{"mode":"url","message":"connect","url":"https://example.com/a"}`), "")
			return
		}
		c.Result(`{"resultType":"complete","got":` + string(c.Msg.Field(c.Msg.InputResponses)) + `}`)
	}})
	doors(t, b, "", func(t *testing.T, d door, _ *rig.Gateway) {
		rounds.Store(0)
		c := rig.Dial(t, d.URL, rig.AllCaps)
		s := c.Tool(d.Prefix+"ask", "{}")
		q := s.Next()
		id := member(q, q.Params, "elicitationId")
		if len(id) < 12 || member(q, q.Params, "url") != `"https://example.com/a"` {
			t.Errorf("the question is %s", q.Raw)
		}
		c.Answer(q, `{"action":"accept"}`)
		n := s.Next()
		equal(t, "the end of the page", n.Method()+member(n, n.Params, "elicitationId"), "notifications/elicitation/complete"+id)
		m := s.Next()
		equal(t, "the result", string(m.Field(m.Result)), `{"got":{"u":{"action":"accept"}}}`)

		rounds.Store(0)
		old := rig.DialVersion(t, d.URL, rig.AllCaps, "2025-06-18")
		m = old.Tool(d.Prefix+"ask", "{}").Next()
		if m.Kind != wire.Failure || !strings.Contains(string(m.Raw), "mode_not_declared") || rounds.Load() != 1 {
			t.Errorf("after %d rounds a client without the mode got %s", rounds.Load(), m.Raw)
		}
	})
}
