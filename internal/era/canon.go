package era

import (
	"bytes"
	"crypto/sha256"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/wire"
)

// Salient is the digest of what makes two requests the same call: the method,
// the name or URI, and the arguments. It does not depend on how they are
// written: not on white space, escapes, the order of keys, nor the form of a
// number (1, 1.0 and 1e0 are one number; no digit is ever lost). The error is
// an *ask.Error, Ambiguous, for arguments that repeat a key.
func Salient(m *wire.Message) ([32]byte, error) {
	// An absent value is an empty slot, which no JSON value is.
	text := append([]byte{'['}, wire.AppendString(nil, m.Method())...)
	for _, at := range []wire.Span{m.Name, m.URI, m.Arguments} {
		text = append(text, ',')
		if at.IsZero() {
			continue
		}
		var err *ask.Error
		if text, err = appendCanonical(text, m.Raw, at); err != nil {
			return [32]byte{}, err
		}
	}
	return sha256.Sum256(append(text, ']')), nil
}

// SameCall is Salient for a call whose name, or URI, is told apart from how
// the request spells it.
func SameCall(m *wire.Message, name string) ([32]byte, error) {
	text := append([]byte{'['}, wire.AppendString(nil, m.Method())...)
	text = append(wire.AppendString(append(text, ','), name), ',')
	if !m.Arguments.IsZero() {
		var err *ask.Error
		if text, err = appendCanonical(text, m.Raw, m.Arguments); err != nil {
			return [32]byte{}, err
		}
	}
	return sha256.Sum256(append(text, ']')), nil
}

// canonical gives the one text that stands for every spelling of a JSON value.
func canonical(raw []byte) ([]byte, error) {
	at, err := wire.Value(raw)
	if err != nil {
		return nil, err
	}
	text, aerr := appendCanonical(nil, raw, at)
	if aerr != nil {
		return nil, aerr
	}
	return text, nil
}

// appendCanonical recurses as deep as the value, whose depth was limited when
// it was scanned.
func appendCanonical(dst, raw []byte, at wire.Span) ([]byte, *ask.Error) {
	switch token := at.Of(raw); token[0] {
	case '{':
		return appendObject(dst, raw, at)
	case '[':
		return appendArray(dst, raw, at)
	case '"':
		return appendText(dst, token), nil
	case 't', 'f', 'n':
		return append(dst, token...), nil
	default:
		return append(dst, wire.IDKey(token)...), nil
	}
}

// appendText appends a string as it is once unescaped. Half a surrogate pair
// has no such form: a string with one is equal to its own spelling only.
func appendText(dst, token []byte) []byte {
	s, _ := wire.Unquote(token)
	if strings.ContainsRune(s, utf8.RuneError) && hasHalfPair(token) {
		return append(append(dst, '\\'), token...)
	}
	return wire.AppendString(dst, s)
}

// hasHalfPair reports whether a checked string token escapes half a surrogate
// pair.
func hasHalfPair(token []byte) bool {
	for i := 0; i < len(token); {
		switch {
		case token[i] != '\\':
			i++
		case token[i+1] != 'u':
			i += 2
		case !utf16.IsSurrogate(escaped(token[i:])):
			i += 6
		case utf16.DecodeRune(escaped(token[i:]), escaped(token[i+6:])) != utf8.RuneError:
			i += 12
		default:
			return true
		}
	}
	return false
}

// escaped gives the character of the \u escape that b begins with, 0 where it
// begins with none.
func escaped(b []byte) rune {
	if !bytes.HasPrefix(b, []byte(`\u`)) {
		return 0
	}
	r, _ := strconv.ParseUint(string(b[2:6]), 16, 16)
	return rune(r)
}

func appendArray(dst, raw []byte, arr wire.Span) ([]byte, *ask.Error) {
	dst = append(dst, '[')
	for at := range wire.Elements(raw, arr) {
		var err *ask.Error
		if dst, err = appendCanonical(dst, raw, at); err != nil {
			return nil, err
		}
		dst = append(dst, ',')
	}
	return append(dst, ']'), nil
}

func appendObject(dst, raw []byte, obj wire.Span) ([]byte, *ask.Error) {
	type member struct {
		key   []byte
		value wire.Span
	}
	var members []member
	for m := range wire.Members(raw, obj) {
		members = append(members, member{appendText(nil, m.Key.Of(raw)), m.Value})
	}
	slices.SortFunc(members, func(a, b member) int { return bytes.Compare(a.key, b.key) })
	dst = append(dst, '{')
	for i, m := range members {
		if i > 0 && bytes.Equal(m.key, members[i-1].key) {
			return nil, ask.Errorf(ask.Ambiguous, "The arguments can be read in two ways: a key is there more than once.")
		}
		dst = append(append(dst, m.key...), ':')
		var err *ask.Error
		if dst, err = appendCanonical(dst, raw, m.value); err != nil {
			return nil, err
		}
		dst = append(dst, ',')
	}
	return append(dst, '}'), nil
}
