package era

import "github.com/answerback/answerback/internal/wire"

// Tasks is the extension in which a result may be a task that goes on after
// its request. The modern era alone has it; the tasks of 2025-11-25 are
// another thing, declared under another key.
const Tasks = "io.modelcontextprotocol/tasks"

// RequiredTasks is the capabilities object that a client must declare to have
// to do with tasks.
const RequiredTasks = `{"extensions":{"` + Tasks + `":{}}}`

// Forms is our own extension: a client may create forms, and submit and extend
// them. In the legacy era, which has no extensions, it is declared under
// experimental.
const Forms = "io.github.answerback/forms"

// ExtendsForms reports whether a client's capabilities object of either era
// declares our forms.
func ExtendsForms(caps []byte) bool {
	at, err := wire.Value(caps)
	return err == nil && (declared(caps, wire.Get(caps, at, "extensions"), Forms) || declared(caps, wire.Get(caps, at, "experimental"), Forms))
}

// WithForms gives a server's capabilities object with our forms declared as
// the era has it, every other byte as it was.
func WithForms(caps []byte, era Era) []byte {
	if era == Modern {
		return with(caps, "extensions", Forms)
	}
	return with(caps, "experimental", Forms)
}

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
func WithTasks(caps []byte) []byte { return with(caps, "extensions", Tasks) }

// with declares a name in a group of a capabilities object.
func with(caps []byte, group, name string) []byte {
	obj, err := wire.Value(caps)
	if err != nil || caps[obj.Start] != '{' {
		return caps
	}
	at := object(caps, obj, group)
	if at.IsZero() {
		caps = Without(caps, group)
		if obj, err = wire.Value(caps); err != nil {
			return caps
		}
		return wire.Splice(nil, caps, wire.Set(caps, obj, wire.Span{}, group, []byte(`{"`+name+`":{}}`)))
	}
	return wire.Splice(nil, caps, wire.Set(caps, at, wire.Get(caps, at, name), name, []byte("{}")))
}
