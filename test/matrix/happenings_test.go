//go:build matrix

package matrix

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/answerback/answerback/test/peer"
)

// limit is how long a call may take, in milliseconds.
const limit = 9000

// step is a job and what must come of it.
type step struct {
	peer.Job
	want func(e peer.Entry) error
}

// happening is something that can happen between a client and a server.
type happening struct {
	name  string
	slow  bool // needs the gateway whose people are given a second
	steps func(p pair, key string) []step
	runs  func(p pair) int // of the tool, after it; nil where nothing is counted
}

// pair is a client at a server, through the gateway or not.
type pair struct {
	client peer.Client
	server server
	direct bool
}

func (p pair) crossed() bool { return p.client.Era != p.server.era }

var happenings = []happening{
	{name: "call with progress", steps: progress},
	{name: "form", steps: formed(peer.Reply{Action: "accept", Content: map[string]any{"name": "Ann"}}), runs: once},
	{name: "decline", steps: formed(peer.Reply{Action: "decline"}), runs: once},
	{name: "cancel as answer", steps: formed(peer.Reply{Action: "cancel"}), runs: once},
	{name: "url", steps: url, runs: once},
	{name: "page to visit first (-32042)", steps: required, runs: requiredRuns},
	{name: "sampling", steps: sampling, runs: once},
	{name: "roots", steps: roots, runs: once},
	{name: "two rounds", steps: rounds([]string{"form:First"}, []string{"form:Second"}), runs: once},
	{name: "four questions at once", steps: rounds([]string{"form:A", "form:B", "form:C", "form:D"}), runs: once},
	{name: "client cancels", steps: cancelled},
	{name: "server withdraws", steps: withdrawn, runs: once},
	{name: "timeout", slow: true, steps: timeout, runs: once},
}

func once(pair) int { return 1 }

// verdict says what is wrong with what a client reports of a happening.
func verdict(p pair, h happening, key, runs string, steps []step, entries []peer.Entry) error {
	if len(entries) != len(steps) {
		return fmt.Errorf("the client did %d of %d jobs", len(entries), len(steps))
	}
	for i, s := range steps {
		err := s.want(entries[i])
		if err != nil {
			raw, _ := json.Marshal(entries[i])
			return fmt.Errorf("job %d: %w: %.900s", i, err, raw)
		}
	}
	if h.runs == nil || !p.server.ours {
		return nil
	}
	info, err := os.Stat(filepath.Join(runs, key))
	if err != nil {
		return err
	}
	if got, want := info.Size(), int64(h.runs(p)); got != want {
		return fmt.Errorf("the tool ran %d times, want %d", got, want)
	}
	return nil
}

// result wants a result with the texts, and the questions before it.
func (p pair) result(asked []string, texts ...string) func(peer.Entry) error {
	return func(e peer.Entry) error {
		if e.Error != nil || e.Result == nil || e.Result.IsError {
			return fmt.Errorf("no result")
		}
		for _, want := range texts {
			if !strings.Contains(e.Result.Text(), want) {
				return fmt.Errorf("the result has no %q", want)
			}
		}
		return p.asked(e, asked...)
	}
}

// asked wants the questions, of which parallel ones come in any order.
func (p pair) asked(e peer.Entry, want ...string) error {
	skip := func(q string) bool {
		// The reference server asks for roots by itself as well.
		return q == "roots" && (p.client.HidesRoots || !p.server.ours)
	}
	got := slices.DeleteFunc(slices.Clone(e.Asked), skip)
	want = slices.DeleteFunc(slices.Clone(want), skip)
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		return fmt.Errorf("the client was asked %q, want %q", got, want)
	}
	return nil
}

// answers wants the answers that the tool "ask" got.
func (p pair) answers(want string, asked ...string) func(peer.Entry) error {
	return func(e peer.Entry) error {
		if err := p.result(asked)(e); err != nil {
			return err
		}
		var g, w any
		if err := json.Unmarshal([]byte(e.Result.Text()), &g); err != nil {
			return err
		}
		if err := json.Unmarshal([]byte(want), &w); err != nil {
			return err
		}
		if !reflect.DeepEqual(g, w) {
			return fmt.Errorf("the server got %v, want %v", g, w)
		}
		return nil
	}
}

func ask(key string, rounds ...[]string) peer.Job {
	return peer.Job{Call: "ask", Args: map[string]any{"key": key, "rounds": rounds}, Limit: limit}
}

