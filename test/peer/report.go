package peer

import (
	"encoding/json"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/answerback/answerback/test/rig"
)

// Job is one thing that a client does; drive.mjs says what the members mean.
type Job struct {
	Call        string         `json:"call,omitempty"`
	Args        map[string]any `json:"args,omitempty"`
	Form        any            `json:"form,omitempty"`
	URL         any            `json:"url,omitempty"`
	Sample      int            `json:"sample,omitempty"` // milliseconds
	Times       int            `json:"times,omitempty"`
	Cancel      bool           `json:"cancel,omitempty"`
	Started     string         `json:"-"`               // of a call to cancel: a file that is there when it is under way, for clients that show no progress
	Limit       int            `json:"limit,omitempty"` // milliseconds; Patience when 0
	Exists      string         `json:"exists,omitempty"`
	Await       string         `json:"await,omitempty"`
	Visit       bool           `json:"visit,omitempty"`
	Level       string         `json:"level,omitempty"`
	Subscribe   string         `json:"subscribe,omitempty"`
	Unsubscribe string         `json:"unsubscribe,omitempty"`
	Roots       []Root         `json:"roots,omitempty"`
}

// limit is how long a job may take.
func (j Job) limit() time.Duration {
	if j.Limit > 0 {
		return time.Duration(j.Limit) * time.Millisecond
	}
	return rig.Patience
}

// Root is a root that a client has.
type Root struct {
	URI  string `json:"uri"`
	Name string `json:"name"`
}

// Reply is how a form or a URL is answered.
type Reply struct {
	Action   string         `json:"action"`
	Content  map[string]any `json:"content,omitempty"`
	Echo     bool           `json:"echo,omitempty"`     // the content is the question's message, as name
	After    int            `json:"after,omitempty"`    // milliseconds to think, unless the question is withdrawn
	Together int            `json:"together,omitempty"` // questions that must be open before any is answered
	Visit    string         `json:"visit,omitempty"`    // go to the address: before, or after the answer
}

// Target is where a client goes: an address, or a command to start.
type Target struct {
	URL     string   `json:"url,omitempty"`
	Command []string `json:"command,omitempty"`
	Era     string   `json:"era"`
	Mute    bool     `json:"mute,omitempty"` // the client declares nothing that it could be asked; for those on Node
	Anew    bool     `json:"anew,omitempty"` // the client has a session of its own for each call; for those on Node
	Jobs    []Job    `json:"jobs"`
}

// limit is how long a client may be there: for coming and going, and for each
// of its jobs.
func (to Target) limit() time.Duration {
	all := 3 * rig.Patience
	for _, j := range to.Jobs {
		all += j.limit()
	}
	return all
}

// Report is what a client saw at a target, the same from every SDK.
type Report struct {
	Era     string   `json:"era"`
	Version string   `json:"version"`
	Tools   []string `json:"tools"`
	Results []Entry  `json:"results"`
	Notes   []string `json:"notes"`
	Error   *Failure `json:"error"` // of connecting and listing
}

// Entry is what came of one job.
type Entry struct {
	Job      string    `json:"job"`
	Asked    []string  `json:"asked"`
	Progress []float64 `json:"progress"`
	Result   *Result   `json:"result"`
	Error    *Failure  `json:"error"`
}

// Result is what a tool gave.
type Result struct {
	IsError bool      `json:"isError"`
	Content []Content `json:"content"`
}

// Content is a part of a result.
type Content struct {
	Text string `json:"text"`
}

// add puts another result's contents to those of r.
func (r *Result) add(other *Result) {
	if other != nil {
		r.IsError = r.IsError || other.IsError
		r.Content = append(r.Content, other.Content...)
	}
}

// Text gives the texts of a result as one.
func (r *Result) Text() string {
	if r == nil {
		return ""
	}
	var b strings.Builder
	for _, c := range r.Content {
		b.WriteString(c.Text)
	}
	return b.String()
}

// Failure is an error as the SDK presents it.
type Failure struct {
	Kind    string `json:"kind"`
	Code    any    `json:"code"`
	Message string `json:"message"`
	Data    any    `json:"data"`
}

// Client is one SDK in one era. Some do not show all that reaches them, with
// the gateway or without.
type Client struct {
	Name string
	Era  string
	// Tour sends the client to all targets, one after the other. It may be
	// called from several goroutines.
	Tour func(t testing.TB, targets []Target) []Report

	Lean             bool // declares forms only, in the manner of 2025-06-18
	HidesRoots       bool // answers for its roots and tells nobody
	HidesProgress    bool // shows no progress
	HidesWithdrawals bool // shows nobody that a question was taken back
	AsksForPages     bool // takes error -32042 for a question, and calls again by itself
	LosesLast        bool // over stdio, loses progress that comes at once with the result
	TellsOfPages     bool // takes error -32042 for a result that leads to the page
	Agents           bool // speaks A2A, and goes where the gateway is an agent
	CancelsOnPipes   bool // tells a server that it gave a call up over stdio, but not over HTTP
}

// Script is a client on Node, one process for all targets.
func (w *World) Script(name, file, era string) Client {
	return Client{Name: name, Era: era, Tour: func(t testing.TB, targets []Target) []Report {
		t.Helper()
		var last string
		for line := range Output(t, w.ScriptCmd(t, file, era, targets)) {
			last = line
		}
		var reports []Report
		if err := json.Unmarshal([]byte(last), &reports); err != nil || len(reports) != len(targets) {
			t.Errorf("%s ended with %q: %v", file, last, err)
			return slices.Repeat([]Report{{Error: &Failure{Message: "the client ended without a report"}}}, len(targets))
		}
		return reports
	}}
}

// Front is a chat front end at the event stream, with the module or with bare
// fetch. To its server each call is a session of the legacy era.
func (w *World) Front(with string) Client {
	c := w.Script("event stream, "+with, "client-events.mjs", with)
	c.Era, c.TellsOfPages = "legacy", true
	return c
}

// A2A is a client on @a2a-js/sdk over a binding, JSONRPC or HTTP+JSON. The turn
// of a task is a round of the modern era.
func (w *World) A2A(binding string) Client {
	c := w.Script("a2a-js 1.3.0 "+binding, "a2a-client.mjs", binding)
	c.Era, c.Agents = "modern", true
	return c
}

// ScriptCmd is the process of a client on Node.
func (w *World) ScriptCmd(t testing.TB, file, era string, targets []Target) *exec.Cmd {
	t.Helper()
	targets = slices.Clone(targets)
	for i := range targets {
		targets[i].Era = era
	}
	plan, err := json.Marshal(targets)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(w.Node, w.Bin(file), string(plan))
	cmd.Stderr = t.Output()
	return cmd
}

// Pick goes into decoded JSON by keys and indexes; nil where there is nothing.
func Pick(v any, path ...any) any {
	for _, p := range path {
		switch p := p.(type) {
		case string:
			m, _ := v.(map[string]any)
			v = m[p]
		case int:
			l, _ := v.([]any)
			if p >= len(l) {
				return nil
			}
			v = l[p]
		}
	}
	return v
}
