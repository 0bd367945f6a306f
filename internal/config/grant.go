package config

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/answerback/answerback/internal/secret"
)

// Grant says that each person connects an account of their own to a backend.
// The zero Grant is none.
type Grant struct {
	Kind           string      `yaml:"kind" doc:"How: oauth by signing in at the server's authorization server, key by entering a key on a page."`
	ClientID       string      `yaml:"client_id" doc:"For oauth: the gateway's own name at the authorization server. Without it the gateway introduces itself: by a client id metadata document, or by registering. Register public_url with /connect/NAME/callback as its redirect address."`
	ClientSecret   secret.Text `yaml:"client_secret" doc:"The secret that goes with client_id. Never shown."`
	ClientDocument string      `yaml:"client_document" doc:"For oauth: the address of the gateway's client id metadata document, where authorization servers cannot reach public_url and it is kept elsewhere." default:"public_url with /connect/NAME/client.json"`
	Issuer         string      `yaml:"issuer" doc:"For oauth: the authorization server, exactly as it calls itself. With it no other is used, and it may be in a private network." default:"what the server says"`
	Scopes         []string    `yaml:"scopes" doc:"For oauth: scopes to ask for besides those that the server wants."`
	Header         string      `yaml:"header" doc:"For key: the header that the key is sent in." default:"Authorization"`
	Prefix         string      `yaml:"prefix" doc:"For key: what stands before the key in that header, with the space." default:"Bearer and a space in Authorization, else nothing"`
	WhenMissing    string      `yaml:"when_missing" doc:"What becomes of a call whose person has not connected yet: wait until they have, or error, which ends it with the address at which to connect (-32042) for legacy clients that take links. All others wait." default:"wait"`
}

// IsZero reports whether there is no grant.
func (g Grant) IsZero() bool {
	return g.Kind+g.ClientID+g.ClientSecret.Reveal()+g.ClientDocument+g.Issuer+g.Header+g.Prefix+g.WhenMissing == "" && len(g.Scopes) == 0
}

// KeyHeader gives the header and the prefix of a key.
func (g Grant) KeyHeader() (header, prefix string) {
	if g.Header == "" {
		g.Header = "Authorization"
	}
	if g.Prefix == "" && strings.EqualFold(g.Header, "Authorization") {
		g.Prefix = "Bearer "
	}
	return http.CanonicalHeaderKey(g.Header), g.Prefix
}

// grant checks the grant of one backend.
func (k *checker) grant(c *Config, key string, b Backend) {
	g := b.Grant
	if g.IsZero() {
		return
	}
	at := key + ".grant"
	if u, err := url.Parse(b.URL); b.URL == "" {
		k.add(at, "accounts are connected to a url, and this backend is a command", "remove it; pass what the program needs in env")
	} else if err == nil && u.Scheme == "http" && !isLoopback(u.Hostname()) {
		k.add(key+".url", "uses http, and people's tokens and keys would be read on the way", "use https")
	}
	switch g.Kind {
	case "oauth":
		k.oauth(at, g)
	case "key":
		k.keyed(at, g)
	default:
		k.add(at+".kind", quoted(g.Kind)+" is not one of its values", "write oauth or key")
	}
	if g.WhenMissing != "" && g.WhenMissing != "wait" && g.WhenMissing != "error" {
		k.add(at+".when_missing", quoted(g.WhenMissing)+" is not one of its values", "write wait or error")
	}
	header := "Authorization"
	if g.Kind == "key" {
		header, _ = g.KeyHeader()
	}
	for name := range b.Headers {
		if http.CanonicalHeaderKey(name) == header {
			k.add(key+".headers."+name, "is set for each person by the grant", "remove one of them")
		}
	}
	if c.PublicURL == "" && c.faces() {
		k.add("public_url", "is not set, and people must be sent back to the gateway when they connected an account", "write the address under which the gateway is reached, as https://mcp.example.com")
	}
	if i := &c.Identity; i.Authenticates() && !i.SignsIn() {
		k.add(at, "nobody can sign in to connect an account", "give one of identity.issuers a client_id")
	}
}

func (k *checker) oauth(at string, g Grant) {
	if g.Header+g.Prefix != "" {
		k.add(at, "has header or prefix, which belong to a key", "remove them")
	}
	if g.ClientID == "" && g.ClientSecret.Reveal() != "" {
		k.add(at+".client_secret", "there is a secret, and no client_id that it goes with", "add client_id, or remove it")
	}
	if g.Issuer != "" && !isIssuer(g.Issuer) {
		k.add(at+".issuer", quoted(g.Issuer)+" is not the address of an issuer", "write it as https://login.example.com, without query and fragment; http is taken for this machine only")
	}
	if g.ClientDocument != "" {
		u, err := url.Parse(g.ClientDocument)
		if err != nil || !isBase(u) || u.Scheme != "https" || u.Path == "" || u.Path == "/" {
			k.add(at+".client_document", quoted(g.ClientDocument)+" is not the https address of a document", "write it as https://example.com/client.json")
		}
		if g.ClientID != "" {
			k.add(at+".client_document", "there is a client_id too", "keep one of them")
		}
	}
	for n, s := range g.Scopes {
		if s == "" || strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r >= 0x7f || r == '"' || r == '\\' }) {
			k.add(fmt.Sprintf("%s.scopes[%d]", at, n), quoted(s)+" is not a scope", "write one word for each")
		}
	}
}

func (k *checker) keyed(at string, g Grant) {
	if g.ClientID+g.ClientSecret.Reveal()+g.ClientDocument+g.Issuer != "" || len(g.Scopes) > 0 {
		k.add(at, "has client_id, client_secret, client_document, issuer or scopes, which belong to oauth", "remove them")
	}
	header, prefix := g.KeyHeader()
	switch {
	case !isToken(header):
		k.add(at+".header", "is not the name of a header", "use letters, digits and -")
	case slices.Contains(ownHeaders, header) || strings.HasPrefix(header, "Mcp-"):
		k.add(at+".header", "is set by the gateway itself", "choose another")
	}
	if strings.ContainsFunc(prefix, func(r rune) bool { return r < ' ' || r >= 0x7f }) {
		k.add(at+".prefix", "contains a line break or another character that headers do not have", "remove it")
	}
}
