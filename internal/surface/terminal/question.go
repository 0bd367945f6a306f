package terminal

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/url"
	"strings"
	"time"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/form"
	"github.com/answerback/answerback/internal/sitename"
)

// Question is what is put to a person. All its texts may be hostile.
type Question struct {
	Backend  string // who asks
	During   string // the method of the call that caused it, "" where unknown
	Name     string // the tool, prompt or resource that was called, "" where unknown
	Client   string // what the client that called calls itself, "" where unknown
	Group    string // whom it is for, where that is a group
	Message  string
	Deadline time.Time
	Form     *form.Form // what it asks for; nil where it wants a visit to URL
	URL      string

	// Of an answer that was not taken: what was typed then, which is offered
	// again, what is wrong with it, and whether it may come back once more.
	Typed map[string][]string
	Wrong form.Errors
	Last  bool
	// Upload takes the file at a path for a field of the form. Its error is a
	// sentence for the person. Without it a question for a file cannot be
	// answered.
	Upload func(ctx context.Context, field, path string) (form.Upload, error)
	// Given are the files that were taken so far, by field. Ask adds to it.
	Given map[string][]form.Upload
}

// Decision is what a person decided.
type Decision struct {
	Action  ask.Action // Accept, Decline or Cancel
	Content []byte     // of an accepted form: a JSON object, without the files
	Typed   map[string][]string
}

// Print shows a question and what it asks for, without asking anybody. Of a
// question with neither a form nor an address it shows the rest.
func Print(out io.Writer, now time.Time, q *Question) error {
	t := &Terminal{cfg: Config{Out: out, Now: func() time.Time { return now }}}
	t.introduce(q)
	switch {
	case q.Form == nil && q.URL == "":
		return t.err
	case q.Form == nil:
		t.say("\nIt wants you to go to this address:\n%s%s\n", block(bar, q.URL, maxHelp), addressFault(q.URL))
		return t.err
	}
	fields := q.Form.Fields()
	for i := range fields {
		t.say("\nField %d of %d (%s)\n%s", i+1, len(fields), kind(&fields[i]), block("  name: ", fields[i].ID, maxLabel))
		t.describe(&fields[i], nil)
		if d := fields[i].DefaultStrings(); len(d) > 0 {
			t.say("%s", block("  default: ", shown(&fields[i], d), maxLabel))
		}
	}
	return t.err
}

// Ask puts a question to the person and gives what they decided. An error is
// an *ask.Error whose message says why there is no decision; then there is
// nothing to send. It ends when ctx does.
func (t *Terminal) Ask(ctx context.Context, q *Question) (Decision, error) {
	if len(q.Wrong) == 0 {
		t.introduce(q)
	}
	t.say("^C or ^D leaves without sending anything.\n")
	if q.Form == nil {
		return t.visit(ctx, q)
	}
	for i := range q.Form.Fields() {
		switch f := &q.Form.Fields()[i]; {
		case f.Sensitive && t.cfg.Hide == nil:
			return Decision{}, errSecret
		case f.Type == form.File && q.Upload == nil:
			return Decision{}, errFiles
		}
	}
	typed := q.Typed
	if q.Given == nil {
		q.Given = map[string][]form.Upload{}
	}
	t.object("This answer was not taken:", q.Wrong)
	if q.Last {
		t.say("If something is still wrong the next time, the question ends.\n")
	}
	for range maxAttempts {
		var err error
		if typed, err = t.fill(ctx, q, typed, q.Given); err != nil {
			return Decision{}, err
		}
		values, errs := q.Form.Read(typed, q.Given)
		if len(errs) > 0 {
			t.object("This answer cannot be sent:", errs)
			continue
		}
		t.summarize(q.Form, values)
		switch word, err := t.confirm(ctx, "send", "again"); {
		case err != nil:
			return Decision{}, err
		case word == "send":
			for id := range q.Given {
				delete(values, id)
			}
			return Decision{Action: ask.Accept, Content: q.Form.Encode(values), Typed: typed}, nil
		case word != "again":
			return decided(word), nil
		}
	}
	return Decision{}, errAttempts
}

// object says what is wrong with an answer.
func (t *Terminal) object(words string, errs form.Errors) {
	if len(errs) == 0 {
		return
	}
	t.say("\n%s\n", words)
	for _, e := range errs {
		t.say("%s", block(fail, e.Message, maxHelp))
	}
}

