package e2e

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/answerback/answerback/internal/wire"
	"github.com/answerback/answerback/test/rig"
)

// What is here has a modern client before a legacy backend.

func legacyBackend(t *testing.T, scripts map[string]rig.Script) *rig.Backend {
	b := rig.NewBackend(t, scripts)
	b.LegacyOnly = true
	return b
}

// call makes one round of a modern tools/call: more are members of params.
func call(c *rig.Client, name string, more ...string) wire.Message {
	return start(c, name, more...).Final()
}

func start(c *rig.Client, name string, more ...string) *rig.Stream {
	params := append([]string{`"name":"` + name + `"`}, more...)
	return c.Modern(c.ID(), "tools/call", "{"+strings.Join(params, ",")+"}", rig.AllCaps)
}

// inputs checks that a client is asked to come back, and gives its state as a
// member of params, and for each question its key under its method.
func inputs(t *testing.T, m wire.Message) (state string, keys map[string]string) {
	t.Helper()
	if m.Text(m.ResultType) != "input_required" || m.ResultState.IsZero() {
		t.Fatalf("the client was not asked to come back: %s", m.Raw)
	}
	keys = make(map[string]string)
	for q := range wire.Members(m.Raw, m.InputRequests) {
		key, _ := wire.Unquote(q.Key.Of(m.Raw))
		method, _ := wire.Unquote(wire.Get(m.Raw, q.Value, "method").Of(m.Raw))
		keys[method] = key
	}
	return `"requestState":` + string(m.Field(m.ResultState)), keys
}

func answers(pairs ...string) string {
	var b strings.Builder
	for i := 0; i < len(pairs); i += 2 {
		fmt.Fprintf(&b, `,"%s":%s`, pairs[i], pairs[i+1])
	}
	return `"inputResponses":{` + strings.TrimPrefix(b.String(), ",") + `}`
}

