package oauth

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/answerback/answerback/internal/secret"
)

// Method is how a client says who it is at the token endpoint.
type Method string

// Every method that this client knows.
const (
	Basic Method = "client_secret_basic"
	Post  Method = "client_secret_post"
	None  Method = "none"
)

// Identity is the gateway as one authorization server knows it.
type Identity struct {
	ID      string
	Secret  secret.Text // empty for a public client
	Method  Method
	Expires time.Time // of the secret; zero means never
}

// MethodFor gives the way in which a client with this secret authenticates.
// Trying one way and then another would show the same code twice, which
// servers take for theft.
func (s *Server) MethodFor(text secret.Text) Method {
	switch {
	case text.Reveal() == "":
		return None
	case len(s.AuthMethods) == 0 || slices.Contains(s.AuthMethods, string(Basic)):
		return Basic
	}
	return Post
}

// Document is a client as it describes itself: the body of a registration,
// and the client id metadata document.
type Document struct {
	ClientID      string   `json:"client_id,omitempty"`
	Name          string   `json:"client_name"`
	URI           string   `json:"client_uri,omitempty"`
	Redirects     []string `json:"redirect_uris"`
	GrantTypes    []string `json:"grant_types"`
	ResponseTypes []string `json:"response_types"`
	Method        Method   `json:"token_endpoint_auth_method"`
	Application   string   `json:"application_type"`
}

// NewDocument describes a client that is sent back to redirect.
func NewDocument(name, uri, redirect string) Document {
	d := Document{
		Name: name, URI: uri, Redirects: []string{redirect}, Method: None, Application: "web",
		GrantTypes: []string{"authorization_code", "refresh_token"}, ResponseTypes: []string{"code"},
	}
	if u, err := CheckAddress(redirect); err == nil && IsLoopback(u.Hostname()) {
		d.Application = "native"
	}
	return d
}

// ErrNoRegistration means that a server takes no registrations.
var ErrNoRegistration = errors.New("the authorization server neither knows this gateway nor takes registrations")

// Register makes the client that d describes known to a server (RFC 7591), in
// the safest way of authenticating that the server offers.
func (c *Client) Register(ctx context.Context, s *Server, d Document) (Identity, error) {
	if s.Register == "" {
		return Identity{}, ErrNoRegistration
	}
	d.ClientID = ""
	d.Method = Basic
	for _, m := range []Method{None, Post, Basic} {
		if slices.Contains(s.AuthMethods, string(m)) {
			d.Method = m
		}
	}
	body, err := json.Marshal(d)
	if err != nil {
		return Identity{}, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.Register, bytes.NewReader(body))
	if err != nil {
		return Identity{}, errNoAddress
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json")
	status, answer, err := c.do(r)
	if err != nil {
		return Identity{}, fmt.Errorf("registration: %w", err)
	}
	if status != http.StatusOK && status != http.StatusCreated {
		return Identity{}, fmt.Errorf("registration: %w", refusal(status, answer))
	}
	var given struct {
		ID      string `json:"client_id"`
		Secret  string `json:"client_secret"`
		Expires int64  `json:"client_secret_expires_at"`
		Method  Method `json:"token_endpoint_auth_method"`
	}
	if err := decode(answer, &given); err != nil || !isVisible(given.ID, 1024) || given.Secret != "" && !isVisible(given.Secret, 4096) {
		return Identity{}, errors.New("registration: the answer names no client")
	}
	i := Identity{ID: given.ID, Secret: secret.New(given.Secret), Method: given.Method}
	if given.Secret == "" {
		i.Method = None
	} else if given.Method != Basic && given.Method != Post {
		i.Method = d.Method
		if i.Method == None {
			i.Method = s.MethodFor(i.Secret)
		}
	}
	if given.Expires > 0 && given.Secret != "" {
		i.Expires = time.Unix(given.Expires, 0)
	}
	return i, nil
}

// isVisible reports whether s is printable ASCII of at most max characters, as
// RFC 6749 has ids, secrets and codes.
func isVisible(s string, max int) bool {
	for i := range len(s) {
		if s[i] < 0x20 || s[i] > 0x7e {
			return false
		}
	}
	return s != "" && len(s) <= max
}
