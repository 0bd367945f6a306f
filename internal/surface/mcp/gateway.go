package mcp

import (
	"context"
	"net/http"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/contract"
	"github.com/answerback/answerback/internal/relay"
	"github.com/answerback/answerback/internal/wire"
)

// Gateway is what stands behind the surface. Safe for concurrent use.
// Answers are JSON-RPC responses, errors too; an empty Body means that
// nothing may be sent, as for a call that its client cancelled.
type Gateway interface {
	// Knows reports whether there is an endpoint named at for that caller; ""
	// always is one.
	Knows(at string, who contract.Caller) bool

	// Initialize opens a legacy session whose id is session. A nil Session
	// means that the response is a refusal. msg may be kept.
	Initialize(ctx context.Context, at, session string, who contract.Caller, msg *wire.Message, peer contract.Peer) (Session, Response)

	// Call carries one modern request. It ends when ctx does. msg may be kept.
	Call(ctx context.Context, at string, who contract.Caller, msg *wire.Message, params http.Header, peer contract.Peer) Response
}

// Session is one legacy session behind the surface. Safe for concurrent use.
type Session interface {
	// Version is the protocol version that was agreed on.
	Version() string
	// Call carries one request to its end. The bytes of msg are valid until
	// it returns, and no longer.
	Call(ctx context.Context, msg *wire.Message, peer contract.Peer) Response
	// Notify takes a notification. msg may be kept.
	Notify(ctx context.Context, msg *wire.Message)
	// Answer takes the response to a question. msg may be kept.
	Answer(msg *wire.Message) error
	// Listen says that the client opened its own stream.
	Listen()
	// Done is closed when the other side ended the session; it may be nil.
	Done() <-chan struct{}
	// Admit says what the caller of a session from before a restart may use.
	// It comes before the session's first call.
	Admit(a contract.Access)
	// Close ends the session and all its calls, and waits.
	Close(ctx context.Context, why *ask.Error)
}

// Response is what goes back to the client for one request.
type Response = contract.Response

// Through makes a relay the gateway behind a surface.
func Through(r *relay.Relay) Gateway { return through{r} }

type through struct{ *relay.Relay }

func (t through) Initialize(ctx context.Context, at, session string, who contract.Caller, msg *wire.Message, peer contract.Peer) (Session, Response) {
	s, resp := t.Relay.Initialize(ctx, at, session, who, msg, peer)
	if s == nil {
		return nil, resp // not a Session that holds a nil pointer
	}
	return s, resp
}
