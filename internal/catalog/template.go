package catalog

import "strings"

// Limits of matching, which is done for every URI that no list has exactly. A
// template beyond them is listed but matches nothing.
const (
	maxTemplate    = 1024 // bytes
	maxExpressions = 8
	maxURI         = 2048 // bytes of a URI that is matched
)

// template is a URI template of RFC 6570, made ready to be matched: what an
// expression stands for is taken generously, because the backend has the last
// word and all that is decided here is which backend that is.
//
//	{a} {a,b}      one or more characters other than "/"
//	{+a}           one or more characters
//	{.a}           nothing, or "." and characters other than "/"
//	{/a}           nothing, or "/" and characters other than "/"
//	{/a*} {/a,b}   nothing, or "/" and any characters
//	{#a}           nothing, or "#" and any characters
//	{?a} {;a} {&a} nothing, or "?", ";", "&" and any characters
//
// Characters between expressions stand for themselves, byte for byte: nothing
// is percent-decoded. A template that is not well formed matches nothing.
type template struct {
	steps    []step
	literals int // bytes outside expressions
}

// step is a literal, or where that is empty an expression.
type step struct {
	literal  string
	lead     byte // the character that the expression starts with, 0 for none
	slash    bool // whether it takes "/"
	optional bool
}

// parseTemplate gives a template without steps for one that can match nothing.
func parseTemplate(s string) template {
	if len(s) > maxTemplate || strings.Count(s, "{") > maxExpressions {
		return template{}
	}
	var t template
	for s != "" {
		open := strings.IndexAny(s, "{}")
		if open < 0 {
			open = len(s)
		}
		if open > 0 {
			t.steps = append(t.steps, step{literal: s[:open]})
			t.literals += open
			s = s[open:]
			continue
		}
		end := strings.IndexByte(s, '}')
		if s[0] == '}' || end < 0 {
			return template{}
		}
		expression, ok := parseExpression(s[1:end])
		if !ok {
			return template{}
		}
		t.steps = append(t.steps, expression)
		s = s[end+1:]
	}
	return t
}

// parseExpression reads what stands between braces.
func parseExpression(s string) (step, bool) {
	if s == "" || strings.Contains(s, "{") {
		return step{}, false
	}
	var e step
	variables := s[1:]
	switch s[0] {
	case '+':
		e = step{slash: true}
	case '.':
		e = step{lead: '.', optional: true}
	case '/':
		e = step{lead: '/', optional: true, slash: strings.ContainsAny(s, "*,")}
	case '#', '?', ';', '&':
		e = step{lead: s[0], optional: true, slash: true}
	case '=', ',', '!', '@', '|': // reserved by the RFC
		return step{}, false
	default:
		variables = s
	}
	return e, variables != ""
}

// matcher holds the buffers of matching, to be used for one template after another.
type matcher struct {
	from, to []bool
}

// matches reports whether the template could have made the URI. It follows all
// ways of matching at once: from[i] says that the steps so far can end before
// byte i. So it takes len(uri) times len(template) operations at most, whatever
// the two are.
func (m *matcher) matches(t *template, uri string) bool {
	if len(t.steps) == 0 || len(uri) > maxURI ||
		!strings.HasPrefix(uri, t.steps[0].literal) ||
		!strings.HasSuffix(uri, t.steps[len(t.steps)-1].literal) {
		return false
	}
	if len(m.from) != len(uri)+1 {
		m.from, m.to = make([]bool, len(uri)+1), make([]bool, len(uri)+1)
	}
	clear(m.from)
	m.from[0] = true
	for i := range t.steps {
		clear(m.to)
		if t.steps[i].literal != "" {
			m.literal(t.steps[i].literal, uri)
		} else {
			m.expression(&t.steps[i], uri)
		}
		m.from, m.to = m.to, m.from
	}
	return m.from[len(uri)]
}

func (m *matcher) literal(text, uri string) {
	for i, here := range m.from {
		if here && strings.HasPrefix(uri[i:], text) {
			m.to[i+len(text)] = true
		}
	}
}

func (m *matcher) expression(s *step, uri string) {
	inside := false // whether the expression can have taken the byte before i
	for i, here := range m.from {
		if i > 0 {
			c := uri[i-1]
			takes := s.slash || c != '/'
			starts := c == s.lead || s.lead == 0 && takes
			inside = inside && takes || m.from[i-1] && starts
		}
		m.to[i] = inside || here && s.optional
	}
}
