package signin

import (
	"net/http"
	"time"

	"github.com/answerback/answerback/ask"
)

// Kind is what happened at a browser.
type Kind string

// Every kind of event.
const (
	SignedIn  Kind = "signed_in"
	SignedOut Kind = "signed_out"
	Refused   Kind = "sign_in_refused"
)

// Reason is why somebody was refused.
type Reason string

// Every reason for a refusal.
const (
	BadRequest      Reason = "bad_request"      // parameters that are missing, doubled or malformed
	CrossSite       Reason = "cross_site"       // a form posted from another site
	UnknownFlow     Reason = "unknown_flow"     // a state that was never given out, is used up or too old
	OtherBrowser    Reason = "other_browser"    // a state that was given to another browser
	WrongIssuer     Reason = "wrong_issuer"     // an answer of another issuer than was asked, or of none
	ProviderRefused Reason = "provider_refused" // the provider says no
	ProviderFailed  Reason = "provider_failed"  // the provider cannot be reached or makes no sense
	BadToken        Reason = "bad_token"        // an ID token that proves nothing
	BadLink         Reason = "bad_link"         // a local link that was never made, is used up or too old
	TooMany         Reason = "too_many"         // no room for another session
	StoreFailed     Reason = "store_failed"     // sessions cannot be read or written
)

// Event is something that an audit keeps. It holds no secret.
type Event struct {
	Kind      Kind
	At        time.Time
	Principal ask.Principal // who, for a sign-in and a sign-out
	Issuer    string        // the provider that was asked, where one was
	Reason    Reason        // why, for a refusal
}

// refusal is an Event of kind Refused, and what the person is told. The
// cause is for the log, so it must not hold a secret.
type refusal struct {
	reason  Reason
	status  int
	message string
	issuer  string
	cause   error
}

func (s *Signin) refuse(w http.ResponseWriter, r *http.Request, why *refusal) {
	attrs := []any{"reason", string(why.reason)}
	if why.issuer != "" {
		attrs = append(attrs, "issuer", why.issuer)
	}
	if why.cause != nil {
		attrs = append(attrs, "cause", why.cause.Error())
	}
	s.cfg.Log.Warn("sign-in refused", attrs...)
	s.audit(Event{Kind: Refused, Issuer: why.issuer, Reason: why.reason})
	s.cfg.Pages.Problem(w, r, why.status, why.message)
}
