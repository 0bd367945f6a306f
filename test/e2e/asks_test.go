package e2e

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/answerback/answerback/internal/wire"
	"github.com/answerback/answerback/test/rig"
)

// kinds are the three questions with parameters that only a gateway which
// passes bytes can pass: large and exact numbers, unknown fields, odd spacing.
var kinds = []struct{ name, method, params, answer string }{
	{"form", "elicitation/create",
		`{"message":"who? <&>", "requestedSchema":{"type":"object","properties":{"n":{"type":"integer","maximum":12345678901234567890}}},"vendor":{"x":1.10}}`,
		`{"action":"accept","content":{"n":12345678901234567890},  "extra":[1.10,"<&>"]}`},
	{"url", "elicitation/create",
		`{"mode":"url","message":"connect","url":"https://example.com/a?b=<&>","elicitationId":"e-1","x":1e2}`,
		`{"action":"accept"}`},
	{"sampling", "sampling/createMessage",
		`{"messages":[{"role":"user","content":{"type":"text","text":"capital?"}}],"maxTokens":100,"temperature":0.70,"modelPreferences":{"hints":[{"name":"m"}],"costPriority":1.0},"tools":[{"name":"t","inputSchema":{"type":"object"}}],"metadata":{"k":12345678901234567890}}`,
		`{"role":"assistant","model":"m-1","stopReason":"endTurn","content":{"type":"text","text":"Paris"},"partial":true,"n":1.10}`},
	{"roots", "roots/list", `{"_meta":{"vendor/x":1.10}}`, `{"roots":[{"uri":"file:///p","name":"p","x":1.10}]}`},
}

// TestQuestionsAreCarried: a question reaches the client whose call caused it
// with every byte of its parameters, and the answer goes back on the question
// that asked, with every byte of the result.
func TestQuestionsAreCarried(t *testing.T) {
	t.Parallel()
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			b := rig.NewBackend(t, map[string]rig.Script{"tools/call ask": func(c *rig.Call) {
				answer := c.Ask(`"q<1>"`, k.method, k.params)
				equal(t, "the answer's id at the backend", string(answer.Field(answer.ID)), `"q<1>"`)
				equal(t, "the answer at the backend", string(answer.Field(answer.Result)), k.answer)
				c.Result(`{"content":[]}`)
			}})
			doors(t, b, "", func(t *testing.T, d door, _ *rig.Gateway) {
				c := rig.Dial(t, d.URL, rig.AllCaps)
				s := c.Tool(d.Prefix+"ask", "{}")
				q := s.Next()
				equal(t, "the method at the client", q.Method(), k.method)
				equal(t, "the params at the client", string(q.Field(q.Params)), k.params)
				c.Answer(q, k.answer)
				s.Final()
			})
		})
	}
}

// TestActionsStayThree: accept, decline and cancel reach the backend as they
// are (A9, E7).
func TestActionsStayThree(t *testing.T) {
	t.Parallel()
	got := make(chan string, 3)
	b := rig.NewBackend(t, map[string]rig.Script{"tools/call ask": func(c *rig.Call) {
		a := c.Ask(c.ID(), "elicitation/create", formParams)
		got <- string(a.Field(a.Result))
		c.Result("{}")
	}})
	doors(t, b, "", func(t *testing.T, d door, _ *rig.Gateway) {
		c := rig.Dial(t, d.URL, rig.AllCaps)
		for _, answer := range []string{`{"action":"accept","content":{}}`, `{"action":"decline"}`, `{"action":"cancel"}`} {
			s := c.Tool(d.Prefix+"ask", "{}")
			c.Answer(s.Next(), answer)
			equal(t, "the answer", <-got, answer)
			s.Final()
		}
	})
}

const formParams = `{"message":"m","requestedSchema":{"type":"object","properties":{}}}`

// TestClientErrorReachesBackend: a client may refuse a question with an error
// of its own, which the backend gets as it is (S4).
func TestClientErrorReachesBackend(t *testing.T) {
	t.Parallel()
	got := make(chan string, 1)
	b := rig.NewBackend(t, map[string]rig.Script{"tools/call ask": func(c *rig.Call) {
		a := c.Ask(c.ID(), "sampling/createMessage", `{"messages":[],"maxTokens":1}`)
		got <- string(a.Field(a.Error))
		c.Result("{}")
	}})
	doors(t, b, "", func(t *testing.T, d door, _ *rig.Gateway) {
		c := rig.Dial(t, d.URL, rig.AllCaps)
		s := c.Tool(d.Prefix+"ask", "{}")
		q := s.Next()
		c.Send(`{"jsonrpc":"2.0","id":` + string(q.Field(q.ID)) + `,"error":{"code":-1,"message":"user rejected","data":{"n":1.10}}}`)
		equal(t, "the error", <-got, `{"code":-1,"message":"user rejected","data":{"n":1.10}}`)
		s.Final()
	})
}

