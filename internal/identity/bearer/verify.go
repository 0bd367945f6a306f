package bearer

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/identity"
)

const (
	// remember is how long a verified token is remembered at most.
	remember = 5 * time.Minute
	// leeway is by how much an issuer's clock may be ahead of ours.
	leeway = 30 * time.Second
	// longestSubject is OpenID Connect's limit.
	longestSubject = 255
	longestKeyID   = 512
)

// newParser makes what verifies signatures. Claims are checked here, after it.
// Strict decoding leaves one spelling per token.
func newParser() *jwt.Parser {
	return jwt.NewParser(jwt.WithValidMethods(algorithms), jwt.WithStrictDecoding(), jwt.WithoutClaimsValidation())
}

// issuer is a configured issuer at work.
type issuer struct {
	url       string
	audiences []string
	scopes    []string
	types     []string
	ring      *keyring
}

func newIssuer(cfg Issuer, resource string, ring *keyring) *issuer {
	i := &issuer{
		url: cfg.URL, audiences: slices.Clone(cfg.Audiences), scopes: slices.Clone(cfg.Scopes),
		types: slices.Clone(cfg.Types), ring: ring,
	}
	if len(i.audiences) == 0 {
		i.audiences = []string{resource}
	}
	if len(i.types) == 0 {
		i.types = []string{"at+jwt", "JWT"}
	}
	return i
}

// verify says whose token it is, and until when that may be remembered.
func (b *Bearer) verify(ctx context.Context, token string) (identity.Person, time.Time, *Refusal) {
	var from *issuer
	var until time.Time
	var refusal *Refusal
	claims := jwt.MapClaims{}
	_, err := b.parser.ParseWithClaims(token, claims, func(t *jwt.Token) (any, error) {
		var keys jwt.VerificationKeySet
		if from, refusal = b.named(t, claims); refusal != nil {
			return nil, refusal
		}
		kid, _ := t.Header["kid"].(string)
		found, good, err := from.ring.lookup(ctx, kid, t.Method.Alg())
		switch {
		case errors.Is(err, errUnknownKey):
			refusal = b.invalid("The token is signed with a key that its issuer does not have.", from.scopes)
			return nil, refusal
		case err != nil:
			refusal = b.unavailable(err)
			return nil, refusal
		}
		until = good
		for _, key := range found {
			keys.Keys = append(keys.Keys, key)
		}
		return keys, nil
	})
	// The library's errors have pieces of the token, so none is passed on.
	switch {
	case refusal != nil:
		return identity.Person{}, time.Time{}, refusal
	case err != nil && from == nil:
		return identity.Person{}, time.Time{}, b.invalid("The credential is neither a known key nor a token signed in a way that is taken.", b.scopes)
	case err != nil:
		return identity.Person{}, time.Time{}, b.invalid("The token's signature is wrong.", from.scopes)
	}
	now := b.now()
	expires, reason := from.judge(claims, now)
	if reason != "" {
		return identity.Person{}, time.Time{}, b.invalid(reason, from.scopes)
	}
	if !covers(claims, from.scopes) {
		return identity.Person{}, time.Time{}, b.refuse(http.StatusForbidden, insufficientScope, "The token lacks a scope.", from.scopes)
	}
	sub, _ := claims["sub"].(string)
	person := identity.Person{
		Principal: ask.Principal{Issuer: from.url, Subject: sub},
		Name:      identity.Claims(claims).Name(),
		Claims:    identity.Claims(claims),
		Expires:   expires,
	}
	return person, earliest(until, expires, now.Add(remember)), nil
}

// named finds the issuer that an unverified token names, and refuses what
// needs no key to be refused: no stranger's token gets as far as a fetch.
// Headers that bring or point to a key (jwk, jku, x5c, x5u) mean nothing here.
func (b *Bearer) named(t *jwt.Token, claims jwt.MapClaims) (*issuer, *Refusal) {
	iss, _ := claims["iss"].(string)
	from, ok := b.issuers[iss]
	if !ok {
		return nil, b.invalid("The token is of an issuer that is not configured here.", b.scopes)
	}
	if _, ok := t.Header["crit"]; ok {
		return nil, b.invalid("The token demands an extension that is not known here.", from.scopes)
	}
	if typ, _ := t.Header["typ"].(string); !from.takes(typ) {
		return nil, b.invalid("The token is not an access token: its type is another.", from.scopes)
	}
	if kid, ok := t.Header["kid"]; ok {
		if text, ok := kid.(string); !ok || text == "" || len(text) > longestKeyID {
			return nil, b.invalid("The token's key id is none.", from.scopes)
		}
	}
	return from, nil
}

