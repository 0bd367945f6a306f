// Package door is how requests to a backend leave: with the headers that the
// operator configured, and with what each person's requests are authorized
// with, where the backend wants to know who they are.
//
// It knows nothing of what is sent. Where credentials come from, and what
// becomes of a call whose person has yet to connect an account, is decided by
// others: it says only that a backend refused.
package door

import (
	"context"
	"maps"
	"net/http"
	"strings"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/contract"
	"github.com/answerback/answerback/internal/secret"
)

// Credentials are what each person's requests to a backend are authorized
// with. Safe for concurrent use.
type Credentials interface {
	// Authorize gives the header to send for somebody. The error is an
	// *ask.Error, NotConnected where there is nothing to send.
	Authorize(ctx context.Context, who ask.Principal) (Authorization, error)
	// Refused says that the backend did not take one. It reports whether
	// Authorize has another by now, with which the request is worth sending
	// again.
	Refused(ctx context.Context, who ask.Principal, used Authorization, why contract.Challenge) bool
}

// Authorization is a header that holds a credential.
type Authorization struct {
	Header string // its name, Authorization as a rule
	Value  secret.Text
}

// Door is how one person's requests to a backend leave. It is a value, and
// safe for concurrent use.
type Door struct {
	Client      *http.Client
	Credentials Credentials // nil where all requests are the gateway's own
	Backend     string      // its name
	Who         ask.Principal
}

// Do sends a request, the header of which is not modified. A request that the
// backend refused was not executed: it is sent again, once, where there is
// another credential; else the error is NotConnected with a contract.Challenge as
// its cause.
func (d Door) Do(req *http.Request) (*http.Response, error) {
	resp, _, err := d.Send(req)
	return resp, err
}

// Send is Do, and also gives what the request was authorized with.
func (d Door) Send(req *http.Request) (*http.Response, Authorization, error) {
	if d.Credentials == nil {
		resp, err := d.Client.Do(req)
		return resp, Authorization{}, err
	}
	plain := req.Header
	for again := true; ; again = false {
		auth, err := d.Credentials.Authorize(req.Context(), d.Who)
		if err != nil {
			return nil, auth, err
		}
		req.Header = maps.Clone(plain)
		req.Header[auth.Header] = []string{auth.Value.Reveal()}
		resp, err := d.Client.Do(req)
		if err != nil {
			return nil, auth, err
		}
		why, refused := challengeOf(resp)
		if !refused {
			return resp, auth, nil
		}
		resp.Body.Close()
		if !d.Credentials.Refused(req.Context(), d.Who, auth, why) || !again {
			return nil, auth, d.Refusal(why)
		}
		if req.GetBody != nil {
			if req.Body, err = req.GetBody(); err != nil {
				return nil, auth, err
			}
		}
	}
}

// Refusal is the error of a request whose credential the backend refused.
func (d Door) Refusal(why contract.Challenge) *ask.Error {
	return ask.Wrap(ask.NotConnected, "Backend "+d.Backend+" does not take the account that is connected to it. Connect it again.", &why)
}

// challengeOf reads why a backend wants another credential, if it does.
func challengeOf(resp *http.Response) (contract.Challenge, bool) {
	why := contract.Challenge{Status: resp.StatusCode, Authenticate: resp.Header.Values("WWW-Authenticate")}
	switch resp.StatusCode {
	case http.StatusUnauthorized:
		return why, true
	case http.StatusForbidden:
		// Any other refusal would be the same with another credential.
		return why, strings.Contains(strings.Join(why.Authenticate, ","), "insufficient_scope")
	}
	return why, false
}