// TestBackendWithdraws: a backend that cancels its own question has it
// withdrawn at the client; an answer that comes later is dropped (E6, S6).
func TestBackendWithdraws(t *testing.T) {
	t.Parallel()
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			late := make(chan struct{})
			b := rig.NewBackend(t, map[string]rig.Script{"tools/call ask": func(c *rig.Call) {
				id := c.ID()
				answer := c.Expect(id)
				c.Send(`{"jsonrpc":"2.0","id":` + id + `,"method":"` + k.method + `","params":` + k.params + `}`)
				c.Send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":` + id + `,"reason":"changed my mind"}}`)
				<-late
				select {
				case m := <-answer:
					t.Errorf("a late answer reached the backend: %s", m.Raw)
				default:
				}
				c.Result("{}")
			}})
			doors(t, b, "", func(t *testing.T, d door, g *rig.Gateway) {
				c := rig.Dial(t, d.URL, rig.AllCaps)
				s := c.Tool(d.Prefix+"ask", "{}")
				q, w := s.Next(), s.Next()
				equal(t, "the withdrawal", w.Method(), "notifications/cancelled")
				equal(t, "what is withdrawn", string(w.Field(w.RequestID)), string(q.Field(q.ID)))
				c.Answer(q, k.answer)
				g.WaitLog(t, "too_late")
				late <- struct{}{}
				s.Final()
			})
		})
	}
}

// TestClientCancelsCall: the backend hears the end of its question, then the
// cancel of the call, with its own ids (E7).
func TestClientCancelsCall(t *testing.T) {
	t.Parallel()
	asked := make(chan string, 1)
	answered := make(chan wire.Message, 1)
	b := rig.NewBackend(t, map[string]rig.Script{"tools/call ask": func(c *rig.Call) {
		asked <- string(c.Msg.Field(c.Msg.ID))
		answered <- c.Ask(c.ID(), "elicitation/create", formParams)
		<-c.Context.Done()
	}})
	doors(t, b, "", func(t *testing.T, d door, _ *rig.Gateway) {
		c := rig.Dial(t, d.URL, rig.AllCaps)
		s := c.Start(`{"jsonrpc":"2.0","id":"call-1","method":"tools/call","params":{"name":"` + d.Prefix + `ask","arguments":{}}}`)
		q := s.Next()
		upstream := <-asked
		c.Send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"call-1","reason":"enough"}}`)
		w := s.Next()
		equal(t, "the withdrawal", string(w.Field(w.RequestID)), string(q.Field(q.ID)))
		wantError(t, "the backend's question", <-answered, "-32000", "client_cancelled")
		last := b.Await("notifications/cancelled")
		equal(t, "the call that is cancelled", string(last.Msg.Field(last.Msg.RequestID)), upstream)
		equal(t, "the reason", member(last.Msg, last.Msg.Params, "reason"), `"enough"`)
		s.Ended()
	})
}

// TestAskTimeout: a question past its time gives the backend an error and is
// withdrawn at the client (E8, S7).
func TestAskTimeout(t *testing.T) {
	t.Parallel()
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			b := rig.NewBackend(t, map[string]rig.Script{"tools/call ask": func(c *rig.Call) {
				wantError(t, "the answer", c.Ask(c.ID(), k.method, k.params), "-32000", "timeout")
				c.Result("{}")
			}})
			doors(t, b, "asks: { timeout: 1s, sampling_timeout: 1s }\n", func(t *testing.T, d door, _ *rig.Gateway) {
				c := rig.Dial(t, d.URL, rig.AllCaps)
				s := c.Tool(d.Prefix+"ask", "{}")
				q, w := s.Next(), s.Next()
				equal(t, "the withdrawal", w.Method()+string(w.Field(w.RequestID)), "notifications/cancelled"+string(q.Field(q.ID)))
				s.Final()
			})
		})
	}
}

// TestEachAnswerFindsItsQuestion: many questions at once from two backends,
// answered in another order (E9).
func TestEachAnswerFindsItsQuestion(t *testing.T) {
	t.Parallel()
	script := map[string]rig.Script{"tools/call ask": func(c *rig.Call) {
		n := member(*c.Msg, c.Msg.Arguments, "n")
		a := c.Ask(`"q`+n+`"`, "elicitation/create", `{"message":"`+n+`","requestedSchema":{"type":"object","properties":{}}}`)
		c.Result(`{"n":` + n + `,"got":` + member(a, a.Result, "content") + `}`)
	}}
	one, two := rig.NewBackend(t, script), rig.NewBackend(t, script)
	g := rig.Start(t, "backends:\n  one: { url: "+one.URL+" }\n  two: { url: "+two.URL+" }\n")
	clients := []*rig.Client{rig.Dial(t, g.URL, rig.AllCaps), rig.Dial(t, g.URL, rig.AllCaps)}
	const each = 20
	var wg sync.WaitGroup
	for i, c := range clients {
		for n := range each {
			wg.Go(func() {
				name := []string{"one__ask", "two__ask"}[n%2]
				s := c.Tool(name, fmt.Sprintf(`{"n":%d}`, i*1000+n))
				q := s.Next()
				asked := strings.Trim(member(q, q.Params, "message"), `"`)
				c.Answer(q, `{"action":"accept","content":{"for":`+asked+`}}`)
				want := fmt.Sprintf(`{"n":%d,"got":{"for":%d}}`, i*1000+n, i*1000+n)
				r := s.Final()
				equal(t, "the result", string(r.Field(r.Result)), want)
			})
		}
	}
	wg.Wait()
}

