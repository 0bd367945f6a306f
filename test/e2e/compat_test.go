package e2e

import (
	"testing"

	"github.com/answerback/answerback/internal/wire"
	"github.com/answerback/answerback/test/rig"
)

// TestVariablesOfAnotherGateway: a running gateway keeps to the environment
// variables of another one, unless its file says otherwise (A3).
func TestVariablesOfAnotherGateway(t *testing.T) {
	t.Parallel()
	const (
		off     = "MCPGATEWAY_ELICITATION_ENABLED=false"
		second  = "MCPGATEWAY_ELICITATION_TIMEOUT=1"
		two     = "MCPGATEWAY_ELICITATION_MAX_CONCURRENT=2"
		backend = "backends:\n  one: { url: "
	)
	asks := func(answers chan<- wire.Message) map[string]rig.Script {
		return map[string]rig.Script{"tools/call ask": func(c *rig.Call) {
			answers <- c.Ask(c.ID(), "elicitation/create", formParams)
			c.Result("{}")
		}}
	}

	t.Run("switched off", func(t *testing.T) {
		answers := make(chan wire.Message, 1)
		b := rig.NewBackend(t, asks(answers))
		g := rig.StartEnv(t, []string{off}, backend+b.URL+" }\n")
		rig.Dial(t, g.URL, rig.AllCaps).Tool("ask", "{}").Final()
		wantError(t, "the question", <-answers, "-32601", "switched_off")
	})
	t.Run("timeout", func(t *testing.T) {
		answers := make(chan wire.Message, 1)
		b := rig.NewBackend(t, asks(answers))
		g := rig.StartEnv(t, []string{second}, backend+b.URL+" }\n")
		s := rig.Dial(t, g.URL, rig.AllCaps).Tool("ask", "{}")
		q, w := s.Next(), s.Next()
		equal(t, "the withdrawal", w.Method()+string(w.Field(w.RequestID)), "notifications/cancelled"+string(q.Field(q.ID)))
		s.Final()
		wantError(t, "the question", <-answers, "-32000", "timeout")
	})
	t.Run("most at once", func(t *testing.T) {
		answers := make(chan wire.Message, 3)
		b := rig.NewBackend(t, asks(answers))
		g := rig.StartEnv(t, []string{two}, backend+b.URL+" }\n")
		var open []func()
		for range 2 { // in two sessions: the limit is the gateway's
			c := rig.Dial(t, g.URL, rig.AllCaps)
			s := c.Tool("ask", "{}")
			q := s.Next()
			open = append(open, func() { c.Answer(q, `{"action":"decline"}`); s.Final() })
		}
		rig.Dial(t, g.URL, rig.AllCaps).Tool("ask", "{}").Final()
		wantError(t, "one too many", <-answers, "-32000", "too_many_open")
		for _, end := range open {
			end()
			a := <-answers
			equal(t, "the answer", string(a.Field(a.Result)), `{"action":"decline"}`)
		}
	})
	t.Run("the file has precedence", func(t *testing.T) {
		answers := make(chan wire.Message, 1)
		b := rig.NewBackend(t, asks(answers))
		g := rig.StartEnv(t, []string{off}, "asks: { enabled: true }\n"+backend+b.URL+" }\n")
		c := rig.Dial(t, g.URL, rig.AllCaps)
		s := c.Tool("ask", "{}")
		c.Answer(s.Next(), `{"action":"cancel"}`)
		s.Final()
		a := <-answers
		equal(t, "the answer", string(a.Field(a.Result)), `{"action":"cancel"}`)
	})
}