func askOf(id, method, params string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"` + method + `","params":` + params + `}`
}

// TestCrossToolRunsOnce: a tool with an effect before its two questions runs
// once, though its client comes back with one answer, then with both, twice
// at the same time; the questions come together, what is missing is asked
// again, and the answers arrive byte for byte.
func TestCrossToolRunsOnce(t *testing.T) {
	t.Parallel()
	var runs atomic.Int32
	b := legacyBackend(t, map[string]rig.Script{"tools/call ask": func(c *rig.Call) {
		runs.Add(1)
		form, roots := c.ID(), c.ID()
		a, r := c.Expect(form), c.Expect(roots)
		c.Send(askOf(form, "elicitation/create", formParams))
		c.Send(askOf(roots, "roots/list", "{}"))
		formed, rooted := c.Take(a), c.Take(r)
		c.Result(`{"form":` + string(formed.Field(formed.Result)) + `,"roots":` + string(rooted.Field(rooted.Result)) + `}`)
	}})
	doors(t, b, "", func(t *testing.T, d door, _ *rig.Gateway) {
		runs.Store(0)
		c := rig.NewClient(t, d.URL)
		state, keys := inputs(t, call(c, d.Prefix+"ask", `"arguments":{"n":1}`))
		// On a busy machine the second question may miss the round of the
		// first; a retry without answers is asked all that is open again.
		for len(keys) < 2 {
			state, keys = inputs(t, call(c, d.Prefix+"ask", `"arguments":{"n":1}`, state))
		}
		form, roots := keys["elicitation/create"], keys["roots/list"]

		second := call(c, d.Prefix+"ask", `"arguments":{"n":1}`, state, answers(form, `{"action":"accept","content":{"x":1.10}}`, "nobody", `{}`))
		replayed := state
		state, keys = inputs(t, second)
		if len(keys) != 1 || keys["roots/list"] != roots {
			t.Fatalf("the second round asks %v, want what is missing", keys)
		}
		wantError(t, "a state used twice", call(c, d.Prefix+"ask", `"arguments":{"n":1}`, replayed), "-32602", "bad_request_state")
		wantError(t, "other arguments", call(c, d.Prefix+"ask", `"arguments":{"n":2}`, state), "-32602", "bad_request_state")

		last := make(chan wire.Message, 2)
		var wg sync.WaitGroup
		for range 2 {
			wg.Go(func() {
				last <- call(c, d.Prefix+"ask", `"arguments":{"n":1.0}`, state, answers(roots, `{"roots":[]}`))
			})
		}
		wg.Wait()
		one, two := <-last, <-last
		if one.Kind != wire.Result {
			one, two = two, one
		}
		equal(t, "the result", string(one.Field(one.Result)), `{"resultType":"complete","form":{"action":"accept","content":{"x":1.10}},"roots":{"roots":[]}}`)
		wantError(t, "the other of two retries at once", two, "-32602", "bad_request_state")
		if n := runs.Load(); n != 1 {
			t.Errorf("the tool ran %d times", n)
		}
		if n := b.Count("notifications/cancelled"); n != 0 {
			t.Errorf("%d calls were cancelled", n)
		}
	})
}

// TestCrossRoundsHaveTheirOwnToken: progress goes out under the token of the
// round under way; of what happens between rounds the client hears the latest
// progress, and log messages only where its round wants them.
func TestCrossRoundsHaveTheirOwnToken(t *testing.T) {
	t.Parallel()
	away := make(chan struct{})
	b := legacyBackend(t, map[string]rig.Script{"tools/call ask": func(c *rig.Call) {
		progress := func(n int) {
			c.Send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":%d}}`, c.Msg.Field(c.Msg.MetaToken), n))
		}
		progress(1)
		form, roots := c.ID(), c.ID()
		a, r := c.Expect(form), c.Expect(roots)
		c.Send(askOf(form, "elicitation/create", formParams))
		<-away
		progress(2)
		c.Send(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"said"}}`)
		progress(3)
		c.Send(askOf(roots, "roots/list", "{}"))
		c.Take(a)
		c.Take(r)
		c.Result("{}")
	}})
	doors(t, b, "", func(t *testing.T, d door, g *rig.Gateway) {
		for i, level := range []string{"", `,"io.modelcontextprotocol/logLevel":"debug"`} {
			c := rig.NewClient(t, d.URL)
			c.Meta = `"progressToken":"first"`
			s := start(c, d.Prefix+"ask")
			p := s.Next()
			equal(t, "the first progress", string(p.Field(p.Params)), `{"progressToken":"first","progress":1}`)
			state, keys := inputs(t, s.Next())
			shown := strings.Count(g.Log(), "kind=roots")
			away <- struct{}{}
			rig.Eventually(t, func() bool { return strings.Count(g.Log(), "kind=roots") > shown }, "the second question did not come")

			c.Meta = `"progressToken":2` + level
			s = start(c, d.Prefix+"ask", state, answers(keys["elicitation/create"], `{"action":"decline"}`))
			if i == 1 {
				n := s.Next()
				equal(t, "the log", n.Method(), "notifications/message")
			}
			p = s.Next()
			equal(t, "the latest progress", string(p.Field(p.Params)), `{"progressToken":2,"progress":3}`)
			state, keys = inputs(t, s.Next())
			c.Meta = ""
			if m := call(c, d.Prefix+"ask", state, answers(keys["roots/list"], `{"roots":[]}`)); m.Kind != wire.Result {
				t.Errorf("the call failed: %s", m.Raw)
			}
		}
	})
}

// TestCrossClientThatNeverReturns: the modern era has no way to refuse, and
// nothing tells that a client gave up. At the limit the backend hears the end
// of its question, then the cancel of the call.
func TestCrossClientThatNeverReturns(t *testing.T) {
	t.Parallel()
	b := legacyBackend(t, map[string]rig.Script{"tools/call ask": func(c *rig.Call) {
		wantError(t, "the question", c.Ask(c.ID(), "sampling/createMessage", `{"messages":[],"maxTokens":1}`), "-32000", "client_gone")
		<-c.Context.Done()
	}})
	g := rig.Start(t, "backends:\n  one: { url: "+b.URL+", away: 1s }\n")
	c := rig.NewClient(t, g.URL+"/one")
	state, _ := inputs(t, call(c, "ask"))
	last := b.Await("notifications/cancelled")
	called := b.Await("tools/call")
	equal(t, "what is cancelled", string(last.Msg.Field(last.Msg.RequestID)), string(called.Msg.Field(called.Msg.ID)))
	var order []string
	for _, r := range b.Received(func(r rig.Received) bool {
		return r.Msg.Kind == wire.Failure || r.Msg.Method() == "notifications/cancelled"
	}) {
		order = append(order, r.Msg.Kind.String())
	}
	equal(t, "the order", strings.Join(order, " "), wire.Failure.String()+" "+wire.Notification.String())
	wantError(t, "a client that returns too late", call(c, "ask", state), "-32602", "bad_request_state")
}

// TestCrossClosedStreamCancels: closing the stream of a round under way is
// how a modern client cancels.
func TestCrossClosedStreamCancels(t *testing.T) {
	t.Parallel()
	b := legacyBackend(t, map[string]rig.Script{"tools/call slow": func(c *rig.Call) {
		c.Send(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":` + string(c.Msg.Field(c.Msg.MetaToken)) + `,"progress":1}}`)
		<-c.Context.Done()
	}})
	g := rig.Start(t, "backends:\n  one: { url: "+b.URL+" }\n")
	c := rig.NewClient(t, g.URL+"/one")
	c.Meta = `"progressToken":1`
	s := start(c, "slow")
	s.Next()
	s.Drop()
	cancel, called := b.Await("notifications/cancelled"), b.Await("tools/call")
	equal(t, "what is cancelled", string(cancel.Msg.Field(cancel.Msg.RequestID)), string(called.Msg.Field(called.Msg.ID)))
}

