package relay

import (
	"bytes"
	"context"
	"sync/atomic"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/budget"
	"github.com/answerback/answerback/internal/contract"
	"github.com/answerback/answerback/internal/era"
	"github.com/answerback/answerback/internal/parking"
	"github.com/answerback/answerback/internal/wire"
)

// way is how a request of a legacy session gets to its backend.
type way struct {
	entry *Entry
	line  contract.Line
	out   contract.Outgoing
	sink  contract.Sink
}

// way finds the backend that a request belongs to, into w.
func (s *Session) way(ctx context.Context, c *call, w *way) error {
	if s.soloLine == nil {
		return s.join.way(ctx, c, w)
	}
	if c.msg.Method() == "tools/call" && !s.soloEntry.Filter.Allows(c.asker.name) {
		return noTool(c.asker.name)
	}
	*w = way{s.soloEntry, s.soloLine, contract.Outgoing{Msg: c.msg, Name: c.asker.name}, c}
	return nil
}

// tells reports whether a request of this method may end before its call
// does, because somebody must be asked whom the client cannot ask.
func (s *Session) tells(method string) bool {
	r := s.relay
	if !asks(method) || r.desk == nil || r.pages == nil || !r.pages.Opens(s.who) {
		return false
	}
	return !s.caps.Form && !s.caps.URL || s.manner.Doubt > 0
}

// callAside carries a request whose call may outlive it, or takes part in the
// call that it repeats.
func (s *Session) callAside(ctx context.Context, msg *wire.Message, peer contract.Peer) contract.Response {
	// The client's bytes are free again when the request is over.
	own := *msg
	own.Raw = bytes.Clone(msg.Raw)
	id := own.Field(own.ID)
	c, life := s.newCall(context.WithoutCancel(ctx), &own, peer)
	key := wire.IDKey(id)
	if err := s.begin(key, c); err != nil {
		c.finish()
		return fail(id, err, era.Legacy)
	}
	defer s.finished(key)
	stop := context.AfterFunc(ctx, func() { c.end(ask.From(context.Cause(ctx))) })
	defer stop()
	resp, err := s.aside(life, c)
	c.report(era.Legacy, resp, err)
	if told, ok := parking.CallAgain(id, own.Method(), err, era.Legacy); ok {
		return told
	}
	if c.isAbandoned() || c.isSuspended() || cancelled(life, err) {
		return contract.Response{}
	}
	if err != nil {
		return failed(id, err, era.Legacy, resp.Event)
	}
	return resp
}

func (s *Session) aside(life context.Context, c *call) (contract.Response, error) {
	var w way
	if err := s.way(life, c, &w); err != nil {
		c.finish()
		return contract.Response{}, err
	}
	pk, err := s.relay.lot.Again(s.who, era.Legacy, c.asker.backend, c.asker.name, c.msg)
	ctx := life
	switch {
	case err != nil:
		c.finish()
		return contract.Response{}, err
	case pk != nil:
		c.clock.relimit(s.relay.limits.CallCap) // the time that counts is that of the call which it repeats
		defer c.finish()
	default:
		// It ends with its call, which is what is waited for.
		ctx = context.WithoutCancel(life)
		pk = s.launch(life, c, w)
	}
	reply, err := pk.Serve(ctx, c.msg, w.sink)
	if err != nil {
		return contract.Response{Event: reply.Event}, err
	}
	return restore(reply, c.msg.Field(c.msg.ID)), nil
}

// launch begins a call that may outlive its request, and the session.
func (s *Session) launch(life context.Context, c *call, w way) *parking.Call {
	var lent atomic.Bool
	t := w.entry.terms(s.who, era.Legacy, c.asker.name, s.caps, s.manner)
	t.Tasks, t.Held = false, budget.From(life)
	t.Told = func() { lent.Store(true); s.lend() }
	pk := s.relay.lot.New(t)
	e := newErrand(pk)
	e.line, e.sink = w.line, asideSink{w.sink, e}
	e.release = func(bool) func() {
		return func() {
			if lent.Load() {
				s.giveBack()
			}
		}
	}
	e.carries(c)
	e.start(life, w.out)
	return pk
}

// lend keeps the session's lines open for a call that goes on without its
// client.
func (s *Session) lend() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lent++
}

// giveBack is its reverse.
func (s *Session) giveBack() {
	s.mu.Lock()
	s.lent--
	last := s.ending && s.lent == 0
	s.mu.Unlock()
	if last {
		ctx, cancel := context.WithTimeout(context.Background(), replyTime)
		defer cancel()
		s.closeLines(ctx)
	}
}

// asideSink takes what the backend sends for a call of a legacy session that
// may outlive its request.
type asideSink struct {
	contract.Sink
	of *errand
}

// Notify passes a notification on: to who began the call, or to who repeats it.
func (a asideSink) Notify(msg *wire.Message) {
	if a.of.pk.Passes() {
		a.Sink.Notify(msg)
		return
	}
	a.of.Notify(msg)
}

// self finds the call behind a sink.
func (a asideSink) self() *call { return a.of.call }
