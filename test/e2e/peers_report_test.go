//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/answerback/answerback/test/rig"
)

// job is one thing that a client does; drive.mjs says what the members mean.
type job struct {
	Call        string         `json:"call,omitempty"`
	Args        map[string]any `json:"args,omitempty"`
	Form        any            `json:"form,omitempty"`
	URL         any            `json:"url,omitempty"`
	Cancel      bool           `json:"cancel,omitempty"`
	Await       string         `json:"await,omitempty"`
	Visit       bool           `json:"visit,omitempty"`
	Level       string         `json:"level,omitempty"`
	Subscribe   string         `json:"subscribe,omitempty"`
	Unsubscribe string         `json:"unsubscribe,omitempty"`
	Roots       []root         `json:"roots,omitempty"`
}

type root struct {
	URI  string `json:"uri"`
	Name string `json:"name"`
}

// reply is how a form or a URL is answered.
type reply struct {
	Action  string         `json:"action"`
	Content map[string]any `json:"content,omitempty"`
}

// target is where a client goes: an address, or a command to start.
type target struct {
	URL     string   `json:"url,omitempty"`
	Command []string `json:"command,omitempty"`
	Era     string   `json:"era"`
	Jobs    []job    `json:"jobs"`
}

// report is what a client saw at a target, the same from every SDK.
type report struct {
	Era     string   `json:"era"`
	Version string   `json:"version"`
	Tools   []string `json:"tools"`
	Results []entry  `json:"results"`
	Notes   []string `json:"notes"`
	Error   *failure `json:"error"` // of connecting and listing
}

type entry struct {
	Job      string    `json:"job"`
	Asked    []string  `json:"asked"`
	Progress []float64 `json:"progress"`
	Result   *result   `json:"result"`
	Error    *failure  `json:"error"`
}

type result struct {
	IsError bool `json:"isError"`
	Content []struct {
		Text string `json:"text"`
	} `json:"content"`
}

// failure is an error as the SDK presents it.
type failure struct {
	Kind    string `json:"kind"`
	Code    any    `json:"code"`
	Message string `json:"message"`
	Data    any    `json:"data"`
}

// client is one SDK in one era: it goes to all targets, one after the other.
// Some do not show all that reaches them, with the gateway or without.
type client struct {
	name string
	era  string
	tour func(t *testing.T, targets []target) []report

	lean       bool // declares forms only, in the manner of 2025-06-18
	hidesRoots bool // answers for its roots and tells nobody
	losesLast  bool // over stdio, loses progress that comes at once with the result
}

// script is a client on Node, one process for all targets.
func (w *world) script(name, file, era string) client {
	return client{name: name, era: era, tour: func(t *testing.T, targets []target) []report {
		t.Helper()
		var last string
		for line := range output(t, w.scriptCmd(t, file, era, targets)) {
			last = line
		}
		var reports []report
		if err := json.Unmarshal([]byte(last), &reports); err != nil || len(reports) != len(targets) {
			t.Fatalf("%s ended with %q: %v", file, last, err)
		}
		return reports
	}}
}

func (w *world) scriptCmd(t *testing.T, file, era string, targets []target) *exec.Cmd {
	t.Helper()
	targets = slices.Clone(targets)
	for i := range targets {
		targets[i].Era = era
	}
	plan, err := json.Marshal(targets)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(w.node, w.bin(file), string(plan))
	cmd.Stderr = t.Output()
	return cmd
}

// session is a connected client of a Go SDK.
type session interface {
	negotiated() string
	tools(ctx context.Context) ([]string, error)
	call(ctx context.Context, name string, args map[string]any, token string) (any, error)
	level(ctx context.Context, level string) error
	subscribe(ctx context.Context, uri string) error
	unsubscribe(ctx context.Context, uri string) error
	rootsChanged(ctx context.Context, roots []root) error
	close()
}

// visitAll is drive.mjs for Go: it does the jobs of each target.
func visitAll(t *testing.T, targets []target, explain func(error) *failure, connect func(ctx context.Context, to target, w *watcher) (session, error)) []report {
	t.Helper()
	var reports []report
	for _, to := range targets {
		reports = append(reports, visit(t, to, explain, connect))
	}
	return reports
}

func visit(t *testing.T, to target, explain func(error) *failure, connect func(ctx context.Context, to target, w *watcher) (session, error)) (rep report) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*rig.Patience)
	defer cancel()
	w := newWatcher()
	s, err := connect(ctx, to, w)
	if err != nil {
		return report{Error: explain(err)}
	}
	defer func() {
		s.close()
		w.fill(&rep)
	}()
	rep.Version, rep.Era = s.negotiated(), "legacy"
	if rep.Version >= "2026" {
		rep.Era = "modern"
	}
	if rep.Tools, err = s.tools(ctx); err != nil {
		rep.Error = explain(err)
		return rep
	}
	for i, j := range to.Jobs {
		w.begin(j)
		e := entry{Job: j.Call}
		if err := do(ctx, s, w, j, fmt.Sprint("token-", i), &rep, &e); err != nil {
			e.Error = explain(err)
		}
		e.Asked = w.end(j)
		rep.Results = append(rep.Results, e)
	}
	return rep
}

