package mcp

import (
	"context"
	"net/http"
	"strings"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/contract"
	"github.com/answerback/answerback/internal/secret"
)

// Credentials are what each person's requests to a server are authorized
// with. Safe for concurrent use.
type Credentials interface {
	// Authorize gives the header to send for somebody. The error is an
	// *ask.Error, NotConnected where there is nothing to send.
	Authorize(ctx context.Context, who ask.Principal) (Authorization, error)
	// Refused says that the server did not take one. It reports whether
	// Authorize has another by now, with which the request is worth sending
	// again.
	Refused(ctx context.Context, who ask.Principal, used Authorization, why contract.Challenge) bool
}

// Authorization is a header that holds a credential.
type Authorization struct {
	Header string // its name, Authorization as a rule
	Value  secret.Text
}

// door is how one person's requests leave: with what they are authorized
// with, where the server wants to know who they are.
type door struct {
	client      *http.Client
	credentials Credentials // nil where all requests are the gateway's own
	name        string      // the backend's
	who         ask.Principal
}

// door gives the one of a principal.
func (b *Backend) door(who ask.Principal) door {
	return door{client: b.cfg.Client, credentials: b.cfg.Credentials, name: b.cfg.Name, who: who}
}

// do sends a request, the header of which is not modified. A request that the
// server refused was not executed: it is sent again, once, where there is
// another credential; else the error is NotConnected with a contract.Challenge as
// its cause.
func (d door) do(req *http.Request) (*http.Response, error) {
	if d.credentials == nil {
		return d.client.Do(req)
	}
	plain := req.Header
	for again := true; ; again = false {
		auth, err := d.credentials.Authorize(req.Context(), d.who)
		if err != nil {
			return nil, err
		}
		req.Header = with(plain, auth.Header, auth.Value.Reveal())
		resp, err := d.client.Do(req)
		if err != nil {
			return nil, err
		}
		why, refused := challengeOf(resp)
		if !refused {
			return resp, nil
		}
		resp.Body.Close()
		if !d.credentials.Refused(req.Context(), d.who, auth, why) || !again {
			return nil, ask.Wrap(ask.NotConnected, "Backend "+d.name+" does not take the account that is connected to it. Connect it again.", &why)
		}
		if req.GetBody != nil {
			if req.Body, err = req.GetBody(); err != nil {
				return nil, err
			}
		}
	}
}

// challengeOf reads why a server wants another credential, if it does.
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
