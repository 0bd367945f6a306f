package journal_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/journal"
)

func TestErrorsTellTheirReason(t *testing.T) {
	cause := errors.New("no route to host")
	err := error(&journal.Error{Reason: journal.Unavailable, Message: "storing abc", Cause: cause})
	if !errors.Is(err, journal.Unavailable) || !errors.Is(err, cause) || errors.Is(err, journal.Full) {
		t.Errorf("%v is not what it is", err)
	}
	if got := err.Error(); got != "journal unavailable: storing abc: no route to host" {
		t.Errorf("the error reads %q", got)
	}
}

func TestRefusalsAreSafeToShow(t *testing.T) {
	for reason, want := range map[journal.Reason]ask.Code{
		journal.Unavailable: ask.JournalUnavailable,
		journal.Full:        ask.StoreFull,
		journal.Corrupt:     ask.StoreCorrupt,
		journal.TooLarge:    ask.TooLarge,
		journal.NotFound:    ask.Unknown,
		journal.Exists:      ask.Internal,
		journal.Conflict:    ask.Internal,
		journal.Invalid:     ask.Internal,
	} {
		got := journal.Refusal(&journal.Error{Reason: reason, Message: "secret"})
		if got.Code != want || strings.Contains(got.Message, "secret") || got.Cause == nil {
			t.Errorf("%q is refused with %+v", reason, got)
		}
	}
	if got := journal.Refusal(nil); got != nil {
		t.Errorf("no error is refused with %+v", got)
	}
	if got := journal.Refusal(errors.New("other")); got.Code != ask.Internal {
		t.Errorf("another error is refused with %+v", got)
	}
}

func TestSecondsAreRoundedUp(t *testing.T) {
	for d, want := range map[time.Duration]time.Duration{
		0: 0, 1: time.Second, time.Second: time.Second, time.Second + 1: 2 * time.Second,
	} {
		if got := journal.Seconds(d); got != want {
			t.Errorf("%v is rounded to %v", d, got)
		}
	}
}
