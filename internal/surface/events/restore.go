package events

import (
	"bytes"
	"context"
	"encoding/json"
	"time"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/contract"
	"github.com/answerback/answerback/internal/relay"
)

var _ relay.Returning = (*Surface)(nil)

// marked begins the marks of this surface.
const marked = "events "

// Marked reports whether a mark is one of this surface.
func Marked(mark []byte) bool { return bytes.HasPrefix(mark, []byte(marked)) }

// Lasting says that the questions of a call are kept: its consumer is told that
// it can come back for them.
func (c *call) Lasting() bool { return c.surface.cfg.Shelf != nil }

// Mark is what the call is made again from after a restart.
func (c *call) Mark() []byte {
	if !c.Lasting() {
		return nil
	}
	b, err := json.Marshal(c.record())
	if err != nil {
		return nil // there is nothing in it that cannot be written
	}
	return append([]byte(marked), b...)
}

// unknownEnd is how a call ended of which only the start is known.
var unknownEnd = ask.Errorf(ask.OutcomeUnknown, "The gateway was restarted while the call was under way. It is not known whether the tool did its work.")

// Restore reads what is kept of calls from before a restart. It comes before
// the relay takes up calls, and Restored after that.
func (s *Surface) Restore(ctx context.Context) error {
	if s.cfg.Shelf == nil {
		return nil
	}
	for raw, err := range s.cfg.Shelf.Below(ctx, s.home) {
		if err != nil {
			return err
		}
		var r record
		if err := json.Unmarshal(raw, &r); err != nil {
			s.cfg.Log.Warn("record of a call not readable", "surface", surfaceName, "err", err)
			continue
		}
		if r.Ended.IsZero() {
			s.pending[r.ID] = r
		} else if left := s.left(&r); left > 0 {
			s.past(r, left)
		}
	}
	return nil
}

// left is how long a call that has ended is still kept.
func (s *Surface) left(r *record) time.Duration {
	if r.Ended.IsZero() {
		return s.cfg.Keep
	}
	return s.cfg.Keep - s.cfg.Now().Sub(r.Ended)
}

// Restored ends the calls from before a restart that were not taken up. It
// comes before the first request.
func (s *Surface) Restored() {
	s.mu.Lock()
	lost := s.pending
	s.pending = nil
	s.mu.Unlock()
	for _, r := range lost {
		s.past(r, s.cfg.Keep)
	}
	if len(lost) > 0 {
		s.cfg.Log.Warn("calls not taken up after a restart", "surface", surfaceName, "calls", len(lost), "code", unknownEnd.Code)
	}
}

// remake makes a call from its record.
func (s *Surface) remake(r record) *call {
	c := s.newCall(contract.Caller{Principal: r.Owner, Surface: surfaceName}, start{
		at: r.At, tool: r.Tool, elicitation: r.Elicitation, sampling: r.Sampling,
	})
	c.id, c.access, c.key = r.ID, r.Access, r.Key
	copy(c.digest[:], r.Digest)
	c.recorded.Store(true)
	// Numbers go on beyond those of earlier lives of the gateway: there are
	// fewer events than microseconds.
	c.log.startAt(uint64(s.cfg.Now().UnixMicro()))
	return c
}

// past makes a call of a record that has ended, or of which no end is known,
// and keeps it for a while.
func (s *Surface) past(r record, left time.Duration) *call {
	c := s.remake(r)
	c.begun()
	switch {
	case r.Ended.IsZero():
		c.fail(errorEvent{Code: string(unknownEnd.Code), Message: unknownEnd.Message})
	case r.Last == nil:
		c.log.purge()
	default:
		c.log.add(r.Type, r.Last, false, true)
	}
	close(c.done)
	c.end(callOver)
	s.calls.restore(c)
	s.calls.retire(c, left)
	return c
}

// Return makes a call from before a restart again. It implements
// relay.Returning.
func (s *Surface) Return(mark []byte, _ string, who ask.Principal, behind func(contract.Peer) *relay.Session) (relay.Returned, error) {
	var r record
	if err := json.Unmarshal(bytes.TrimPrefix(mark, []byte(marked)), &r); err != nil {
		return relay.Returned{}, err
	}
	if r.Owner != who {
		return relay.Returned{}, ask.Errorf(ask.BadState, "The call belongs to another principal.")
	}
	if !s.inside.Enter() {
		return relay.Returned{}, shuttingDown
	}
	s.mu.Lock()
	delete(s.pending, r.ID)
	s.mu.Unlock()
	c := s.remake(r)
	// It may take as long again, and may not have been written down yet.
	if err := s.write(r, s.cfg.Cap+s.cfg.Keep); err != nil {
		s.cfg.Log.Warn("start of a call not stored", "surface", surfaceName, "principal", who.String(), "code", ask.CodeOf(err), "err", err)
	}
	c.begun()
	session := behind(c)
	c.opened(session)
	s.calls.restore(c)
	c.mu.Lock()
	c.linger = time.AfterFunc(s.cfg.Linger, c.abandoned)
	c.mu.Unlock()
	return relay.Returned{Session: session, Life: c.life, Peer: c, Finish: func(resp contract.Response) {
		defer s.inside.Leave()
		c.settle(resp)
	}}, nil
}
