package relay

import (
	"context"
	"net/http"
	"strconv"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/desk"
	"github.com/answerback/answerback/internal/wire"
)

// Backend is a server we call. It hands out lines; what a question belongs to
// is decided inside it and nowhere else. Safe for concurrent use.
type Backend interface {
	// Name is the backend's configured name.
	Name() string

	// Open performs the legacy handshake for one client session and returns
	// the line that serves it. An error is an *ask.Error, or an
	// *UpstreamError where the backend itself refused.
	Open(ctx context.Context, hello Hello) (Line, error)

	// Discover gives the backend's response to server/discover, which may be
	// an error of the modern era, or the zero Message where it speaks the
	// legacy era only. It is remembered, whoever asks.
	Discover(ctx context.Context, who ask.Principal) (wire.Message, error)

	// Stateless returns the line for modern requests of one principal. It is
	// shared between that principal's requests and is never closed by them.
	Stateless(ctx context.Context, who ask.Principal) (Line, error)

	// Resume prepares to take up the call in which the questions behind the
	// handles were asked before a restart; they are of one call, in the order
	// in which they were asked. What the call still brings goes to sink. The
	// error is an *ask.Error: BadState for a handle that is not the backend's
	// or is another principal's, BackendLost where the call cannot be taken
	// up.
	Resume(hello Hello, sink Sink, handles ...[]byte) (*Resumed, error)
}

// Resumed is a blocked call that can be taken up again after a restart.
type Resumed struct {
	// Line is the call's session. Its Welcome is the zero Message.
	Line Line
	// Questions are those of the handles, in their order, without their
	// parameters, which are not kept here.
	Questions []*Question
	// Wait takes the call's stream up and carries it to the final response.
	// It must be called, once, and not only after the questions were
	// answered. What Line.Call says of its errors holds here.
	Wait func(ctx context.Context) (Reply, error)
}

// Hello is what a backend needs to open a legacy session.
type Hello struct {
	Principal ask.Principal
	Params    []byte // the params object of initialize, sent as it stands
	Events    Events // what arrives outside any call
	// Links says that the client itself can be told an address by the error
	// -32042, which only the legacy era has.
	Links bool
}

// Caller is who sends a request, and what they may use.
type Caller struct {
	ask.Principal
	Access  Access // nil where everything is allowed
	Surface string // by which surface they come, as the audit names it; "" is mcp
}

// Access says what a caller may use. Safe for concurrent use.
type Access interface {
	Backend(name string) bool
	Tool(backend, tool string) bool
	// Key is the same for two accesses exactly where they allow the same.
	Key() string
}

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
	// Unsent is called when the client could not be given this reply; nil
	// where that changes nothing.
	Unsent func()
}

// Sink takes what a backend sends for one call before its final response.
// The bytes passed in are valid only until the method returns.
type Sink interface {
	// Notify takes a notification. Its progress token is already the client's.
	Notify(msg *wire.Message)
	// Question takes a question. It must not block on the answer.
	Question(q *Question)
}

// Events takes what a backend sends outside any call, and questions that may
// belong to one of several.
type Events interface {
	Sink
	// Lost is called once when the line dies by itself.
	Lost(err *ask.Error)
}

// Question is a server-to-client request of a legacy backend.
type Question struct {
	Method string
	Params []byte // owned by the question
	// Token is the raw progress token that the question carries, or nil.
	Token []byte
	// Reply answers it, once: with the raw result, or the raw error object.
	// Later calls do nothing. It fails when the backend cannot be reached.
	Reply func(ctx context.Context, result, errObj []byte) error
	// Progress tells the backend that somebody is still thinking. It is nil
	// where the question carries no token.
	Progress func(ctx context.Context, progress int) error
	// Gone ends when the backend took the question back or was lost, with
	// an *ask.Error as its cause (BackendWithdrew, BackendLost), and when it
	// was answered.
	Gone context.Context
	// Candidates are the sinks of the calls that it may belong to, newest
	// last, where there are several. Nil when it came to its own call's sink.
	Candidates []Sink
	// Over is called when the question has ended, however that was, and its
	// end is stored if the question was: what is done from then on is not done
	// for it again after a crash. It may be nil.
	Over func()
	// Resume is an opaque handle from which the backend can take the blocked
	// call up again after a restart, or nil where it cannot.
	Resume []byte
	// Kind is that of a question of the gateway's own, zero for a backend's,
	// whose method and parameters tell.
	Kind ask.Kind
}

// Peer is the client's end of a call, or of a session for what belongs to no
// call, as its surface presents it. Showing a question means to send its
// method and params as a request whose id is the ask's. Safe for concurrent
// use.
type Peer interface {
	desk.Showing
	// Notify sends a notification to the client. The bytes are not kept.
	Notify(msg []byte)
	// Mark is what the surface finds this client by after a restart, nil
	// where it cannot.
	Mark() []byte
}

// Informed is a Peer that is told of a question which its client was not asked,
// because it did not declare that it can be. That comes before the backend is
// refused. It is also told why a link ended whose page was opened.
type Informed interface {
	Peer
	// Unasked takes the kind of the question and its params, which are not
	// modified afterwards, and the page where it waits instead, "" for none.
	Unasked(kind ask.Kind, params []byte, page string)
}

// Response is what goes back to the client: one JSON-RPC response with the
// client's own id in it. A nil Body means that nothing is owed any more,
// because the client cancelled the request.
type Response struct {
	Body   []byte
	Status int // the HTTP status for modern clients; legacy ones always get 200
	// Event says that the backend sent it as an event of a stream: a client
	// that takes both gets it the way the backend chose.
	Event bool
	// Failed says that the backend answered with an error.
	Failed bool
	// Unsent is called when the response could not be sent; it may be nil.
	Unsent func()
}

// UpstreamError is a JSON-RPC error response of a backend, passed on as it
// came.
type UpstreamError struct {
	Backend string
	Reply   Reply
}

func (e *UpstreamError) Error() string {
	return "backend " + e.Backend + " answered with an error"
}

// Doorstep opens lines to a backend whose callers must have connected an
// account with it.
type Doorstep interface {
	// Open gives a line for hello, which open makes as soon as that is
	// possible: until then its error has the code NotConnected.
	Open(ctx context.Context, hello Hello, open Opener) (Line, error)
	// Resume takes up a call that waited for an account before a restart,
	// from the handle of its question. Its backend has not run it. hello needs
	// no Params: the handle has them.
	Resume(hello Hello, open Opener, sink Sink, handle []byte) (*Resumed, error)
}

// Opener performs the legacy handshake at a backend of either era.
type Opener func(ctx context.Context, hello Hello) (Line, error)

// Challenge is how a backend refused the credential of a request: the cause of
// an *ask.Error with the code NotConnected, where the backend was asked at all.
type Challenge struct {
	Status       int
	Authenticate []string // the WWW-Authenticate headers of its response
}

func (c *Challenge) Error() string {
	return "it was refused with HTTP status " + strconv.Itoa(c.Status)
}
