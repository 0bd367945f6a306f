package form

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// FromRequested turns the requestedSchema of an MCP elicitation, and the
// message that comes with it, into a form that asks the same. All spellings of
// choices are understood, the older enumNames included. Beyond MCP's subset it
// takes what the form language can say (pattern, multipleOf, exclusive bounds,
// further formats) and ignores annotations, and a default that is not a value
// of its field; everything else is refused rather than dropped, since the asker
// would refuse the answer: so is a pattern that RE2 cannot read. The error is a
// [*DefinitionError].
//
// A field of which [Sensitive] says that it asks for a secret is sensitive in
// the form.
func (c *Compiler) FromRequested(raw []byte, message string) (*Form, error) {
	var p problems
	d := parseRequested(raw, message, false, &p)
	if err := p.err(); err != nil {
		return nil, err
	}
	markSecrets(&d, message)
	f, err := c.New(d)
	if dropDefaults(d.Fields, err) {
		f, err = c.New(d)
	}
	return f, inSchema(err, d.Fields)
}

// markSecrets makes the texts sensitive of which the message alone says that
// they are secrets.
func markSecrets(d *Definition, message string) {
	if !SensitiveText(message) {
		return
	}
	for i := range d.Fields {
		f := &d.Fields[i]
		if f.Type == Text && !f.Sensitive && saysNothing(f.ID, f.Label) {
			f.Sensitive, f.Default, f.Hints.InputType = true, nil, "password"
		}
	}
}

// dropDefaults takes out the defaults that err objects to, and reports whether
// there were any.
func dropDefaults(fields []Field, err error) bool {
	bad, ok := errors.AsType[*DefinitionError](err)
	if !ok {
		return false
	}
	dropped := false
	for _, p := range bad.Problems {
		at := 0
		if _, err := fmt.Sscanf(p.Path, "fields[%d].default", &at); err == nil && strings.HasSuffix(p.Path, ".default") {
			fields[at].Default, dropped = nil, true
		}
	}
	return dropped
}

// inSchema translates the paths of problems with fields to where these are in
// the schema.
func inSchema(err error, fields []Field) error {
	var bad *DefinitionError
	if !errors.As(err, &bad) {
		return err
	}
	for i := range bad.Problems {
		p := &bad.Problems[i]
		at := 0
		if _, err := fmt.Sscanf(p.Path, "fields[%d]", &at); err != nil || at >= len(fields) {
			continue
		}
		rest := strings.TrimPrefix(p.Path, fmt.Sprintf("fields[%d]", at))
		p.Path = join("properties", fields[at].ID) + strings.Replace(rest, ".validation", "", 1)
	}
	return bad
}

// FromRequested is [Compiler.FromRequested] of the zero Compiler.
func FromRequested(raw []byte, message string) (*Form, error) {
	return new(Compiler).FromRequested(raw, message)
}

// CheckRequested holds a requestedSchema to the subset of JSON Schema that MCP
// allows in one: a flat object of strings, numbers, booleans and choices. The
// error is a [*DefinitionError] that names everything outside it.
func CheckRequested(raw []byte) error {
	var p problems
	d := parseRequested(raw, "", true, &p)
	if len(p.found) == 0 {
		_, err := New(d)
		return inSchema(err, d.Fields)
	}
	return p.err()
}

// Inline is the form of the older inline mode: one required text that the
// prompt asks for, answered as "value".
func Inline(prompt string) (*Form, error) {
	return New(Definition{
		ID: "inline", Title: titleOf(prompt), Description: prompt,
		Fields: []Field{{ID: "value", Type: Text, Label: "Answer", Required: true, Sensitive: SensitiveText(prompt)}},
	})
}

// titleOf makes a title of a message: its first line, if that is short.
func titleOf(message string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(message), "\n")
	if line = strings.TrimSpace(line); line == "" {
		return "Question"
	}
	return clip(line)
}

// requested reads one requestedSchema.
type requested struct {
	reader
	strict bool // MCP's subset and nothing else
}

