package events

import (
	"context"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/contract"
	"github.com/answerback/answerback/internal/desk"
	"github.com/answerback/answerback/internal/relay"
	"github.com/answerback/answerback/internal/wire"
)

// Gateway is what stands behind the surface. Safe for concurrent use.
type Gateway interface {
	// Knows reports whether there is an endpoint named at for that caller; ""
	// always is one.
	Knows(at string, who contract.Caller) bool

	// Initialize opens a session whose id is session. A nil Session means
	// that the response is a refusal. msg may be kept.
	Initialize(ctx context.Context, at, session string, who contract.Caller, msg *wire.Message, peer contract.Peer) (Session, contract.Response)
}

// Session is the session of one call. Safe for concurrent use.
type Session interface {
	// Call carries a request to its end. The bytes of msg are valid until it
	// returns, and no longer. An empty response stands for a request that
	// gets none.
	Call(ctx context.Context, msg *wire.Message, peer contract.Peer) contract.Response
	// Notify takes a notification. msg may be kept.
	Notify(ctx context.Context, msg *wire.Message)
	// Answer takes the response to a question. msg may be kept.
	Answer(msg *wire.Message) error
	// Close ends the session and its call, and waits.
	Close(ctx context.Context, why *ask.Error)
}

// Attempts counts the answers that did not fit their question. *desk.Desk does.
type Attempts interface {
	Attempted(id string, who desk.Viewer, surface string) (desk.Attempts, error)
}

// Through makes a relay the gateway behind a surface.
func Through(r *relay.Relay) Gateway { return through{r} }

type through struct{ *relay.Relay }

func (t through) Initialize(ctx context.Context, at, session string, who contract.Caller, msg *wire.Message, peer contract.Peer) (Session, contract.Response) {
	s, resp := t.Relay.Initialize(ctx, at, session, who, msg, peer)
	if s == nil {
		return nil, resp // not a Session that holds a nil pointer
	}
	return s, resp
}
