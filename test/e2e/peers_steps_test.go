//go:build e2e

package e2e

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/answerback/answerback/test/peer"
)

// step is a job and what must come of it.
type step struct {
	peer.Job
	want func(t *testing.T, e peer.Entry)
}

func jobs(steps []step) []peer.Job {
	list := make([]peer.Job, len(steps))
	for i, s := range steps {
		list[i] = s.Job
	}
	return list
}

// wantAll checks what a client reports against the steps that it did.
func wantAll(t *testing.T, rep peer.Report, era string, steps []step) {
	t.Helper()
	if rep.Error != nil || rep.Era != era || len(rep.Results) != len(steps) {
		t.Fatalf("the client got era %q, version %q, error %+v and did %d jobs; want era %s and %d jobs",
			rep.Era, rep.Version, rep.Error, len(rep.Results), era, len(steps))
	}
	for i, s := range steps {
		e := rep.Results[i]
		if s.want != nil {
			s.want(t, e)
		} else if e.Error != nil {
			t.Errorf("job %+v failed: %+v", s.Job, e.Error)
		}
		if t.Failed() {
			t.Fatalf("job %d was %+v; the notes are %q", i, s.Job, rep.Notes)
		}
	}
}

// gets wants a result without an error in which the texts occur, and exactly
// these questions before it.
func gets(asked []string, texts ...string) func(*testing.T, peer.Entry) {
	return func(t *testing.T, e peer.Entry) {
		t.Helper()
		if e.Error != nil || e.Result == nil || e.Result.IsError {
			t.Errorf("the call gave %+v and error %+v, want a result", e.Result, e.Error)
			return
		}
		for _, want := range texts {
			if !strings.Contains(e.Result.Text(), want) {
				t.Errorf("the result is %q, want %q in it", e.Result.Text(), want)
			}
		}
		wasAsked(t, e, asked...)
	}
}

// answered wants the answer of a question, as the server got it, with the
// state that the server gave out.
func answered(question, state, answer string) func(*testing.T, peer.Entry) {
	return answeredAs([]string{question}, state, answer)
}

func answeredAs(asked []string, state, answer string) func(*testing.T, peer.Entry) {
	return func(t *testing.T, e peer.Entry) {
		t.Helper()
		gets(asked)(t, e)
		if t.Failed() {
			return
		}
		var got struct {
			Answer any
			State  string
		}
		var want any
		if err := json.Unmarshal([]byte(answer), &want); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(e.Result.Text()), &got); err != nil {
			t.Errorf("the result is %q: %v", e.Result.Text(), err)
		}
		if !reflect.DeepEqual(got.Answer, want) || got.State != state {
			t.Errorf("the server got %v with state %q, want %s with %q", got.Answer, got.State, answer, state)
		}
	}
}

// advances wants a result and its progress.
func advances(c peer.Client, text string, progress ...float64) func(*testing.T, peer.Entry) {
	return func(t *testing.T, e peer.Entry) {
		t.Helper()
		gets(nil, text)(t, e)
		if last := len(progress) - 1; c.LosesLast && slices.Equal(e.Progress, progress[:last]) {
			return
		}
		if !slices.Equal(e.Progress, progress) {
			t.Errorf("the progress was %v, want %v", e.Progress, progress)
		}
	}
}

// refused wants error -32042 with one address to go to.
func refused(url, id string) func(*testing.T, peer.Entry) {
	return func(t *testing.T, e peer.Entry) {
		t.Helper()
		wasAsked(t, e)
		if e.Error == nil || e.Error.Code != float64(-32042) {
			t.Errorf("the call gave %+v and error %+v, want error -32042", e.Result, e.Error)
			return
		}
		first := peer.Pick(e.Error.Data, "elicitations", 0)
		gotURL, _ := peer.Pick(first, "url").(string)
		if peer.Pick(first, "mode") != "url" || !strings.Contains(gotURL, url) {
			t.Errorf("the error's data are %v, want the address %s", e.Error.Data, url)
		}
		if got, _ := peer.Pick(first, "elicitationId").(string); got == "" || id != "" && got != id {
			t.Errorf("the elicitation's id is %q, want %q", got, id)
		}
	}
}

func wasAsked(t *testing.T, e peer.Entry, want ...string) {
	t.Helper()
	if !slices.Equal(e.Asked, want) {
		t.Errorf("the client was asked %q, want %q", e.Asked, want)
	}
}

// asking wants that a job without a result brought these questions.
func asking(want ...string) func(*testing.T, peer.Entry) {
	return func(t *testing.T, e peer.Entry) {
		t.Helper()
		if e.Error != nil {
			t.Errorf("failed: %+v", e.Error)
		}
		wasAsked(t, e, want...)
	}
}