func progress(p pair, _ string) []step {
	job := peer.Job{Call: "progress", Args: map[string]any{"steps": 3, "pause": 30}, Limit: limit}
	text := "done"
	if !p.server.ours {
		job.Call, job.Args = "trigger-long-running-operation", map[string]any{"duration": 0.3, "steps": 3}
		text = "completed. Duration: 0.3 seconds, Steps: 3."
	}
	return []step{{job, func(e peer.Entry) error {
		got := e.Progress
		if !p.server.ours && slices.Contains(e.Asked, "roots") {
			got = slices.Compact(slices.Sorted(slices.Values(got))) // client 2.4.0 counts the round as progress, too
		}
		if !p.client.HidesProgress && !slices.Equal(got, []float64{1, 2, 3}) {
			return fmt.Errorf("the progress is wrong")
		}
		return p.result(nil, text)(e)
	}}}
}

const everyField = "form Please provide inputs for the following fields: birthdate,check,email,firstLine,homepage,integer,legacyTitledEnum,name,number," +
	"titledMultipleSelectEnum,titledSingleSelectEnum,untitledMultipleSelectEnum,untitledSingleSelectEnum"

func formed(r peer.Reply) func(p pair, key string) []step {
	return func(p pair, key string) []step {
		r := r
		r.Content = maps.Clone(r.Content) // SDKs add their defaults to it
		if !p.server.ours {
			said := map[string]string{"accept": "- Name: Ann", "decline": "User declined", "cancel": "User cancelled"}[r.Action]
			if r.Content != nil {
				r.Content = map[string]any{"name": "Ann", "check": true, "integer": 7}
			}
			return []step{{peer.Job{Call: "trigger-elicitation-request", Form: r, Limit: limit}, p.result([]string{everyField}, said)}}
		}
		job := ask(key, []string{"form:Who?"})
		job.Form = r
		raw, _ := json.Marshal([][]peer.Reply{{r}})
		return []step{{job, p.answers(string(raw), "form Who? name")}}
	}
}

func url(p pair, key string) []step {
	if p.server.ours {
		return []step{{ask(key, []string{"url"}), p.answers(`[[{"action":"accept"}]]`, "url Open https://example.com/auth?x=1")}}
	}
	return []step{{trigger(key, false), p.result([]string{opened}, "completed the URL elicitation flow", "Elicitation ID: "+key)}}
}

const opened = "url Please open the link to complete this action. https://example.com/connect"

func trigger(key string, errorPath bool) peer.Job {
	return peer.Job{Call: "trigger-url-elicitation", Limit: limit,
		Args: map[string]any{"url": "https://example.com/connect", "elicitationId": key, "errorPath": errorPath}}
}

// required: a tool that works once a page was visited. In the legacy era it
// refuses with -32042, and the client calls again; in the modern era, and
// between eras, the page is a question, put once.
func required(p pair, key string) []step {
	refused := func(e peer.Entry) error {
		if e.Error == nil || e.Error.Code != float64(-32042) || peer.Pick(e.Error.Data, "elicitations", 0, "mode") != "url" {
			return fmt.Errorf("want error -32042")
		}
		return p.asked(e)
	}
	asked := func(e peer.Entry) error {
		if len(e.Asked) != 1 || !strings.HasPrefix(e.Asked[0], "url Visit http") || !strings.HasSuffix(e.Asked[0], "?key="+key) {
			return fmt.Errorf("want one question for the page")
		}
		return p.result(e.Asked, "visited "+key)(e)
	}
	plain := func(e peer.Entry) error {
		if e.Error != nil {
			return fmt.Errorf("failed")
		}
		return nil
	}
	job := peer.Job{Call: "required", Args: map[string]any{"key": key}, Limit: limit, URL: peer.Reply{Action: "accept", Visit: "after"}}
	legacy := p.client.Era == "legacy" && p.server.era == "legacy" && !p.client.AsksForPages
	switch {
	case !p.server.ours && legacy:
		return []step{{trigger(key, true), refused}, {trigger(key, true), p.result([]string{opened}, "completed the URL elicitation flow")}}
	case !p.server.ours:
		return []step{{trigger(key, true), func(e peer.Entry) error {
			if len(e.Asked) != 2 {
				return fmt.Errorf("want the page, and then the question")
			}
			return p.result(e.Asked, "completed the URL elicitation flow")(e)
		}}}
	case legacy:
		return []step{{job, refused}, {peer.Job{Visit: true, Limit: limit}, plain}, {peer.Job{Await: "complete " + key, Limit: limit}, plain}, {job, p.result(nil, "visited "+key)}}
	case !p.crossed():
		job.URL = peer.Reply{Action: "accept", Visit: "before"}
	}
	return []step{{job, asked}}
}

