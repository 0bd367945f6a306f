package era

import "github.com/answerback/answerback/internal/wire"

// Tasks is the extension in which a result may be a task that goes on after
// its request. The modern era alone has it; the tasks of 2025-11-25 are
// another thing, declared under another key.
const Tasks = "io.modelcontextprotocol/tasks"

// RequiredTasks is the capabilities object that a client must declare to have
// to do with tasks.
const RequiredTasks = `{"extensions":{"` + Tasks + `":{}}}`

// Extends reports whether a capabilities object, a client's or a server's,
// declares an extension.
func Extends(caps []byte, extension string) bool {
	at, err := wire.Value(caps)
	return err == nil && declared(caps, wire.Get(caps, at, "extensions"), extension)
}

// ExtendsAny reports whether a capabilities object declares any extension at
// all.
func ExtendsAny(caps []byte) bool {
	at, err := wire.Value(caps)
	if err != nil {
		return false
	}
	for m := range wire.Members(caps, wire.Get(caps, at, "extensions")) {
		if caps[m.Value.Start] == '{' {
			return true
		}
	}
	return false
}

// WithoutTasks gives the capabilities object without the tasks of either era,
// for a peer of the other one. Other spellings go too, as for Without.
func WithoutTasks(caps []byte) []byte {
	caps = Without(caps, "tasks")
	obj, err := wire.Value(caps)
	if err != nil {
		return caps
	}
	var edits []wire.Edit
	for m := range wire.Members(caps, obj) {
		if isOne(m.Key.Of(caps), []string{"extensions"}) {
			edits = append(edits, wire.Edit{Span: m.Value, With: Without(m.Value.Of(caps), Tasks)})
		}
	}
	if edits == nil {
		return caps
	}
	return wire.Splice(nil, caps, edits...)
}

// WithTasks gives the capabilities object with the tasks extension declared,
// every other byte as it was. What is not an object is returned as it is.
func WithTasks(caps []byte) []byte {
	obj, err := wire.Value(caps)
	if err != nil || caps[obj.Start] != '{' {
		return caps
	}
	at := object(caps, obj, "extensions")
	if at.IsZero() {
		caps = Without(caps, "extensions")
		if obj, err = wire.Value(caps); err != nil {
			return caps
		}
		return wire.Splice(nil, caps, wire.Set(caps, obj, wire.Span{}, "extensions", []byte(`{"`+Tasks+`":{}}`)))
	}
	return wire.Splice(nil, caps, wire.Set(caps, at, wire.Get(caps, at, Tasks), Tasks, []byte("{}")))
}
