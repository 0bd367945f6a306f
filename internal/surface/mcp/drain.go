package mcp

import (
	"context"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/budget"
	"github.com/answerback/answerback/internal/flight"
)

// begin counts a new call or session in; ending its trip counts it out. The
// error says why it may not begin.
func (s *Surface) begin(who ask.Principal) (*flight.Trip, *ask.Error) {
	if no := s.cfg.Budget.Admit(budget.Of(who)); no != nil {
		return nil, no
	}
	if trip := s.flight.Begin(); trip != nil {
		return trip, nil
	}
	return nil, shuttingDown
}

// Drain refuses new sessions and calls, and waits until those in flight have
// ended, but for those that wait for questions which are kept, or until ctx
// ends. They may still be answered, cancelled and followed. Subscriptions are
// not waited for. Close comes after it.
func (s *Surface) Drain(ctx context.Context) error { return s.flight.Drain(ctx) }

// InFlight gives the calls in flight.
func (s *Surface) InFlight() []flight.Call { return s.flight.Calls() }
