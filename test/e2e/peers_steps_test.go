//go:build e2e

package e2e

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// step is a job and what must come of it.
type step struct {
	job
	want func(t *testing.T, e entry)
}

func jobs(steps []step) []job {
	list := make([]job, len(steps))
	for i, s := range steps {
		list[i] = s.job
	}
	return list
}

// wantAll checks what a client reports against the steps that it did.
func wantAll(t *testing.T, rep report, era string, steps []step) {
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
			t.Errorf("job %+v failed: %+v", s.job, e.Error)
		}
		if t.Failed() {
			t.Fatalf("job %d was %+v; the notes are %q", i, s.job, rep.Notes)
		}
	}
}

// gets wants a result without an error in which the texts occur, and exactly
// these questions before it.
func gets(asked []string, texts ...string) func(*testing.T, entry) {
	return func(t *testing.T, e entry) {
		t.Helper()
		if e.Error != nil || e.Result == nil || e.Result.IsError {
			t.Errorf("the call gave %+v and error %+v, want a result", e.Result, e.Error)
			return
		}
		for _, want := range texts {
			if !strings.Contains(e.Result.text(), want) {
				t.Errorf("the result is %q, want %q in it", e.Result.text(), want)
			}
		}
		wasAsked(t, e, asked...)
	}
}

// answered wants the answer of a question, as the server got it, with the
// state that the server gave out.
func answered(question, state, answer string) func(*testing.T, entry) {
	return answeredAs([]string{question}, state, answer)
}

func answeredAs(asked []string, state, answer string) func(*testing.T, entry) {
	return func(t *testing.T, e entry) {
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
		if err := json.Unmarshal([]byte(e.Result.text()), &got); err != nil {
			t.Errorf("the result is %q: %v", e.Result.text(), err)
		}
		if !reflect.DeepEqual(got.Answer, want) || got.State != state {
			t.Errorf("the server got %v with state %q, want %s with %q", got.Answer, got.State, answer, state)
		}
	}
}

// advances wants a result and its progress.
func advances(c client, text string, progress ...float64) func(*testing.T, entry) {
	return func(t *testing.T, e entry) {
		t.Helper()
		gets(nil, text)(t, e)
		if last := len(progress) - 1; c.losesLast && slices.Equal(e.Progress, progress[:last]) {
			return
		}
		if !slices.Equal(e.Progress, progress) {
			t.Errorf("the progress was %v, want %v", e.Progress, progress)
		}
	}
}

// refused wants error -32042 with one address to go to.
func refused(url, id string) func(*testing.T, entry) {
	return func(t *testing.T, e entry) {
		t.Helper()
		wasAsked(t, e)
		if e.Error == nil || e.Error.Code != float64(-32042) {
			t.Errorf("the call gave %+v and error %+v, want error -32042", e.Result, e.Error)
			return
		}
		first := pick(e.Error.Data, "elicitations", 0)
		gotURL, _ := pick(first, "url").(string)
		if pick(first, "mode") != "url" || !strings.Contains(gotURL, url) {
			t.Errorf("the error's data are %v, want the address %s", e.Error.Data, url)
		}
		if got, _ := pick(first, "elicitationId").(string); got == "" || id != "" && got != id {
			t.Errorf("the elicitation's id is %q, want %q", got, id)
		}
	}
}

func wasAsked(t *testing.T, e entry, want ...string) {
	t.Helper()
	if !slices.Equal(e.Asked, want) {
		t.Errorf("the client was asked %q, want %q", e.Asked, want)
	}
}

// asking wants that a job without a result brought these questions.
func asking(want ...string) func(*testing.T, entry) {
	return func(t *testing.T, e entry) {
		t.Helper()
		if e.Error != nil {
			t.Errorf("failed: %+v", e.Error)
		}
		wasAsked(t, e, want...)
	}
}

func (r *result) text() string {
	var b strings.Builder
	for _, c := range r.Content {
		b.WriteString(c.Text)
	}
	return b.String()
}

const (
	whoForm  = "form Who? name"
	openURL  = "url Open https://example.com/auth?x=1"
	capital  = "sampling Capital? 10"
	paris    = `{"role":"assistant","model":"stub-model","stopReason":"endTurn","content":{"type":"text","text":"Paris"}}`
	projects = `{"roots":[{"uri":"file:///project","name":"project"}]}`
)

