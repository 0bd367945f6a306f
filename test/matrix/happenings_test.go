//go:build matrix

package matrix

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/answerback/answerback/test/peer"
)

// limit is how long a call may take, in milliseconds.
const limit = 20_000

// step is a job and what must come of it.
type step struct {
	peer.Job
	want func(e peer.Entry) error
}

// happening is something that can happen between a client and a server.
type happening struct {
	name  string
	steps func(p pair, key string) []step
	runs  func(p pair) int // of the tool, after it; nil where nothing is counted
}

// pair is a client at a server.
type pair struct {
	client peer.Client
	server server
	runs   string // directory in which calls are counted, a file for each key
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
	{name: "two rounds", steps: two, runs: twoRuns},
	{name: "four questions at once", steps: four, runs: fourRuns},
	{name: "client cancels", steps: cancelled, runs: once},
	{name: "server withdraws", steps: withdrawn, runs: once},
	{name: "timeout", steps: timeout, runs: once},
}

func once(pair) int { return 1 }

// verdict says what is wrong with what a client reports of a happening.
func verdict(p pair, h happening, key string, steps []step, entries []peer.Entry) error {
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
	if h.runs == nil {
		return nil
	}
	info, err := os.Stat(p.counted(key))
	if err != nil {
		return err
	}
	if got, want := info.Size(), int64(h.runs(p)); got != want {
		return fmt.Errorf("the tool ran %d times, want %d", got, want)
	}
	return nil
}

// counted gives the file that grows with each call.
func (p pair) counted(key string) string { return filepath.Join(p.runs, key) }

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

// job calls one of our tools. An agent takes words, and data beside them.
func (p pair) job(tool string, args map[string]any) peer.Job {
	if p.server.agent {
		args = map[string]any{"message": tool, "data": args}
	}
	return peer.Job{Call: tool, Args: args, Limit: limit}
}

func (p pair) ask(key string, rounds ...[]string) peer.Job {
	return p.job("ask", map[string]any{"key": key, "rounds": rounds})
}

