package bearer

import (
	"net/http"
	"strings"

	"github.com/answerback/answerback/ask"
)

// OAuth's names of what is wrong, RFC 6750 section 3.1.
const (
	invalidRequest    = "invalid_request"
	invalidToken      = "invalid_token"
	insufficientScope = "insufficient_scope"
)

// Refusal is why a credential was not taken. It wraps an *ask.Error. Nothing
// in it comes from the credential, so it can be logged and shown.
type Refusal struct {
	status       int
	authenticate string
	cause        *ask.Error
}

// Error says why.
func (r *Refusal) Error() string { return r.cause.Error() }

// Unwrap gives the *ask.Error.
func (r *Refusal) Unwrap() error { return r.cause }

// Challenge gives the status of the response and the value of its
// WWW-Authenticate header, which is empty when another credential would not
// help: with 503, when the issuer cannot be reached.
func (r *Refusal) Challenge() (status int, authenticate string) { return r.status, r.authenticate }

// refuse makes a Refusal. Code is OAuth's, "" for a request without a
// credential; scopes are what a token must have.
func (b *Bearer) refuse(status int, code, reason string, scopes []string) *Refusal {
	var params []string
	param := func(name, value string) {
		if value != "" {
			params = append(params, name+`="`+value+`"`)
		}
	}
	if code != "" {
		param("error", code)
		param("error_description", reason)
	}
	param("scope", strings.Join(scopes, " "))
	if len(b.issuers) > 0 {
		param("resource_metadata", b.metadataURL)
	}
	if len(params) == 0 {
		param("realm", "answerback")
	}
	return &Refusal{
		status:       status,
		authenticate: "Bearer " + strings.Join(params, ", "),
		cause:        ask.Errorf(ask.NotAllowed, reason),
	}
}

// Lacks refuses somebody whose credential was taken and has not this scope.
func (b *Bearer) Lacks(scope string) *Refusal {
	return b.refuse(http.StatusForbidden, insufficientScope, "The credential lacks the scope "+scope+".", []string{scope})
}

func (b *Bearer) malformed(reason string) *Refusal {
	return b.refuse(http.StatusBadRequest, invalidRequest, reason, nil)
}

func (b *Bearer) absent(reason string) *Refusal {
	return b.refuse(http.StatusUnauthorized, "", reason, b.scopes)
}

func (b *Bearer) invalid(reason string, scopes []string) *Refusal {
	return b.refuse(http.StatusUnauthorized, invalidToken, reason, scopes)
}

func (b *Bearer) unavailable(cause error) *Refusal {
	return &Refusal{
		status: http.StatusServiceUnavailable,
		cause:  ask.Wrap(ask.Internal, "The keys of the token's issuer cannot be had. Try again in a minute.", cause),
	}
}