var ann = reply{Action: "accept", Content: map[string]any{"name": "Ann"}}

// askSteps are what is done at our own servers: every kind of question, every
// action, in both eras the same.
func askSteps(prefix string, c client) []step {
	steps := []step{
		{job{Call: prefix + "form", Form: ann}, answered(whoForm, "state-form", `{"action":"accept","content":{"name":"Ann"}}`)},
		{job{Call: prefix + "form", Form: reply{Action: "decline"}}, answered(whoForm, "state-form", `{"action":"decline"}`)},
		{job{Call: prefix + "form", Form: reply{Action: "cancel"}}, answered(whoForm, "state-form", `{"action":"cancel"}`)},
		{job{Call: prefix + "sampling"}, answered(capital, "state-sampling", paris)},
		{job{Call: prefix + "roots"}, answeredAs(c.sees("roots"), "state-roots", projects)},
		{job{Call: prefix + "echo", Args: map[string]any{"text": "näive <&>"}}, gets(nil, "näive <&>")},
	}
	if c.lean {
		return steps
	}
	return append(steps,
		step{job{Call: prefix + "url"}, answered(openURL, "state-url", `{"action":"accept"}`)},
		step{job{Call: prefix + "url", URL: reply{Action: "decline"}}, answered(openURL, "state-url", `{"action":"decline"}`)},
	)
}

// sees gives those of the questions that the client shows.
func (c client) sees(questions ...string) []string {
	if c.hidesRoots {
		questions = slices.DeleteFunc(questions, func(q string) bool { return q == "roots" })
	}
	return questions
}

// cancels reports whether the client tells when it cancels: mcp-go does not
// over HTTP in the legacy era.
func (c client) cancels() bool { return !strings.HasPrefix(c.name, "mcp-go legacy") }

// withProgress adds progress that comes as fast as it can. Servers on mcp-go
// lose and reorder it by themselves.
func withProgress(prefix string, c client, steps []step) []step {
	if c.losesLast {
		return steps
	}
	return append(steps, step{job{Call: prefix + "progress", Args: map[string]any{"steps": 3}}, advances(c, "done", 1, 2, 3)})
}

// mcpGoSteps leaves out what go-sdk of the modern era cannot read from a
// server on mcp-go: a question for roots that has no params.
func mcpGoSteps(prefix string, c client) []step {
	return slices.DeleteFunc(askSteps(prefix, c), func(s step) bool { return c.hidesRoots && s.Call == prefix+"roots" })
}

// cancelSteps cancel a call when it has begun, and then ask the server until
// it says that the call's handler was told.
func cancelSteps(prefix, key string) []step {
	args := map[string]any{"key": key}
	return []step{
		{job{Call: prefix + "block", Args: args, Cancel: true}, func(t *testing.T, e entry) {
			t.Helper()
			if e.Error == nil || e.Progress[0] != 1 {
				t.Errorf("the cancelled call gave %+v after progress %v", e.Result, e.Progress)
			}
		}},
		{job{Call: prefix + "ended", Args: args}, gets(nil, "ended "+key)},
	}
}

// goSteps are what only the server on go-sdk does: questions one after the
// other in one call; in the legacy era, -32042 until an address was visited,
// with the word that it was.
func goSteps(prefix string, c client, key string) []step {
	steps := withProgress(prefix, c, askSteps(prefix, c))
	if c.cancels() {
		steps = append(steps, cancelSteps(prefix, key)...)
	}
	steps = append(steps, step{job{Call: prefix + "series", Form: ann}, gets(c.sees(whoForm, capital, "roots"), "three answers")})
	if c.era == "modern" || c.lean {
		return steps
	}
	call := job{Call: prefix + "required", Args: map[string]any{"key": key}}
	return append(steps, step{call, refused("/visit?key="+key, key)}, step{job{Visit: true}, asking()}, step{job{Await: "complete " + key}, asking()}, step{call, gets(nil, "visited "+key)})
}

