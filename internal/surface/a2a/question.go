package a2a

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/answerback/answerback/form"
	"github.com/answerback/answerback/internal/wire"
)

// FormsExtension names the way in which questions and their answers are
// written into data parts.
const FormsExtension = "https://github.com/answerback/answerback/blob/main/docs/a2a.md#forms"

const (
	modeForm = "form"
	modeURL  = "url"
)

// question is one that a task waits for.
type question struct {
	Key     string // the relay's, or one of ours
	ID      string // what the client knows it by
	Mode    string
	Message string
	Schema  json.RawMessage `json:",omitempty"`
	URL     string          `json:",omitempty"`
	Tool    string          `json:",omitempty"` // whose arguments a question of the gateway's own is about
	// Free says that the answer is any object, which the tool itself judges.
	Free     bool            `json:",omitempty"`
	Deadline time.Time       `json:",omitzero"`
	Answer   json.RawMessage `json:",omitempty"` // the result object, once given
	Tries    int             `json:",omitempty"` // answers that did not fit
}

// noFields is the schema of a form that asks for nothing but a yes.
const noFields = `{"type":"object","properties":{}}`

// readQuestion reads one of the requests of a result that wants input.
func readQuestion(key string, raw []byte, at wire.Span) question {
	params := wire.Get(raw, at, "params")
	text := func(name string) string {
		s, _ := wire.Unquote(wire.Get(raw, params, name).Of(raw))
		return s
	}
	q := question{Key: key, Mode: modeForm, Message: text("message")}
	if text("mode") == modeURL {
		q.Mode, q.URL = modeURL, text("url")
		return q
	}
	q.Schema = append(q.Schema, wire.Get(raw, params, "requestedSchema").Of(raw)...)
	if len(q.Schema) == 0 {
		q.Schema = json.RawMessage(noFields)
	}
	return q
}

// shown is a question as a data part has it.
type shown struct {
	ID              string          `json:"id"`
	Mode            string          `json:"mode"`
	Message         string          `json:"message"`
	RequestedSchema json.RawMessage `json:"requestedSchema,omitempty"`
	URL             string          `json:"url,omitempty"`
	Backend         string          `json:"backend,omitempty"`
	Tool            string          `json:"tool,omitempty"`
	Deadline        time.Time       `json:"deadline,omitzero"`
	Errors          form.Errors     `json:"errors,omitempty"`
	Attempts        *attempts       `json:"attempts,omitempty"`
}

// attempts is how often a question was answered in a way that does not fit it.
type attempts struct {
	Count int `json:"count"`
	Limit int `json:"limit"`
}

// asker says who asks.
type asker struct{ backend, tool string }

func (a asker) words() string {
	switch {
	case a.tool == "":
		return "This agent asks"
	case a.backend == "":
		return "The tool " + a.tool + " asks"
	}
	return a.backend + " asks, in the tool " + a.tool
}

// state is that of a task that waits for these questions. One that only waits
// for somebody to open an address goes on by itself, or is told that they did.
func stateOf(open []question) a2a.TaskState {
	for _, q := range open {
		if q.Mode == modeForm {
			return a2a.TaskStateInputRequired
		}
	}
	return a2a.TaskStateAuthRequired
}

// parts shows questions: for each of them words, and data for programs.
func (a asker) parts(open []question, wrong map[string]form.Errors, limit int) []*a2a.Part {
	var parts []*a2a.Part
	for _, q := range open {
		s := shown{
			ID: q.ID, Mode: q.Mode, Message: q.Message, RequestedSchema: q.Schema, URL: q.URL,
			Backend: a.backend, Tool: a.tool, Deadline: q.Deadline, Errors: wrong[q.ID],
		}
		if q.Tries > 0 {
			s.Attempts = &attempts{q.Tries, limit}
		}
		raw, err := json.Marshal(s)
		if err != nil {
			continue // a schema that came as JSON can be written
		}
		data := dataPart(raw)
		data.Metadata = map[string]any{FormsExtension: map[string]any{}}
		parts = append(parts, a2a.NewTextPart(a.say(q, wrong[q.ID])), data)
	}
	return parts
}

// say puts a question into words.
func (a asker) say(q question, wrong form.Errors) string {
	var b strings.Builder
	for _, e := range wrong {
		b.WriteString(e.Field + ": " + e.Message + "\n")
	}
	b.WriteString(a.words() + ": " + q.Message)
	if q.Mode == modeURL {
		b.WriteString("\nTo go on, open " + q.URL)
		return b.String()
	}
	f, err := q.form()
	if err != nil {
		return b.String()
	}
	for _, field := range f.Fields() {
		b.WriteString("\n- " + field.ID)
		if field.Label != "" && field.Label != field.ID {
			b.WriteString(": " + field.Label)
		}
		var choices []string
		for _, o := range field.Options {
			choices = append(choices, o.Value)
		}
		if len(choices) > 0 {
			b.WriteString(" (" + cut(strings.Join(choices, ", "), maxWords) + ")")
		}
		if !field.Required {
			b.WriteString(" (optional)")
		}
	}
	return b.String()
}

// form is what the answer is held to.
func (q *question) form() (*form.Form, error) { return form.FromRequested(q.Schema, q.Message) }
