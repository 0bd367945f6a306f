package e2e

import (
	"testing"

	"github.com/answerback/answerback/internal/wire"
	"github.com/answerback/answerback/test/rig"
)

// chain is a backend behind two gateways, and the era of who calls it.
type chain struct {
	t      *testing.T
	url    string
	legacy bool // the client
}

// ask calls a tool that asks one question and gives what the client is asked
// and how it goes on: with an answer to the final response, or without one.
func (c chain) ask(tool string) (method string, goOn func(answer string) wire.Message, giveUp func()) {
	c.t.Helper()
	client := rig.NewClient(c.t, c.url)
	if c.legacy {
		client = rig.Dial(c.t, c.url, rig.AllCaps)
		s := client.Start(`{"jsonrpc":"2.0","id":"call","method":"tools/call","params":{"name":"` + tool + `","arguments":{}}}`)
		q := s.Next()
		return q.Method(), func(answer string) wire.Message {
				if answer != "" {
					client.Answer(q, answer)
				}
				return s.Final()
			}, func() {
				client.Send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"call"}}`)
			}
	}
	state, keys := inputs(c.t, call(client, tool, `"arguments":{}`))
	for m, key := range keys {
		method = m
		return method, func(answer string) wire.Message {
			if answer == "" {
				return call(client, tool, `"arguments":{}`, state)
			}
			return call(client, tool, `"arguments":{}`, state, answers(key, answer))
		}, nil
	}
	return "", nil, nil
}

// chained are the tools of a backend at the end of a chain: each asks once
// and gives the answer back; cancelled gets a value for each call that ended
// without one.
func chained(t *testing.T, legacy bool, cancelled chan struct{}) *rig.Backend {
	questions := map[string][2]string{
		"form":     {"elicitation/create", formParams},
		"sampling": {"sampling/createMessage", `{"messages":[],"maxTokens":1,"n":1.10}`},
		"roots":    {"roots/list", "{}"},
	}
	scripts := make(map[string]rig.Script)
	for name, q := range questions {
		scripts["tools/call "+name] = func(c *rig.Call) {
			if legacy {
				a := c.Ask(c.ID(), q[0], q[1])
				if a.Kind != wire.Result {
					cancelled <- struct{}{}
					c.Error(`{"code":-32000,"message":"unanswered"}`)
					return
				}
				c.Result(`{"got":` + string(a.Field(a.Result)) + `}`)
				return
			}
			if c.Msg.InputResponses.IsZero() {
				needs(c, request("key", q[0], q[1]), `"state<&>"`)
				return
			}
			equal(t, "the state", string(c.Msg.Field(c.Msg.RequestState)), `"state<&>"`)
			got := wire.Get(c.Msg.Raw, c.Msg.InputResponses, "key")
			c.Result(`{"resultType":"complete","got":` + string(got.Of(c.Msg.Raw)) + `}`)
		}
	}
	scripts["tools/call slow"] = func(c *rig.Call) {
		c.Send(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":` + string(c.Msg.Field(c.Msg.MetaToken)) + `,"progress":1}}`)
		<-c.Context.Done()
		cancelled <- struct{}{}
	}
	b := rig.NewBackend(t, scripts)
	b.LegacyOnly, b.ModernOnly = legacy, !legacy
	return b
}

// TestChain: two gateways in a row carry questions, answers, refusals,
// cancels and time-outs, whatever the eras of client and backend (A11).
func TestChain(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name           string
		client, server bool // legacy
	}{
		{"legacy client, modern backend", true, false},
		{"modern client, legacy backend", false, true},
		{"legacy client, legacy backend", true, true},
		{"modern client, modern backend", false, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cancelled := make(chan struct{}, 8)
			b := chained(t, tt.server, cancelled)
			inner := rig.Start(t, "asks: { timeout: 2s }\nbackends:\n  one: { url: "+b.URL+" }\n")
			outer := rig.Start(t, "backends:\n  far: { url: "+inner.URL+"/one }\n")
			c := chain{t: t, url: outer.URL + "/far", legacy: tt.client}

			for _, k := range []struct{ tool, method, answer string }{
				{"form", "elicitation/create", `{"action":"accept","content":{"n":1.10}}`},
				{"form", "elicitation/create", `{"action":"decline"}`},
				{"form", "elicitation/create", `{"action":"cancel"}`},
				{"sampling", "sampling/createMessage", `{"role":"assistant","model":"m","content":{"type":"text","text":"<&>"}}`},
				{"roots", "roots/list", `{"roots":[{"uri":"file:///p"}]}`},
			} {
				method, goOn, _ := c.ask(k.tool)
				equal(t, "the question", method, k.method)
				m := goOn(k.answer)
				equal(t, k.tool, member(m, m.Result, "got"), k.answer)
			}
			t.Run("cancel", func(t *testing.T) { c.cancel(t, tt.server, cancelled) })
			if tt.client || tt.server { // else nothing is held anywhere that could time out
				t.Run("timeout", func(t *testing.T) { c.timeout(t, tt.server, cancelled) })
			}
		})
	}
}

// cancel gives a running call up, and one that asks.
func (c chain) cancel(t *testing.T, server bool, cancelled chan struct{}) {
	client := rig.NewClient(t, c.url)
	if c.legacy {
		client = rig.Dial(t, c.url, rig.AllCaps)
		s := client.Start(`{"jsonrpc":"2.0","id":"call","method":"tools/call","params":{"_meta":{"progressToken":"p"},"name":"slow"}}`)
		s.Next()
		client.Send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"call"}}`)
		<-cancelled
		s.Ended()
		_, _, giveUp := c.ask("form")
		giveUp()
		if server { // a modern one has nothing under way
			<-cancelled
		}
		return
	}
	client.Meta = `"progressToken":"p"`
	s := start(client, "slow")
	s.Next()
	s.Drop()
	<-cancelled
}

// timeout leaves a question unanswered.
func (c chain) timeout(t *testing.T, server bool, cancelled chan struct{}) {
	_, goOn, _ := c.ask("form")
	switch {
	case !server:
		wantError(t, "the response", goOn(""), "-32000", "timeout")
	case c.legacy:
		<-cancelled
		m := goOn("")
		equal(t, "the response", member(m, m.Error, "message"), `"unanswered"`)
	default:
		<-cancelled
		// Which gateway let go of it first decides what the client hears.
		if m := goOn(""); m.Kind != wire.Failure {
			t.Errorf("the response is %s", m.Raw)
		}
	}
}
