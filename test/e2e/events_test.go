package e2e

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/answerback/answerback/test/rig"
)

const (
	frontForm = `{"message":"Your name?","requestedSchema":{"type":"object","properties":{"name":{"type":"string","minLength":2},"n":{"type":"integer"}},"required":["name"]}}`
	visitPage = `{"mode":"url","message":"Connect your account","url":"https://example.com/connect?x=<&>","elicitationId":"e-1"}`
)

// newFrontBackend is a server whose tools ask what chat front ends are asked.
func newFrontBackend(t *testing.T) *rig.Backend {
	answer := func(c *rig.Call, params string) string {
		a := c.Ask(c.ID(), "elicitation/create", params)
		if len(a.Field(a.Result)) == 0 {
			return string(a.Field(a.Error))
		}
		return string(a.Field(a.Result))
	}
	text := func(s string) string { return `{"content":[{"type":"text","text":` + fmt.Sprintf("%q", s) + `}]}` }
	return rig.NewBackend(t, map[string]rig.Script{
		"tools/call echo": func(c *rig.Call) {
			token := string(c.Msg.Field(c.Msg.MetaToken))
			c.Send(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":` + token + `,"progress":1,"total":2,"message":"half"}}`)
			c.Send(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","logger":"l","data":{"k":1.10}}}`)
			c.Result(`{"content":[{"type":"text","text":"echo"}],"structuredContent":` + string(c.Msg.Field(c.Msg.Arguments)) + `}`)
		},
		"tools/call form": func(c *rig.Call) { c.Result(text(answer(c, frontForm))) },
		"tools/call url":  func(c *rig.Call) { c.Result(text(answer(c, visitPage))) },
		"tools/call twice": func(c *rig.Call) {
			first := answer(c, frontForm)
			c.Result(text(first + " " + answer(c, visitPage)))
		},
		"tools/call sample": func(c *rig.Call) {
			a := c.Ask(c.ID(), "sampling/createMessage", `{"messages":[{"role":"user","content":{"type":"text","text":"capital?"}}],"maxTokens":10}`)
			c.Result(text(string(a.Field(a.Result)) + string(a.Field(a.Error))))
		},
		"tools/call needs": func(c *rig.Call) {
			c.Error(`{"code":-32042,"message":"connect first","data":{"elicitations":[` + visitPage + `]}}`)
		},
		"tools/call fail": func(c *rig.Call) {
			answer(c, frontForm)
			c.Result(`{"content":[{"type":"text","text":"I could not ask."}],"isError":true}`)
		},
		"tools/call wait": func(c *rig.Call) {
			c.Send(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"waiting"}}`)
			<-c.Context.Done()
		},
	})
}

// newFront makes a front end that holds every event to the published schema.
func newFront(t *testing.T, g *rig.Gateway, headers ...string) *rig.Front {
	f := rig.NewFront(t, g, headers...)
	f.Check = func(raw []byte) error { return fitsSchema(t, raw) }
	return f
}

const canAsk = "X-Supports-Elicitation"

func toolCall(tool string) string {
	return `{"name":"` + tool + `","arguments":{"big":12345678901234567890}}`
}

func wantTypes(t *testing.T, f *rig.Feed, want ...string) {
	t.Helper()
	if got := f.Rest(); !slices.Equal(got, want) {
		t.Errorf("the events are %v, want %v: %s", got, want, f.Raw)
	}
}

func resultText(t *testing.T, e rig.Event) string {
	t.Helper()
	content, _ := e.Path("result", "content").([]any)
	var texts []string
	for _, c := range content {
		block, _ := c.(map[string]any)
		texts = append(texts, fmt.Sprint(block["text"]))
	}
	return strings.Join(texts, "\n")
}

// TestEventsOfACall: progress, log messages and the result of a call come as
// events, numbers to the digit, at a backend and at the joined catalog (C3).
func TestEventsOfACall(t *testing.T) {
	t.Parallel()
	b := newFrontBackend(t)
	doors(t, b, "", func(t *testing.T, d door, g *rig.Gateway) {
		f := newFront(t, g)
		path := "/one/call"
		if d.Prefix != "" {
			path = "/call"
		}
		s := f.Open(http.MethodPost, path, toolCall(d.Prefix+"echo"))
		wantTypes(t, s, "call-started", "progress", "log", "tool-result")
		equal(t, "progress", s.Raw[1], `{"type":"progress","progress":1,"total":2,"message":"half"}`)
		equal(t, "log", s.Raw[2], `{"type":"log","level":"info","logger":"l","data":{"k":1.10}}`)
		equal(t, "result", s.Raw[3], `{"type":"tool-result","result":{"content":[{"type":"text","text":"echo"}],"structuredContent":{"big":12345678901234567890}}}`)
	})
}

// TestEventsAsk: a form and a visit are asked as events with who asks and until
// when, the person's three actions reach the server as they are, and what
// settles a question is told before the result (C3).
func TestEventsAsk(t *testing.T) {
	t.Parallel()
	b := newFrontBackend(t)
	g := rig.Start(t, "backends:\n  one: { url: "+b.URL+" }\n")
	f := newFront(t, g, canAsk, "true")
	for _, c := range []struct{ name, tool, mode, answer, want string }{
		{"form", "form", "form", `"action":"accept","content":{"name":"Ann","n":"7"}`, `{"action":"accept","content":{"name":"Ann","n":7}}`},
		{"decline", "form", "form", `"action":"decline"`, `{"action":"decline"}`},
		{"cancel", "form", "form", `"action":"cancel"`, `{"action":"cancel"}`},
		{"url", "url", "url", `"action":"accept"`, `{"action":"accept"}`},
		{"url declined", "url", "url", `"action":"decline"`, `{"action":"decline"}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := f.Call("one", toolCall(c.tool))
			q := s.Until("elicitation-request")
			id := q["id"].(string)
			if q["mode"] != c.mode || q["backend"] != "one" || q["tool"] != c.tool || q["message"] == "" || q["deadline"].(float64) < float64(time.Now().UnixMilli()) {
				t.Errorf("the question is %v", q)
			}
			if c.mode == "url" && q["url"] != "https://example.com/connect?x=<&>" || c.mode == "form" && q.Path("requestedSchema", "properties", "name") == nil {
				t.Errorf("the question is %v", q)
			}
			status, text := f.Say("POST", "/calls/"+s.ID+"/respond", `{"type":"elicitation-response","id":"`+id+`",`+c.answer+`}`)
			if status != 200 || text != `{"status":"taken"}` {
				t.Fatalf("the answer got %d %s", status, text)
			}
			done := s.Until("elicitation-settled")
			if done["id"] != id || done["outcome"] != "answered" || !strings.Contains(c.answer, fmt.Sprint(done["action"])) {
				t.Errorf("it was settled as %v", done)
			}
			equal(t, "the answer at the server", resultText(t, s.Until("tool-result")), c.want)
			if status, _ := f.Say("POST", "/calls/"+s.ID+"/respond", `{"id":"`+id+`","action":"decline"}`); status != http.StatusConflict {
				t.Errorf("a second answer got %d", status)
			}
		})
	}
}

// TestEventsTwoRounds: a call may ask again after an answer.
func TestEventsTwoRounds(t *testing.T) {
	t.Parallel()
	b := newFrontBackend(t)
	g := rig.Start(t, "backends:\n  one: { url: "+b.URL+" }\n")
	f := newFront(t, g, canAsk, "true")
	s := f.Call("one", toolCall("twice"))
	for _, answer := range []string{`"action":"accept","content":{"name":"Ann"}`, `"action":"accept"`} {
		id := s.Until("elicitation-request")["id"].(string)
		if status, text := f.Say("POST", "/calls/"+s.ID+"/respond", `{"id":"`+id+`",`+answer+`}`); status != 200 {
			t.Fatalf("%d %s", status, text)
		}
	}
	equal(t, "both answers", resultText(t, s.Until("tool-result")), `{"action":"accept","content":{"name":"Ann"}} {"action":"accept"}`)
	// That the first was settled may be told after the second was asked.
	types := s.Rest()
	slices.Sort(types)
	equal(t, "the events", fmt.Sprint(types), "[call-started elicitation-request elicitation-request elicitation-settled elicitation-settled tool-result]")
}

// TestEventsWrongAnswer: an answer that does not fit comes back with what is
// wrong, and the question stays open for another try.
func TestEventsWrongAnswer(t *testing.T) {
	t.Parallel()
	b := newFrontBackend(t)
	g := rig.Start(t, "backends:\n  one: { url: "+b.URL+" }\n")
	f := newFront(t, g, canAsk, "true")
	s := f.Call("one", toolCall("form"))
	id := s.Until("elicitation-request")["id"].(string)
	for _, c := range []struct {
		body string
		want int
		part string
	}{
		{`{"id":"` + id + `","action":"accept","content":{"n":1.5}}`, 422, `"retry":{"allowed":true`},
		{`{"id":"` + id + `","action":"accept"}`, 422, `"code":"invalid_content"`},
		{`{"id":"` + id + `","action":"yes"}`, 400, "accept, decline or cancel"},
		{`{"id":"` + id + `","action":"decline","content":{}}`, 400, "content"},
		{`{"id":"` + id + `","type":"sampling-response","result":{}}`, 400, "elicitation-response"},
		{`{"id":"` + id + `","action":"accept","action":"decline"}`, 400, "twice"},
		{`{"id":"` + id + `","surprise":1}`, 400, "surprise"},
		{`{"id":"nothing","action":"accept"}`, 409, "too_late"},
	} {
		if status, text := f.Say("POST", "/calls/"+s.ID+"/respond", c.body); status != c.want || !strings.Contains(text, c.part) {
			t.Errorf("%s got %d %s, want %d with %s", c.body, status, text, c.want, c.part)
		}
	}
	if status, text := f.Say("POST", "/calls/"+s.ID+"/respond", `{"id":"`+id+`","action":"accept","content":{"name":"Ann"}}`); status != 200 {
		t.Fatalf("the control got %d %s", status, text)
	}
	equal(t, "the answer", resultText(t, s.Until("tool-result")), `{"action":"accept","content":{"name":"Ann"}}`)
}

// TestEventsSampling: a front end that says so is asked for its model's
// answer; one that does not is not.
func TestEventsSampling(t *testing.T) {
	t.Parallel()
	b := newFrontBackend(t)
	g := rig.Start(t, "backends:\n  one: { url: "+b.URL+" }\n")
	f := newFront(t, g, "X-Supports-Sampling", "true")
	s := f.Call("one", toolCall("sample"))
	q := s.Until("sampling-request")
	if q["backend"] != "one" || q.Path("params", "maxTokens") != 10.0 {
		t.Errorf("the question is %v", q)
	}
	const answer = `{"role":"assistant","model":"m","content":{"type":"text","text":"Paris"},"n":1.10}`
	if status, text := f.Say("POST", "/calls/"+s.ID+"/respond", `{"type":"sampling-response","id":"`+q["id"].(string)+`","result":`+answer+`}`); status != 200 {
		t.Fatalf("%d %s", status, text)
	}
	equal(t, "the answer", resultText(t, s.Until("tool-result")), answer)
	wantTypes(t, s, "call-started", "sampling-request", "sampling-settled", "tool-result")

	s = newFront(t, g).Call("one", toolCall("sample"))
	wantTypes(t, s, "call-started", "data-tool-auth-required", "tool-result")
}

// TestEventsWithoutElicitation: a front end that did not say that it can be
// asked is never made to wait: it gets a notice of what is missing, and its
// model an error of the tool that says so and not to call again (C2, C5).
func TestEventsWithoutElicitation(t *testing.T) {
	t.Parallel()
	b := newFrontBackend(t)
	g := guard(t, "", "  one: { url: "+b.URL+" }\n")
	f := newFront(t, g.Gateway, "Authorization", "Bearer "+nobodysKey) // who has no page either
	for tool, want := range map[string]struct {
		mode, url string
		parts     []string
	}{
		"fail":  {"form", "<nil>", []string{"Your name?", "Do not call this tool again", "I could not ask."}},
		"needs": {"url", "https://example.com/connect?x=<&>", []string{"Connect your account", "https://example.com/connect?x=<&>", "Do not call this tool again"}},
	} {
		t.Run(tool, func(t *testing.T) {
			began := time.Now()
			s := f.Call("one", toolCall(tool))
			wantTypes(t, s, "call-started", "data-tool-auth-required", "tool-result")
			if took := time.Since(began); took > 5*time.Second { // a second, on a machine that has nothing else to do
				t.Errorf("it took %v", took)
			}
			notice, result := s.Seen[1], s.Seen[2]
			if notice.Path("data", "mode") != want.mode || fmt.Sprint(notice.Path("data", "url")) != want.url ||
				notice.Path("data", "tool") != tool || notice.Path("data", "callId") != s.ID || notice.Path("data", "backend") != "one" {
				t.Errorf("the notice is %v", notice)
			}
			if result.Path("result", "isError") != true {
				t.Errorf("the result is %v", result)
			}
			for _, part := range want.parts {
				if !strings.Contains(resultText(t, result), part) {
					t.Errorf("the result is %q, want %q in it", resultText(t, result), part)
				}
			}
		})
	}
	t.Run("what the server makes of it itself", func(t *testing.T) {
		s := f.Call("one", toolCall("form"))
		result := s.Until("tool-result")
		if result.Path("result", "isError") != nil || !strings.Contains(resultText(t, result), "client_lacks_capability") {
			t.Errorf("the result is %v", result)
		}
	})
	t.Run("control", func(t *testing.T) {
		s := f.Call("one", toolCall("fail"), canAsk, "true")
		s.Until("elicitation-request")
		f.Say("DELETE", "/calls/"+s.ID, "")
	})
	t.Run("a header that says neither", func(t *testing.T) {
		if status, text := f.Say("POST", "/one/call", toolCall("echo"), canAsk, "1"); status != 400 || !strings.Contains(text, "true or false") {
			t.Errorf("%d %s", status, text)
		}
	})
}

// TestEventsTimeout: before a question's time is up there is a warning; then
// the question ends, and its server is told that nobody answered.
func TestEventsTimeout(t *testing.T) {
	t.Parallel()
	b := newFrontBackend(t)
	g := rig.Start(t, "asks: { timeout: 1s }\nbackends:\n  one: { url: "+b.URL+" }\n")
	s := newFront(t, g, canAsk, "true").Call("one", toolCall("form"))
	wantTypes(t, s, "call-started", "elicitation-request", "timeout-warning", "elicitation-settled", "tool-result")
	if s.Seen[2]["id"] != s.Seen[1]["id"] || s.Seen[2]["deadline"] != s.Seen[1]["deadline"] {
		t.Errorf("the warning is %v of %v", s.Seen[2], s.Seen[1])
	}
	if s.Seen[3]["outcome"] != "expired" || s.Seen[3].Path("reason", "code") != "timeout" || s.Seen[3]["action"] != nil {
		t.Errorf("it was settled as %v", s.Seen[3])
	}
	if !strings.Contains(resultText(t, s.Seen[4]), "timeout") {
		t.Errorf("the server was told %v", s.Seen[4])
	}
}

// TestEventsCancel: both ways to cancel a call end it at its server, and end
// its questions there first.
func TestEventsCancel(t *testing.T) {
	t.Parallel()
	for _, how := range []struct{ method, tail string }{{"DELETE", ""}, {"POST", "/cancel"}} {
		t.Run(how.method, func(t *testing.T) {
			b := newFrontBackend(t)
			g := rig.Start(t, "backends:\n  one: { url: "+b.URL+" }\n")
			f := newFront(t, g, canAsk, "true")
			s := f.Call("one", toolCall("wait"))
			s.Until("log")
			if status, text := f.Say(how.method, "/calls/"+s.ID+how.tail, ""); status != http.StatusNoContent {
				t.Fatalf("%d %s", status, text)
			}
			if e := s.Until("error"); e["code"] != "client_cancelled" {
				t.Errorf("the call ended with %v", e)
			}
			b.Await("notifications/cancelled")

			s = f.Call("one", toolCall("form"))
			s.Until("elicitation-request")
			f.Say(how.method, "/calls/"+s.ID+how.tail, "")
			wantTypes(t, s, "call-started", "elicitation-request", "elicitation-settled", "error")
		})
	}
}

// TestEventsErrors: what the gateway refuses and what the server answers with
// an error are events with a code.
func TestEventsErrors(t *testing.T) {
	t.Parallel()
	b := newFrontBackend(t)
	g := rig.Start(t, "backends:\n  one: { url: "+b.URL+", tools: { deny: [secret] } }\n  down: { url: http://127.0.0.1:1/mcp }\n")
	f := newFront(t, g)
	for _, c := range []struct{ at, tool, code string }{
		{"one", "unscripted", "backend_error"}, {"one", "secret", "unknown_name"}, {"down", "echo", "backend_unreachable"},
	} {
		s := f.Call(c.at, toolCall(c.tool))
		if e := s.Until("error"); e["code"] != c.code || e["message"] == "" {
			t.Errorf("%s at %s ended with %v, want %s", c.tool, c.at, e, c.code)
		}
	}
	for path, want := range map[string]int{"/none/call": 404, "/one": 404, "/calls/x": 404, "/calls/x/y/z": 404, "/one/call/": 404} {
		if status, text := f.Say("POST", path, toolCall("echo")); status != want || !strings.Contains(text, `"error"`) {
			t.Errorf("%s got %d %s", path, status, text)
		}
	}
	for body, want := range map[string]int{
		`{}`: 400, `{"name":""}`: 400, `{"name":"echo","arguments":[]}`: 400, `{"name":"echo","_meta":1}`: 400, `{"name":"echo","x":1}`: 400,
		`[`: 400, `{"name":"echo","client":""}`: 400, `{"name":"a","name":"b"}`: 400,
	} {
		if status, text := f.Say("POST", "/one/call", body); status != want || !strings.Contains(text, `"error"`) {
			t.Errorf("%s got %d %s", body, status, text)
		}
	}
	if n := b.Count("tools/call"); n != 1 {
		t.Errorf("%d calls reached the server, want the one that it refused", n)
	}
}
