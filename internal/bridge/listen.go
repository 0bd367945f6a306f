package bridge

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/contract"
	"github.com/answerback/answerback/internal/era"
	"github.com/answerback/answerback/internal/wire"
)

const (
	// overlap is how long an old subscription goes on when a new one has not
	// been acknowledged.
	overlap = 5 * time.Second
	// The wait before a subscription that ended is opened again.
	reopenFirst = time.Second
	reopenLast  = time.Minute
)

// subscription is one subscriptions/listen stream at the server.
type subscription struct {
	line  *Line
	acked chan struct{}
	once  sync.Once
	stop  context.CancelFunc
}

// Listen opens a subscription for what the server can tell, once.
func (l *Line) Listen() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.wanted {
		return
	}
	l.wanted = true
	l.reopen()
}

// subscribe adds or takes away a resource, and opens the subscription anew.
func (l *Line) subscribe(uri string, add bool) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if add && len(l.uris) >= maxSubscriptions {
		return ask.Errorf(ask.TooManyOpen, "This session subscribes to as many resources as it may.")
	}
	if add {
		l.uris[uri] = struct{}{}
	} else {
		delete(l.uris, uri)
	}
	l.wanted = true
	l.reopen()
	return nil
}

// reopen replaces the subscription by one for what is wanted now: the old one
// ends when the new one is acknowledged, so that nothing is missed. The line
// is locked.
func (l *Line) reopen() {
	if l.closed {
		return
	}
	old := l.heard
	ctx, stop := context.WithCancel(l.life)
	s := &subscription{line: l, acked: make(chan struct{}), stop: stop}
	l.heard = s
	filter := l.filter()
	l.wg.Go(func() { s.run(ctx, filter) })
	if old == nil {
		return
	}
	l.wg.Go(func() {
		select {
		case <-s.acked:
		case <-time.After(overlap):
		case <-l.life.Done():
		}
		old.stop()
	})
}

// filter is what the server is asked to tell: list changes where it says it
// can, and the resources subscribed to.
func (l *Line) filter() []byte {
	raw, result := l.cfg.Discovered.Raw, l.cfg.Discovered.Result
	caps := wire.Get(raw, result, "capabilities")
	b := []byte{'{'}
	for _, kind := range []string{"tools", "prompts", "resources"} {
		if string(wire.Get(raw, wire.Get(raw, caps, kind), "listChanged").Of(raw)) == "true" {
			if len(b) > 1 {
				b = append(b, ',')
			}
			b = append(append(append(b, '"'), kind...), `ListChanged":true`...)
		}
	}
	if len(l.uris) > 0 {
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = append(b, `"resourceSubscriptions":[`...)
		for i, uri := range slices.Sorted(maps.Keys(l.uris)) {
			if i > 0 {
				b = append(b, ',')
			}
			b = wire.AppendString(b, uri)
		}
		b = append(b, ']')
	}
	return append(b, '}')
}

// run keeps the subscription open for as long as it is wanted. A server that
// knows no subscriptions has nothing to tell.
func (s *subscription) run(ctx context.Context, filter []byte) {
	l := s.line
	if string(filter) == "{}" {
		return
	}
	for wait := reopenFirst; ; wait = min(2*wait, reopenLast) {
		began := time.Now()
		reply, err := s.listen(ctx, filter)
		if ctx.Err() != nil {
			return
		}
		if err == nil && reply.Msg.Kind == wire.Failure {
			l.cfg.Log.Info("backend has no subscriptions", "backend", l.cfg.Backend)
			return
		}
		if time.Since(began) > reopenLast {
			wait = reopenFirst
		}
		t := time.NewTimer(wait)
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			return
		}
	}
}

func (s *subscription) listen(ctx context.Context, filter []byte) (contract.Reply, error) {
	l := s.line
	raw := strconv.AppendInt([]byte(`{"jsonrpc":"2.0","id":"l`), l.ids.Add(1), 10)
	raw = append(append(raw, `","method":"subscriptions/listen","params":{"notifications":`...), filter...)
	m, err := wire.Scan(append(raw, "}}"...), l.cfg.Scan)
	if err != nil {
		return contract.Reply{}, err
	}
	if m, err = wire.Scan(wire.Splice(nil, m.Raw, era.Modernise(&m, l.client())...), l.cfg.Scan); err != nil {
		return contract.Reply{}, err
	}
	return l.cfg.Far.Call(ctx, contract.Outgoing{Msg: &m}, s)
}

// Notify passes a change on, without the id of a subscription that the client
// knows nothing of. Of tasks the client knows nothing either.
func (s *subscription) Notify(m *wire.Message) {
	if strings.HasPrefix(m.Method(), "notifications/tasks") {
		return
	}
	if m.Method() == "notifications/subscriptions/acknowledged" {
		s.once.Do(func() { close(s.acked) })
		return
	}
	if m.MetaSubscription.IsZero() {
		s.line.cfg.Hello.Events.Notify(m)
		return
	}
	raw := wire.Splice(nil, m.Raw, wire.Drop(m.Raw, m.Meta, m.MetaSubscription))
	if plain, err := wire.Scan(raw, s.line.cfg.Scan); err == nil {
		s.line.cfg.Hello.Events.Notify(&plain)
	}
}

// Question refuses: nothing is asked on a subscription.
func (s *subscription) Question(*contract.Question) {}