func progress(p pair, _ string) []step {
	job := p.job("progress", map[string]any{"steps": 3, "pause": 30})
	text, want := "done", []float64{1, 2, 3}
	if p.server.agent {
		want = []float64{1, 2, 3, 4} // the first is that the task was taken
	}
	if !p.server.ours {
		job.Call, job.Args = "trigger-long-running-operation", map[string]any{"duration": 0.3, "steps": 3}
		text = "completed. Duration: 0.3 seconds, Steps: 3."
	}
	return []step{{job, func(e peer.Entry) error {
		if !p.client.HidesProgress && !slices.Equal(e.Progress, want) {
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
		if !p.server.ours {
			said := map[string]string{"accept": "- Name: Ann", "decline": "User declined", "cancel": "User cancelled"}[r.Action]
			if r.Content != nil {
				r.Content = map[string]any{"name": "Ann", "check": true, "integer": 7}
			}
			return []step{{peer.Job{Call: "trigger-elicitation-request", Args: map[string]any{"key": key}, Form: r, Limit: limit}, p.result([]string{everyField}, said)}}
		}
		job := p.ask(key, []string{"form:Who?"})
		job.Form = r
		if p.server.agent && r.Action == "cancel" {
			return p.taskCancelled(job, key)
		}
		raw, _ := json.Marshal([][]peer.Reply{{r}})
		return []step{{job, p.answers(string(raw), "form Who? name")}}
	}
}

func url(p pair, key string) []step {
	if p.server.agent {
		return ownPage(p, key)
	}
	if p.server.ours {
		return []step{{p.ask(key, []string{"url"}), p.answers(`[[{"action":"accept"}]]`, "url Open https://example.com/auth?x=1")}}
	}
	return []step{{trigger(key, false), p.result([]string{opened}, "completed the URL elicitation flow", "Elicitation ID: "+key)}}
}

const opened = "url Please open the link to complete this action. https://example.com/connect"

func trigger(key string, errorPath bool) peer.Job {
	return peer.Job{Call: "trigger-url-elicitation", Limit: limit,
		Args: map[string]any{"url": "https://example.com/connect", "elicitationId": key, "errorPath": errorPath, "key": key}}
}

// required: a tool that works once a page was visited. In the legacy era it
// refuses with -32042, and the client calls again; in the modern era, and
// between eras, the page is a question, put once.
func required(p pair, key string) []step {
	var code any = float64(-32042)
	if p.client.TellsOfPages {
		code = "data-tool-auth-required"
	}
	refused := func(e peer.Entry) error {
		if e.Error == nil || e.Error.Code != code || peer.Pick(e.Error.Data, "elicitations", 0, "mode") != "url" {
			return fmt.Errorf("want error %v", code)
		}
		return p.asked(e)
	}
	asked := func(e peer.Entry) error {
		if len(e.Asked) != 1 || !strings.HasPrefix(e.Asked[0], "url Visit http") || !strings.HasSuffix(e.Asked[0], "?key="+key) {
			return fmt.Errorf("want one question for the page")
		}
		return p.result(e.Asked, "visited "+key)(e)
	}
	job := p.job("required", map[string]any{"key": key})
	job.URL = peer.Reply{Action: "accept", Visit: "after"}
	legacy := p.client.Era == "legacy" && p.server.era == "legacy" && !p.client.AsksForPages
	switch {
	case !p.server.ours && legacy:
		return []step{{trigger(key, true), refused}, {trigger(key, true), p.result([]string{opened}, "completed the URL elicitation flow")}}
	case !p.server.ours:
		return []step{{trigger(key, true), p.pageThenQuestion}}
	case legacy && p.client.TellsOfPages:
		return []step{{job, refused}, {peer.Job{Visit: true, Limit: limit}, plain}, {job, p.result(nil, "visited "+key)}}
	case legacy:
		return []step{{job, refused}, {peer.Job{Visit: true, Limit: limit}, plain}, {peer.Job{Await: "complete " + key, Limit: limit}, plain}, {job, p.result(nil, "visited "+key)}}
	case !p.crossed():
		job.URL = peer.Reply{Action: "accept", Visit: "before"}
	}
	return []step{{job, asked}}
}

// pageThenQuestion is what the reference server's page comes to when it is
// opened and the call goes on.
func (p pair) pageThenQuestion(e peer.Entry) error {
	asked := slices.DeleteFunc(slices.Clone(e.Asked), func(q string) bool { return q == "roots" })
	if len(asked) != 2 || !strings.HasPrefix(asked[0], "url Open this link") || asked[1] != opened {
		return fmt.Errorf("want the page, and then the question")
	}
	return p.result(e.Asked, "completed the URL elicitation flow")(e)
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
		job := peer.Job{Call: "trigger-sampling-request", Args: map[string]any{"prompt": "Capital?", "maxTokens": 33, "key": key}, Limit: limit}
		return []step{{job, p.result([]string{"sampling Resource trigger-sampling-request context: Capital? 33"}, `"model": "stub-model"`, `"text": "Paris"`)}}
	}
	const paris = `[[{"role":"assistant","model":"stub-model","stopReason":"endTurn","content":{"type":"text","text":"Paris"}}]]`
	return []step{{p.ask(key, []string{"sampling"}), p.answers(paris, "sampling Capital? 10")}}
}

func roots(p pair, key string) []step {
	if !p.server.ours {
		return []step{{peer.Job{Call: "get-roots-list", Args: map[string]any{"key": key}, Limit: limit}, p.result(nil, "(1 total)", "file:///project")}}
	}
	return []step{{p.ask(key, []string{"roots"}), p.answers(`[[{"roots":[{"uri":"file:///project","name":"project"}]}]]`, "roots")}}
}

// rounds has each form answered with its own message.
func rounds(all ...[]string) func(p pair, key string) []step {
	return func(p pair, key string) []step {
		job := p.ask(key, all...)
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

// two: the reference server asks twice in one call where the page to visit
// first is a question.
func two(p pair, key string) []step {
	if p.server.ours {
		return rounds([]string{"form:First"}, []string{"form:Second"})(p, key)
	}
	return []step{{trigger(key, true), p.pageThenQuestion}}
}

func twoRuns(p pair) int {
	if p.server.ours {
		return 1
	}
	return 2
}

// four: the reference server asks once in a call, and an agent one thing at a
// time, so there are four calls, none of which is answered before all have
// asked.
func four(p pair, key string) []step {
	if p.server.agent {
		return fourTasks(p, key)
	}
	if p.server.ours {
		return rounds([]string{"form:A", "form:B", "form:C", "form:D"})(p, key)
	}
	job := peer.Job{Call: "trigger-elicitation-request", Args: map[string]any{"key": key}, Times: 4, Limit: 4 * limit}
	job.Form = peer.Reply{Action: "accept", Content: map[string]any{"name": "Ann", "check": true, "integer": 7}, Together: 4}
	return []step{{job, func(e peer.Entry) error {
		if n := strings.Count(e.Result.Text(), "- Name: Ann"); n != 4 {
			return fmt.Errorf("%d of 4 calls got the answer", n)
		}
		return p.result(slices.Repeat([]string{everyField}, 4))(e)
	}}}
}

func fourRuns(p pair) int {
	if p.server.ours && !p.server.agent {
		return 1
	}
	return 4
}
