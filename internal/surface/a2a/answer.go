package a2a

import (
	"encoding/json"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/form"
	"github.com/answerback/answerback/internal/wire"
)

// misfit is why a message is no answer: what is wrong in words, and where an
// answer was understood and does not fit its form, with what.
type misfit struct {
	words string
	id    string
	wrong form.Errors
}

func (m *misfit) Error() string { return m.words }

func unfit(words string) *misfit { return &misfit{words: words} }

// envelope is the data part of an answer, read.
type envelope struct {
	id, action string
	content    []byte
}

// answers reads a message as answers to the questions that are open, by their
// ids. The error is a *misfit.
func answers(parts []*a2a.Part, open []question) (map[string]json.RawMessage, error) {
	given := make(map[string]json.RawMessage)
	data := false
	for _, p := range parts {
		d, ok := p.Content.(a2a.Data)
		if !ok {
			continue
		}
		data = true
		raw, err := json.Marshal(d.Value)
		if err != nil {
			return nil, unfit("A data part cannot be read.")
		}
		if err := answerOne(readEnvelope(raw, open), open, given); err != nil {
			return nil, err
		}
	}
	if data {
		return given, nil
	}
	text := textOf(parts)
	if text == "" {
		return nil, unfit("The message has neither text nor data.")
	}
	q := soleForm(open)
	if q == nil {
		return nil, unfit("Answer with a data part: {\"id\": …, \"action\": \"accept\", \"content\": {…}}.")
	}
	content, err := q.fromText(text)
	if err != nil {
		return nil, err
	}
	return given, answerOne(envelope{id: q.ID, action: ask.Accept.String(), content: content}, open, given)
}

// readEnvelope tells an answer with its action from the bare content of a form.
// Where a form has fields with the names of an envelope's, only the id of a
// question that is open makes it one.
func readEnvelope(raw []byte, open []question) envelope {
	bare := envelope{action: ask.Accept.String(), content: raw}
	members, err := wire.Object(raw, "id", "action", "content")
	if err != nil || len(members) == 0 {
		return bare
	}
	e := envelope{action: ask.Accept.String(), content: members["content"]}
	e.id, _ = wire.Unquote(members["id"])
	if find(open, e.id) == nil {
		q := soleForm(open)
		for name := range members {
			if q != nil && q.hasField(name) {
				return bare
			}
		}
	}
	if action := members["action"]; action != nil {
		e.action, _ = wire.Unquote(action)
	}
	return e
}

// answerOne notes what an envelope says.
func answerOne(e envelope, open []question, given map[string]json.RawMessage) error {
	switch e.action {
	case ask.Accept.String():
	case ask.Decline.String(), ask.Cancel.String():
		if e.content != nil {
			return unfit("Only an accept has content.")
		}
	default:
		return unfit("action must be accept, decline or cancel.")
	}
	var of []*question
	switch {
	case e.id != "":
		if q := find(open, e.id); q != nil {
			of = append(of, q)
		}
	case e.content != nil:
		if q := soleForm(open); q != nil {
			of = append(of, q)
		}
	case len(open) == 1 || e.action != ask.Accept.String():
		for i := range open {
			of = append(of, &open[i])
		}
	}
	if len(of) == 0 {
		return unfit("Several questions are open, or none with this id: say with id which one is answered.")
	}
	for _, q := range of {
		raw, err := q.accept(e)
		if err != nil {
			return err
		}
		given[q.ID] = raw
	}
	return nil
}

// accept makes the answer to a question as MCP has it, held to its form.
func (q *question) accept(e envelope) (json.RawMessage, error) {
	if e.action != ask.Accept.String() {
		return json.RawMessage(`{"action":"` + e.action + `"}`), nil
	}
	if q.Mode == modeURL {
		if e.content != nil {
			return nil, unfit("Only the accept of a form has content.")
		}
		return json.RawMessage(`{"action":"accept"}`), nil
	}
	content := e.content
	if content == nil {
		content = []byte("{}")
	}
	if at, err := wire.Value(content); err != nil || content[at.Start] != '{' {
		return nil, unfit("The content of an answer is an object.")
	}
	if !q.Free {
		f, err := q.form()
		if err != nil {
			return nil, unfit("The question asks for values in a way that cannot be read here. It can be declined.")
		}
		values, wrong := f.Decode(content, nil)
		if len(wrong) > 0 {
			return nil, &misfit{words: "The answer does not fit the question.", id: q.ID, wrong: wrong}
		}
		content = f.Encode(values)
	}
	return append(append(json.RawMessage(`{"action":"accept","content":`), content...), '}'), nil
}

// fromText takes words for the value of the one field of a form.
func (q *question) fromText(text string) ([]byte, error) {
	f, err := q.form()
	if err != nil || len(f.Fields()) != 1 {
		return nil, unfit("This form does not have one field: answer with a data part {\"action\": \"accept\", \"content\": {…}}.")
	}
	b := wire.AppendString([]byte{'{'}, f.Fields()[0].ID)
	return append(wire.AppendString(append(b, ':'), text), '}'), nil
}

func (q *question) hasField(id string) bool {
	f, err := q.form()
	if err != nil {
		return false
	}
	_, ok := f.Field(id)
	return ok
}

// soleForm gives the one form that is open, nil where there are none or
// several.
func soleForm(open []question) *question {
	var found *question
	for i := range open {
		if open[i].Mode != modeForm {
			continue
		}
		if found != nil {
			return nil
		}
		found = &open[i]
	}
	return found
}

func find(open []question, id string) *question {
	for i := range open {
		if open[i].ID == id {
			return &open[i]
		}
	}
	return nil
}
