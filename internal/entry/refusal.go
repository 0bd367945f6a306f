package entry

import (
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/answerback/answerback/ask"
)

// Refusal is why a request is not done, with the status that says so. It is a
// value: it is not modified after it was made.
type Refusal struct {
	Status int
	Retry  time.Duration // how long to wait before the next attempt; 0 says nothing
	Reason *ask.Error
}

// Refuse makes a Refusal. The message is used as it stands.
func Refuse(status int, code ask.Code, message string) *Refusal {
	return &Refusal{Status: status, Reason: ask.Errorf(code, message)}
}

func (r *Refusal) Error() string { return r.Reason.Error() }

func (r *Refusal) Unwrap() error { return r.Reason }

// statuses are those of the reasons that come from behind a surface. Every
// other reason is one that nobody who sends a request can do anything about.
var statuses = map[ask.Code]int{
	ask.BadMessage:         http.StatusBadRequest,
	ask.Ambiguous:          http.StatusBadRequest,
	ask.NotAllowed:         http.StatusForbidden,
	ask.Unknown:            http.StatusNotFound,
	ask.NotYours:           http.StatusNotFound,
	ask.TooLate:            http.StatusConflict,
	ask.NotAnswered:        http.StatusConflict,
	ask.Collected:          http.StatusConflict,
	ask.TooLarge:           http.StatusRequestEntityTooLarge,
	ask.BadSchema:          http.StatusUnprocessableEntity,
	ask.AsksForSecret:      http.StatusUnprocessableEntity,
	ask.InvalidContent:     http.StatusUnprocessableEntity,
	ask.RateLimited:        http.StatusTooManyRequests,
	ask.TooManyOpen:        http.StatusTooManyRequests,
	ask.Overloaded:         http.StatusServiceUnavailable,
	ask.JournalUnavailable: http.StatusServiceUnavailable,
	ask.StoreFull:          http.StatusServiceUnavailable,
	ask.ShuttingDown:       http.StatusServiceUnavailable,
}

// later is when to come back where nothing says it better.
const later = 5 * time.Second

// RefusalOf gives err as a Refusal: the one that it wraps, or one whose status
// follows from its code.
func RefusalOf(err error) *Refusal {
	if r, ok := errors.AsType[*Refusal](err); ok {
		return r
	}
	e := ask.From(err)
	r := &Refusal{Status: http.StatusInternalServerError, Reason: e}
	if status, ok := statuses[e.Code]; ok {
		r.Status = status
	}
	if r.Status == http.StatusTooManyRequests || r.Status == http.StatusServiceUnavailable {
		r.Retry = later
		if ms, ok := e.Data["retryAfterMs"].(int64); ok {
			r.Retry = time.Duration(ms) * time.Millisecond
		}
	}
	return r
}

// RetryAfter says in the headers of a response when to come back. Nothing is
// said where wait is 0.
func RetryAfter(h http.Header, wait time.Duration) {
	if wait > 0 {
		// Rounded up: whoever waits that long is let in.
		seconds := (wait + time.Second - 1) / time.Second
		h.Set("Retry-After", strconv.Itoa(int(seconds)))
	}
}

// Challenger is an authentication error that says how to answer it.
type Challenger interface {
	error
	// Challenge gives the HTTP status and the value of WWW-Authenticate,
	// which is empty where another credential would not help.
	Challenge() (status int, authenticate string)
}

// Challenge says in the headers of a response how to come back with a
// credential that is taken, and gives its status. An error that is no
// Challenger, nil among them, asks for a bearer token with a 401.
func Challenge(h http.Header, err error) (status int) {
	status, with := http.StatusUnauthorized, "Bearer"
	if c, ok := errors.AsType[Challenger](err); ok {
		status, with = c.Challenge()
	}
	if with != "" {
		h.Set("WWW-Authenticate", with)
	}
	return status
}
