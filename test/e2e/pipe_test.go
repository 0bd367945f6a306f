package e2e

import (
	"strings"
	"testing"

	"github.com/answerback/answerback/internal/wire"
	"github.com/answerback/answerback/test/rig"
)

const pipeHello = `{"jsonrpc":"2.0","id":"hello","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":` + rig.AllCaps + `,"clientInfo":{"name":"rig","version":"1"}}}`

// pipe starts `answerback stdio` before one or two backends, and opens a
// legacy session.
func pipe(t *testing.T, joined bool, scripts map[string]rig.Script) (p *rig.Pipe, b *rig.Backend, prefix string) {
	t.Helper()
	b = rig.NewBackend(t, scripts)
	config := "backends:\n  one: { url: " + b.URL + " }\n"
	if joined {
		config += "  two: { command: " + rig.StdioPeer(t) + " }\n"
		prefix = "one__"
	}
	p = rig.StartStdio(t, config)
	p.Send(pipeHello)
	welcome := p.Next()
	if welcome.Kind != wire.Result || string(welcome.Field(welcome.ID)) != `"hello"` {
		t.Fatalf("initialize was answered with %s", welcome.Raw)
	}
	equal(t, "the version", member(welcome, welcome.Result, "protocolVersion"), `"2025-11-25"`)
	p.Send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return p, b, prefix
}

// pipes runs a test in front of one backend, and of two.
func pipes(t *testing.T, scripts map[string]rig.Script, test func(t *testing.T, p *rig.Pipe, b *rig.Backend, prefix string)) {
	t.Helper()
	for name, joined := range map[string]bool{"solo": false, "joined": true} {
		t.Run(name, func(t *testing.T) {
			p, b, prefix := pipe(t, joined, scripts)
			test(t, p, b, prefix)
		})
	}
}

// TestPipeCarriesCallsAndQuestions: a client that starts the gateway itself
// calls, is asked every kind of question, and answers, all byte for byte.
func TestPipeCarriesCallsAndQuestions(t *testing.T) {
	t.Parallel()
	scripts := map[string]rig.Script{
		"tools/call echo": echo,
		"tools/call lines": func(c *rig.Call) {
			c.Result("{\n  \"pretty\": [\r\n 1.10 ] }")
		},
	}
	for _, k := range kinds {
		scripts["tools/call "+k.name] = func(c *rig.Call) {
			a := c.Ask(c.ID(), k.method, k.params)
			c.Result(string(a.Field(a.Result)))
		}
	}
	pipes(t, scripts, func(t *testing.T, p *rig.Pipe, _ *rig.Backend, prefix string) {
		p.Send(`{"jsonrpc":"2.0","id":12345678901234567890,"method":"tools/call","params":{"name":"` + prefix + `echo","arguments":` + treacherousLine + `}}`)
		r := p.Next()
		equal(t, "the id", string(r.Field(r.ID)), "12345678901234567890")
		equal(t, "the result", string(r.Field(r.Result)), `{"echo":`+treacherousLine+`}`)

		for _, k := range kinds {
			p.Send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + prefix + k.name + `","arguments":{}}}`)
			q := p.Next()
			equal(t, "the question", q.Method()+string(q.Field(q.Params)), k.method+k.params)
			p.Send(`{"jsonrpc":"2.0","id":` + string(q.Field(q.ID)) + `,"result":` + k.answer + `}`)
			r := p.Next()
			equal(t, "the result with the answer", string(r.Field(r.Result)), k.answer)
		}

		// A message is one line here, whatever the backend thought of.
		p.Send(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"` + prefix + `lines","arguments":{}}}`)
		r = p.Next()
		equal(t, "a result of several lines", strings.Join(strings.Fields(string(r.Field(r.Result))), ""), `{"pretty":[1.10]}`)

		p.Send(`{"jsonrpc":"2.0","id":`)
		r = p.Next()
		equal(t, "the code for what cannot be read", member(r, r.Error, "code"), "-32700")

		if left, err := p.Close(); err != nil || len(left) > 0 {
			t.Errorf("the end of the input: %v, and %d messages nobody asked for", err, len(left))
		}
	})
}

// TestPipeTakesWhatBelongsToNoCall: notifications and questions outside any
// call come without being asked for: here the client always listens.
func TestPipeTakesWhatBelongsToNoCall(t *testing.T) {
	t.Parallel()
	pipes(t, map[string]rig.Script{"tools/call echo": echo}, func(t *testing.T, p *rig.Pipe, b *rig.Backend, prefix string) {
		p.Send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + prefix + `echo","arguments":{}}}`)
		p.Next()
		b.Push(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1.10}}`)
		n := p.Next()
		equal(t, "the notification", n.Method()+string(n.Field(n.Params)), `notifications/message{"level":"info","data":1.10}`)
		b.Push(`{"jsonrpc":"2.0","id":"own","method":"roots/list"}`)
		q := p.Next()
		equal(t, "the question", q.Method(), "roots/list")
		p.Send(`{"jsonrpc":"2.0","id":` + string(q.Field(q.ID)) + `,"result":{"roots":[]}}`)
		var answers []rig.Received
		rig.Eventually(t, func() bool {
			answers = b.Received(func(r rig.Received) bool { return string(r.Msg.Field(r.Msg.ID)) == `"own"` })
			return len(answers) > 0
		}, "the answer did not reach the backend")
		equal(t, "the answer", string(answers[0].Msg.Field(answers[0].Msg.Result)), `{"roots":[]}`)
	})
}

// TestPipeCancel: a cancelled call is cancelled at the backend and gets no
// response; its question is withdrawn.
func TestPipeCancel(t *testing.T) {
	t.Parallel()
	answered := make(chan wire.Message, 1)
	pipes(t, map[string]rig.Script{
		"tools/call echo": echo,
		"tools/call ask": func(c *rig.Call) {
			answered <- c.Ask(c.ID(), "elicitation/create", formParams)
			<-c.Context.Done()
		},
	}, func(t *testing.T, p *rig.Pipe, b *rig.Backend, prefix string) {
		p.Send(`{"jsonrpc":"2.0","id":"c","method":"tools/call","params":{"name":"` + prefix + `ask","arguments":{}}}`)
		q := p.Next()
		p.Send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"c","reason":"enough"}}`)
		w := p.Next()
		equal(t, "the withdrawal", w.Method()+string(w.Field(w.RequestID)), "notifications/cancelled"+string(q.Field(q.ID)))
		wantError(t, "the backend's question", <-answered, "-32000", "client_cancelled")
		b.Await("notifications/cancelled")
		p.Send(`{"jsonrpc":"2.0","id":"after","method":"tools/call","params":{"name":"` + prefix + `echo","arguments":{}}}`)
		r := p.Next()
		equal(t, "the next response", string(r.Field(r.ID)), `"after"`)
	})
}