// TestCrossBackendWithdraws: a question that the backend takes back after it
// was offered does not disturb the retry, and its late answer is dropped.
func TestCrossBackendWithdraws(t *testing.T) {
	t.Parallel()
	away, late := make(chan struct{}), make(chan struct{})
	b := legacyBackend(t, map[string]rig.Script{"tools/call ask": func(c *rig.Call) {
		id := c.ID()
		answer := c.Expect(id)
		c.Send(askOf(id, "elicitation/create", formParams))
		<-away
		c.Send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":` + id + `}}`)
		<-late
		select {
		case m := <-answer:
			t.Errorf("a late answer reached the backend: %s", m.Raw)
		default:
		}
		c.Result(`{"went":"on"}`)
	}})
	doors(t, b, "", func(t *testing.T, d door, g *rig.Gateway) {
		c := rig.NewClient(t, d.URL)
		state, keys := inputs(t, call(c, d.Prefix+"ask"))
		before := strings.Count(g.Log(), "ending=withdrawn")
		away <- struct{}{}
		rig.Eventually(t, func() bool { return strings.Count(g.Log(), "ending=withdrawn") > before }, "the question was not withdrawn")
		go func() { late <- struct{}{} }()
		m := call(c, d.Prefix+"ask", state, answers(keys["elicitation/create"], `{"action":"accept","content":{}}`))
		equal(t, "the result", string(m.Field(m.Result)), `{"resultType":"complete","went":"on"}`)
	})
}

// TestCrossQuestionOfNoCall: the modern era cannot carry a question that
// belongs to no call, so the backend hears that at once; while one call is
// under way on the session, the question is that call's.
func TestCrossQuestionOfNoCall(t *testing.T) {
	t.Parallel()
	running := make(chan struct{})
	b := legacyBackend(t, map[string]rig.Script{
		"tools/call plain": func(c *rig.Call) { c.Result("{}") },
		"tools/call slow": func(c *rig.Call) {
			answer := c.Expect(`"during"`)
			running <- struct{}{}
			a := c.Take(answer)
			c.Result(`{"got":` + string(a.Field(a.Result)) + `}`)
		},
	})
	g := rig.Start(t, "backends:\n  one: { url: "+b.URL+" }\n")
	c := rig.NewClient(t, g.URL+"/one")
	call(c, "plain")
	b.Push(askOf(`"outside"`, "roots/list", "{}"))
	var refused rig.Received
	rig.Eventually(t, func() bool {
		got := b.Received(func(r rig.Received) bool { return string(r.Msg.Field(r.Msg.ID)) == `"outside"` })
		if len(got) > 0 {
			refused = got[0]
		}
		return len(got) > 0
	}, "the question was not answered")
	wantError(t, "the question", refused.Msg, "-32000", "no_client")

	done := make(chan wire.Message)
	go func() { done <- call(c, "slow") }()
	<-running
	b.Push(askOf(`"during"`, "elicitation/create", formParams))
	state, keys := inputs(t, <-done)
	m := call(c, "slow", state, answers(keys["elicitation/create"], `{"action":"cancel"}`))
	equal(t, "the result", string(m.Field(m.Result)), `{"resultType":"complete","got":{"action":"cancel"}}`)
}

