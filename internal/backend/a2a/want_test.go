package a2a

import (
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/test/rig"
)

const someSchema = `{"type":"object","properties":{"size":{"enum":["S","M"],"type":"string"},"count":{"type":"integer"}},"required":["size"]}`

func someForm() map[string]any {
	return map[string]any{"type": "object", "required": []any{"size"}, "properties": map[string]any{
		"count": map[string]any{"type": "integer"}, "size": map[string]any{"type": "string", "enum": []any{"S", "M"}},
	}}
}

// asking is an agent that asks twice, with a form and in words, and tells what
// it heard.
func asking(tn *rig.Turn) {
	switch tn.N {
	case 1:
		tn.Is(a2a.TaskStateWorking)
		tn.Is(a2a.TaskStateInputRequired, a2a.NewTextPart("Which size?"), a2a.NewDataPart(map[string]any{"requestedSchema": someForm()}))
	case 2:
		if strings.Contains(tn.Data(), "decline") {
			tn.Done(a2a.NewTextPart("Without a size, then. " + tn.Text()))
			return
		}
		tn.Is(a2a.TaskStateInputRequired, a2a.NewTextPart("Size "+tn.Data()+". Which colour?"))
	default:
		tn.Done(a2a.NewTextPart("Colour " + tn.Text()))
	}
}

// TestInputRequiredIsAQuestion: a form and then words are asked for in two
// rounds of one call, and the answers go on with the same task.
func TestInputRequiredIsAQuestion(t *testing.T) {
	each(t, map[string]rig.AgentScript{"ask": asking}, func(t *testing.T, a *rig.Agent, b *Backend, _ rig.AgentKind) {
		c := newClient(t, b, ann)
		params, state := c.asked("ask")
		equal(t, "the form", params, `{"mode":"form","message":"Which size?","requestedSchema":`+someSchema+`}`)
		params, again := question(t, c.result("ask", state)) // without an answer it is asked again
		contains(t, "the form again", params, "Which size?")
		params, state = c.asked("ask", again, answers(`{"action":"accept","content":{"size":"M","count":12345678901234567890}}`))
		equal(t, "the words", params, `{"mode":"form","message":"Size {\"count\":12345678901234567000,\"size\":\"M\"}. Which colour?","requestedSchema":`+textSchema+`}`)
		equal(t, "the result", result(c.result("ask", state, answers(`{"action":"accept","content":{"answer":"red"}}`))),
			`{"resultType":"complete","content":[{"type":"text","text":"Colour red"}]}`)
		sent := a.Messages()
		if len(sent) != 3 || sent[1].TaskID == "" || sent[1].TaskID != sent[2].TaskID || sent[1].ContextID != sent[2].ContextID || sent[1].ContextID == "" {
			t.Errorf("%d messages: %+v", len(sent), sent)
		}
	})
}

// TestDeclineIsToldAndCancelCancels: an agent that hears no can go on in
// another way; a person who cancels ends the task.
func TestDeclineIsToldAndCancelCancels(t *testing.T) {
	each(t, map[string]rig.AgentScript{"ask": asking}, func(t *testing.T, a *rig.Agent, b *Backend, _ rig.AgentKind) {
		c := newClient(t, b, ann)
		_, state := c.asked("ask")
		equal(t, "declined", result(c.result("ask", state, answers(`{"action":"decline"}`))),
			`{"resultType":"complete","content":[{"type":"text","text":"Without a size, then. The person declined to answer."}]}`)
		_, state = c.asked("ask")
		contains(t, "cancelled", result(c.result("ask", state, answers(`{"action":"cancel"}`))), `"isError":true`, "cancelled the call")
		<-a.Cancelled()
		if n := len(a.Messages()); n != 3 {
			t.Errorf("%d messages", n)
		}
	})
}

