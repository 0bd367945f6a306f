package oauth

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// Resource is what a protected resource says of itself (RFC 9728).
type Resource struct {
	Resource string   `json:"resource"`
	Servers  []string `json:"authorization_servers"`
	Scopes   []string `json:"scopes_supported"`
}

// ErrNoMetadata means that nothing says where the authorization server is.
var ErrNoMetadata = errors.New("the server has no protected resource metadata")

// Resource finds the metadata of the resource at address: where the challenge
// says, else at the well-known places. What is found must be about this
// resource, or about one that holds it.
func (c *Client) Resource(ctx context.Context, address string, ch Challenge) (Resource, error) {
	u, err := url.Parse(address)
	if err != nil {
		return Resource{}, errNoAddress
	}
	places := []string{ch.ResourceMetadata}
	if ch.ResourceMetadata == "" {
		places = []string{wellKnown(u, resourceName)}
		if root := wellKnown(&url.URL{Scheme: u.Scheme, Host: u.Host}, resourceName); root != places[0] {
			places = append(places, root)
		}
	}
	for _, place := range places {
		var r Resource
		err := c.get(ctx, place, &r)
		if missing(err) && ch.ResourceMetadata == "" {
			continue
		}
		if err != nil {
			return Resource{}, fmt.Errorf("protected resource metadata: %w", err)
		}
		if !holds(r.Resource, u) {
			return Resource{}, errors.New("protected resource metadata: it is about another resource")
		}
		if len(r.Servers) == 0 {
			return Resource{}, errors.New("protected resource metadata: it names no authorization server")
		}
		r.Scopes = Scopes(strings.Join(r.Scopes, " "))
		return r, nil
	}
	return Resource{}, ErrNoMetadata
}

// Probe asks the MCP server at address for something without a token, to hear
// what it wants.
func (c *Client) Probe(ctx context.Context, address string) (Challenge, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, address, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"ping"}`))
	if err != nil {
		return Challenge{}, errNoAddress
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	resp, err := c.http.Do(r)
	if err != nil {
		return Challenge{}, err
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusUnauthorized {
		return Challenge{}, nil
	}
	return ParseChallenge(resp.Header), nil
}

const resourceName = "oauth-protected-resource"

// missing reports whether an answer says that there is nothing at an address.
func missing(err error) bool {
	e, ok := errors.AsType[*statusError](err)
	return ok && e.status >= 400 && e.status < 500
}

// holds reports whether a resource is that at u, or one that holds it: the
// same origin, and a path that u's begins with.
func holds(resource string, u *url.URL) bool {
	r, err := url.Parse(resource)
	if err != nil || r.User != nil || r.Fragment != "" || r.Opaque != "" ||
		!strings.EqualFold(r.Scheme, u.Scheme) || origin(r) != origin(u) {
		return false
	}
	if r.RawQuery != "" && r.RawQuery != u.RawQuery {
		return false
	}
	outer, inner := strings.TrimSuffix(r.EscapedPath(), "/"), u.EscapedPath()
	return inner == outer || strings.HasPrefix(inner, outer+"/")
}

// origin is the host and port of u, the port also where it is the usual one.
func origin(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"https": "443", "http": "80"}[strings.ToLower(u.Scheme)]
	}
	return strings.ToLower(u.Hostname()) + ":" + port
}

// Server is what an authorization server says of itself (RFC 8414).
type Server struct {
	Issuer      string   `json:"issuer"`
	Authorize   string   `json:"authorization_endpoint"`
	Token       string   `json:"token_endpoint"`
	Register    string   `json:"registration_endpoint"`
	Revoke      string   `json:"revocation_endpoint"`
	Scopes      []string `json:"scopes_supported"`
	AuthMethods []string `json:"token_endpoint_auth_methods_supported"`
	Challenges  []string `json:"code_challenge_methods_supported"`
	Documents   bool     `json:"client_id_metadata_document_supported"`
	SendsIssuer bool     `json:"authorization_response_iss_parameter_supported"`
}

// Server finds the metadata of an authorization server. It must be the
// issuer's own, letter by letter, and promise PKCE with S256.
func (c *Client) Server(ctx context.Context, issuer string) (Server, error) {
	u, err := CheckIssuer(issuer)
	if err != nil {
		return Server{}, fmt.Errorf("authorization server: its address %w", err)
	}
	places := []string{wellKnown(u, "oauth-authorization-server"), wellKnown(u, "openid-configuration")}
	if strings.Trim(u.Path, "/") != "" {
		places = append(places, strings.TrimSuffix(issuer, "/")+"/.well-known/openid-configuration")
	}
	var last error
	for _, place := range places {
		var s Server
		if last = c.get(ctx, place, &s); missing(last) {
			continue
		} else if last != nil {
			break
		}
		if err := s.check(issuer); err != nil {
			return Server{}, fmt.Errorf("authorization server metadata: %w", err)
		}
		return s, nil
	}
	return Server{}, fmt.Errorf("authorization server metadata: %w", last)
}

func (s *Server) check(issuer string) error {
	if s.Issuer != issuer {
		return errors.New("it is that of another issuer")
	}
	if !slices.Contains(s.Challenges, "S256") {
		return errors.New("the server does not promise PKCE with S256 (code_challenge_methods_supported)")
	}
	for _, e := range []struct {
		name, address string
		optional      bool
	}{
		{"authorization_endpoint", s.Authorize, false},
		{"token_endpoint", s.Token, false},
		{"registration_endpoint", s.Register, true},
		{"revocation_endpoint", s.Revoke, true},
	} {
		if e.optional && e.address == "" {
			continue
		}
		if _, err := CheckAddress(e.address); err != nil {
			return fmt.Errorf("%s %w", e.name, err)
		}
	}
	return nil
}

// StatusOf is the status of an answer that was an error, 0 for other errors.
func StatusOf(err error) int {
	if e, ok := errors.AsType[*statusError](err); ok {
		return e.status
	}
	return 0
}
