// Package question reads what a question in MCP's form mode asks for: a
// requestedSchema, a form in our own language (formDefinition), or the one
// text of the older inline mode. Whoever shows a question, and whoever takes
// an answer to it, gets its form here, so that all of them ask the same and
// accept the same.
//
// It does not decide who may be asked or where a question is shown, and it
// draws nothing.
package question

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/form"
	"github.com/answerback/answerback/internal/wire"
)

// Question is the parameters of elicitation/create, as far as people see them.
// All of it is the asker's: it may be hostile.
type Question struct {
	Mode       string
	Message    string
	URL        string
	Schema     json.RawMessage // requestedSchema, nil where there is none
	Definition json.RawMessage // formDefinition, nil where there is none
}

// Read takes what it can: a question whose parameters are not what they should
// be is still somebody's to decline. Names are matched exactly.
func Read(params []byte) Question {
	var all map[string]json.RawMessage
	if json.Unmarshal(params, &all) != nil {
		return Question{}
	}
	q := Question{
		Mode: text(all["mode"]), Message: text(all["message"]), URL: text(all["url"]),
		Schema: value(all["requestedSchema"]), Definition: value(all["formDefinition"]),
	}
	if q.Message == "" {
		q.Message = text(all["prompt"]) // of the inline mode
	}
	return q
}

// value gives a member as it stands, nil for one that is not there.
func value(raw json.RawMessage) json.RawMessage {
	if string(raw) == "null" {
		return nil
	}
	return raw
}

// text gives a JSON string's value, and "" for anything else.
func text(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

// noFields is what a question asks that has no schema: a yes.
var noFields = []byte(`{"type":"object","properties":{}}`)

// Form gives the form that a question means. Forms is where it may be known
// from before. The error's code is BadSchema, and a *form.DefinitionError is
// behind it.
func (q Question) Form(forms *form.Cache) (*form.Form, error) {
	var f *form.Form
	var err error
	switch {
	case q.Definition != nil:
		f, err = forms.Parse(q.Definition)
	case q.Schema != nil:
		f, err = forms.FromRequested(q.Schema, q.Message)
	case q.Mode == "inline":
		f, err = form.Inline(q.Message)
	default:
		f, err = forms.FromRequested(noFields, q.Message)
	}
	if err != nil {
		return nil, ask.Wrap(ask.BadSchema, "The question asks for values in a way that cannot be read here. It can be declined.", err)
	}
	return f, nil
}

// Secrets names the fields that ask for a secret.
func (q Question) Secrets(forms *form.Cache) []string {
	if q.Definition == nil {
		return form.Sensitive(q.Schema, q.Message)
	}
	f, err := forms.Parse(q.Definition)
	if err != nil {
		return nil
	}
	var names []string
	for _, field := range f.Fields() {
		if field.Sensitive {
			names = append(names, field.ID)
		}
	}
	return names
}

// Define reads a question with a formDefinition and gives its form, and its
// parameters as every part of the gateway takes them: with the words of the
// form as the message where there was none, and with the requestedSchema that
// says the same, where one can. A field that asks for a secret by its name is
// sensitive from here on. For a question without a formDefinition the form is
// nil. The error's code is BadSchema; its message names what is wrong.
func Define(params []byte, forms *form.Cache) ([]byte, *form.Form, *ask.Error) {
	q := Read(params)
	if q.Definition == nil {
		return params, nil, nil
	}
	f, definition, err := define(q, forms)
	if err != nil {
		return nil, nil, ask.Wrap(ask.BadSchema, "The form cannot be shown: "+problems(err)+".", err)
	}
	obj, err := wire.Value(params)
	if err != nil {
		return nil, nil, ask.Wrap(ask.BadMessage, "The question cannot be read.", err)
	}
	change := func(key string, value []byte) wire.Change {
		return wire.Change{Old: wire.Get(params, obj, key), Key: key, Value: value}
	}
	schema, err := f.Requested()
	if err != nil {
		schema = nil
	}
	changes := []wire.Change{change("requestedSchema", schema), change("formDefinition", definition)}
	if q.Message == "" {
		changes = append(changes, change("message", wire.AppendString(nil, Words(f))))
	}
	return wire.Splice(nil, params, wire.Amend(params, obj, changes...)...), f, nil
}

// define makes the form of a question, and gives its definition with fields
// made sensitive that ask for a secret and do not say so.
func define(q Question, forms *form.Cache) (*form.Form, []byte, error) {
	f, err := forms.Parse(q.Definition)
	if err != nil {
		return nil, nil, err
	}
	found := form.Sensitive(f.Schema(), q.Message+"\n"+Words(f))
	def, changed := *f.Definition(), false
	def.Fields = slices.Clone(def.Fields)
	for i := range def.Fields {
		field := &def.Fields[i]
		typed := (field.Type == form.Text || field.Type == form.Number) && !field.Hints.ReadOnly && !field.Hints.Hidden
		if typed && !field.Sensitive && slices.Contains(found, field.ID) {
			field.Sensitive, field.Default, changed = true, nil, true
		}
	}
	if !changed {
		return f, q.Definition, nil
	}
	raw, err := json.Marshal(def)
	if err != nil {
		return nil, nil, err
	}
	f, err = forms.Parse(raw)
	return f, raw, err
}

// Words is a form's title and description as one message.
func Words(f *form.Form) string {
	d := f.Definition()
	if d.Description == "" {
		return d.Title
	}
	return d.Title + "\n\n" + d.Description
}

// Plain gives the parameters of a question as a client gets them that knows
// MCP and nothing of our forms.
func Plain(params []byte) []byte {
	obj, err := wire.Value(params)
	if err != nil {
		return params
	}
	at := wire.Get(params, obj, "formDefinition")
	if at.IsZero() {
		return params
	}
	return wire.Splice(nil, params, wire.Drop(params, obj, at))
}

// maxProblems is how many problems of a form an error names.
const maxProblems = 10

// problems says what is wrong with a form, in one line.
func problems(err error) string {
	all := Problems(err, maxProblems)
	if len(all) == 0 {
		return "it cannot be read"
	}
	return strings.Join(all, "; ")
}