// TestPipeEndsWithItsInput: the end of the input ends the gateway with
// success also in the middle of a call, whose question ends with an error
// that says why.
func TestPipeEndsWithItsInput(t *testing.T) {
	t.Parallel()
	pipes(t, map[string]rig.Script{"tools/call ask": func(c *rig.Call) {
		c.Send(`{"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":` + formParams + `}`)
		<-c.Context.Done()
	}}, func(t *testing.T, p *rig.Pipe, b *rig.Backend, prefix string) {
		p.Send(`{"jsonrpc":"2.0","id":"c","method":"tools/call","params":{"name":"` + prefix + `ask","arguments":{}}}`)
		p.Next()
		if _, err := p.Close(); err != nil {
			t.Errorf("it ended with %v", err)
		}
		answers := b.Received(func(r rig.Received) bool { return string(r.Msg.Field(r.Msg.ID)) == `"q"` })
		if len(answers) != 1 {
			t.Fatalf("the question got %d answers", len(answers))
		}
		wantError(t, "the backend's question", answers[0].Msg, "-32000", "client_gone")
	})
}

// TestPipeModern: modern requests need no session, are cancelled by
// notification, and get their questions in results.
func TestPipeModern(t *testing.T) {
	t.Parallel()
	gone := make(chan struct{}, 1)
	b := rig.NewBackend(t, map[string]rig.Script{
		"tools/call echo": func(c *rig.Call) { c.Result(`{"resultType":"complete","echo":1.10}`) },
		"tools/call ask": func(c *rig.Call) {
			c.Result(`{"resultType":"input_required","inputRequests":{"k":{"method":"elicitation/create","params":` + formParams + `}},"requestState":"s<&>"}`)
		},
		"tools/call slow": func(c *rig.Call) {
			c.Send(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":` + string(c.Msg.Field(c.Msg.MetaToken)) + `,"progress":1}}`)
			<-c.Context.Done()
			gone <- struct{}{}
		},
	})
	p := rig.StartStdio(t, "backends:\n  one: { url: "+b.URL+" }\n  two: { command: "+rig.StdioPeer(t)+" }\n")
	modern := func(id, more string) string {
		return `{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{` + more + `,"_meta":{"progressToken":"t","io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"rig","version":"1"},"io.modelcontextprotocol/clientCapabilities":{"elicitation":{"form":{}}}}}}`
	}
	p.Send(modern(`"a"`, `"name":"one__echo","arguments":{}`))
	r := p.Next()
	equal(t, "the response", string(r.Raw), `{"jsonrpc":"2.0","id":"a","result":{"resultType":"complete","echo":1.10}}`)
	p.Send(modern(`"b"`, `"name":"two__modern","arguments":{"n":1.10}`))
	r = p.Next()
	equal(t, "the result of a process", string(r.Field(r.Result)), `{"resultType":"complete","echo":{"n":1.10}}`)

	p.Send(modern(`"c"`, `"name":"one__ask","arguments":{}`))
	r = p.Next()
	equal(t, "the result type", r.Text(r.ResultType), "input_required")
	state := string(r.Field(r.ResultState))
	if state == "" || strings.Contains(state, "s<&>") {
		t.Errorf("the state is not sealed: %s", r.Raw)
	}
	p.Send(modern(`"d"`, `"name":"one__ask","arguments":{},"requestState":`+state+`,"inputResponses":{"k":{"action":"decline"}}`))
	p.Next()
	calls := b.Received(func(r rig.Received) bool { return r.Msg.Method() == "tools/call" })
	last := calls[len(calls)-1].Msg
	equal(t, "the state at the backend", string(last.Field(last.RequestState)), `"s<&>"`)
	equal(t, "the answers at the backend", string(last.Field(last.InputResponses)), `{"k":{"action":"decline"}}`)

	p.Send(modern(`"e"`, `"name":"one__slow","arguments":{}`))
	n := p.Next()
	equal(t, "the progress", string(n.Field(n.Params)), `{"progressToken":"t","progress":1}`)
	p.Send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"e"}}`)
	<-gone
	p.Send(modern(`"f"`, `"name":"one__echo","arguments":{}`))
	r = p.Next()
	equal(t, "the next response", string(r.Field(r.ID)), `"f"`)
}