// TestFormsOfAgents: what is a form of MCP's is asked as one, in the order
// that the agent gives, and all else in words.
func TestFormsOfAgents(t *testing.T) {
	text := map[string]any{"type": "string"}
	for name, each := range map[string]struct {
		data any
		want string
	}{
		"bare":    {someForm(), someSchema},
		"ordered": {map[string]any{"requestedSchema": someForm(), "order": []any{"count", "nothing", 5, "count"}}, `{"type":"object","properties":{"count":{"type":"integer"},"size":{"enum":["S","M"],"type":"string"}},"required":["size"]}`},
		"nested":  {map[string]any{"type": "object", "properties": map[string]any{"a": map[string]any{"type": "object"}}}, ""},
		"empty":   {map[string]any{"type": "object", "properties": map[string]any{}}, ""},
		"array":   {[]any{"type"}, ""},
		"data":    {map[string]any{"type": "object", "about": "size"}, ""},
		"odd":     {map[string]any{"type": "object", "properties": map[string]any{"a": text}, "required": []any{"b"}}, ""},
		"number":  {5.0, ""},
	} {
		m := a2a.NewMessage(a2a.MessageRoleAgent, nil, a2a.NewTextPart("x"), a2a.NewDataPart(each.data))
		got := string(formOf(m))
		equal(t, name, got, each.want)
	}
	if formOf(nil) != nil {
		t.Error("no message, and a form")
	}
}

// TestAuthRequiredIsAPage: the person is sent to the page that the agent
// names, and the task goes on by itself when they are done there.
func TestAuthRequiredIsAPage(t *testing.T) {
	for name, kind := range kinds {
		t.Run(name, func(t *testing.T) {
			finished := make(chan struct{})
			a := rig.NewAgent(t, kind, map[string]rig.AgentScript{"auth": func(tn *rig.Turn) {
				tn.Is(a2a.TaskStateAuthRequired, a2a.NewTextPart("Sign in."), a2a.NewDataPart(map[string]any{"url": "https://login.example.com/a?b=c"}))
				select {
				case <-finished:
				case <-tn.Context.Done():
				}
				tn.Is(a2a.TaskStateWorking)
				tn.Done(a2a.NewTextPart("signed in"))
			}})
			c := newClient(t, newBackend(t, a.URL, nil), ann)
			params, state := c.asked("auth")
			equal(t, "the page", params, `{"mode":"url","message":"Sign in.","url":"https://login.example.com/a?b=c"}`)
			end := make(chan string, 1)
			go func() {
				m, err := c.call("auth", state, answers(`{"action":"accept"}`))
				if err != nil {
					end <- err.Error()
					return
				}
				end <- result(m)
			}()
			close(finished)
			equal(t, "the result", <-end, `{"resultType":"complete","content":[{"type":"text","text":"signed in"}]}`)
			if n := len(a.Messages()); n != 1 {
				t.Errorf("%d messages", n)
			}
		})
	}
}

// TestAPageThatTakesLongHasTheClientCallAgain: nobody is kept waiting for
// longer than a round, and nobody is asked twice.
func TestAPageThatTakesLongHasTheClientCallAgain(t *testing.T) {
	finished := make(chan struct{})
	a := rig.NewAgent(t, rig.AgentKind{Streaming: true}, map[string]rig.AgentScript{"auth": func(tn *rig.Turn) {
		tn.Is(a2a.TaskStateAuthRequired, a2a.NewTextPart("Go to https://login.example.com/a, please."))
		select {
		case <-finished:
		case <-tn.Context.Done():
		}
		tn.Done(a2a.NewTextPart("signed in"))
	}})
	c := newClient(t, newBackend(t, a.URL, func(cfg *Config) { cfg.Limits.Round = 1 }), ann)
	params, state := c.asked("auth")
	contains(t, "the page", params, `"url":"https://login.example.com/a"`)
	more := answers(`{"action":"accept"}`)
	for range 3 {
		m := c.result("auth", state, more)
		if m.Text(m.ResultType) != "input_required" || !m.InputRequests.IsZero() {
			t.Fatalf("%s", m.Raw)
		}
		state, more = `"requestState":`+string(m.Field(m.ResultState)), `"x":0`
	}
	// The control: with a round of some length it ends.
	close(finished)
	b := newBackend(t, a.URL, func(cfg *Config) { cfg.Ring = c.line.(line).b.cfg.Ring })
	c = newClient(t, b, ann)
	contains(t, "the result", result(c.result("auth", state)), "signed in")
}

// TestDeclinedPageEndsTheTask: an agent that takes no message while it waits
// for a page is cancelled.
func TestDeclinedPageEndsTheTask(t *testing.T) {
	a := rig.NewAgent(t, rig.AgentKind{Streaming: true}, map[string]rig.AgentScript{"auth": func(tn *rig.Turn) {
		tn.Is(a2a.TaskStateAuthRequired, a2a.NewDataPart(map[string]any{"url": "https://login.example.com/"}))
		<-tn.Context.Done()
	}})
	c := newClient(t, newBackend(t, a.URL, nil), ann)
	_, state := c.asked("auth")
	contains(t, "declined", result(c.result("auth", state, answers(`{"action":"decline"}`))), `"isError":true`, "declined")
	<-a.Cancelled()
}

