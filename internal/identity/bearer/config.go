package bearer

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/identity"
	"github.com/answerback/answerback/internal/secret"
)

const (
	defaultCache = 10_000
	maxIssuers   = 64
	maxKeys      = 1_000
	minKeyLength = 16
)

// Config is what New needs.
type Config struct {
	// Resource is what tokens are for: the address of the MCP endpoint, such
	// as https://mcp.example.com/mcp. Required with issuers.
	Resource string
	// MetadataURL is where Metadata is served. Required with issuers.
	MetadataURL string
	// Issuers and Keys are whose tokens, and which keys, are taken: at least
	// one of either.
	Issuers []Issuer
	Keys    []Key
	// HTTP fetches issuers' metadata and keys. Redirects are not followed,
	// whatever it says of them. Required with issuers.
	HTTP *http.Client
	// Now is the clock, time.Now if nil.
	Now func() time.Time
	// Log is told when an issuer's keys come, change or cannot be had. Nil
	// means nobody.
	Log *slog.Logger
	// CacheSize is how many verified tokens are remembered, 10,000 if zero.
	CacheSize int
}

// Issuer is an authorization server whose tokens are taken.
type Issuer struct {
	// URL is the issuer exactly as its tokens and its metadata spell it.
	URL string
	// Audiences are those of which a token must have one; without any, the
	// Resource.
	Audiences []string
	// Scopes must all be in the token.
	Scopes []string
	// JWKS is where its keys are, for an issuer without metadata.
	JWKS string
	// Types are the values of a token's typ header; without any, "at+jwt" and
	// "JWT".
	Types []string
}

// Key is a static key.
type Key struct {
	// Name is what logs call the key, and the subject of a caller whose key
	// names no person.
	Name string
	// Key is the secret: at least 16 characters that may stand in a header.
	Key secret.Text
	// Principal is whose key it is. The caller is then that person, who can
	// open pages by signing in. Zero means nobody's: the caller is
	// {identity.KeyIssuer, Name}, and has no pages.
	Principal ask.Principal
	// Claims are what rules of access and groups see of the caller. The claim
	// "sub" is always the principal's subject.
	Claims identity.Claims
	// Display is what pages call the caller; without it the Claims say.
	Display string
}

func (c *Config) check() error {
	var faults []error
	fault := func(field string, err error) {
		if err != nil {
			faults = append(faults, fmt.Errorf("%s: %w", field, err))
		}
	}
	if len(c.Issuers) == 0 && len(c.Keys) == 0 {
		fault("issuers", errors.New("there is neither an issuer nor a key: nobody could ever call"))
	}
	if len(c.Issuers) > maxIssuers {
		fault("issuers", fmt.Errorf("%d of them: at most %d", len(c.Issuers), maxIssuers))
	}
	if len(c.Keys) > maxKeys {
		fault("keys", fmt.Errorf("%d of them: at most %d", len(c.Keys), maxKeys))
	}
	if c.CacheSize < 0 {
		fault("cache size", errors.New("negative"))
	}
	if len(c.Issuers) > 0 {
		fault("resource", checkURL(c.Resource))
		fault("metadata url", checkURL(c.MetadataURL))
		if c.HTTP == nil {
			fault("http", errors.New("missing: issuers' keys cannot be fetched"))
		}
	}
	for i, issuer := range c.Issuers {
		fault(fmt.Sprintf("issuer %d", i), issuer.check())
		if slices.ContainsFunc(c.Issuers[:i], func(other Issuer) bool { return other.URL == issuer.URL }) {
			fault(fmt.Sprintf("issuer %d", i), fmt.Errorf("url: %s is configured twice", issuer.URL))
		}
	}
	for i, key := range c.Keys {
		fault(fmt.Sprintf("key %d (%s)", i, key.Name), key.check(c.Keys[:i]))
	}
	return errors.Join(faults...)
}

func (i Issuer) check() error {
	if err := checkURL(i.URL); err != nil {
		return fmt.Errorf("url: %w", err)
	}
	if i.JWKS != "" {
		if err := checkAddress(i.JWKS); err != nil {
			return fmt.Errorf("jwks: %w", err)
		}
	}
	if slices.Contains(i.Audiences, "") {
		return errors.New("audiences: an empty one would be any token's")
	}
	if slices.Contains(i.Types, "") {
		return errors.New("types: an empty one would be any token's")
	}
	for _, scope := range i.Scopes {
		if scope == "" || strings.ContainsFunc(scope, func(r rune) bool { return r <= ' ' || r > '~' || r == '"' || r == '\\' }) {
			return fmt.Errorf("scopes: %q is none: write one scope per entry, in visible ASCII", scope)
		}
	}
	return nil
}

// check compares the key to those before it. Its errors never have the key.
func (k Key) check(before []Key) error {
	if k.Name == "" || hidden(k.Name) {
		return errors.New("name: missing, or with invisible characters")
	}
	text := k.Key.Reveal()
	if len(text) < minKeyLength {
		return fmt.Errorf("key: shorter than %d characters: make a long random one", minKeyLength)
	}
	if len(text) > maxToken || !isToken68(text) {
		return errors.New("key: too long, or with characters that cannot stand in a header: use letters, digits and -._~+/")
	}
	for _, other := range before {
		if other.Name == k.Name {
			return errors.New("name: another key has it")
		}
		if other.Key.Reveal() == text {
			return fmt.Errorf("key: the same as that of %s", other.Name)
		}
	}
	if sub, ok := k.Claims["sub"]; ok && sub != k.principal().Subject {
		return errors.New("claims: sub differs from the principal's subject: leave it out")
	}
	if k.Principal.IsZero() {
		return nil
	}
	if k.Principal.Issuer == "" || k.Principal.Subject == "" || hidden(k.Principal.Subject) {
		return errors.New("principal: needs both an issuer and a subject, of visible characters")
	}
	if k.Principal.Issuer == identity.KeyIssuer {
		return fmt.Errorf("principal: issuer %q is that of keys without a person: leave the principal out", identity.KeyIssuer)
	}
	return nil
}

func (k Key) principal() ask.Principal {
	if k.Principal.IsZero() {
		return ask.Principal{Issuer: identity.KeyIssuer, Subject: k.Name}
	}
	return k.Principal
}

// checkURL takes addresses that stand for something: they are compared as
// text and quoted in headers.
func checkURL(text string) error {
	if err := checkAddress(text); err != nil {
		return err
	}
	if strings.ContainsAny(text, "?#") {
		return fmt.Errorf("%q has a query or a fragment: leave it out", text)
	}
	return nil
}

// checkAddress takes addresses to which nobody in between can listen.
func checkAddress(text string) error {
	if text == "" {
		return errors.New("missing")
	}
	if strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' || r == '"' || r == '\\' }) {
		return fmt.Errorf("%q has characters that no address has", text)
	}
	u, err := url.Parse(text)
	if err != nil || u.Hostname() == "" {
		return fmt.Errorf("%q is not an absolute address", text)
	}
	if u.User != nil {
		return errors.New("has a user name or password in it: leave it out")
	}
	if u.Scheme != "https" && (u.Scheme != "http" || !isLoopback(u.Hostname())) {
		return fmt.Errorf("%q must begin with https:// (http:// is for loopback only)", text)
	}
	return nil
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
