package mcp

import (
	"context"

	"github.com/answerback/answerback/internal/flight"
)

// Drain refuses new sessions and calls, and waits until those in flight have
// ended, but for those that wait for questions which are kept, or until ctx
// ends. They may still be answered, cancelled and followed. Subscriptions are
// not waited for. Close comes after it.
func (s *Surface) Drain(ctx context.Context) error { return s.flight.Drain(ctx) }

// InFlight gives the calls in flight.
func (s *Surface) InFlight() []flight.Call { return s.flight.Calls() }
