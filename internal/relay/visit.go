package relay

import (
	"context"
	"errors"
	"time"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/contract"
	"github.com/answerback/answerback/internal/question"
	"github.com/answerback/answerback/internal/wire"
)

const (
	// visitWait is how long a call waits for a page to be finished before it
	// tries again by itself.
	visitWait = 3 * time.Second
	// maxVisits bounds how often it tries.
	maxVisits = 100
)

// conduct calls the backend. One that refuses until pages were opened
// (-32042) has ended its call with that, so it is called anew when they were.
// Where nobody could be asked to, the call ends with words that do.
func (w *errand) conduct(ctx context.Context, out contract.Outgoing) (contract.Reply, error) {
	agreed := make(map[string]bool)
	for range maxVisits {
		reply, err := w.line.Call(ctx, out, w.sink)
		if err != nil || !refersToPages(&reply) {
			return reply, err
		}
		switch err := w.visit(ctx, &reply.Msg, agreed); {
		case err == errUnasked:
			return w.call.asker.relay.inWords(w.call.asker, reply)
		case err != nil:
			return contract.Reply{}, err
		}
	}
	return contract.Reply{}, ask.Errorf(ask.BackendBroken, "Backend "+w.call.asker.backend+" wants the same page opened over and over.")
}

// errUnasked says that nobody could be asked to open a page.
var errUnasked = errors.New("nobody was asked")

// visit has the pages opened that the backend names, each asked for once, and
// waits until the backend says that they are finished, or a while.
func (w *errand) visit(ctx context.Context, m *wire.Message, agreed map[string]bool) error {
	var pages [][]byte
	for at := range wire.Elements(m.Raw, wire.Get(m.Raw, wire.Get(m.Raw, m.Error, "data"), "elicitations")) {
		url, _ := wire.Unquote(wire.Get(m.Raw, at, "url").Of(m.Raw))
		if !agreed[url] {
			agreed[url] = true
			pages = append(pages, append([]byte(nil), at.Of(m.Raw)...))
		}
	}
	if len(agreed) == 0 {
		return ask.Errorf(ask.BackendBroken, "Backend "+w.call.asker.backend+" wants pages opened and names none.")
	}
	gone, leave := context.WithCancelCause(ctx)
	defer leave(ask.Errorf(ask.BackendWithdrew, "The call that asked is over."))
	answers := make(chan ask.Answer, len(pages))
	for _, params := range pages {
		w.sink.Question(&contract.Question{
			Method: "elicitation/create", Params: params, Gone: gone,
			Reply: func(_ context.Context, result, fault []byte) error {
				if fault != nil {
					answers <- ask.Answer{Error: fault}
					return nil
				}
				answers <- question.AnswerIn(result, wire.Whole(result))
				return nil
			},
		})
	}
	for range pages {
		select {
		case a := <-answers:
			if a.Error != nil {
				return errUnasked
			}
			if a.Action != ask.Accept {
				return ask.Errorf(ask.ClientCancelled, "The page that backend "+w.call.asker.backend+" needs was not opened.")
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	timer := time.NewTimer(visitWait)
	defer timer.Stop()
	select {
	case <-w.visited:
	case <-timer.C:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return nil
}