// TestRequestInputAlias: the misprinted method is carried as the real one;
// what it lacks is added, what it has is kept (E10).
func TestRequestInputAlias(t *testing.T) {
	t.Parallel()
	b := rig.NewBackend(t, map[string]rig.Script{"tools/call ask": func(c *rig.Call) {
		a := c.Ask(c.ID(), "elicitation/requestInput", `{"prompt":"Name?","title":"T","action":"a","kind":"k","data":{"n":1.10}}`)
		equal(t, "the answer", string(a.Field(a.Result)), `{"action":"accept","content":{}}`)
		c.Result("{}")
	}})
	doors(t, b, "", func(t *testing.T, d door, _ *rig.Gateway) {
		c := rig.Dial(t, d.URL, rig.AllCaps)
		s := c.Tool(d.Prefix+"ask", "{}")
		q := s.Next()
		equal(t, "the method", q.Method(), "elicitation/create")
		for key, want := range map[string]string{"prompt": `"Name?"`, "title": `"T"`, "action": `"a"`, "kind": `"k"`, "data": `{"n":1.10}`, "message": `"Name?"`} {
			equal(t, key, member(q, q.Params, key), want)
		}
		schema := wire.Get(q.Raw, q.Params, "requestedSchema")
		equal(t, "the schema's type", member(q, schema, "type"), `"object"`)
		c.Answer(q, `{"action":"accept","content":{}}`)
		s.Final()
	})
}

// TestQuestionsInEveryMethod: questions work inside tools/call, prompts/get
// and resources/read (A10).
func TestQuestionsInEveryMethod(t *testing.T) {
	t.Parallel()
	asks := func(c *rig.Call) {
		c.Ask(c.ID(), "elicitation/create", formParams)
		c.Result(`{"ok":true}`)
	}
	b := rig.NewBackend(t, map[string]rig.Script{
		"tools/call": asks, "prompts/get": asks, "resources/read": asks,
		"resources/list":           func(c *rig.Call) { c.Result(`{"resources":[{"uri":"x://r","name":"r"}]}`) },
		"resources/templates/list": func(c *rig.Call) { c.Result(`{"resourceTemplates":[]}`) },
	})
	doors(t, b, "", func(t *testing.T, d door, _ *rig.Gateway) {
		c := rig.Dial(t, d.URL, rig.AllCaps)
		for _, request := range []string{
			`"method":"tools/call","params":{"name":"` + d.Prefix + `p","arguments":{}}`,
			`"method":"prompts/get","params":{"name":"` + d.Prefix + `p"}`,
			`"method":"resources/read","params":{"uri":"x://r"}`,
		} {
			s := c.Start(`{"jsonrpc":"2.0","id":` + c.ID() + `,` + request + `}`)
			c.Answer(s.Next(), `{"action":"accept","content":{}}`)
			r := s.Final()
			equal(t, request, string(r.Field(r.Result)), `{"ok":true}`)
		}
	})
}

// TestQuestionOfNoSingleCall: a question on the backend's own stream while
// two calls are in flight belongs to the session: it goes out on the client's
// own stream.
func TestQuestionOfNoSingleCall(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	started := make(chan struct{}, 2)
	b := rig.NewBackend(t, map[string]rig.Script{"tools/call slow": func(c *rig.Call) {
		started <- struct{}{}
		<-release
		c.Result("{}")
	}})
	doors(t, b, "", func(t *testing.T, d door, _ *rig.Gateway) {
		c := rig.Dial(t, d.URL, rig.AllCaps)
		own := c.Listen("")
		done := make(chan wire.Message, 2)
		var wg sync.WaitGroup
		for range 2 {
			wg.Go(func() { done <- c.Tool(d.Prefix+"slow", "{}").Final() })
			<-started
		}
		b.Push(`{"jsonrpc":"2.0","id":"g1","method":"elicitation/create","params":` + formParams + `}`)
		q := own.Next()
		equal(t, "the method", q.Method(), "elicitation/create")
		c.Answer(q, `{"action":"decline"}`)
		rig.Eventually(t, func() bool {
			return len(b.Received(func(r rig.Received) bool { return string(r.Msg.Field(r.Msg.ID)) == `"g1"` })) > 0
		}, "the answer did not reach the backend")
		release <- struct{}{}
		release <- struct{}{}
		wg.Wait()
		for range 2 {
			if r := <-done; r.Kind != wire.Result {
				t.Errorf("a call failed: %s", r.Raw)
			}
		}
	})
}
