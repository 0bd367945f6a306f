package a2a

import (
	"bufio"
	"errors"
	"fmt"

	"github.com/answerback/answerback/ask"
)

// lost is the error of a message that was sent and will get no answer.
func (b *Backend) lost(why string, cause error) *ask.Error {
	return ask.Wrap(ask.OutcomeUnknown, fmt.Sprintf(
		"Agent %s did not answer: %s. The call may or may not have run; check before calling again.", b.cfg.Name, why), cause)
}

// unreachable is the error of a request that was not taken.
func (b *Backend) unreachable(hint string, cause error) *ask.Error {
	return ask.Wrap(ask.BackendUnreachable, fmt.Sprintf("Agent %s cannot be reached: %s.", b.cfg.Name, hint), cause)
}

// broken is the error of an answer that is none.
func (b *Backend) broken(what string, cause error) *ask.Error {
	return ask.Wrap(ask.BackendBroken, fmt.Sprintf("Agent %s sent something that is not A2A 1.0: %s.", b.cfg.Name, what), cause)
}

// tooLarge is the error of an answer beyond the limits.
func (b *Backend) tooLarge() *ask.Error {
	return ask.Errorf(ask.TooLarge, fmt.Sprintf(
		"Agent %s sent more than one call may bring (%d bytes, %d artifacts, %d parts). Raise limits.message_bytes or ask for less.",
		b.cfg.Name, b.cfg.Limits.MessageBytes, b.cfg.Limits.Artifacts, b.cfg.Limits.Parts))
}

// badStatus is the error of an HTTP status that is no answer.
type badStatus struct {
	status   int
	location string
}

func (e *badStatus) Error() string { return fmt.Sprintf("HTTP status %d", e.status) }

// fault makes the error of a request that got no answer one of the gateway's.
// Sent says that it was a message, and that the agent may have seen it.
func (b *Backend) fault(err error, sent bool) *ask.Error {
	if e, ok := errors.AsType[*ask.Error](err); ok {
		return e
	}
	if errors.Is(err, bufio.ErrTooLong) {
		return b.tooLarge()
	}
	if s, ok := errors.AsType[*badStatus](err); ok {
		return b.status(s, sent)
	}
	if sent {
		return b.lost("the connection broke, or what it sent cannot be read", err)
	}
	return b.unreachable("no connection could be made; check that it runs and that its url is right", err)
}

func (b *Backend) status(s *badStatus, sent bool) *ask.Error {
	var e *ask.Error
	switch {
	case s.status == 401 || s.status == 403:
		e = b.unreachable(fmt.Sprintf("it refuses our credentials (HTTP status %d); check the headers configured for it", s.status), s)
	case s.status >= 300 && s.status < 400:
		e = b.unreachable(fmt.Sprintf("it redirects (HTTP status %d), which is not followed; configure the final URL", s.status), fmt.Errorf("redirect to %q", s.location))
	case s.status == 408 || s.status == 429 || s.status == 503:
		e = b.unreachable(fmt.Sprintf("it is overloaded or out of service (HTTP status %d); try again later", s.status), s)
	case s.status >= 500 && sent:
		e = b.lost(fmt.Sprintf("HTTP status %d; check its log and any proxy before it", s.status), s)
	case s.status >= 500:
		e = b.unreachable(fmt.Sprintf("HTTP status %d; check its log and any proxy before it", s.status), s)
	default:
		e = b.broken(fmt.Sprintf("HTTP status %d; check that the url is that of its agent card", s.status), s)
	}
	e.Data = map[string]any{"status": s.status}
	return e
}