const (
	whoForm  = "form Who? name"
	openURL  = "url Open https://example.com/auth?x=1"
	capital  = "sampling Capital? 10"
	paris    = `{"role":"assistant","model":"stub-model","stopReason":"endTurn","content":{"type":"text","text":"Paris"}}`
	projects = `{"roots":[{"uri":"file:///project","name":"project"}]}`
)

var ann = peer.Reply{Action: "accept", Content: map[string]any{"name": "Ann"}}

// askSteps are what is done at our own servers: every kind of question, every
// action, in both eras the same.
func askSteps(prefix string, c peer.Client) []step {
	steps := []step{
		{peer.Job{Call: prefix + "form", Form: ann}, answered(whoForm, "state-form", `{"action":"accept","content":{"name":"Ann"}}`)},
		{peer.Job{Call: prefix + "form", Form: peer.Reply{Action: "decline"}}, answered(whoForm, "state-form", `{"action":"decline"}`)},
		{peer.Job{Call: prefix + "form", Form: peer.Reply{Action: "cancel"}}, answered(whoForm, "state-form", `{"action":"cancel"}`)},
		{peer.Job{Call: prefix + "sampling"}, answered(capital, "state-sampling", paris)},
		{peer.Job{Call: prefix + "roots"}, answeredAs(sees(c, "roots"), "state-roots", projects)},
		{peer.Job{Call: prefix + "echo", Args: map[string]any{"text": "näive <&>"}}, gets(nil, "näive <&>")},
	}
	if c.Lean {
		return steps
	}
	return append(steps,
		step{peer.Job{Call: prefix + "url"}, answered(openURL, "state-url", `{"action":"accept"}`)},
		step{peer.Job{Call: prefix + "url", URL: peer.Reply{Action: "decline"}}, answered(openURL, "state-url", `{"action":"decline"}`)},
	)
}

// sees gives those of the questions that a client shows.
func sees(c peer.Client, questions ...string) []string {
	if c.HidesRoots {
		questions = slices.DeleteFunc(questions, func(q string) bool { return q == "roots" })
	}
	return questions
}

// cancels reports whether a client tells when it cancels: mcp-go does not
// over HTTP in the legacy era.
func cancels(c peer.Client) bool { return !strings.HasPrefix(c.Name, "mcp-go legacy") }

// withProgress adds progress that comes as fast as it can. Servers on mcp-go
// lose and reorder it by themselves.
func withProgress(prefix string, c peer.Client, steps []step) []step {
	if c.LosesLast {
		return steps
	}
	return append(steps, step{peer.Job{Call: prefix + "progress", Args: map[string]any{"steps": 3}}, advances(c, "done", 1, 2, 3)})
}

// mcpGoSteps leaves out what go-sdk of the modern era cannot read from a
// server on mcp-go: a question for roots that has no params.
func mcpGoSteps(prefix string, c peer.Client) []step {
	return slices.DeleteFunc(askSteps(prefix, c), func(s step) bool { return c.HidesRoots && s.Call == prefix+"roots" })
}

// cancelSteps cancel a call when it has begun, and then ask the server until
// it says that the call's handler was told.
func cancelSteps(prefix, key string) []step {
	args := map[string]any{"key": key}
	return []step{
		{peer.Job{Call: prefix + "block", Args: args, Cancel: true}, func(t *testing.T, e peer.Entry) {
			t.Helper()
			if e.Error == nil || e.Progress[0] != 1 {
				t.Errorf("the cancelled call gave %+v after progress %v", e.Result, e.Progress)
			}
		}},
		{peer.Job{Call: prefix + "ended", Args: args}, gets(nil, "ended "+key)},
	}
}

// goSteps are what only the server on go-sdk does: questions one after the
// other in one call; in the legacy era, -32042 until an address was visited,
// with the word that it was.
func goSteps(prefix string, c peer.Client, key string) []step {
	steps := withProgress(prefix, c, askSteps(prefix, c))
	if cancels(c) {
		steps = append(steps, cancelSteps(prefix, key)...)
	}
	steps = append(steps, step{peer.Job{Call: prefix + "series", Form: ann}, gets(sees(c, whoForm, capital, "roots"), "three answers")})
	if c.Era == "modern" || c.Lean {
		return steps
	}
	call := peer.Job{Call: prefix + "required", Args: map[string]any{"key": key}}
	return append(steps, step{call, refused("/visit?key="+key, key)}, step{peer.Job{Visit: true}, asking()}, step{peer.Job{Await: "complete " + key}, asking()}, step{call, gets(nil, "visited "+key)})
}

