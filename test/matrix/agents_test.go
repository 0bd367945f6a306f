//go:build matrix

package matrix

import (
	"fmt"
	"slices"
	"strings"

	"github.com/answerback/answerback/test/peer"
)

// taskCancelled: somebody who cancels has an agent's task cancelled, and the
// call ends.
func (p pair) taskCancelled(job peer.Job, key string) []step {
	return []step{{job, func(e peer.Entry) error {
		if e.Result == nil || !e.Result.IsError || !strings.Contains(e.Result.Text(), "cancelled the call") {
			return fmt.Errorf("the end does not say that the person cancelled")
		}
		return p.asked(e, "form Who? name")
	}}, p.ended(key)}
}

// ownPage: an agent goes on when somebody was at its page, and not when they
// said that they would go there.
func ownPage(p pair, key string) []step {
	job := p.ask(key, []string{"url"})
	job.URL = peer.Reply{Action: "accept", Visit: "after"}
	return []step{{job, p.answers(`[[{"action":"accept"}]]`, "url Open "+p.server.direct.URL+"/visit?key="+key)}}
}

// fourTasks: an agent asks one thing at a time, in each of four tasks.
func fourTasks(p pair, key string) []step {
	job := p.ask(key, []string{"form:Who?"})
	job.Times, job.Limit = 4, 4*limit
	job.Form = peer.Reply{Action: "accept", Content: map[string]any{"name": "Ann"}, Together: 4}
	return []step{{job, func(e peer.Entry) error {
		if n := strings.Count(e.Result.Text(), `[[{"action":"accept","content":{"name":"Ann"}}]]`); n != 4 {
			return fmt.Errorf("%d of 4 tasks got the answer", n)
		}
		return p.result(slices.Repeat([]string{"form Who? name"}, 4))(e)
	}}}
}
