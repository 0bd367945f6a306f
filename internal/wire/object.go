package wire

import (
	"slices"
	"strconv"

	"github.com/answerback/answerback/ask"
)

// Object gives the members of a JSON object as they stand. It refuses members
// that are not known, and what programs read in different ways: members that
// are there twice, and text that is not UTF-8. The error is an *ask.Error with
// the code BadMessage or Ambiguous, in words for whoever sent it.
func Object(raw []byte, known ...string) (map[string][]byte, error) {
	at, err := Value(raw)
	if err != nil {
		return nil, ask.Errorf(ask.BadMessage, "The body is not well-formed JSON.")
	}
	if raw[at.Start] != '{' {
		return nil, ask.Errorf(ask.BadMessage, "The body must be a JSON object.")
	}
	members := map[string][]byte{}
	for m := range Members(raw, at) {
		name, _ := Unquote(m.Key.Of(raw))
		if !slices.Contains(known, name) {
			return nil, ask.Errorf(ask.BadMessage, "The body has a member that is not known: "+strconv.QuoteToASCII(name[:min(len(name), 50)])+".")
		}
		if _, twice := members[name]; twice {
			return nil, ask.Errorf(ask.Ambiguous, "The body has the member "+name+" twice.")
		}
		members[name] = m.Value.Of(raw)
	}
	return members, nil
}
