package oauth

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"net/url"
	"strings"
)

// Request is an authorization request.
type Request struct {
	ClientID string
	Redirect string
	State    string
	Verifier string
	Resource string
	Scopes   []string
}

// NewVerifier makes a PKCE verifier, or anything else that nobody can guess:
// 256 random bits in 43 characters.
func NewVerifier() string {
	var b [32]byte
	rand.Read(b[:]) // never fails: it ends the program instead
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// AuthorizeURL is where a browser is sent.
func (s *Server) AuthorizeURL(r Request) (string, error) {
	u, err := CheckAddress(s.Authorize)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256([]byte(r.Verifier))
	q := u.Query()
	for name, value := range map[string]string{
		"response_type": "code", "client_id": r.ClientID, "redirect_uri": r.Redirect, "state": r.State,
		"code_challenge": base64.RawURLEncoding.EncodeToString(sum[:]), "code_challenge_method": "S256",
		"resource": r.Resource, "scope": strings.Join(r.Scopes, " "),
	} {
		q.Del(name) // what the server put there itself is not ours to say twice
		if value != "" {
			q.Set(name, value)
		}
	}
	u.RawQuery = q.Encode()
	return u.String(), nil
}

// Answer is what an authorization server says through the browser, so anybody
// may have written it.
type Answer struct {
	State string
	Code  string
	Error string // as the server wrote it; see Denied
	iss   string
	named bool // iss was given
}

const maxCode = 4 << 10

// ErrAnswer means that an answer is not in the form of one.
var ErrAnswer = errors.New("the authorization server sent the browser back with something that is no answer")

// ErrIssuer means that an answer is not from the server that was asked.
var ErrIssuer = errors.New("the answer is not from the authorization server that was asked")

// ParseAnswer reads the query with which a browser comes back.
func ParseAnswer(rawQuery string) (Answer, error) {
	q, err := url.ParseQuery(rawQuery)
	if err != nil {
		return Answer{}, ErrAnswer
	}
	for _, name := range []string{"state", "code", "error", "iss"} {
		if len(q[name]) > 1 {
			return Answer{}, ErrAnswer
		}
	}
	a := Answer{State: q.Get("state"), Code: q.Get("code"), Error: q.Get("error"), iss: q.Get("iss"), named: q.Has("iss")}
	if a.State == "" || (a.Code == "") == (a.Error == "") || a.Code != "" && !isVisible(a.Code, maxCode) {
		return Answer{}, ErrAnswer
	}
	return a, nil
}

// From checks that the answer is the issuer's (RFC 9207): where it names one,
// letter by letter, and where the server promised to name itself, that it did.
// Nothing of an answer, an error included, is used before.
func (a *Answer) From(issuer string, promised bool) error {
	if a.named && a.iss != issuer || promised && !a.named {
		return ErrIssuer
	}
	return nil
}

// Denied reports whether the answer says that the person said no.
func (a *Answer) Denied() bool { return a.Error == "access_denied" }
