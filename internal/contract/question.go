package contract

import (
	"context"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/wire"
)

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
	// Resume is an opaque handle from which the backend can take the blocked
	// call up again after a restart, or nil where it cannot.
	Resume []byte
	// Kind is that of a question of the gateway's own, zero for a backend's,
	// whose method and parameters tell.
	Kind ask.Kind
	// Over is called when the question has ended, however that was, and its
	// end is stored if the question was: what is done from then on is not done
	// for it again after a crash. It may be nil.
	Over func()
}
