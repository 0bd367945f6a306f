package events

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/form"
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
	errNotJSON   = newProblem(http.StatusUnsupportedMediaType, ask.BadMessage, "The body must be application/json in UTF-8.")
	errTooLarge  = newProblem(http.StatusRequestEntityTooLarge, ask.TooLarge, "The body is larger than this gateway takes.")
	errNoPath    = newProblem(http.StatusNotFound, ask.UnknownBackend, "There is nothing at this path.")
	errBadMethod = newProblem(http.StatusMethodNotAllowed, ask.UnknownMethod, "This HTTP method is not served here.")
	errNoCall    = newProblem(http.StatusNotFound, ask.UnknownName, "There is no such call. It may have ended too long ago.")
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

// statuses are those of errors that come from behind the surface.
var statuses = map[ask.Code]int{
	ask.BadMessage:         http.StatusBadRequest,
	ask.Ambiguous:          http.StatusBadRequest,
	ask.TooLarge:           http.StatusRequestEntityTooLarge,
	ask.Unknown:            http.StatusNotFound,
	ask.NotYours:           http.StatusNotFound,
	ask.TooLate:            http.StatusConflict,
	ask.BadSchema:          http.StatusUnprocessableEntity,
	ask.TooManyOpen:        http.StatusTooManyRequests,
	ask.JournalUnavailable: http.StatusServiceUnavailable,
	ask.StoreFull:          http.StatusServiceUnavailable,
	ask.ShuttingDown:       http.StatusServiceUnavailable,
}

// later is when to come back to a gateway that is busy.
const later = 5 * time.Second

func problemOf(err error) *problem {
	if p, ok := errors.AsType[*problem](err); ok {
		return p
	}
	e := ask.From(err)
	status, ok := statuses[e.Code]
	if !ok {
		status = http.StatusInternalServerError
	}
	return newProblem(status, e.Code, e.Message)
}

// refuse answers a request with what is wrong with it.
func refuse(w http.ResponseWriter, p *problem) {
	if p.status == http.StatusTooManyRequests || p.status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", strconv.Itoa(int(later/time.Second)))
	}
	write(w, p.status, struct {
		Error *problem `json:"error"`
	}{p})
}

// Refuse answers a request that was not let through to the surface, as the
// surface itself would.
func Refuse(w http.ResponseWriter, status int, e *ask.Error) {
	refuse(w, newProblem(status, e.Code, e.Message))
}

// Challenger is an authentication error that says how to answer it.
type Challenger interface {
	error
	// Challenge gives the HTTP status and the value of WWW-Authenticate,
	// which is empty where another credential would not help.
	Challenge() (status int, authenticate string)
}

func (s *Surface) challenge(w http.ResponseWriter, err error) {
	p, with := errNobody, "Bearer"
	if c, ok := errors.AsType[Challenger](err); ok {
		status, value := c.Challenge()
		p, with = newProblem(status, p.Code, p.Message), value
	}
	if with != "" {
		w.Header().Set("WWW-Authenticate", with)
	}
	s.cfg.Log.Info("request not authenticated", "surface", surfaceName, "status", p.status, "err", err)
	refuse(w, p)
}

func write(w http.ResponseWriter, status int, body any) {
	raw, err := json.Marshal(body)
	if err != nil {
		status, raw = http.StatusInternalServerError, []byte(`{"error":{"code":"internal","message":"Something went wrong inside the gateway."}}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	// A consumer that has gone cannot be told so.
	_, _ = w.Write(append(raw, '\n'))
}
