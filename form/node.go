package form

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"
)

// maxDepth bounds the nesting of every JSON document that the package reads.
const maxDepth = 32

type kind uint8

const (
	nullNode kind = iota
	boolNode
	numberNode
	stringNode
	arrayNode
	objectNode
)

// String gives the name of the kind as JSON Schema has it.
func (k kind) String() string {
	return [...]string{"null", "boolean", "number", "string", "array", "object"}[k]
}

// noun is the kind as it stands in a sentence.
func (k kind) noun() string {
	switch k {
	case nullNode:
		return "null"
	case arrayNode, objectNode:
		return "an " + k.String()
	}
	return "a " + k.String()
}

// node is a JSON value that keeps the order of its members and the digits of
// its numbers, which encoding/json does not.
type node struct {
	kind    kind
	flag    bool
	text    string // of a string, its value; of a number, its literal
	items   []node
	members []member
	raw     []byte
}

type member struct {
	name  string
	value node
}

func (n *node) member(name string) *node {
	for i := range n.members {
		if n.members[i].name == name {
			return &n.members[i].value
		}
	}
	return nil
}

// parseJSON reads a document of at most limit bytes. It refuses what parsers
// read differently: repeated names and text that is not UTF-8.
func parseJSON(raw []byte, limit int) (node, error) {
	if len(raw) > limit {
		return node{}, fmt.Errorf("is %d bytes long, at most %d are read", len(raw), limit)
	}
	if !json.Valid(raw) {
		var v json.RawMessage
		if err := json.Unmarshal(raw, &v); err != nil {
			return node{}, fmt.Errorf("is not JSON: %w", err)
		}
		return node{}, errors.New("is not JSON")
	}
	if !utf8.Valid(raw) {
		return node{}, errors.New("is not UTF-8")
	}
	s := scanner{raw: raw}
	n := s.value(0)
	return n, s.err
}

// scanner walks a document that is known to be valid JSON.
type scanner struct {
	raw []byte
	at  int
	err error
}

func (s *scanner) next() byte {
	for {
		switch c := s.raw[s.at]; c {
		case ' ', '\t', '\r', '\n', ',', ':':
			s.at++
		default:
			return c
		}
	}
}

func (s *scanner) value(depth int) node {
	c := s.next()
	from := s.at
	var n node
	switch c {
	case '{', '[':
		if depth == maxDepth {
			s.fail(fmt.Errorf("is nested deeper than %d", maxDepth))
			return n
		}
		s.at++
		if c == '{' {
			n = s.object(depth)
		} else {
			n = s.array(depth)
		}
	case '"':
		n = node{kind: stringNode, text: s.string()}
	case 't':
		n, s.at = node{kind: boolNode, flag: true}, s.at+4
	case 'f':
		n, s.at = node{kind: boolNode}, s.at+5
	case 'n':
		s.at += 4
	default:
		for s.at < len(s.raw) && bytes.IndexByte([]byte("+-.0123456789eE"), s.raw[s.at]) >= 0 {
			s.at++
		}
		n = node{kind: numberNode, text: string(s.raw[from:s.at])}
	}
	n.raw = s.raw[from:s.at]
	return n
}

func (s *scanner) object(depth int) node {
	n := node{kind: objectNode}
	var seen map[string]bool
	for s.err == nil && s.next() != '}' {
		name := s.string()
		if seen[name] || seen == nil && n.member(name) != nil {
			s.fail(fmt.Errorf("has the name %q twice in one object", clip(name)))
			return n
		}
		n.members = append(n.members, member{name, s.value(depth + 1)})
		// Searching the members is quickest while they are few.
		if seen == nil && len(n.members) > 32 {
			seen = map[string]bool{}
			for _, m := range n.members {
				seen[m.name] = true
			}
		}
		if seen != nil {
			seen[name] = true
		}
	}
	s.at++
	return n
}

func (s *scanner) array(depth int) node {
	n := node{kind: arrayNode}
	for s.err == nil && s.next() != ']' {
		n.items = append(n.items, s.value(depth+1))
	}
	s.at++
	return n
}

func (s *scanner) string() string {
	s.next()
	from := s.at
	escaped := false
	for s.at++; s.raw[s.at] != '"'; s.at++ {
		if s.raw[s.at] == '\\' {
			escaped = true
			s.at++
		}
	}
	s.at++
	if !escaped {
		return string(s.raw[from+1 : s.at-1])
	}
	var text string
	if err := json.Unmarshal(s.raw[from:s.at], &text); err != nil {
		s.fail(err)
	}
	return text
}

func (s *scanner) fail(err error) {
	if s.err == nil {
		s.err = err
	}
}

// clip shortens a text that comes from outside so that it can be repeated.
func clip(s string) string {
	const most = 100
	if len(s) <= most {
		return s
	}
	cut := most
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + "…"
}