// requiredRuns: a refusal with -32042 ends the call, so there is another.
func requiredRuns(p pair) int {
	if p.server.era == "legacy" {
		return 2
	}
	return 1
}

func sampling(p pair, key string) []step {
	if !p.server.ours {
		job := peer.Job{Call: "trigger-sampling-request", Args: map[string]any{"prompt": "Capital?", "maxTokens": 33}, Limit: limit}
		return []step{{job, p.result([]string{"sampling Resource trigger-sampling-request context: Capital? 33"}, `"model": "stub-model"`, `"text": "Paris"`)}}
	}
	const paris = `[[{"role":"assistant","model":"stub-model","stopReason":"endTurn","content":{"type":"text","text":"Paris"}}]]`
	return []step{{ask(key, []string{"sampling"}), p.answers(paris, "sampling Capital? 10")}}
}

func roots(p pair, key string) []step {
	if !p.server.ours {
		return []step{{peer.Job{Call: "get-roots-list", Limit: limit}, p.result(nil, "(1 total)", "file:///project")}}
	}
	return []step{{ask(key, []string{"roots"}), p.answers(`[[{"roots":[{"uri":"file:///project","name":"project"}]}]]`, "roots")}}
}

// rounds has each form answered with its own message.
func rounds(all ...[]string) func(p pair, key string) []step {
	return func(p pair, key string) []step {
		job := ask(key, all...)
		job.Form = peer.Reply{Action: "accept", Echo: true}
		var asked []string
		var want [][]peer.Reply
		for _, round := range all {
			var replies []peer.Reply
			for _, q := range round {
				message := strings.TrimPrefix(q, "form:")
				asked = append(asked, "form "+message+" name")
				replies = append(replies, peer.Reply{Action: "accept", Content: map[string]any{"name": message}})
			}
			want = append(want, replies)
		}
		raw, _ := json.Marshal(want)
		return []step{{job, p.answers(string(raw), asked...)}}
	}
}

// cancelled: the server is told, and the client can go on.
func cancelled(p pair, key string) []step {
	stopped := func(e peer.Entry) error {
		if e.Error == nil || len(e.Progress) == 0 {
			return fmt.Errorf("the call was not cancelled")
		}
		return nil
	}
	if !p.server.ours {
		return []step{
			{peer.Job{Call: "trigger-long-running-operation", Args: map[string]any{"duration": 20, "steps": 100}, Cancel: true, Limit: limit}, stopped},
			{peer.Job{Call: "echo", Args: map[string]any{"message": "hi"}, Limit: limit}, p.result(nil, "Echo: hi")},
		}
	}
	return []step{
		{peer.Job{Call: "block", Args: map[string]any{"key": key}, Cancel: true, Limit: limit}, stopped},
		{peer.Job{Call: "ended", Args: map[string]any{"key": key, "wait": 3000}, Limit: limit}, p.result(nil, "ended "+key)},
	}
}

func late(ms int) peer.Reply {
	return peer.Reply{Action: "accept", Content: map[string]any{"name": "Late"}, After: ms}
}

func withdrawn(p pair, key string) []step {
	job := peer.Job{Call: "withdraw", Args: map[string]any{"key": key, "wait": 300}, Form: late(1200), Limit: limit}
	return []step{{job, p.result([]string{"form Who? name"}, "withdrawn")}}
}

// timeout: whoever thinks for longer than the gateway gives them has not
// answered.
func timeout(p pair, key string) []step {
	job, question := ask(key, []string{"form:Who?"}), "form Who? name"
	if !p.server.ours {
		job, question = peer.Job{Call: "trigger-elicitation-request", Limit: limit}, everyField
	}
	job.Form = late(2000)
	return []step{{job, func(e peer.Entry) error {
		if e.Error == nil && (e.Result == nil || !e.Result.IsError) {
			return fmt.Errorf("the late answer was taken")
		}
		said := e.Result.Text()
		if e.Error != nil {
			said = e.Error.Message
		}
		if !strings.Contains(said, "in time") {
			return fmt.Errorf("the end does not say that nobody answered in time")
		}
		return p.asked(e, question)
	}}}
}
