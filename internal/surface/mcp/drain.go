package mcp

import (
	"context"
	"sync/atomic"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/budget"
)

// flight counts the calls in flight, so that a gateway that is told to stop
// can let them end: they may still be answered, cancelled and followed, while
// nothing new begins.
type flight struct {
	calls    atomic.Int64
	draining atomic.Bool
	landed   chan struct{} // has room for one: the last call has ended
}

// begin counts a call in. It is false once the surface drains.
func (f *flight) begin() bool {
	f.calls.Add(1)
	if f.draining.Load() {
		f.end()
		return false
	}
	return true
}

// begin counts a new call or session in, which flight.end counts out. The error
// says why it may not begin.
func (s *Surface) begin(who ask.Principal) *ask.Error {
	if no := s.cfg.Budget.Admit(budget.Of(who)); no != nil {
		return no
	}
	if !s.flight.begin() {
		return shuttingDown
	}
	return nil
}

func (f *flight) end() {
	if f.calls.Add(-1) == 0 && f.draining.Load() {
		select {
		case f.landed <- struct{}{}:
		default:
		}
	}
}

// Drain refuses new sessions and calls, and waits until those in flight have
// ended or ctx does. Subscriptions are not waited for. Close comes after it.
func (s *Surface) Drain(ctx context.Context) error {
	s.flight.draining.Store(true)
	for s.flight.calls.Load() != 0 {
		select {
		case <-s.flight.landed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}
