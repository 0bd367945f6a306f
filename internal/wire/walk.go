package wire

import (
	"bytes"
	"iter"
)

// Member is one member of an object. Key is the string token with its quotes.
type Member struct{ Key, Value Span }

// Value gives the span of the one JSON value in raw, checked under the default
// limits, so that fragments from elsewhere can be walked. An error is an
// *ask.Error: BadMessage or TooLarge.
func Value(raw []byte) (Span, error) {
	var s scanner
	if err := s.start(raw, Limits{}); err != nil {
		return Span{}, err
	}
	start := space(raw, 0)
	end := s.value(start, 1)
	if end >= 0 {
		s.end(end)
	}
	if s.err != nil {
		return Span{}, s.err
	}
	return span(start, end), nil
}

// Members gives the members of the object at obj in their order, and nothing
// when there is no object. The text must have been checked, by Scan or Value:
// of other text it gives members that mean nothing, but it ends.
func Members(raw []byte, obj Span) iter.Seq[Member] {
	return func(yield func(Member) bool) { eachMember(raw, obj, yield) }
}

// Elements gives the elements of the array at arr in their order, and nothing
// when there is no array. The text must have been checked, as for Members.
func Elements(raw []byte, arr Span) iter.Seq[Span] {
	return func(yield func(Span) bool) { eachElement(raw, arr, yield) }
}

func eachMember(raw []byte, obj Span, yield func(Member) bool) {
	raw = raw[:obj.End]
	i := space(raw, int(obj.Start))
	if peek(raw, i) != '{' {
		return
	}
	for {
		i = space(raw, i+1)
		if peek(raw, i) != '"' {
			return
		}
		key := span(i, skipText(raw, i))
		i = space(raw, space(raw, int(key.End))+1)
		if i >= len(raw) {
			return
		}
		value := span(i, skipValue(raw, i))
		if !yield(Member{key, value}) {
			return
		}
		i = space(raw, int(value.End))
		if peek(raw, i) != ',' {
			return
		}
	}
}

func eachElement(raw []byte, arr Span, yield func(Span) bool) {
	raw = raw[:arr.End]
	i := space(raw, int(arr.Start))
	if peek(raw, i) != '[' {
		return
	}
	for {
		i = space(raw, i+1)
		if c := peek(raw, i); c == ']' || c == 0 {
			return
		}
		value := span(i, skipValue(raw, i))
		if !yield(value) {
			return
		}
		i = space(raw, int(value.End))
		if peek(raw, i) != ',' {
			return
		}
	}
}

// Get gives the value of a member of the object at obj, zero when there is no
// such member or no object. Keys are compared after unescaping; of several
// with the same key the last counts, as it does for most parsers. The text
// must have been checked, as for Members.
func Get(raw []byte, obj Span, key string) Span {
	var found Span
	for m := range Members(raw, obj) {
		if isKey(m.Key.Of(raw), key) {
			found = m.Value
		}
	}
	return found
}

// isKey reports whether a string token, unescaped, is key.
func isKey(token []byte, key string) bool {
	if bytes.IndexByte(token, '\\') < 0 {
		return len(token) == len(key)+2 && string(token[1:len(token)-1]) == key
	}
	text, _ := Unquote(token)
	return text == key
}

// skipText gives the end of the checked string token at b[i].
func skipText(b []byte, i int) int {
	for i++; i < len(b); i++ {
		n := bytes.IndexByte(b[i:], '"')
		if n < 0 {
			return len(b)
		}
		n += i
		// A quote after an odd number of backslashes belongs to the string.
		slashes := 0
		for n-slashes > i && b[n-slashes-1] == '\\' {
			slashes++
		}
		if slashes%2 == 0 {
			return n + 1
		}
		i = n
	}
	return len(b)
}

// skipValue gives the end of the checked value at b[i].
func skipValue(b []byte, i int) int {
	depth := 0
	for i < len(b) {
		switch c := b[i]; c {
		case '"':
			i = skipText(b, i)
		case '{', '[':
			depth++
			i++
			continue
		case '}', ']':
			depth--
			i++
		case ',', ':', ' ', '\n', '\r', '\t':
			i++
			continue
		default:
			i = skipWord(b, i)
		}
		if depth <= 0 {
			return i
		}
	}
	return len(b)
}

// skipWord gives the end of the number or literal at b[i].
func skipWord(b []byte, i int) int {
	for i < len(b) {
		switch b[i] {
		case ',', ':', ']', '}', ' ', '\n', '\r', '\t':
			return i
		}
		i++
	}
	return i
}
