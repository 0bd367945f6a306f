package form

import (
	"fmt"
	"strings"
)

// Reason is something about a form that a requestedSchema cannot say.
type Reason struct {
	Field string // "" for the form as a whole
	What  string // what cannot be said: file, pattern, condition, secret, …
}

// NotRepresentable says why a form cannot be asked by a requestedSchema.
type NotRepresentable struct {
	Because []Reason // at least one
}

// Error lists the reasons.
func (e *NotRepresentable) Error() string {
	parts := make([]string, len(e.Because))
	for i, r := range e.Because {
		if parts[i] = r.What; r.Field != "" {
			parts[i] = fmt.Sprintf("%s has a %s", r.Field, r.What)
		}
	}
	return "not representable in a requestedSchema: " + strings.Join(parts, ", ")
}

// Requested writes the form as the requestedSchema of an MCP elicitation, keys
// in the order of the fields. The error is a [*NotRepresentable] when that
// cannot say all that a person must know to answer, or when the answer must
// not pass through a client.
//
// A client checks little: what comes back must be read with [Form.Decode].
func (f *Form) Requested() ([]byte, error) {
	if reasons := f.reasons(); len(reasons) > 0 {
		return nil, &NotRepresentable{reasons}
	}
	var o object
	o.open()
	o.text("type", "object")
	o.nest("properties", func(o *object) {
		for i := range f.fields {
			o.nest(f.fields[i].ID, f.fields[i].writeRequested)
		}
	})
	var required []string
	for i := range f.fields {
		if f.demands(&f.fields[i]) {
			required = append(required, f.fields[i].ID)
		}
	}
	o.optTexts("required", required)
	return o.close(), nil
}

func (f *Form) reasons() []Reason {
	var out []Reason
	for i := range f.fields {
		field := &f.fields[i]
		c := &field.Constraints
		for _, r := range []struct {
			is   bool
			what string
		}{
			{field.Type == File, "file"},
			{field.Sensitive, "secret"},
			{len(field.rules) > 0, "condition"},
			{field.Hints.ReadOnly, "readonly value"},
			{field.Hints.Hidden, "hidden value"},
			{c.Pattern != "", "pattern"},
			{field.Type == Text && c.Format != "" && c.Format != "email" && c.Format != "uri", "format of " + c.Format},
			{c.ExclusiveMinimum != "", "exclusiveMinimum"},
			{c.ExclusiveMaximum != "", "exclusiveMaximum"},
			{field.step != nil && !field.integral(), "multipleOf"},
			{c.Earliest != "" || c.Latest != "", "range of dates"},
		} {
			if r.is {
				out = append(out, Reason{field.ID, r.what})
			}
		}
	}
	if len(f.validators) > 0 {
		out = append(out, Reason{"", "custom validators"})
	}
	return out
}

func (f *field) writeRequested(o *object) {
	c := &f.Constraints
	number := "number"
	if f.integral() {
		number = "integer"
	}
	f.writeType(o, number)
	switch f.Type {
	case Text:
		o.optInt("minLength", int64(c.MinLength))
		o.optInt("maxLength", int64(c.MaxLength))
		o.optText("format", c.Format)
	case URL:
		o.optInt("maxLength", int64(c.MaxLength))
		o.text("format", "uri")
	case Date:
		o.text("format", c.Format)
	case Number:
		o.optNumber("minimum", c.Minimum)
		o.optNumber("maximum", c.Maximum)
	case Select:
		f.writeChoices(o, "oneOf")
	case MultiSelect:
		o.nest("items", func(o *object) {
			if !f.titled() {
				o.text("type", "string")
			}
			f.writeChoices(o, "anyOf")
		})
		o.optInt("minItems", int64(c.MinItems))
		o.optInt("maxItems", int64(c.MaxItems))
	}
}