// visit shows where a server wants the person to go. What looks like another
// address than it is can only be turned down.
func (t *Terminal) visit(ctx context.Context, q *Question) (Decision, error) {
	words := []string{"send"}
	if why := addressFault(q.URL); why != "" {
		t.say("It wants you to go to an address that must not be followed:\n%s%s\n", block(bar, q.URL, maxHelp), why)
		words = nil
	} else {
		t.say("It wants you to go to this address, in a browser:\n%s", block(bar, q.URL, maxHelp))
		t.say("%s", siteWords(q.URL))
		t.say("Go there only if you expected this. Then say that you did: send.\n")
	}
	word, err := t.confirm(ctx, words...)
	if err != nil {
		return Decision{}, err
	}
	return decided(word), nil
}

// addressFault says in a sentence why an address must not be followed; "" for
// one that may.
func addressFault(address string) string {
	rules := form.URLRules{Schemes: []string{"https"}, AllowPrivate: true, AllowLocalhost: true}
	if strings.HasPrefix(address, "http:") {
		rules.Schemes = []string{"http"}
		public := form.URLRules{Schemes: rules.Schemes, AllowPrivate: true}
		if len(public.Check(address)) == 0 {
			return "It is not protected (http): whoever is on the way could read and change what you do there."
		}
	}
	u, err := url.Parse(address)
	if err == nil {
		_, err = sitename.Read(u.Hostname())
	}
	if err != nil || len(address) > maxHelp || clean(address) != address || len(rules.Check(address)) > 0 {
		return "It is not a plain web address (https), or can be read in more than one way."
	}
	return ""
}

// siteWords says to which site an address leads, and what its name looks like.
func siteWords(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	name, err := sitename.Read(u.Hostname())
	if err != nil {
		return ""
	}
	words := "Its site is:\n" + block(bar, name.Site, maxHelp)
	if name.Letters == "" {
		return words
	}
	words += "In its own letters:\n" + block(bar, name.Letters, maxHelp)
	if len(name.Scripts) > 0 {
		words += "Beware: it mixes " + strings.Join(name.Scripts, " and ") + " letters in one word, as names do that imitate others.\n"
	}
	if name.Like != "" {
		words += "It looks like this name, and is another site:\n" + block(bar, name.Like, maxHelp)
	}
	return words
}

func decided(word string) Decision {
	switch word {
	case "decline":
		return Decision{Action: ask.Decline}
	case "cancel":
		return Decision{Action: ask.Cancel}
	}
	return Decision{Action: ask.Accept}
}

// meanings is what the words at the end stand for.
var meanings = map[string]string{
	"send":    "send this answer",
	"again":   "go through it again",
	"decline": "say no",
	"cancel":  "say that you did not decide; the question is over",
	"leave":   "send nothing; the question still waits",
}

// confirm asks what is to be done, in a word that was typed after it was asked
// for. There is no default.
func (t *Terminal) confirm(ctx context.Context, first ...string) (string, error) {
	words := append(first, "decline", "cancel", "leave")
	t.say("\nWhat now?\n")
	for _, w := range words {
		t.say("  %-8s %s\n", w, meanings[w])
	}
	for range maxAttempts {
		t.forget()
		t.say("Type one of these words: ")
		line, err := t.read(ctx)
		if err != nil && err != errLong {
			return "", err
		}
		line = strings.TrimSpace(line)
		for _, w := range words {
			if err == nil && line == w {
				if w == "leave" {
					return "", errLeft
				}
				return w, nil
			}
		}
	}
	return "", errAttempts
}

// introduce says who asks, in whose name, and in what words.
func (t *Terminal) introduce(q *Question) {
	t.say("\nA question from %s:\n%s\n", cmp.Or(Line(q.Backend, maxName), "a server without a name"), block(bar, q.Message, maxMessage))
	for _, about := range []struct{ what, name string }{
		{things[q.During], q.Name}, {"called by", q.Client}, {"group", q.Group},
	} {
		if about.what != "" {
			t.say("%s", block(fmt.Sprintf("  %-10s ", about.what), Line(about.name, maxName), maxName+1))
		}
	}
	if !q.Deadline.IsZero() {
		t.say("  %-10s %s\n", "time left", Span(q.Deadline.Sub(t.cfg.Now())))
	}
}

// things is what a method calls.
var things = map[string]string{
	"tools/call":     "tool",
	"prompts/get":    "prompt",
	"resources/read": "resource",
}