const (
	everyField = "form Please provide inputs for the following fields: birthdate,check,email,firstLine,homepage,integer,legacyTitledEnum,name,number," +
		"titledMultipleSelectEnum,titledSingleSelectEnum,untitledMultipleSelectEnum,untitledSingleSelectEnum"
	text1   = "demo://resource/dynamic/text/1"
	connect = "https://example.com/connect"
)

// everythingSteps are what is done at the reference server.
func everythingSteps(prefix string, c peer.Client) []step {
	filled := peer.Reply{Action: "accept", Content: map[string]any{"name": "Ann", "check": true, "integer": 7}}
	steps := []step{
		// It asks for roots by itself a moment after its session began, in no
		// call; and again when they change.
		{peer.Job{Call: prefix + "echo", Args: map[string]any{"message": "hi"}}, func(t *testing.T, e peer.Entry) {
			t.Helper()
			e.Asked = nil
			gets(nil, "Echo: hi")(t, e)
		}},
		{peer.Job{Await: "Roots updated: 1 root(s)"}, nil},
		{peer.Job{Call: prefix + "get-roots-list"}, gets(nil, "(1 total)", "1. project\n   URI: file:///project")},
		{peer.Job{Roots: []peer.Root{{URI: "file:///other", Name: "other"}, {URI: "file:///project", Name: "project"}}}, nil},
		{peer.Job{Await: "Roots updated: 2 root(s)"}, func(t *testing.T, e peer.Entry) {
			t.Helper()
			if e.Error != nil || len(e.Asked) == 0 || e.Asked[0] != "roots" {
				t.Errorf("after the roots changed: asked %q, error %+v", e.Asked, e.Error)
			}
		}},
		{peer.Job{Call: prefix + "get-roots-list"}, gets(nil, "(2 total)", "file:///other", "file:///project")},

		{peer.Job{Call: prefix + "trigger-elicitation-request", Form: filled}, gets([]string{everyField}, "- Name: Ann\n- Agreed to terms: true\n", "- Favorite Integer: 7", `"action": "accept"`)},
		{peer.Job{Call: prefix + "trigger-elicitation-request", Form: peer.Reply{Action: "decline"}}, gets([]string{everyField}, "User declined", `"action": "decline"`)},
		{peer.Job{Call: prefix + "trigger-elicitation-request", Form: peer.Reply{Action: "cancel"}}, gets([]string{everyField}, "User cancelled", `"action": "cancel"`)},
		{peer.Job{Call: prefix + "trigger-sampling-request", Args: map[string]any{"prompt": "Capital?", "maxTokens": 33}},
			gets([]string{"sampling Resource trigger-sampling-request context: Capital? 33"}, `"model": "stub-model"`, `"text": "Paris"`)},
		{peer.Job{Call: prefix + "trigger-long-running-operation", Args: map[string]any{"duration": 0.3, "steps": 3}}, advances(c, "completed. Duration: 0.3 seconds, Steps: 3.", 1, 2, 3)},

		// What is below the level does not come: the word on subscribing is
		// not there when the one on unsubscribing is.
		{peer.Job{Level: "error"}, nil},
		{peer.Job{Subscribe: text1}, nil},
		{peer.Job{Level: "info"}, nil},
		{peer.Job{Unsubscribe: text1}, nil},
		{peer.Job{Await: "log info Received Unsubscribe Resource request: " + text1}, asking()},
		{peer.Job{Subscribe: text1}, nil},
		{peer.Job{Call: prefix + "toggle-subscriber-updates"}, gets(nil, "Started simulated resource updated notifications")},
		{peer.Job{Await: "updated " + text1}, asking()},
		{peer.Job{Call: prefix + "toggle-subscriber-updates"}, gets(nil, "Stopped simulated resource updates")},
	}
	if c.Lean {
		return steps
	}
	url := func(id string, errorPath bool) map[string]any {
		return map[string]any{"url": connect, "elicitationId": id, "errorPath": errorPath}
	}
	question := "url Please open the link to complete this action. " + connect
	call := peer.Job{Call: prefix + "trigger-url-elicitation", Args: url("e-3", true)}
	return append(steps,
		step{peer.Job{Call: prefix + "trigger-url-elicitation", Args: url("e-1", false)}, gets([]string{question}, "completed the URL elicitation flow", "Elicitation ID: e-1", connect)},
		step{peer.Job{Call: prefix + "trigger-url-elicitation", Args: url("e-2", false), URL: peer.Reply{Action: "decline"}}, gets([]string{question}, "User declined to open the URL (Elicitation ID: e-2)")},
		step{call, refused("https://modelcontextprotocol.io", "")},
		step{call, gets([]string{question}, "completed the URL elicitation flow", "Elicitation ID: e-3")},
	)
}
