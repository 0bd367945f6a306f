package page

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/form"
	"github.com/answerback/answerback/internal/desk"
	asked "github.com/answerback/answerback/internal/question"
)

// Limits of what a page shows of a form; the form language allows more.
const (
	maxParts    = 2_000 // fields and choices together
	maxProblems = 3     // reasons why a form cannot be shown
)

// question is an ask as its page shows it. Exactly one of Form and Address is
// set where it can be answered here; Obstacle says why it cannot.
type question struct {
	ID       string
	Who      who
	Message  message
	Left     *remaining
	Form     *form.Form
	Address  *address
	Connect  string // the backend to connect an account with, "" where that is not the question
	Obstacle string
	Details  []string // of the obstacle, for whoever wrote the form
	backend  string   // its name as the gateway knows it
	given    *given   // the files that are there, of a question that asks for some
}

// Created reports whether a client or a program of the person created the
// form. Its creator gets the answer, and no server does.
func (q *question) Created() bool { return q.backend == "" && q.Form != nil }

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
	if w.Backend == "" { // its own client asks
		w.Backend, w.Client = w.Client, ""
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

// teaser is a question in one line.
func teaser(a *ask.Ask) string {
	p := asked.Read(a.Params)
	if s := line(p.Message, maxTeaser); s != "" {
		return s
	}
	var head struct {
		Title string `json:"title"`
	}
	if json.Unmarshal(p.Definition, &head) == nil && line(head.Title, maxTeaser) != "" {
		return line(head.Title, maxTeaser)
	}
	return "A question without words"
}

func (h *Handler) question(view *desk.View) *question {
	a, now := &view.Ask, h.cfg.Now()
	p := asked.Read(a.Params)
	q := &question{ID: a.ID, backend: a.Backend, Who: readWho(a, now), Message: readMessage(p.Message)}
	switch a.Kind {
	case ask.Connect:
		q.Connect, q.Obstacle = a.Backend, "It is answered by connecting an account."
	case ask.URL:
		at := readAddress(p.URL)
		q.Address = &at
		q.Obstacle = at.Why
	default:
		q.readForm(h.forms, p, h.cfg.Files != nil)
	}
	if m, ok := left(a.Deadline, now, a.Terms.Warn); ok {
		q.Left = &m
		q.Left.More = h.more(view)
	}
	return q
}

// readForm finds out what the question wants to know.
func (q *question) readForm(forms *form.Cache, p asked.Question, files bool) {
	var err error
	if q.Form, err = p.Form(forms); err != nil {
		q.obstruct("Its server describes it in a way that this page cannot show.", problems(err)...)
		return
	}
	if p.Definition != nil && (p.Message == "" || p.Message == asked.Words(q.Form)) {
		d := q.Form.Definition()
		q.Message = titled(d.Title, d.Description)
	}
	parts := 0
	for i := range q.Form.Fields() {
		f := &q.Form.Fields()[i]
		if parts += 1 + len(f.Options); f.Type == form.File && !files {
			q.obstruct("It asks for a file, and this page takes none.")
			return
		}
	}
	if parts > maxParts {
		q.obstruct("It asks for too many things at once.")
	}
}

func (q *question) obstruct(why string, details ...string) {
	q.Form, q.Obstacle, q.Details = nil, why, details
}

// problems says what is wrong with a form, for whoever wrote it.
func problems(err error) []string {
	all := asked.Problems(err, maxProblems)
	for i := range all {
		all[i] = line(all[i], maxLabel)
	}
	return all
}

// answerable reports whether the question can be accepted here.
func (q *question) answerable() bool { return q.Obstacle == "" }

// Bare reports whether the question is answered by yes or no alone.
func (q *question) Bare() bool { return q.Form != nil && len(q.Form.Fields()) == 0 }

// Secret reports whether the question asks for something that nobody else may
// see.
func (q *question) Secret() bool { return q.Form != nil && q.Form.Sensitive() }
