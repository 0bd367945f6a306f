package api

import (
	"errors"
	"net/http"
	"time"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/form"
	"github.com/answerback/answerback/internal/entry"
)

// Problem is why a request was not done. Code is one of the reasons that the
// gateway gives everywhere; with InvalidContent Errors has all that is wrong
// with the answer.
type Problem struct {
	Code    string      `json:"code"`
	Message string      `json:"message"` // a sentence for people
	Errors  form.Errors `json:"errors,omitempty"`
	*Retry              // of InvalidContent
}

// Retry says whether an answer that does not fit may be put right.
type Retry struct {
	Allowed bool `json:"retry_allowed"` // false: the question is over
	Limit   int  `json:"retry_limit"`   // how many answers are sent back; one more ends the question
	Count   int  `json:"retry_count"`   // how many there were
}

// Last reports whether the next answer that does not fit ends the question.
func (r *Retry) Last() bool { return r.Allowed && r.Count == r.Limit }

// problem is a Problem on its way to whoever sent the request.
type problem struct {
	Problem
	status int
	retry  time.Duration // how long to wait before the next attempt; 0 says nothing
	fault  *fault        // what is said in its place, where it is about a form that a program created
	cause  error         // for the log alone
}

func (p *problem) Error() string {
	if p.cause != nil {
		return p.cause.Error()
	}
	return p.Code + ": " + p.Message
}

// What is refused in the same words each time.
var (
	errUnknown   = newProblem(http.StatusNotFound, ask.Unknown, "There is no such question.")
	errTooLate   = newProblem(http.StatusConflict, ask.TooLate, "The question is no longer open: the answer came too late.")
	errNoPath    = newProblem(http.StatusNotFound, ask.UnknownName, "There is nothing at this path. What there is, is described at /v1/openapi.json.")
	errBadMethod = newProblem(http.StatusMethodNotAllowed, ask.UnknownMethod, "This HTTP method is not served here.")
	errNobody    = newProblem(http.StatusUnauthorized, ask.NotAllowed, "Say with a bearer token who you are.")
)

func newProblem(status int, code ask.Code, message string) *problem {
	return &problem{Problem: Problem{Code: string(code), Message: message}, status: status}
}

// bad is what was sent in a way that cannot be read.
func bad(message string) *problem {
	return newProblem(http.StatusBadRequest, ask.BadMessage, message)
}

// problemOf says what a response makes of an error. What is somebody else's
// is what never was: the two are one value, so that nobody can tell which.
func problemOf(err error) *problem {
	if p, ok := errors.AsType[*problem](err); ok {
		return p
	}
	e := ask.From(err)
	switch e.Code {
	case ask.Unknown, ask.NotYours:
		return errUnknown
	case ask.TooLate:
		return errTooLate
	}
	r := entry.RefusalOf(err)
	p := newProblem(r.Status, e.Code, e.Message)
	p.retry = r.Retry
	return p
}

// refuse answers a request with a problem.
func refuse(w http.ResponseWriter, p *problem) {
	entry.RetryAfter(w.Header(), p.retry)
	var said any = &p.Problem
	if p.fault != nil {
		said = p.fault
	}
	entry.WriteJSON(w, p.status, struct {
		Error any `json:"error"`
	}{said})
}

// Refuse answers a request that was not let through to the Handler, as the
// Handler itself would.
func Refuse(w http.ResponseWriter, status int, e *ask.Error) {
	refuse(w, newProblem(status, e.Code, e.Message))
}
