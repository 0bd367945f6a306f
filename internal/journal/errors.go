package journal

import (
	"errors"

	"github.com/answerback/answerback/ask"
)

// Reason is why a journal did not do something. The set is closed. A Reason
// is an error only to be asked for with errors.Is.
type Reason string

// Every reason.
const (
	Exists      Reason = "exists"      // it is there already
	Conflict    Reason = "conflict"    // it is there in another version
	NotFound    Reason = "not found"   // it is not there
	Unavailable Reason = "unavailable" // the store did not answer: not known to be stored
	Full        Reason = "full"        // the store has no room: not stored
	Corrupt     Reason = "corrupt"     // what is stored is damaged, or not ours
	Invalid     Reason = "invalid"     // the caller's mistake: not stored
	TooLarge    Reason = "too large"   // more than a limit: not stored
)

func (r Reason) Error() string { return string(r) }

// Error is what every method of a journal returns where it fails.
type Error struct {
	Reason  Reason
	Message string  // what failed, and for which thing; for the log
	Current *Record // of Exists and Conflict on an ask: what is stored
	Item    *Item   // of Exists and Conflict on a shelf: what is stored
	Cause   error
}

func (e *Error) Error() string {
	s := "journal " + string(e.Reason) + ": " + e.Message
	if e.Cause != nil {
		s += ": " + e.Cause.Error()
	}
	return s
}

// Is reports whether target is the error's reason.
func (e *Error) Is(target error) bool { return target == error(e.Reason) }

func (e *Error) Unwrap() error { return e.Cause }

func refuse(r Reason, message string) *Error { return &Error{Reason: r, Message: message} }

// Refusal gives err in words that are safe to show to anybody. It is nil for
// a nil err. Exists and Conflict are answers that the desk understands, not
// refusals: they become Internal here.
func Refusal(err error) *ask.Error {
	e, ok := errors.AsType[*Error](err)
	if !ok {
		return ask.From(err)
	}
	switch e.Reason {
	case Unavailable:
		return ask.Wrap(ask.JournalUnavailable, "The gateway cannot reach its store at the moment. Try again later.", err)
	case Full:
		return ask.Wrap(ask.StoreFull, "The gateway's store is full. Its operator must make room.", err)
	case Corrupt:
		return ask.Wrap(ask.StoreCorrupt, "The gateway's store is damaged. Its operator must restore it.", err)
	case TooLarge:
		return ask.Wrap(ask.TooLarge, "This is too large to be kept.", err)
	case NotFound:
		return ask.Wrap(ask.Unknown, "There is no such question.", err)
	}
	return ask.Wrap(ask.Internal, "Something went wrong inside the gateway.", err)
}
