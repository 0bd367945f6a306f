package oauth

import (
	"net/http"
	"slices"
	"strings"
)

// Challenge is what a resource says when it refuses a request, in its
// WWW-Authenticate headers. The zero Challenge says nothing.
type Challenge struct {
	ResourceMetadata string
	Scopes           []string
	// InsufficientScope means that the token is good, and not enough.
	InsufficientScope bool
}

// maxScopes bounds the scopes that a server may want at once.
const maxScopes = 100

// ParseChallenge reads the Bearer challenge of a response. What cannot be read
// is left out: a challenge is advice, and everything in it is checked again.
func ParseChallenge(h http.Header) Challenge {
	var c Challenge
	for _, text := range h.Values("WWW-Authenticate") {
		if len(text) > 8<<10 {
			continue
		}
		scheme, p := "", &params{text}
		for !p.done() {
			name, ok := p.token()
			if !ok {
				break
			}
			value, isParam := p.value()
			if !isParam {
				scheme = name // the next challenge of the list begins
				continue
			}
			if strings.EqualFold(scheme, "Bearer") {
				c.take(name, value)
			}
		}
	}
	return c
}

func (c *Challenge) take(name, value string) {
	switch strings.ToLower(name) {
	case "resource_metadata":
		c.ResourceMetadata = value
	case "scope":
		c.Scopes = Scopes(value)
	case "error":
		c.InsufficientScope = value == "insufficient_scope"
	}
}

// Scopes splits a scope parameter into its scopes, each once, leaving out what
// is none (RFC 6749, 3.3).
func Scopes(text string) []string {
	var scopes []string
	for _, s := range strings.Fields(text) {
		if IsScope(s) && !slices.Contains(scopes, s) && len(scopes) < maxScopes {
			scopes = append(scopes, s)
		}
	}
	return scopes
}

// IsScope reports whether s can be one scope.
func IsScope(s string) bool {
	odd := func(r rune) bool { return r <= ' ' || r >= 0x7f || r == '"' || r == '\\' }
	return s != "" && len(s) <= 256 && !strings.ContainsFunc(s, odd)
}

// params reads the words, names and values of a challenge one by one.
type params struct{ rest string }

func (p *params) done() bool {
	p.rest = strings.TrimLeft(p.rest, " \t,")
	return p.rest == ""
}

func (p *params) token() (string, bool) {
	end := strings.IndexAny(p.rest, " \t,=\"")
	if end < 0 {
		end = len(p.rest)
	}
	t := p.rest[:end]
	p.rest = p.rest[end:]
	return t, t != ""
}

// value reads the value that follows a name; there is none after a scheme.
func (p *params) value() (string, bool) {
	after, ok := strings.CutPrefix(strings.TrimLeft(p.rest, " \t"), "=")
	if !ok {
		return "", false
	}
	after = strings.TrimLeft(after, " \t")
	if !strings.HasPrefix(after, `"`) {
		end := strings.IndexAny(after, " \t,")
		if end < 0 {
			end = len(after)
		}
		p.rest = after[end:]
		return after[:end], true
	}
	var b strings.Builder
	for i := 1; i < len(after); i++ {
		switch after[i] {
		case '\\':
			if i++; i < len(after) {
				b.WriteByte(after[i])
			}
		case '"':
			p.rest = after[i+1:]
			return b.String(), true
		default:
			b.WriteByte(after[i])
		}
	}
	p.rest = ""
	return "", true // a value without an end
}
