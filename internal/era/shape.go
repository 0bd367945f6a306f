package era

import (
	"net/url"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/wire"
)

// CheckShape checks that a question has the words that MCP demands of its
// kind, with code BadSchema where it has not: a message, and for a url question
// an absolute http or https URL. What a form asks for is CheckSchema's matter;
// sampling and roots are passed on as they are.
func CheckShape(kind ask.Kind, params []byte) *ask.Error {
	if kind != ask.Form && kind != ask.URL {
		return nil
	}
	obj, err := wire.Value(params)
	if err != nil || params[obj.Start] != '{' {
		return badShape("it has no params object")
	}
	q := value{params, obj}
	if !q.get("message").isText() {
		return badShape("message must be a string")
	}
	if kind == ask.URL {
		return checkURL(q.get("url"))
	}
	return nil
}

// CheckSchema checks that a form has a requestedSchema in MCP's subset: a flat
// object of strings, numbers, booleans and selections. The code is BadSchema,
// and the message names the property.
func CheckSchema(params []byte) *ask.Error {
	obj, err := wire.Value(params)
	if err != nil {
		return badShape("it has no params object")
	}
	return checkSchema(value{params, obj}.get("requestedSchema"))
}

func badShape(what string) *ask.Error {
	return ask.Errorf(ask.BadSchema, "The question cannot be asked: "+what+".")
}

func checkURL(v value) *ask.Error {
	text, ok := wire.Unquote(v.token())
	if !ok {
		return badShape("url must be a string")
	}
	u, err := url.Parse(text)
	if err != nil || (u.Scheme != "https" && u.Scheme != "http") || u.Host == "" {
		return badShape("url must be an absolute http or https URL")
	}
	// A name before the host is how a link is made to look like another's.
	if u.User != nil {
		return badShape("url must not hold a user name or password")
	}
	return nil
}

func checkSchema(schema value) *ask.Error {
	if !schema.is('{') || schema.text("type") != "object" {
		return badShape(`requestedSchema must be an object of type "object"`)
	}
	properties := schema.get("properties")
	if !properties.is('{') {
		return badShape("requestedSchema must have an object of properties")
	}
	names := map[string]bool{}
	for m := range wire.Members(properties.raw, properties.at) {
		name, _ := wire.Unquote(m.Key.Of(properties.raw))
		if names[name] {
			return badShape("the property " + quote(name) + " is there twice")
		}
		names[name] = true
		if fault := property(value{properties.raw, m.Value}); fault != "" {
			return badShape("the property " + quote(name) + " " + fault)
		}
	}
	required := schema.get("required")
	if required.absent() {
		return nil
	}
	if !required.is('[') {
		return badShape("required must be a list of property names")
	}
	for at := range wire.Elements(required.raw, required.at) {
		name, ok := wire.Unquote(at.Of(required.raw))
		if !ok || !names[name] {
			return badShape("required must name properties of the schema")
		}
	}
	return nil
}

// property says what is wrong with the schema of one property, "" for nothing.
func property(v value) string {
	if !v.is('{') {
		return "is not an object"
	}
	switch v.text("type") {
	case "number", "integer", "boolean":
		return ""
	case "string":
		return selection(v, "oneOf")
	case "array":
		items := v.get("items")
		if !items.is('{') {
			return "must have items that are a selection"
		}
		enum, anyOf := !items.get("enum").absent(), !items.get("anyOf").absent()
		if (!enum && !anyOf) || (enum && items.text("type") != "string") {
			return "must have items that are a selection of strings"
		}
		return selection(items, "anyOf")
	}
	return "must be a string, a number, an integer, a boolean, or a selection"
}

// selection checks the options of a selection, where there are any: strings
// under enum, or titled constants under the given key.
func selection(v value, titled string) string {
	if enum := v.get("enum"); !enum.absent() {
		if n := enum.count(value.isText); n < 1 {
			return "must have an enum of strings"
		}
		if names := v.get("enumNames"); !names.absent() && names.count(value.isText) < 0 {
			return "must have enumNames that are strings"
		}
	}
	if options := v.get(titled); !options.absent() {
		n := options.count(func(o value) bool {
			return o.get("const").isText() && (o.get("title").absent() || o.get("title").isText())
		})
		if n < 1 {
			return "must have a " + titled + " of constants with titles"
		}
	}
	return ""
}

// quote makes a server's words safe to stand in an error message.
func quote(name string) string {
	const most = 40
	if r := []rune(name); len(r) > most {
		name = string(r[:most]) + "…"
	}
	return string(wire.AppendString(nil, name))
}

// value is a place in checked JSON text; a zero place is an absent value.
type value struct {
	raw []byte
	at  wire.Span
}

func (v value) absent() bool { return v.at.IsZero() }

func (v value) token() []byte { return v.at.Of(v.raw) }

// is reports whether the value begins with c, which tells its type.
func (v value) is(c byte) bool { return !v.absent() && v.raw[v.at.Start] == c }

func (v value) isText() bool { return v.is('"') }

// get gives a member of an object, absent where v is none.
func (v value) get(key string) value {
	if !v.is('{') {
		return value{}
	}
	return value{v.raw, wire.Get(v.raw, v.at, key)}
}

func (v value) text(key string) string {
	s, _ := wire.Unquote(v.get(key).token())
	return s
}

// count gives the number of elements of an array, -1 where v is no array or
// an element is not ok.
func (v value) count(ok func(value) bool) int {
	if !v.is('[') {
		return -1
	}
	n := 0
	for at := range wire.Elements(v.raw, v.at) {
		if !ok(value{v.raw, at}) {
			return -1
		}
		n++
	}
	return n
}