const (
	everyField = "form Please provide inputs for the following fields: birthdate,check,email,firstLine,homepage,integer,legacyTitledEnum,name,number," +
		"titledMultipleSelectEnum,titledSingleSelectEnum,untitledMultipleSelectEnum,untitledSingleSelectEnum"
	text1   = "demo://resource/dynamic/text/1"
	connect = "https://example.com/connect"
)

// everythingSteps are what is done at the reference server.
func everythingSteps(prefix string, c client) []step {
	filled := reply{Action: "accept", Content: map[string]any{"name": "Ann", "check": true, "integer": 7}}
	steps := []step{
		// It asks for roots by itself a moment after its session began, in no
		// call; and again when they change.
		{job{Call: prefix + "echo", Args: map[string]any{"message": "hi"}}, func(t *testing.T, e entry) {
			t.Helper()
			e.Asked = nil
			gets(nil, "Echo: hi")(t, e)
		}},
		{job{Await: "Roots updated: 1 root(s)"}, nil},
		{job{Call: prefix + "get-roots-list"}, gets(nil, "(1 total)", "1. project\n   URI: file:///project")},
		{job{Roots: []root{{"file:///other", "other"}, {"file:///project", "project"}}}, nil},
		{job{Await: "Roots updated: 2 root(s)"}, func(t *testing.T, e entry) {
			t.Helper()
			if e.Error != nil || len(e.Asked) == 0 || e.Asked[0] != "roots" {
				t.Errorf("after the roots changed: asked %q, error %+v", e.Asked, e.Error)
			}
		}},
		{job{Call: prefix + "get-roots-list"}, gets(nil, "(2 total)", "file:///other", "file:///project")},

		{job{Call: prefix + "trigger-elicitation-request", Form: filled}, gets([]string{everyField}, "- Name: Ann\n- Agreed to terms: true\n", "- Favorite Integer: 7", `"action": "accept"`)},
		{job{Call: prefix + "trigger-elicitation-request", Form: reply{Action: "decline"}}, gets([]string{everyField}, "User declined", `"action": "decline"`)},
		{job{Call: prefix + "trigger-elicitation-request", Form: reply{Action: "cancel"}}, gets([]string{everyField}, "User cancelled", `"action": "cancel"`)},
		{job{Call: prefix + "trigger-sampling-request", Args: map[string]any{"prompt": "Capital?", "maxTokens": 33}},
			gets([]string{"sampling Resource trigger-sampling-request context: Capital? 33"}, `"model": "stub-model"`, `"text": "Paris"`)},
		{job{Call: prefix + "trigger-long-running-operation", Args: map[string]any{"duration": 0.3, "steps": 3}}, advances(c, "completed. Duration: 0.3 seconds, Steps: 3.", 1, 2, 3)},

		// What is below the level does not come: the word on subscribing is
		// not there when the one on unsubscribing is.
		{job{Level: "error"}, nil},
		{job{Subscribe: text1}, nil},
		{job{Level: "info"}, nil},
		{job{Unsubscribe: text1}, nil},
		{job{Await: "log info Received Unsubscribe Resource request: " + text1}, asking()},
		{job{Subscribe: text1}, nil},
		{job{Call: prefix + "toggle-subscriber-updates"}, gets(nil, "Started simulated resource updated notifications")},
		{job{Await: "updated " + text1}, asking()},
		{job{Call: prefix + "toggle-subscriber-updates"}, gets(nil, "Stopped simulated resource updates")},
	}
	if c.lean {
		return steps
	}
	url := func(id string, errorPath bool) map[string]any {
		return map[string]any{"url": connect, "elicitationId": id, "errorPath": errorPath}
	}
	question := "url Please open the link to complete this action. " + connect
	call := job{Call: prefix + "trigger-url-elicitation", Args: url("e-3", true)}
	return append(steps,
		step{job{Call: prefix + "trigger-url-elicitation", Args: url("e-1", false)}, gets([]string{question}, "completed the URL elicitation flow", "Elicitation ID: e-1", connect)},
		step{job{Call: prefix + "trigger-url-elicitation", Args: url("e-2", false), URL: reply{Action: "decline"}}, gets([]string{question}, "User declined to open the URL (Elicitation ID: e-2)")},
		step{call, refused("https://modelcontextprotocol.io", "")},
		step{call, gets([]string{question}, "completed the URL elicitation flow", "Elicitation ID: e-3")},
	)
}
