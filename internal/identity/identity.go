// Package identity says who somebody is, and what that lets them do: the
// words that the caller of the endpoint and the person at a browser have in
// common, the groups that people belong to, and the rules of access.
//
// It checks no credential: package bearer does for callers, package signin
// for browsers. Who somebody is, is an issuer and a subject; names and e-mail
// addresses are for showing only.
package identity

import (
	"slices"
	"strings"
	"time"

	"github.com/answerback/answerback/ask"
)

// Local is who everybody is on a gateway that authenticates nobody, which
// faces loopback only.
var Local = ask.Principal{Issuer: "local", Subject: "local"}

// KeyIssuer is the issuer of callers whose static key names no person. No
// sign-in has it, so nobody can open a page in their name.
const KeyIssuer = "key"

// Person is somebody whose credential was verified. It is not modified after
// it was made, and may be shared.
type Person struct {
	Principal ask.Principal
	// Name is what pages call them. It proves nothing and may be empty.
	Name string
	// Claims are what the issuer says of them.
	Claims Claims
	// Expires is when the credential does; zero means that it does not.
	Expires time.Time
}

// Claims are verified claims of an issuer, as JSON has them.
type Claims map[string]any

// Has reports whether the claim is the value, or a list with the value in it.
// Values are compared exactly; a claim that is neither is nobody's.
func (c Claims) Has(claim, value string) bool {
	switch v := c[claim].(type) {
	case string:
		return v == value
	case []any:
		for _, e := range v {
			if s, ok := e.(string); ok && s == value {
				return true
			}
		}
	}
	return false
}

// Scope reports whether a scope was granted: as a word of the claim scope, or
// of scp, or as an element of either.
func (c Claims) Scope(scope string) bool {
	if scope == "" {
		return false
	}
	for _, claim := range []string{"scope", "scp"} {
		if words, ok := c[claim].(string); ok && slices.Contains(strings.Fields(words), scope) {
			return true
		}
		if c.Has(claim, scope) {
			return true
		}
	}
	return false
}
