package page

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/answerback/answerback/ask"
)

// question is an ask as its page shows it. Exactly one of Form and Address is
// set where it can be answered; Obstacle says why it cannot.
type question struct {
	ID       string
	Who      who
	Message  message
	Left     *moment
	Form     *form
	Address  *address
	Obstacle string
}

// who says where a question comes from.
type who struct {
	Backend string
	Letter  string // stands for the backend where there is no picture
	Thing   string // "tool", "prompt" or "resource"; empty where unknown
	Name    string
	Client  string // what called it, by its own account
	Group   string // whom it is for, where that is a group
	Asked   moment
}

func readWho(a *ask.Ask, now time.Time) who {
	w := who{
		Backend: line(a.Backend, maxName),
		Client:  line(a.Client, maxName),
		Group:   line(a.Addressee.Group, maxName),
		Asked:   ago(a.Asked, now),
	}
	if w.Backend == "" {
		w.Backend = "A server without a name"
	}
	first, _ := clip(w.Backend, 1)
	w.Letter = strings.ToUpper(first)
	if w.Name = line(a.Name, maxName); w.Name != "" {
		w.Thing = things[a.During]
	}
	return w
}

// things is what a method calls.
var things = map[string]string{
	"tools/call":     "tool",
	"prompts/get":    "prompt",
	"resources/read": "resource",
}

// params are the parts of elicitation/create that a page shows.
type params struct {
	message string
	url     string
	schema  json.RawMessage
}

// readParams takes what it can: a question whose parameters are not what they
// should be is still somebody's to decline. Names are matched exactly.
func readParams(raw []byte) params {
	var all map[string]json.RawMessage
	if json.Unmarshal(raw, &all) != nil {
		return params{}
	}
	return params{
		message: text(all["message"]),
		url:     text(all["url"]),
		schema:  all["requestedSchema"],
	}
}

// text gives a JSON string's value, and "" for anything else.
func text(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

// teaser is a question in one line.
func teaser(a *ask.Ask) string {
	if s := line(readParams(a.Params).message, maxTeaser); s != "" {
		return s
	}
	return "A question without words"
}

func readQuestion(a *ask.Ask, now time.Time) *question {
	p := readParams(a.Params)
	q := &question{ID: a.ID, Who: readWho(a, now), Message: readMessage(p.message)}
	if m, ok := left(a.Deadline, now); ok {
		q.Left = &m
	}
	if a.Kind == ask.URL {
		at := readAddress(p.url)
		q.Address = &at
		if at.Href == "" {
			q.Obstacle = at.Why
		}
		return q
	}
	f, err := readSchema(p.schema)
	if err != nil {
		q.Obstacle = err.Error()
		return q
	}
	q.Form = f
	return q
}

// answerable reports whether the question can be accepted here.
func (q *question) answerable() bool { return q.Obstacle == "" }

// Bare reports whether the question is answered by yes or no alone.
func (q *question) Bare() bool { return q.Form != nil && len(q.Form.Fields) == 0 }