func do(ctx context.Context, s session, w *watcher, j job, token string, rep *report, e *entry) error {
	switch {
	case j.Call != "":
		if j.Args == nil {
			j.Args = map[string]any{}
		}
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		if j.Cancel {
			w.onProgress(token, cancel)
		}
		res, err := s.call(ctx, j.Call, j.Args, token)
		if err != nil {
			return err
		}
		raw, err := json.Marshal(res)
		if err != nil {
			return err
		}
		return json.Unmarshal(raw, &e.Result)
	case j.Await != "":
		return w.await(ctx, j.Await)
	case j.Visit:
		url := pick(rep.Results[len(rep.Results)-1].Error.Data, "elicitations", 0, "url")
		resp, err := http.Get(fmt.Sprint(url))
		if err == nil {
			resp.Body.Close()
		}
		return err
	case j.Level != "":
		return s.level(ctx, j.Level)
	case j.Subscribe != "":
		return s.subscribe(ctx, j.Subscribe)
	case j.Unsubscribe != "":
		return s.unsubscribe(ctx, j.Unsubscribe)
	}
	return s.rootsChanged(ctx, j.Roots)
}

// watcher records what reaches a Go client beside the results of its calls.
type watcher struct {
	mu       sync.Mutex
	job      job
	asked    []string
	notes    []string
	progress map[string][]float64 // by token
	moved    map[string]func()    // called at progress, by token
	changed  chan struct{}        // replaced at each change
	roots    []root
}

func newWatcher() *watcher {
	return &watcher{progress: make(map[string][]float64), moved: make(map[string]func()), changed: make(chan struct{}), roots: []root{{"file:///project", "project"}}}
}

func (w *watcher) begin(j job) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.job = j
}

// end gives the questions of the job that is over. The question that a change
// of roots brings belongs to the await that follows.
func (w *watcher) end(j job) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	asked := w.asked
	if j.Roots == nil {
		w.asked = nil
	}
	return asked
}

func (w *watcher) record(list *[]string, format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	*list = append(*list, fmt.Sprintf(format, args...))
	close(w.changed)
	w.changed = make(chan struct{})
}

func (w *watcher) note(format string, args ...any) { w.record(&w.notes, format, args...) }

// elicit records a form or a URL and gives the answer to it.
func (w *watcher) elicit(mode, message, url string, schema any) reply {
	answer := reply{Action: "accept"}
	if mode == "url" {
		w.record(&w.asked, "url %s %s", message, url)
	} else {
		keys := make([]string, 0)
		props, _ := pick(schema, "properties").(map[string]any)
		for k := range props {
			keys = append(keys, k)
		}
		slices.Sort(keys)
		w.record(&w.asked, "form %s %s", message, strings.Join(keys, ","))
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	given := w.job.Form
	if mode == "url" {
		given = w.job.URL
	}
	if r, ok := given.(reply); ok {
		answer = r
	}
	return answer
}

func (w *watcher) sample(prompt string, maxTokens int64) {
	w.record(&w.asked, "sampling %s %d", prompt, maxTokens)
}

func (w *watcher) listRoots() []root {
	w.record(&w.asked, "roots")
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.roots
}

func (w *watcher) setRoots(roots []root) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.roots = roots
}

func (w *watcher) advance(token string, progress float64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.progress[token] = append(w.progress[token], progress)
	if f := w.moved[token]; f != nil {
		f()
	}
}

func (w *watcher) onProgress(token string, f func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.moved[token] = f
}

func (w *watcher) await(ctx context.Context, text string) error {
	late := time.NewTimer(rig.Patience)
	defer late.Stop()
	for {
		w.mu.Lock()
		has := slices.ContainsFunc(slices.Concat(w.notes, w.asked), func(s string) bool { return strings.Contains(s, text) })
		changed := w.changed
		w.mu.Unlock()
		if has {
			return nil
		}
		select {
		case <-changed:
		case <-late.C:
			return fmt.Errorf("%q did not come", text)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// fill adds what may come a little later than the result of its call.
func (w *watcher) fill(rep *report) {
	w.mu.Lock()
	defer w.mu.Unlock()
	rep.Notes = w.notes
	for i := range rep.Results {
		rep.Results[i].Progress = w.progress[fmt.Sprint("token-", i)]
	}
}

// pick goes into decoded JSON by keys and indexes; nil where there is nothing.
func pick(v any, path ...any) any {
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
