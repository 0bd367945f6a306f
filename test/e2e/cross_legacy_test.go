package e2e

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/answerback/answerback/internal/wire"
	"github.com/answerback/answerback/test/rig"
)

// What is here has a legacy client before a modern backend.

func modernBackend(t *testing.T, scripts map[string]rig.Script) *rig.Backend {
	b := rig.NewBackend(t, scripts)
	b.ModernOnly = true
	return b
}

// needs ends a round at the backend: requests are members of inputRequests,
// state is a raw token or "".
func needs(c *rig.Call, requests, state string) {
	result := `{"resultType":"input_required"`
	if requests != "" {
		result += `,"inputRequests":{` + requests + `}`
	}
	if state != "" {
		result += `,"requestState":` + state
	}
	c.Result(result + "}")
}

func request(key, method, params string) string {
	return `"` + key + `":{"method":"` + method + `","params":` + params + `}`
}

const complete = `{"resultType":"complete","content":[],"n":1.10}`

// TestCrossRounds: the questions of a round come together on the stream of
// their call; each retry is a new request with the backend's own name of the
// tool, the answers byte for byte and exactly the state that it gave.
func TestCrossRounds(t *testing.T) {
	t.Parallel()
	b := modernBackend(t, map[string]rig.Script{"tools/call ask": func(c *rig.Call) {
		switch string(c.Msg.Field(c.Msg.RequestState)) {
		case "":
			if !c.Msg.InputResponses.IsZero() {
				c.Result(complete)
				return
			}
			needs(c, request("a<", "elicitation/create", formParams)+","+request("b", "roots/list", "{}"), `"s\u00e9<&>"`)
		case `"s\u00e9<&>"`:
			needs(c, "", `"busy"`)
		case `"busy"`:
			needs(c, request("c", "sampling/createMessage", `{"messages":[],"maxTokens":1}`), "")
		}
	}})
	doors(t, b, "", func(t *testing.T, d door, _ *rig.Gateway) {
		before := len(b.Received(isToolCall))
		c := rig.Dial(t, d.URL, rig.AllCaps)
		s := c.Tool(d.Prefix+"ask", `{"x":1.10}`)
		first, second := s.Next(), s.Next()
		if first.Method() == "roots/list" {
			first, second = second, first
		}
		equal(t, "the questions", first.Method()+" "+second.Method(), "elicitation/create roots/list")
		equal(t, "the form", string(first.Field(first.Params)), formParams)
		c.Answer(second, `{"roots":[],"n":1.10}`)
		c.Answer(first, `{"action":"accept","content":{"x":1.10}}`)
		third := s.Next()
		equal(t, "the third question", third.Method(), "sampling/createMessage")
		c.Answer(third, `{"role":"assistant"}`)
		m := s.Final()
		equal(t, "the result", string(m.Field(m.Result)), `{"content":[],"n":1.10}`)

		rounds := b.Received(isToolCall)[before:]
		if len(rounds) != 4 {
			t.Fatalf("%d rounds, want 4", len(rounds))
		}
		ids := make(map[string]bool)
		for _, r := range rounds {
			ids[string(r.Msg.Field(r.Msg.ID))] = true
			equal(t, "the name", r.Header.Get("Mcp-Name")+" "+r.Msg.Text(r.Msg.Name), "ask ask")
			equal(t, "the arguments", string(r.Msg.Field(r.Msg.Arguments)), `{"x":1.10}`)
			equal(t, "the version", r.Header.Get("Mcp-Protocol-Version")+" "+r.Msg.Text(r.Msg.MetaVersion), "2026-07-28 2026-07-28")
			equal(t, "the capabilities", string(r.Msg.Field(r.Msg.MetaCapabilities)), rig.AllCaps)
		}
		if len(ids) != 4 {
			t.Errorf("ids were used twice: %v", ids)
		}
		equal(t, "the answers", string(rounds[1].Msg.Field(rounds[1].Msg.InputResponses)), `{"a<":{"action":"accept","content":{"x":1.10}},"b":{"roots":[],"n":1.10}}`)
		equal(t, "the state", string(rounds[1].Msg.Field(rounds[1].Msg.RequestState)), `"s\u00e9<&>"`)
		equal(t, "a round without answers", string(rounds[2].Msg.Field(rounds[2].Msg.InputResponses)), "")
		equal(t, "a round without state", string(rounds[3].Msg.Field(rounds[3].Msg.RequestState)), "")
	})
}

func isToolCall(r rig.Received) bool { return r.Msg.Method() == "tools/call" }

