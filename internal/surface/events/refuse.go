package events

import (
	"errors"
	"net/http"
	"time"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/form"
	"github.com/answerback/answerback/internal/entry"
)

// invalidContent is the code of an answer that does not fit its question.
const invalidContent ask.Code = "invalid_content"

// problem is why a request was refused, as it is sent.
type problem struct {
	Code    ask.Code    `json:"code"`
	Message string      `json:"message"`
	Errors  form.Errors `json:"errors,omitempty"` // what is wrong with the content of an answer
	Retry   *retry      `json:"retry,omitempty"`  // whether there may be another answer

	status int
	wait   time.Duration // before the next attempt; 0 says nothing
}

// retry is how often a question was answered in a way that does not fit it.
type retry struct {
	Allowed bool `json:"allowed"`
	Limit   int  `json:"limit"`
	Count   int  `json:"count"`
}

func (p *problem) Error() string { return string(p.Code) + ": " + p.Message }

func newProblem(status int, code ask.Code, message string) *problem {
	return &problem{Code: code, Message: message, status: status}
}

func bad(message string) *problem {
	return newProblem(http.StatusBadRequest, ask.BadMessage, message)
}

// What is refused in the same words each time.
var (
	errNoPath    = newProblem(http.StatusNotFound, ask.UnknownBackend, "There is nothing at this path.")
	errBadMethod = newProblem(http.StatusMethodNotAllowed, ask.UnknownMethod, "This HTTP method is not served here.")
	errNoCall    = newProblem(http.StatusNotFound, ask.UnknownName, "There is no such call. It has ended too long ago, or the gateway was restarted while it was under way.")
	errPurged    = newProblem(http.StatusGone, ask.TooLate, "The call has ended, and its events are no longer kept.")
	errTooLate   = newProblem(http.StatusConflict, ask.TooLate, "The question is no longer open: the answer came too late.")
	errOtherCall = newProblem(http.StatusUnprocessableEntity, ask.BadMessage, "This Idempotency-Key was used for another call. Use a new one for each call.")
	errNobody    = newProblem(http.StatusUnauthorized, ask.NotAllowed, "Sign in to use this endpoint.")

	shuttingDown = ask.Errorf(ask.ShuttingDown, "The gateway is shutting down.")
	consumerGone = ask.Errorf(ask.ClientGone, "Nobody followed the events of the call any more.")
	cancelled    = ask.Errorf(ask.ClientCancelled, "The call was cancelled.")
	callOver     = ask.Errorf(ask.ClientGone, "The call is over.")
	cutOff       = ask.Errorf(ask.ShuttingDown, "The gateway is being restarted.")
)

func problemOf(err error) *problem {
	if p, ok := errors.AsType[*problem](err); ok {
		return p
	}
	r := entry.RefusalOf(err)
	p := newProblem(r.Status, r.Reason.Code, r.Reason.Message)
	p.wait = r.Retry
	return p
}

// refuse answers a request with what is wrong with it.
func refuse(w http.ResponseWriter, p *problem) {
	entry.RetryAfter(w.Header(), p.wait)
	entry.WriteJSON(w, p.status, struct {
		Error *problem `json:"error"`
	}{p})
}

// Refuse answers a request that was not let through to the surface, as the
// surface itself would.
func Refuse(w http.ResponseWriter, status int, e *ask.Error) {
	refuse(w, newProblem(status, e.Code, e.Message))
}

func (s *Surface) challenge(w http.ResponseWriter, err error) {
	status := entry.Challenge(w.Header(), err)
	s.cfg.Log.Info("request not authenticated", "surface", surfaceName, "status", status, "err", err)
	refuse(w, newProblem(status, errNobody.Code, errNobody.Message))
}
