package a2a

import (
	"errors"
	"net/http"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/entry"
)

// refusal is why a request is refused, in words that are the same each time.
type refusal string

func (r refusal) Error() string { return string(r) }

const (
	errOver     refusal = "The task has ended. Send a message without a task to begin another."
	errNotAsked refusal = "The task is being worked on, and asks nothing."
	errNoTask   refusal = "There is no such task. It may have ended too long ago."
	errNoPush   refusal = "The task has no such push configuration."
	errGoesOn   refusal = "The task goes on. Ask for it again."
	errAway     refusal = "The task is at another gateway, which does not answer for it here."
)

// kinds are what the protocol calls them.
var kinds = map[refusal]error{
	errOver: a2a.ErrUnsupportedOperation, errNotAsked: a2a.ErrUnsupportedOperation, errAway: a2a.ErrUnsupportedOperation,
	errNoTask: a2a.ErrTaskNotFound, errNoPush: a2a.ErrTaskNotFound, errGoesOn: a2a.ErrServerError,
}

// codes are those of errors that come from behind the surface.
var codes = map[ask.Code]error{
	ask.BadMessage: a2a.ErrInvalidParams, ask.Ambiguous: a2a.ErrInvalidParams, ask.TooLarge: a2a.ErrInvalidParams,
	ask.UnknownBackend: a2a.ErrTaskNotFound,
}

// told gives an error as the protocol has it. Each is made anew: a2a-go writes
// into those that it is given.
func told(err error) error {
	if err == nil {
		return nil
	}
	if r, ok := errors.AsType[refusal](err); ok {
		return a2a.NewError(kinds[r], r.Error())
	}
	if m, ok := errors.AsType[*misfit](err); ok {
		return a2a.NewError(a2a.ErrInvalidParams, m.words)
	}
	e := ask.From(err)
	kind, ok := codes[e.Code]
	if !ok {
		kind = a2a.ErrServerError
	}
	return a2a.NewError(kind, e.Message)
}

// problem is why a request was refused before it came to the protocol.
type problem struct {
	Code    ask.Code `json:"code"`
	Message string   `json:"message"`
}

// Refuse answers a request that was not let through to the surface, as the
// surface itself would.
func Refuse(w http.ResponseWriter, status int, e *ask.Error) {
	if status == http.StatusServiceUnavailable || status == http.StatusTooManyRequests {
		entry.RetryAfter(w.Header(), entry.RefusalOf(e).Retry)
	}
	entry.WriteJSON(w, status, struct {
		Error problem `json:"error"`
	}{problem{e.Code, e.Message}})
}

func (s *Surface) challenge(w http.ResponseWriter, err error) {
	status := entry.Challenge(w.Header(), err)
	s.cfg.Log.Info("request not authenticated", "surface", surfaceName, "status", status, "err", err)
	Refuse(w, status, ask.Errorf(ask.NotAllowed, "Sign in to use this endpoint."))
}