// TestCrossClientError: the modern era has no place for a client's error, so
// the call ends with it; decline and cancel are answers.
func TestCrossClientError(t *testing.T) {
	t.Parallel()
	b := modernBackend(t, map[string]rig.Script{"tools/call ask": func(c *rig.Call) {
		if c.Msg.InputResponses.IsZero() {
			needs(c, request("k", "elicitation/create", formParams), "")
			return
		}
		c.Result(`{"resultType":"complete","got":` + string(c.Msg.Field(c.Msg.InputResponses)) + `}`)
	}})
	doors(t, b, "", func(t *testing.T, d door, _ *rig.Gateway) {
		c := rig.Dial(t, d.URL, rig.AllCaps)
		for _, answer := range []string{`{"action":"decline"}`, `{"action":"cancel"}`} {
			s := c.Tool(d.Prefix+"ask", "{}")
			c.Answer(s.Next(), answer)
			m := s.Final()
			equal(t, "the result", string(m.Field(m.Result)), `{"got":{"k":`+answer+`}}`)
		}
		before := len(b.Received(isToolCall))
		s := c.Tool(d.Prefix+"ask", "{}")
		q := s.Next()
		c.Send(`{"jsonrpc":"2.0","id":` + string(q.Field(q.ID)) + `,"error":{"code":-1,"message":"user rejected","data":{"n":1.10}}}`)
		m := s.Final()
		equal(t, "the error", string(m.Field(m.Error)), `{"code":-1,"message":"user rejected","data":{"n":1.10}}`)
		if n := len(b.Received(isToolCall)) - before; n != 1 {
			t.Errorf("the backend was called %d times", n)
		}
	})
}

// TestCrossLostConnection: a legacy client that loses its connection has not
// cancelled. The question that came meanwhile waits for it, and so does the
// result.
func TestCrossLostConnection(t *testing.T) {
	t.Parallel()
	gone := make(chan struct{})
	b := modernBackend(t, map[string]rig.Script{"tools/call ask": func(c *rig.Call) {
		if !c.Msg.InputResponses.IsZero() {
			c.Result(complete)
			return
		}
		c.Send(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":` + string(c.Msg.Field(c.Msg.MetaToken)) + `,"progress":1}}`)
		<-gone
		needs(c, request("k", "elicitation/create", formParams), "")
	}})
	doors(t, b, "", func(t *testing.T, d door, g *rig.Gateway) {
		c := rig.Dial(t, d.URL, rig.AllCaps)
		s := c.Start(`{"jsonrpc":"2.0","id":"c","method":"tools/call","params":{"_meta":{"progressToken":"p"},"name":"` + d.Prefix + `ask","arguments":{}}}`)
		p := s.Next()
		equal(t, "the progress", string(p.Field(p.Token)), `"p"`)
		s.Drop()
		shown := strings.Count(g.Log(), `msg="ask shown"`)
		gone <- struct{}{}
		rig.Eventually(t, func() bool { return strings.Count(g.Log(), `msg="ask shown"`) > shown }, "the question did not come")
		s = c.Listen(s.LastID)
		q := s.Next()
		equal(t, "the question", q.Method(), "elicitation/create")
		s.Drop()
		c.Answer(q, `{"action":"decline"}`)
		m := c.Listen(s.LastID).Final()
		equal(t, "the result", string(m.Field(m.ID))+string(m.Field(m.Result)), `"c"{"content":[],"n":1.10}`)
	})
}

// TestCrossCancel: the cancel of a legacy client closes the request at the
// modern backend, which is how that era cancels; while it is asked, the
// question is withdrawn and no further round is made.
func TestCrossCancel(t *testing.T) {
	t.Parallel()
	closed := make(chan struct{}, 1)
	running := make(chan struct{}, 1)
	b := modernBackend(t, map[string]rig.Script{
		"tools/call slow": func(c *rig.Call) {
			running <- struct{}{}
			<-c.Context.Done()
			closed <- struct{}{}
		},
		"tools/call ask": func(c *rig.Call) { needs(c, request("k", "elicitation/create", formParams), "") },
	})
	doors(t, b, "", func(t *testing.T, d door, _ *rig.Gateway) {
		c := rig.Dial(t, d.URL, rig.AllCaps)
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			c.Start(`{"jsonrpc":"2.0","id":"slow","method":"tools/call","params":{"name":"` + d.Prefix + `slow"}}`).Ended()
		}()
		<-running
		c.Send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"slow"}}`)
		<-closed
		<-ended

		before := len(b.Received(isToolCall))
		s := c.Start(`{"jsonrpc":"2.0","id":"ask","method":"tools/call","params":{"name":"` + d.Prefix + `ask"}}`)
		q := s.Next()
		c.Send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"ask"}}`)
		w := s.Next()
		equal(t, "the withdrawal", w.Method()+string(w.Field(w.RequestID)), "notifications/cancelled"+string(q.Field(q.ID)))
		s.Ended()
		if n := len(b.Received(isToolCall)) - before; n != 1 {
			t.Errorf("the backend was called %d times", n)
		}
		if n := b.Count("notifications/cancelled"); n != 0 {
			t.Errorf("the modern backend got %d cancelled notifications", n)
		}
	})
}