func parseRequested(raw []byte, message string, strict bool, p *problems) Definition {
	d := Definition{ID: "requested", Title: titleOf(message), Fields: []Field{}}
	if message = strings.TrimSpace(message); message != d.Title {
		d.Description = message
	}
	n, err := parseJSON(raw, MaxDefinition)
	if err != nil {
		p.add("", "%v", err)
		return d
	}
	r := requested{reader{p}, strict}
	var required []string
	index := map[string]int{}
	known := map[string]take{
		"type":    r.exactly(func(n *node) bool { return n.text == "object" }, `"object"`),
		"$schema": r.text(new(string)),
		"properties": func(path string, n *node) {
			if !r.want(path, n, objectNode) {
				return
			}
			if len(n.members) > MaxFields {
				p.add(path, "has %d members, at most %d are allowed", len(n.members), MaxFields)
				return
			}
			for i := range n.members {
				m := &n.members[i]
				index[m.name] = i
				d.Fields = append(d.Fields, r.property(m.name, join(path, m.name), &m.value))
			}
		},
		"required": r.texts(&required),
	}
	if !strict {
		r.ignore(known, "title", "description", "$comment", "$id", "_meta")
		known["additionalProperties"] = r.exactly(func(n *node) bool { return n.kind == boolNode || n.kind == objectNode && len(n.members) == 0 }, "true or false")
	}
	r.object("", r.withoutExtensions(&n), known)
	for _, key := range []string{"type", "properties"} {
		if n.kind == objectNode && n.member(key) == nil {
			p.add(key, "is missing")
		}
	}
	for i, name := range required {
		at, ok := index[name]
		if !ok {
			p.add(fmt.Sprintf("required[%d]", i), "names %q, which is not a property", clip(name))
			continue
		}
		d.Fields[at].Required = true
	}
	return d
}

func (r requested) ignore(known map[string]take, keys ...string) {
	for _, key := range keys {
		known[key] = func(string, *node) {}
	}
}

// withoutExtensions is n without the keys that extensions use, unless every
// key counts.
func (r requested) withoutExtensions(n *node) *node {
	if r.strict || n.kind != objectNode {
		return n
	}
	out := *n
	out.members = slices.DeleteFunc(slices.Clone(n.members), func(m member) bool { return strings.HasPrefix(m.name, "x-") })
	return &out
}

// property reads the schema of one answer.
func (r requested) property(name, path string, n *node) Field {
	f := Field{ID: name, Label: name}
	if !r.want(path, n, objectNode) {
		return f
	}
	title := ""
	known := map[string]take{
		"type":        r.text(new(string)),
		"title":       r.text(&title),
		"description": r.text(&f.Description),
		"default":     func(path string, n *node) { f.Default = r.value(path, n) },
	}
	if !r.strict {
		r.ignore(known, "$comment", "examples", "deprecated", "_meta")
		known["default"] = func(path string, n *node) { f.Default = reader{new(problems)}.value(path, n) }
		known["writeOnly"] = r.flag(&f.Sensitive)
	}
	kind := ""
	if t := n.member("type"); t != nil {
		kind = t.text
	}
	switch kind {
	case "string":
		r.stringProperty(&f, n, known)
	case "number", "integer":
		r.numberProperty(&f, kind, known)
	case "boolean":
		f.Type = Boolean
	case "array":
		f.Type = MultiSelect
		known["items"] = func(path string, n *node) { r.items(&f, path, n) }
		known["minItems"] = integer(r.reader, &f.Constraints.MinItems, 0)
		known["maxItems"] = integer(r.reader, &f.Constraints.MaxItems, 1)
		if !r.strict {
			known["uniqueItems"] = r.flag(new(bool))
		}
		if n.member("items") == nil {
			r.add(path+".items", "is missing")
		}
	default:
		r.add(path+".type", "is %q, want string, number, integer, boolean or array", clip(kind))
		return f
	}
	r.object(path, r.withoutExtensions(n), known)
	if title != "" {
		f.Label = title
	}
	if (f.Type == Text || f.Type == Number) && (f.Sensitive || secretField(name, title, f.Description, f.Constraints.Format, kind)) {
		f.Sensitive, f.Default = true, nil
		f.Hints.InputType = "password"
	}
	switch c := &f.Constraints; c.Format {
	case "password":
		c.Format = ""
	case "date", "date-time":
		if c.MinLength == 0 && c.MaxLength == 0 && c.Pattern == "" && !f.Sensitive {
			f.Type = Date
		}
	}
	return f
}

