package contract

import (
	"context"
	"net/http"
	"strconv"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/wire"
)

// Line is one open way to a backend: a legacy session, or the stateless
// endpoint of a modern server. Safe for concurrent use.
type Line interface {
	// Welcome is the backend's initialize response, with the backend's own
	// id in it. It is the zero Message on a stateless line.
	Welcome() wire.Message

	// Call sends one request and returns its final response. What arrives
	// for it before that goes to sink, in order, from one goroutine at a
	// time. When ctx ends the backend is told (notifications/cancelled, or
	// the stream is closed) and Call returns ctx's cause. An error is an
	// *ask.Error; its code is OutcomeUnknown where the request may have run.
	Call(ctx context.Context, out Outgoing, sink Sink) (Reply, error)

	// Notify sends a notification as it stands.
	Notify(ctx context.Context, msg []byte) error

	// Listen asks for the messages that belong to no call. It waits a moment
	// for the backend to open the way, so that a call made afterwards does
	// not overtake it. Only the first call does anything, and that nothing
	// where such messages come anyway.
	Listen()

	// Done is closed when the line is dead and every Call would fail.
	Done() <-chan struct{}

	// Close ends the line and waits until all that it started has ended.
	Close(ctx context.Context)
}

// Outgoing is a client's request on its way to a backend.
type Outgoing struct {
	Msg    *wire.Message // as the client wrote it
	Edits  []wire.Edit   // what must differ upstream, sorted; never the id or the progress token, which belong to the line
	Name   string        // the value of the Mcp-Name header, in the backend's own names
	Params http.Header   // Mcp-Param-* headers to forward, or nil
}

// Reply is the final response of a call as the backend wrote it.
type Reply struct {
	Msg    wire.Message // its id is the line's, not the client's
	Status int          // the HTTP status it came with; 0 when it did not come over HTTP
	Event  bool         // it came as an event of a stream, not as one JSON body
	Held   bool         // the gateway holds the call while its client is away
	// Unsent is called when the client could not be given this reply; nil
	// where that changes nothing.
	Unsent func()
}

// ErrSuspended is why a call ends that goes on after a restart: its backend is
// not told that anybody left.
var ErrSuspended = ask.Errorf(ask.ShuttingDown, "The gateway is being restarted. The call goes on.")

// UpstreamError is a JSON-RPC error response of a backend, passed on as it
// came.
type UpstreamError struct {
	Backend string
	Reply   Reply
}

func (e *UpstreamError) Error() string {
	return "backend " + e.Backend + " answered with an error"
}

// Challenge is how a backend refused the credential of a request: the cause of
// an *ask.Error with the code NotConnected, where the backend was asked at all.
type Challenge struct {
	Status       int
	Authenticate []string // the WWW-Authenticate headers of its response
	// State is what the request carries as its requestState when it is sent
	// again, because the backend has begun on it and goes on from there. It is
	// empty where nothing was executed.
	State string
}

func (c *Challenge) Error() string {
	return "it was refused with HTTP status " + strconv.Itoa(c.Status)
}
