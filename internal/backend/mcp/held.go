package mcp

import (
	"context"
	"fmt"
	"io"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/budget"
	"github.com/answerback/answerback/internal/wire/sse"
)

// held begins to count what the server sends.
func (b *Backend) held() *budget.Hold { return b.cfg.Budget.Hold(budget.Holder{"backend", b.cfg.Name}) }

// passOn lets go of a message with the request that it answers: it is in
// memory until the client has it. Where no request counts memory it is let go
// at once.
func passOn(hold, request *budget.Hold) {
	if !request.Join(hold) {
		hold.Release()
	}
}

// growing takes memory for what is read, waiting for it where it must. A
// change that is negative gives memory back.
func growing(ctx context.Context, hold *budget.Hold) func(change int) error {
	return func(change int) error {
		if change < 0 {
			hold.Shrink(int64(-change))
			return nil
		}
		return hold.Wait(ctx, int64(change))
	}
}

// newReader makes a reader of events whose memory is counted.
func newReader(ctx context.Context, body io.Reader, limit int, hold *budget.Hold) *sse.Reader {
	r := sse.NewReader(body, limit)
	r.Count(growing(ctx, hold))
	return r
}

// noRoom is the error of an answer for which there is no memory.
func noRoom(backend string, cause error) *ask.Error {
	e := ask.Wrap(ask.Overloaded, fmt.Sprintf(
		"Backend %s answered, and there was no memory for the answer. The call has run; check before calling again.", backend), cause)
	e.Data = ask.From(cause).Data
	return e
}