func (r requested) stringProperty(f *Field, n *node, known map[string]take) {
	f.Type = Text
	c := &f.Constraints
	choices := func(path string, n *node) { f.Options = append(f.Options, r.choice(path, n)) }
	switch {
	case n.member("enum") != nil:
		f.Type = Select
		var values, names []string
		known["enum"] = func(path string, m *node) {
			r.texts(&values)(path, m)
			if older := n.member("enumNames"); older != nil {
				r.texts(&names)(strings.TrimSuffix(path, "enum")+"enumNames", older)
				if len(names) != len(values) {
					r.add(strings.TrimSuffix(path, "enum")+"enumNames", "has %d names for %d values", len(names), len(values))
					return
				}
			}
			for i, v := range values {
				o := Option{Value: v}
				if names != nil {
					o.Title = names[i]
				}
				f.Options = append(f.Options, o)
			}
		}
		r.ignore(known, "enumNames") // read with enum
	case n.member("oneOf") != nil:
		f.Type = Select
		known["oneOf"] = r.list(choices)
	case n.member("anyOf") != nil && !r.strict:
		f.Type = Select
		known["anyOf"] = r.list(choices)
	default:
		known["minLength"] = integer(r.reader, &c.MinLength, 0)
		known["maxLength"] = integer(r.reader, &c.MaxLength, 1)
		known["format"] = func(path string, n *node) { r.format(f, path, n) }
		if !r.strict {
			known["pattern"] = r.text(&c.Pattern)
		}
	}
}

func (r requested) format(f *Field, path string, n *node) {
	if !r.want(path, n, stringNode) {
		return
	}
	// To JSON Schema a format that is not known says nothing.
	if n.text == "password" || slices.Contains(formatNames, n.text) {
		f.Constraints.Format = n.text
	}
	if r.strict && !slices.Contains([]string{"email", "uri", "date", "date-time"}, n.text) {
		r.add(path, "is %q, want email, uri, date or date-time", clip(n.text))
	}
}

func (r requested) numberProperty(f *Field, kind string, known map[string]take) {
	f.Type = Number
	c := &f.Constraints
	known["minimum"] = r.number(&c.Minimum)
	known["maximum"] = r.number(&c.Maximum)
	if kind == "integer" {
		c.MultipleOf = "1"
	}
	if r.strict {
		return
	}
	known["exclusiveMinimum"] = r.number(&c.ExclusiveMinimum)
	known["exclusiveMaximum"] = r.number(&c.ExclusiveMaximum)
	known["multipleOf"] = func(path string, n *node) {
		var step json.Number
		r.number(&step)(path, n)
		d, ok := parseDecimal(step)
		if kind == "integer" && (!ok || !d.whole) {
			r.add(path, "is %s, want a whole number for an integer", clip(string(step)))
			return
		}
		c.MultipleOf = step
	}
}

// items reads the choices of an array.
func (r requested) items(f *Field, path string, n *node) {
	choices := r.list(func(path string, n *node) { f.Options = append(f.Options, r.choice(path, n)) })
	known := map[string]take{
		"type":  r.exactly(func(n *node) bool { return n.text == "string" }, `"string"`),
		"anyOf": choices,
		"enum": r.list(func(path string, n *node) {
			if r.want(path, n, stringNode) {
				f.Options = append(f.Options, Option{Value: n.text})
			}
		}),
	}
	if !r.strict {
		known["oneOf"] = choices
	}
	r.object(path, n, known)
	if n.kind == objectNode && len(f.Options) == 0 {
		r.add(path, "has no choices: want enum or anyOf")
	}
}

func (r requested) choice(path string, n *node) Option {
	var o Option
	r.object(path, r.withoutExtensions(n), map[string]take{"const": r.text(&o.Value), "title": r.text(&o.Title)})
	if n.kind == objectNode && n.member("const") == nil {
		r.add(path+".const", "is missing")
	}
	if r.strict && n.kind == objectNode && n.member("title") == nil {
		r.add(path+".title", "is missing")
	}
	return o
}
