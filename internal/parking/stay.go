package parking

import (
	"slices"

	"github.com/answerback/answerback/internal/contract"
)

// Client is a sink that knows its client's end, which may be one that stays.
type Client interface {
	contract.Sink
	Peer() contract.Peer
}

// stay is a client that stays while it is asked. A nil stay is one that does
// not.
type stay struct{ contract.Patient }

// stayOf finds out whether the client behind a sink stays.
func stayOf(sink contract.Sink) *stay {
	if c, ok := sink.(Client); ok {
		if p, ok := c.Peer().(contract.Patient); ok {
			return &stay{p}
		}
	}
	return nil
}

// knows reports whether what the client was asked is what is open.
func (s *stay) knows(pk *Call) bool {
	asked := s.Asked()
	pk.mu.Lock()
	defer pk.mu.Unlock()
	return len(asked) == len(pk.open) &&
		!slices.ContainsFunc(pk.open, func(o open) bool { return !slices.Contains(asked, o.key) })
}

func (s *stay) back() <-chan struct{} {
	if s == nil {
		return nil
	}
	return s.Back()
}