// TestPagesOfAgents: only an address that people may be shown is a page.
func TestPagesOfAgents(t *testing.T) {
	for said, want := range map[string]string{
		"Go to https://a.example/x?y=1.": "https://a.example/x?y=1",
		"(see http://a.example/b)":       "http://a.example/b",
		"javascript:alert(1)":            "",
		"https://user:pw@a.example/":     "",
		"ftp://a.example/":               "",
		"https://":                       "",
		"https://a.example/" + strings.Repeat("x", maxAddress): "",
		"": "",
	} {
		got := string(pageOf(a2a.NewMessage(a2a.MessageRoleAgent, nil, a2a.NewTextPart(said))))
		if want == "" && got != "" || want != "" && !strings.Contains(got, `"url":"`+want+`"`) {
			t.Errorf("%.60q: %s", said, got)
		}
	}
	data := a2a.NewMessage(a2a.MessageRoleAgent, a2a.NewTextPart("https://b.example/"), a2a.NewDataPart(map[string]any{"url": "https://a.example/"}))
	contains(t, "data first", string(pageOf(data)), `"url":"https://a.example/"`)
}

// TestWhoCannotBeAskedIsTold: a client that can show nothing gets the agent's
// words, and the task ends.
func TestWhoCannotBeAskedIsTold(t *testing.T) {
	a := rig.NewAgent(t, rig.AgentKind{Streaming: true}, map[string]rig.AgentScript{
		"ask": asking,
		"auth": func(tn *rig.Turn) {
			tn.Is(a2a.TaskStateAuthRequired, a2a.NewTextPart("https://login.example.com/"))
			<-tn.Context.Done()
		},
		"stuck": func(tn *rig.Turn) {
			tn.Is(a2a.TaskStateAuthRequired, a2a.NewTextPart("Call your administrator."))
			<-tn.Context.Done()
		},
	})
	c := newClient(t, newBackend(t, a.URL, nil), ann)
	contains(t, "no page", result(c.result("stuck")), `"isError":true`, "Call your administrator.")
	<-a.Cancelled()
	c.caps = `{}`
	contains(t, "no forms", result(c.result("ask")), `"isError":true`, "Which size?")
	<-a.Cancelled()
	contains(t, "no links", result(c.result("auth")), `"isError":true`, "https://login.example.com/")
	<-a.Cancelled()
}

// TestStatesAreBound: what a task is found by is good for its own person, at
// its own backend, and as it was given out.
func TestStatesAreBound(t *testing.T) {
	a := rig.NewAgent(t, rig.AgentKind{}, map[string]rig.AgentScript{"ask": asking})
	ring := newBackend(t, a.URL, nil).cfg.Ring
	named := func(name string) *Backend {
		return newBackend(t, a.URL, func(cfg *Config) { cfg.Name, cfg.Ring = name, ring })
	}
	own := named("agent")
	c := newClient(t, own, ann)
	_, state := c.asked("ask")
	answer := answers(`{"action":"accept","content":{"size":"M"}}`)
	middle, other := len(state)/2, "A"
	if state[middle] == 'A' {
		other = "B"
	}
	for what, try := range map[string]func() error{
		"another person":  func() error { _, err := newClient(t, own, bob).call("ask", state, answer); return err },
		"another backend": func() error { _, err := newClient(t, named("other"), ann).call("ask", state, answer); return err },
		"a changed state": func() error { _, err := c.call("ask", state[:middle]+other+state[middle+1:], answer); return err },
		"a made-up state": func() error { _, err := c.call("ask", `"requestState":"{\"t\":\"x\"}"`, answer); return err },
		"a number":        func() error { _, err := c.call("ask", `"requestState":5`, answer); return err },
	} {
		if err := try(); ask.CodeOf(err) != ask.BadState {
			t.Errorf("%s: %v", what, err)
		}
	}
	if n := len(a.Messages()); n != 1 {
		t.Errorf("%d messages", n)
	}
	// The control, at a gateway that was started again.
	_, _ = newClient(t, named("agent"), ann).asked("ask", state, answer)
}