// TestCrossEnvelope: towards a legacy backend a request loses what only the
// modern era has and keeps the rest; what comes back gets what that era
// demands, with the HTTP status that it names.
func TestCrossEnvelope(t *testing.T) {
	t.Parallel()
	b := legacyBackend(t, map[string]rig.Script{
		"tools/call t":   func(c *rig.Call) { c.Result(`{"content":[],"n":1.10}`) },
		"tools/list":     func(c *rig.Call) { c.Result(`{"tools":[]}`) },
		"resources/read": func(c *rig.Call) { c.Error(`{"code":-32002,"message":"none"}`) },
		"vendor/thing":   func(c *rig.Call) { c.Error(`{"code":-32601,"message":"no"}`) },
	})
	g := rig.Start(t, "backends:\n  one: { url: "+b.URL+" }\n")
	c := rig.NewClient(t, g.URL+"/one")
	c.Meta = `"traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01","vendor/x":1.10,"io.modelcontextprotocol/logLevel":"info"`
	m := call(c, "t", `"arguments":{"n":1.10}`)
	equal(t, "the result", string(m.Field(m.Result)), `{"resultType":"complete","content":[],"n":1.10}`)
	at := b.Await("tools/call")
	equal(t, "the request's params", string(at.Msg.Field(at.Msg.Params)),
		`{"_meta":{"traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01","vendor/x":1.10},"name":"t","arguments":{"n":1.10}}`)

	for _, tt := range []struct {
		method, params, want string
		status               int
	}{
		{"tools/list", "{}", `{"resultType":"complete","ttlMs":0,"cacheScope":"private","tools":[]}`, 200},
		{"resources/read", `{"uri":"x://r"}`, `{"code":-32602,"message":"none"}`, 200},
		{"vendor/thing", "{}", `{"code":-32601,"message":"no"}`, 404},
		{"ping", "{}", "", 404},
		{"logging/setLevel", `{"level":"info"}`, "", 404},
		{"resources/subscribe", `{"uri":"x://r"}`, "", 404},
	} {
		s := c.Modern(c.ID(), tt.method, tt.params, rig.AllCaps)
		m := s.Final()
		if s.Status != tt.status || s.SSE {
			t.Errorf("%s: status %d, events %v: %s", tt.method, s.Status, s.SSE, m.Raw)
		}
		if got := string(m.Field(m.Result)) + string(m.Field(m.Error)); tt.want != "" && got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.method, got, tt.want)
		}
	}

	discovered := c.Modern(c.ID(), "server/discover", "{}", rig.AllCaps).Final()
	equal(t, "the capabilities", member(discovered, discovered.Result, "capabilities"), b.Capabilities)
	equal(t, "the versions", member(discovered, discovered.Result, "supportedVersions"), `["2026-07-28","2025-11-25","2025-06-18","2025-03-26","2024-11-05"]`)
	equal(t, "the server's name", member(discovered, discovered.ResultMeta, "io.modelcontextprotocol/serverInfo"), `{"name":"rig","version":"1"}`)
}

// TestCrossSubscription: a modern subscription at a legacy backend is
// acknowledged first, for what the backend can tell and has, and everything on
// it carries the client's own id.
func TestCrossSubscription(t *testing.T) {
	t.Parallel()
	b := legacyBackend(t, map[string]rig.Script{"resources/subscribe": func(c *rig.Call) {
		if strings.Contains(string(c.Msg.Raw), "none") {
			c.Error(`{"code":-32002,"message":"none"}`)
			return
		}
		c.Result("{}")
	}})
	g := rig.Start(t, "backends:\n  one: { url: "+b.URL+" }\n")
	s := rig.NewClient(t, g.URL+"/one").Modern(`"sub\u00e9"`, "subscriptions/listen",
		`{"notifications":{"toolsListChanged":true,"promptsListChanged":true,"resourceSubscriptions":["x://r","x://none"]}}`, "{}")
	own := `{"io.modelcontextprotocol/subscriptionId":"sub\u00e9"}`
	ack := s.Next()
	equal(t, "the first message", ack.Method(), "notifications/subscriptions/acknowledged")
	equal(t, "its params", string(ack.Field(ack.Params)), `{"_meta":`+own+`,"notifications":{"toolsListChanged":true,"resourceSubscriptions":["x://r"]}}`)
	b.Push(`{"jsonrpc":"2.0","method":"notifications/prompts/list_changed"}`)
	b.Push(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
	n := s.Next()
	equal(t, "the change", n.Method()+string(n.Field(n.Params)), `notifications/tools/list_changed{"_meta":`+own+`}`)
	b.Push(`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"x://r","n":1.10}}`)
	n = s.Next()
	equal(t, "the update", member(n, n.Params, "uri")+string(n.Field(n.Meta)), `"x://r"`+own)
}

// TestCrossProcesses: while a call of a modern client is under way at a
// process of the legacy era, no other call reaches that process: its
// questions could not be told apart.
func TestCrossProcesses(t *testing.T) {
	t.Parallel()
	stdioDoors(t, "", "", func(t *testing.T, d door, _ *rig.Gateway) {
		c := rig.NewClient(t, d.URL)
		process := func() string {
			m := call(c, d.Prefix+"pid", `"arguments":{}`)
			return member(m, m.Result, "pid")
		}
		first := process()
		if again := process(); first == "" || again != first {
			t.Errorf("calls one after the other have the processes %s and %s", first, again)
		}
		ask := `"arguments":{"method":"elicitation/create","params":` + formParams + `}`
		state, keys := inputs(t, call(c, d.Prefix+"ask", ask))
		if second := process(); second == first {
			t.Errorf("two calls at once share the process %s", first)
		}
		m := call(c, d.Prefix+"ask", ask, state, answers(keys["elicitation/create"], `{"action":"decline"}`))
		equal(t, "the result", member(m, m.Result, "action"), `"decline"`)
	})
}
