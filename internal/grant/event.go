package grant

import (
	"time"

	"github.com/answerback/answerback/ask"
)

// Event is something that an audit keeps. It holds no secret.
type Event struct {
	Kind      EventKind
	At        time.Time
	Principal ask.Principal
	Backend   string
	Ask       string // the question for which somebody connected, if there is one
	Why       Reason // of Lost
	Issuer    string
}

// EventKind is what happened to a grant.
type EventKind string

// Every kind of event.
const (
	Connected EventKind = "grant_connected"
	Refreshed EventKind = "grant_refreshed"
	Lost      EventKind = "grant_lost"
	Revoked   EventKind = "grant_revoked"
	Confirmed EventKind = "grant_confirmed"
	Denied    EventKind = "connect_refused" // somebody came back with what is not theirs, or is no answer
)

func (g *Grants) audit(e Event) {
	g.cfg.Log.Info("grant", "event", string(e.Kind), "principal", e.Principal.String(), "backend", e.Backend, "why", string(e.Why))
	if g.cfg.Audit != nil {
		e.At = g.cfg.Now()
		g.cfg.Audit(e)
	}
}
