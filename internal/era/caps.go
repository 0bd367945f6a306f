package era

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/answerback/answerback/internal/wire"
)

// Caps is what a client declared that it can be asked. The zero Caps is a
// client that can be asked nothing.
type Caps struct {
	Form, URL                                bool // the modes of elicitation
	Sampling, SamplingTools, SamplingContext bool
	Roots                                    bool
}

// ReadCaps reads the raw capabilities object of a client that speaks the
// given version. What a version does not have cannot be declared in it, and an
// unknown version declares nothing. An elicitation capability without modes
// means form.
func ReadCaps(raw []byte, version string) Caps {
	var c Caps
	if _, ok := Of(version); !ok {
		return c
	}
	at, err := wire.Value(raw)
	if err != nil {
		return c
	}
	modes := version >= modesSince // versions are dates, and sort as strings
	if e := object(raw, at, "elicitation"); !e.IsZero() && version >= elicitationSince {
		form, url := declared(raw, e, "form"), declared(raw, e, "url")
		c.URL = modes && url
		c.Form = !modes || form || !url
	}
	if s := object(raw, at, "sampling"); !s.IsZero() {
		c.Sampling = true
		c.SamplingTools = modes && declared(raw, s, "tools")
		c.SamplingContext = modes && declared(raw, s, "context")
	}
	c.Roots = declared(raw, at, "roots")
	return c
}

// Any reports whether the client can be asked anything.
func (c Caps) Any() bool { return c.Form || c.URL || c.Sampling || c.Roots }

// object finds the member of an object that is itself an object.
func object(raw []byte, obj wire.Span, key string) wire.Span {
	at := wire.Get(raw, obj, key)
	if at.IsZero() || raw[at.Start] != '{' {
		return wire.Span{}
	}
	return at
}

func declared(raw []byte, obj wire.Span, key string) bool {
	return !object(raw, obj, key).IsZero()
}

// CapsKey is a key for what depends on a client's capabilities: the same for
// two objects exactly when they say the same, however they are written.
func CapsKey(raw []byte) string {
	text, err := canonical(raw)
	if err != nil {
		text = append([]byte{0}, raw...) // no canonical text begins like this
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// WithoutAsks gives the capabilities object without elicitation, sampling and
// roots, every other byte as it was.
func WithoutAsks(caps []byte) []byte {
	return Without(caps, "elicitation", "sampling", "roots")
}

// WithModes gives the capabilities object with these modes of elicitation
// declared beside those that are, every other byte as it was. What is not an
// object is returned as it is.
func WithModes(caps []byte, form, url bool) []byte {
	obj, err := wire.Value(caps)
	if err != nil || caps[obj.Start] != '{' || !form && !url {
		return caps
	}
	var changes []wire.Change
	at := object(caps, obj, "elicitation")
	for _, mode := range []struct {
		key    string
		wanted bool
	}{{"form", form}, {"url", url}} {
		if mode.wanted && (at.IsZero() || !declared(caps, at, mode.key)) {
			changes = append(changes, wire.Change{Old: wire.Get(caps, at, mode.key), Key: mode.key, Value: []byte("{}")})
		}
	}
	if !at.IsZero() {
		return wire.Splice(nil, caps, wire.Amend(caps, at, changes...)...)
	}
	// What stands there under this name declares nothing.
	caps = Without(caps, "elicitation")
	if obj, err = wire.Value(caps); err != nil {
		return caps
	}
	empty := []byte("{}")
	modes := wire.Splice(nil, empty, wire.Amend(empty, wire.Span{End: 2}, changes...)...)
	return wire.Splice(nil, caps, wire.Set(caps, obj, wire.Span{}, "elicitation", modes))
}

// Elicits says which modes of elicitation a version of the protocol has.
func Elicits(version string) (form, url bool) {
	if _, ok := Of(version); !ok {
		return false, false
	}
	return version >= elicitationSince, version >= modesSince
}

// Without gives the capabilities object without the members of these names.
// Other spellings of them go too (repeated, escaped, or in another case),
// because some receivers read those as the same. What is not an object is
// returned as it is; caps itself is never modified.
func Without(caps []byte, keys ...string) []byte {
	obj, err := wire.Value(caps)
	if err != nil {
		return caps
	}
	// Each run of members that go is one edit, for they share their commas.
	var edits []wire.Edit
	var kept, run wire.Span
	for m := range wire.Members(caps, obj) {
		whole := wire.Span{Start: m.Key.Start, End: m.Value.End}
		if isOne(m.Key.Of(caps), keys) {
			if run.IsZero() {
				run = whole
			}
			run.End = whole.End
			continue
		}
		if !run.IsZero() {
			if kept.IsZero() {
				run.End = whole.Start
			} else {
				run.Start = kept.End
			}
			edits = append(edits, wire.Edit{Span: run})
			run = wire.Span{}
		}
		kept = whole
	}
	if !run.IsZero() {
		if !kept.IsZero() {
			run.Start = kept.End
		}
		edits = append(edits, wire.Edit{Span: run})
	}
	if len(edits) == 0 {
		return caps
	}
	return wire.Splice(nil, caps, edits...)
}

func isOne(token []byte, keys []string) bool {
	name, _ := wire.Unquote(token)
	return slices.ContainsFunc(keys, func(key string) bool {
		return strings.EqualFold(name, key)
	})
}