// TestCrossSession: the handshake is answered from server/discover; ping is
// answered here; the log level goes along with each request; changes of roots
// are dropped; resources are subscribed to by one stream, opened anew before
// the old one ends.
func TestCrossSession(t *testing.T) {
	t.Parallel()
	l := newListener(t, "x://a")
	l.ModernOnly = true
	g := rig.Start(t, "backends:\n  one: { url: "+l.URL+" }\n")
	c := rig.Dial(t, g.URL+"/one", rig.AllCaps)
	equal(t, "the version", c.Version, "2025-11-25")
	equal(t, "the capabilities", member(c.Welcome, c.Welcome.Result, "capabilities"), l.Capabilities)

	own := c.Listen("")
	equal(t, "the first subscription", <-l.opened, `{"toolsListChanged":true}`)
	l.say <- "notifications/tools/list_changed"
	n := own.Next()
	equal(t, "the change", string(n.Raw), `{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{}}}`)
	for i, uri := range []string{"x://a", "x://b"} {
		if m := c.Request("resources/subscribe", `{"uri":"`+uri+`"}`); m.Kind != wire.Result {
			t.Fatalf("not subscribed: %s", m.Raw)
		}
		equal(t, "the subscription", <-l.opened, []string{`{"toolsListChanged":true,"resourceSubscriptions":["x://a"]}`, `{"toolsListChanged":true,"resourceSubscriptions":["x://a","x://b"]}`}[i])
		<-l.closed // the one before
	}
	l.say <- `notifications/resources/updated ,"uri":"x://b","n":1.10`
	n = own.Next()
	equal(t, "the update", member(n, n.Params, "uri")+member(n, n.Params, "n")+string(n.Field(n.Meta)), `"x://b"1.10{}`)
	c.Request("resources/unsubscribe", `{"uri":"x://a"}`)
	equal(t, "the last subscription", <-l.opened, `{"toolsListChanged":true,"resourceSubscriptions":["x://b"]}`)

	c.Request("logging/setLevel", `{"level":"warning"}`)
	c.Request("resources/list", "{}")
	last := l.Await("resources/list")
	equal(t, "the level", last.Msg.Text(last.Msg.MetaLogLevel), "warning")
	if m := c.Request("ping", "{}"); string(m.Field(m.Result)) != "{}" {
		t.Errorf("ping: %s", m.Raw)
	}
	if status := c.Send(`{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`); status != http.StatusAccepted {
		t.Errorf("roots/list_changed was answered with %d", status)
	}
	c.Request("resources/list", "{}")
	for _, r := range l.Received(func(rig.Received) bool { return true }) {
		switch m := r.Msg.Method(); m {
		case "initialize": // tried first, and refused
		case "server/discover", "subscriptions/listen", "resources/list":
		default:
			t.Errorf("the backend got %s", r.Raw)
		}
	}
}

// TestCrossHeaders: a modern backend that wants arguments repeated in headers
// gets them, from the schema that it lists; the list is read once.
func TestCrossHeaders(t *testing.T) {
	t.Parallel()
	var wanted atomic.Value
	wanted.Store("Region")
	b := modernBackend(t, map[string]rig.Script{
		"tools/list": func(c *rig.Call) {
			c.Result(`{"resultType":"complete","ttlMs":0,"cacheScope":"private","tools":[{"name":"t","inputSchema":{"type":"object","properties":{"r":{"type":"string","x-mcp-header":"` + wanted.Load().(string) + `"}}}}]}`)
		},
		"tools/call t": func(c *rig.Call) {
			if c.Header.Get("Mcp-Param-"+wanted.Load().(string)) != "=?base64?w6k=?=" {
				c.Raw().Header().Set("Content-Type", "application/json")
				c.Raw().WriteHeader(http.StatusBadRequest)
				c.Error(`{"code":-32020,"message":"headers"}`)
				return
			}
			c.Result(complete)
		},
	})
	doors(t, b, "", func(t *testing.T, d door, _ *rig.Gateway) {
		c := rig.Dial(t, d.URL, rig.AllCaps)
		for _, header := range []string{"Region", "Region", "Zone"} {
			wanted.Store(header)
			if m := c.Tool(d.Prefix+"t", `{"r":"é"}`).Final(); m.Kind != wire.Result {
				t.Errorf("%s: %s", header, m.Raw)
			}
		}
	})
}
