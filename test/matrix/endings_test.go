//go:build matrix

package matrix

import (
	"fmt"
	"strings"

	"github.com/answerback/answerback/test/peer"
)

// cancelled: the server is told, and the client can go on.
func cancelled(p pair, key string) []step {
	stopped := func(e peer.Entry) error {
		if e.Error == nil || len(e.Progress) == 0 && !p.client.HidesProgress {
			return fmt.Errorf("the call was not cancelled")
		}
		return nil
	}
	job := p.job("block", map[string]any{"key": key})
	job.Cancel, job.Started = true, p.counted(key)
	if p.server.ours {
		return []step{{job, stopped}, p.ended(key)}
	}
	job.Call, job.Args = "trigger-long-running-operation", map[string]any{"duration": 20, "steps": 100, "key": key}
	return []step{
		{job, stopped},
		{peer.Job{Exists: p.counted(key + ".cancelled"), Limit: 3000}, plain},
		{peer.Job{Call: "echo", Args: map[string]any{"message": "hi"}, Limit: limit}, p.result(nil, "Echo: hi")},
	}
}

// ended: the server knows that a call is over.
func (p pair) ended(key string) step {
	return step{p.job("ended", map[string]any{"key": key, "wait": 3000}), p.result(nil, "ended "+key)}
}

// plain wants a job that is no call to go well.
func plain(e peer.Entry) error {
	if e.Error != nil {
		return fmt.Errorf("failed")
	}
	return nil
}

// late is an answer that comes when nobody wants it any more.
func late(ms int) peer.Reply {
	return peer.Reply{Action: "accept", Content: map[string]any{"name": "Late"}, After: ms}
}

// hears reports whether a client is told that a question is over, and shows
// it. One of the modern era has its questions from a response that is over
// itself, so nobody can tell it.
func (p pair) hears() bool { return p.client.Era == "legacy" && !p.client.HidesWithdrawals }

// heard has a client that thinks wait until it is told that the question is
// over; one that is not told gives its answer late.
func (p pair) heard(job peer.Job, message string, want func(peer.Entry) error) []step {
	if !p.hears() {
		return []step{{job, want}}
	}
	job.Form = late(5000)
	return []step{{job, want}, {peer.Job{Await: "withdrawn " + message, Limit: 2000}, plain}}
}

// withdrawn: the server no longer wants its answer. In the legacy era it says
// so, and the client hears it; in the modern era the call has another end than
// the answer would have given it.
func withdrawn(p pair, key string) []step {
	if !p.server.ours {
		return gaveUp(p, key)
	}
	job := p.job("withdraw", map[string]any{"key": key, "wait": 300})
	job.Form = late(1200)
	took := func(e peer.Entry) error {
		if e.Result.Text() != "withdrawn" {
			return fmt.Errorf("the question was not taken back")
		}
		return p.result([]string{"form Who? name"})(e)
	}
	if p.server.era == "modern" {
		return []step{{job, took}}
	}
	return p.heard(job, "Who?", took)
}

// gaveUp: what the reference server takes back is sampling, when it was not
// answered for a minute.
func gaveUp(p pair, key string) []step {
	job := peer.Job{Call: "trigger-sampling-request", Args: map[string]any{"prompt": "Capital?", "maxTokens": 33, "key": key}, Sample: 63_000, Limit: 150_000}
	const prompt = "Resource trigger-sampling-request context: Capital?"
	return p.heard(job, prompt, func(e peer.Entry) error {
		if e.Result == nil || !e.Result.IsError || !strings.Contains(e.Result.Text(), "Request timed out") {
			return fmt.Errorf("the question was not taken back")
		}
		return p.asked(e, "sampling "+prompt+" 33")
	})
}

// timeout: whoever thinks for longer than the gateway gives them has not
// answered.
func timeout(p pair, key string) []step {
	job, question, message := p.ask(key, []string{"form:Who?"}), "form Who? name", "Who?"
	if !p.server.ours {
		job, question = peer.Job{Call: "trigger-elicitation-request", Args: map[string]any{"key": key}, Limit: limit}, everyField
		message = "Please provide inputs"
	}
	job.Form = late(2500)
	return p.heard(job, message, func(e peer.Entry) error {
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
	})
}
