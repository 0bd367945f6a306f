package relay

import (
	"cmp"
	"context"
	"sync"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/contract"
	"github.com/answerback/answerback/internal/era"
	"github.com/answerback/answerback/internal/lease"
	"github.com/answerback/answerback/internal/wire"
)

// A session of a caller with a conversation does not open lines of its own: it
// leases those of the conversation, and gives them back when it is closed. So
// a server keeps its process and its session from one call to the next. A line
// has one session at a time, which is how a question that names no call is
// attributed; calls at the same time have lines of their own.

// connect gives the session's line to a backend: a new one, or one of its
// conversation. Lines of the latter kind have been greeted.
func (s *Session) connect(ctx context.Context, e *Entry, caps era.Caps, events contract.Events) (line contract.Line, greeted bool, err error) {
	hello := contract.Hello{Principal: s.who, Params: s.hello, Events: events, Links: caps.URL}
	if s.conversation == "" {
		line, err = s.relay.openLine(ctx, e, caps, hello)
		return line, false, err
	}
	r := s.relay
	l, err := r.pool.Take(ctx, s.leaseKey(e), nil, func(func(*wire.Message)) (contract.Line, error) {
		holder := &holder{relay: r, backend: e.Backend.Name(), to: events}
		hello.Events = holder
		line, err := r.openLine(ctx, e, caps, hello)
		if err != nil {
			return nil, err
		}
		if err := greet(ctx, line); err != nil {
			return nil, err
		}
		return &shared{Line: line, holder: holder}, nil
	})
	if err != nil {
		return nil, false, err
	}
	return s.borrow(l, events), true, nil
}

func (s *Session) leaseKey(e *Entry) lease.Key {
	return lease.Key{
		Backend: e.Backend, Who: s.who, Caps: s.capsKey, Conversation: s.conversation,
		Idle: s.relay.limits.Conversation,
	}
}

// borrow makes a lease of a shared line the session's own.
func (s *Session) borrow(l *lease.Lease, events contract.Events) contract.Line {
	line := l.Line().(*shared)
	line.holder.hold(events)
	return &borrowed{shared: line, relay: s.relay, lease: l}
}

// lendable makes the line of a call that is taken up after a restart one of the
// session's conversation. events must be what the line was made with.
func (s *Session) lendable(e *Entry, resumed *contract.Resumed, events *holder) {
	line := &shared{Line: resumed.Line, holder: events}
	b := &borrowed{shared: line, relay: s.relay, lease: s.relay.pool.Adopt(s.leaseKey(e), line), flying: 1}
	wait := resumed.Wait
	resumed.Line, resumed.Wait = b, func(ctx context.Context) (contract.Reply, error) {
		reply, err := wait(ctx)
		b.landed(err)
		return reply, err
	}
}

// shared is a line of a conversation.
type shared struct {
	contract.Line
	holder *holder
}

// holder takes what a shared line sends outside any call, for the session that
// has the line.
type holder struct {
	relay   *Relay
	backend string

	mu sync.Mutex
	to contract.Events // nil while the line is idle
}

func (h *holder) hold(to contract.Events) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.to = to
}

func (h *holder) events() contract.Events {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.to == nil {
		return &leased{h.relay, h.backend, func(*wire.Message) {}}
	}
	return h.to
}

func (h *holder) Notify(msg *wire.Message)      { h.events().Notify(msg) }
func (h *holder) Question(q *contract.Question) { h.events().Question(q) }
func (h *holder) Lost(err *ask.Error)           { h.events().Lost(err) }

// borrowed is a shared line in the hands of one session.
type borrowed struct {
	*shared
	relay *Relay
	lease *lease.Lease

	mu     sync.Mutex
	flying int  // calls in flight
	failed bool // the server may still be at work for a call that has ended
	closed bool
}

// Call carries a call. After one that ended without a response of the server
// the line is not shared again: what the server sends for it later could be
// taken for the next call's.
func (b *borrowed) Call(ctx context.Context, out contract.Outgoing, sink contract.Sink) (contract.Reply, error) {
	b.mu.Lock()
	b.flying++
	b.mu.Unlock()
	reply, err := b.shared.Call(ctx, out, sink)
	b.landed(err)
	return reply, err
}

func (b *borrowed) landed(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.flying--
	b.failed = b.failed || err != nil
}

// Notify passes a notification on, but for the end of a handshake that is over.
func (b *borrowed) Notify(ctx context.Context, msg []byte) error {
	m, err := wire.Scan(msg, b.relay.limits.Scan)
	if err == nil && m.Method() == "notifications/initialized" {
		return nil
	}
	return b.shared.Notify(ctx, msg)
}

// Listen does nothing: a shared line listens from the start.
func (b *borrowed) Listen() {}

// Close gives the line back. One that is not shared again is closed in the
// background: its session has no part in that.
func (b *borrowed) Close(context.Context) {
	b.mu.Lock()
	again, clean := b.closed, !b.failed && b.flying == 0
	b.closed = true
	b.mu.Unlock()
	if again {
		return
	}
	b.holder.hold(nil)
	if !b.relay.pool.Keep(b.lease, clean) {
		b.relay.running.Go(b.lease.Close)
	}
}

// conversationOf names a conversation so that those of two surfaces differ.
func conversationOf(who contract.Caller) string {
	if who.Conversation == "" {
		return ""
	}
	return cmp.Or(who.Surface, contract.MCP) + " " + who.Conversation
}
