package oauth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/answerback/answerback/internal/secret"
)

// Token is what a token endpoint gives.
type Token struct {
	Access  secret.Text
	Refresh secret.Text   // empty where the server gave none
	Life    time.Duration // of the access token; zero where the server does not say
	Scopes  []string      // nil where the server does not say, which means those asked for
}

// Error is the refusal of an authorization server: a code that the standards
// define, or "" for everything else it may have said.
type Error struct {
	Code   string
	Status int
}

func (e *Error) Error() string {
	if e.Code != "" {
		return "the authorization server refused: " + e.Code
	}
	return fmt.Sprintf("the authorization server answered with status %d", e.Status)
}

// The error codes that mean something to a client.
const (
	InvalidGrant  = "invalid_grant"
	InvalidClient = "invalid_client"
)

var errorCodes = []string{
	InvalidGrant, InvalidClient, "invalid_request", "unauthorized_client", "unsupported_grant_type", "invalid_scope",
	"invalid_target", "invalid_redirect_uri", "invalid_client_metadata", "unsupported_token_type",
}

// IsRefusal reports whether err is a refusal with this code.
func IsRefusal(err error, code string) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.Code == code
}

// ErrUnknown means that a request went out and no answer came back: whether
// the server acted on it is not known.
var ErrUnknown = errors.New("the authorization server did not answer, and may have acted all the same")

func refusal(status int, body []byte) error {
	var said struct {
		Error string `json:"error"`
	}
	e := &Error{Status: status}
	if decode(body, &said) == nil && slices.Contains(errorCodes, said.Error) {
		e.Code = said.Error
	}
	return e
}

// Exchange redeems an authorization code.
func (c *Client) Exchange(ctx context.Context, endpoint string, id Identity, r Request, code string) (Token, error) {
	return c.token(ctx, endpoint, id, url.Values{
		"grant_type": {"authorization_code"}, "code": {code}, "redirect_uri": {r.Redirect},
		"code_verifier": {r.Verifier}, "resource": {r.Resource},
	})
}

// Refresh gets a new access token, and perhaps a new refresh token, after
// which the old one is spent. The error is ErrUnknown where the server may
// have spent it without telling.
func (c *Client) Refresh(ctx context.Context, endpoint string, id Identity, resource string, token secret.Text) (Token, error) {
	return c.token(ctx, endpoint, id, url.Values{
		"grant_type": {"refresh_token"}, "refresh_token": {token.Reveal()}, "resource": {resource},
	})
}

// Revoke tells a server that a token is not used any more (RFC 7009).
func (c *Client) Revoke(ctx context.Context, endpoint string, id Identity, token secret.Text, hint string) error {
	status, body, err := c.post(ctx, endpoint, id, url.Values{"token": {token.Reveal()}, "token_type_hint": {hint}})
	if err != nil {
		return fmt.Errorf("revocation: %w", err)
	}
	if status != http.StatusOK {
		return fmt.Errorf("revocation: %w", refusal(status, body))
	}
	return nil
}

func (c *Client) token(ctx context.Context, endpoint string, id Identity, form url.Values) (Token, error) {
	ctx, went := sent(ctx)
	status, body, err := c.post(ctx, endpoint, id, form)
	if err != nil {
		if went.Load() {
			err = errors.Join(ErrUnknown, err)
		}
		return Token{}, err
	}
	if status != http.StatusOK {
		return Token{}, refusal(status, body)
	}
	t, err := readToken(body)
	if err != nil {
		// The server did something; what, nobody can tell.
		return Token{}, errors.Join(ErrUnknown, errUnreadable, err)
	}
	return t, nil
}

// post sends a form, authenticated as the client.
func (c *Client) post(ctx context.Context, endpoint string, id Identity, form url.Values) (int, []byte, error) {
	if _, err := CheckAddress(endpoint); err != nil {
		return 0, nil, fmt.Errorf("address %w", err)
	}
	if id.Method != Basic {
		form.Set("client_id", id.ID)
	}
	if id.Method == Post {
		form.Set("client_secret", id.Secret.Reveal())
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, endpoint, strings.NewReader(form.Encode()))
	if err != nil {
		return 0, nil, errNoAddress
	}
	// A body that can be had again would be sent again by the transport where
	// a kept connection breaks, and a code or token shown twice.
	r.GetBody = nil
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Accept", "application/json")
	if id.Method == Basic {
		r.SetBasicAuth(url.QueryEscape(id.ID), url.QueryEscape(id.Secret.Reveal()))
	}
	return c.do(r)
}

const maxToken = 32 << 10

func readToken(body []byte) (Token, error) {
	var given struct {
		Access  string          `json:"access_token"`
		Type    string          `json:"token_type"`
		Refresh string          `json:"refresh_token"`
		Expires json.RawMessage `json:"expires_in"`
		Scope   *string         `json:"scope"`
	}
	if err := decode(body, &given); err != nil {
		return Token{}, err
	}
	switch {
	case !isVisible(given.Access, maxToken) || strings.Contains(given.Access, " "):
		return Token{}, errors.New("the answer holds no access token")
	case !strings.EqualFold(given.Type, "Bearer"):
		return Token{}, errors.New("the answer holds a token that is not a bearer token")
	case given.Refresh != "" && !isVisible(given.Refresh, maxToken):
		return Token{}, errors.New("the answer holds a refresh token that is none")
	}
	t := Token{Access: secret.New(given.Access), Refresh: secret.New(given.Refresh)}
	// Some servers write the number as a string.
	if n, err := strconv.ParseInt(strings.Trim(string(given.Expires), `"`), 10, 64); err == nil && n > 0 {
		t.Life = time.Duration(min(n, maxLife)) * time.Second
	}
	if given.Scope != nil {
		t.Scopes = append([]string{}, Scopes(*given.Scope)...)
	}
	return t, nil
}

// maxLife is the longest life of a token that is believed: ten years.
const maxLife = 10 * 365 * 24 * 3600

// IsUnreadable reports whether err is of an answer that came and could not be
// read: the server has acted.
func IsUnreadable(err error) bool {
	return errors.Is(err, ErrUnknown) && errors.Is(err, errUnreadable)
}

var errUnreadable = errors.New("the answer cannot be read")