// takes compares media types as RFC 7515 section 4.1.9 says: in any case, and
// without the "application/" that may be left out.
func (i *issuer) takes(typ string) bool {
	short := func(t string) string { return strings.TrimPrefix(strings.ToLower(t), "application/") }
	return typ != "" && slices.ContainsFunc(i.types, func(t string) bool { return short(t) == short(typ) })
}

// judge checks the claims of a token whose signature is right. The reason is
// empty for a good one.
func (i *issuer) judge(claims jwt.MapClaims, now time.Time) (expires time.Time, reason string) {
	if !i.isFor(claims["aud"]) {
		return time.Time{}, "The token is for another audience."
	}
	expires, ok := date(claims, "exp")
	if !ok || expires.IsZero() {
		return time.Time{}, "The token does not say when it expires."
	}
	if !now.Before(expires) {
		return time.Time{}, "The token has expired."
	}
	for _, claim := range []string{"nbf", "iat"} {
		if from, ok := date(claims, claim); !ok || from.After(now.Add(leeway)) {
			return time.Time{}, "The token is not valid yet."
		}
	}
	if sub, _ := claims["sub"].(string); sub == "" || len(sub) > longestSubject || hidden(sub) {
		return time.Time{}, "The token has no usable subject."
	}
	if isOther(claims) {
		return time.Time{}, "The token is not an access token: its claims are those of another kind."
	}
	if _, ok := claims["cnf"]; ok {
		return time.Time{}, "The token is bound to a key of its holder, which cannot be checked here."
	}
	return expires, ""
}

// isFor reports whether one of the audiences is exactly one that is taken. A
// list with anything but text in it is nobody's.
func (i *issuer) isFor(aud any) bool {
	list, ok := texts(aud)
	return ok && slices.ContainsFunc(list, func(a string) bool { return slices.Contains(i.audiences, a) })
}

// isOther reports whether the claims give away an ID token or a security
// event, such as a logout, that has the type and the audience of an access
// token.
func isOther(claims jwt.MapClaims) bool {
	for _, claim := range []string{"at_hash", "c_hash", "s_hash", "events"} {
		if _, ok := claims[claim]; ok {
			return true
		}
	}
	return claims["typ"] == "ID" || claims["typ"] == "Logout" || claims["token_use"] == "id"
}

// covers reports whether every wanted scope is among those of the token, in
// the claim "scope" or, as some issuers have it, "scp".
func covers(claims jwt.MapClaims, wanted []string) bool {
	var has []string
	for _, claim := range []string{"scope", "scp"} {
		list, _ := texts(claims[claim])
		for _, text := range list {
			has = append(has, strings.Split(text, " ")...)
		}
	}
	return !slices.ContainsFunc(wanted, func(scope string) bool { return !slices.Contains(has, scope) })
}

// texts gives a claim that is a text, or a list of nothing but texts.
func texts(claim any) ([]string, bool) {
	switch v := claim.(type) {
	case string:
		return []string{v}, true
	case []any:
		list := make([]string, 0, len(v))
		for _, e := range v {
			s, ok := e.(string)
			if !ok {
				return nil, false
			}
			list = append(list, s)
		}
		return list, true
	}
	return nil, false
}

// date gives a claim in seconds since 1970; zero if there is none, false if
// it is no date.
func date(claims jwt.MapClaims, claim string) (time.Time, bool) {
	v, there := claims[claim]
	if !there {
		return time.Time{}, true
	}
	const farthest = 1 << 40 // tens of thousands of years
	seconds, ok := v.(float64)
	if !ok || seconds < 0 || seconds > farthest {
		return time.Time{}, false
	}
	return time.Unix(int64(seconds), 0), true
}

func earliest(first time.Time, others ...time.Time) time.Time {
	for _, t := range others {
		if t.Before(first) {
			first = t
		}
	}
	return first
}
