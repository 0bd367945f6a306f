package contract

import (
	"context"

	"github.com/answerback/answerback/ask"
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

// Hello is what a backend needs to open a legacy session.
type Hello struct {
	Principal ask.Principal
	Params    []byte // the params object of initialize, sent as it stands
	Events    Events // what arrives outside any call
	// Links says that the client itself can be told an address by the error
	// -32042, which only the legacy era has.
	Links bool
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

// Crossing is what it takes to serve a legacy session from a modern backend.
type Crossing struct {
	Backend    string
	Far        Line         // the backend's stateless line
	Hello      Hello        // the client's handshake
	Discovered wire.Message // the backend's response to server/discover
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
