package relay

import (
	"context"
	"sync"

	"github.com/answerback/answerback/internal/catalog"
	"github.com/answerback/answerback/internal/contract"
	"github.com/answerback/answerback/internal/wire"
)

// listen serves subscriptions/listen at a legacy backend, with a session of
// its own, for as long as the client or the session lives.
func (x *crossed) listen(ctx context.Context, msg *wire.Message, sink contract.Sink) (contract.Reply, error) {
	s := &crossStream{id: msg.Field(msg.ID), sink: sink, relay: x.relay}
	l, err := x.lease(ctx, msg, s.event)
	if err != nil {
		return contract.Reply{}, err
	}
	// The session has subscriptions that nobody after this client wants.
	defer x.relay.pool.Give(l, false)
	line := l.Line()
	line.Listen()
	if err := s.acknowledge(x.agree(ctx, line, msg, s)); err != nil {
		return contract.Reply{}, err
	}
	select {
	case <-ctx.Done():
		return contract.Reply{}, context.Cause(ctx)
	case <-line.Done():
	}
	m, err := wire.Scan(result(s.id, append(append([]byte(`{"resultType":"complete","_meta":{"io.modelcontextprotocol/subscriptionId":`), s.id...), `}}`...)).Body, x.relay.limits.Scan)
	return contract.Reply{Msg: m, Status: 200, Event: true}, err
}

// agree subscribes to what the client wants and the backend has, and gives
// the filter of that.
func (x *crossed) agree(ctx context.Context, line contract.Line, msg *wire.Message, s *crossStream) []byte {
	w := line.Welcome()
	caps := wire.Get(w.Raw, w.Result, "capabilities")
	wanted := wire.Get(msg.Raw, msg.Params, "notifications")
	b := []byte{'{'}
	sep := func() {
		if len(b) > 1 {
			b = append(b, ',')
		}
	}
	for _, list := range []catalog.List{catalog.Tools, catalog.Prompts, catalog.Resources} {
		key := list.Member() + "ListChanged"
		can := string(wire.Get(w.Raw, wire.Get(w.Raw, caps, list.Member()), "listChanged").Of(w.Raw)) == "true"
		if can && string(wire.Get(msg.Raw, wanted, key).Of(msg.Raw)) == "true" {
			sep()
			b = append(wire.AppendString(b, key), ":true"...)
			s.lists[list] = true
		}
	}
	var uris []byte
	for at := range wire.Elements(msg.Raw, wire.Get(msg.Raw, wanted, "resourceSubscriptions")) {
		params := append(append([]byte(`{"uri":`), at.Of(msg.Raw)...), '}')
		if _, err := own(ctx, x.relay, line, "resources/subscribe", params); err != nil {
			x.relay.log.Info("resource not subscribed to", "backend", x.entry.Backend.Name(), "err", err)
			continue
		}
		if len(uris) > 0 {
			uris = append(uris, ',')
		}
		uris = append(uris, at.Of(msg.Raw)...)
	}
	if len(uris) > 0 {
		sep()
		b = append(append(append(b, `"resourceSubscriptions":[`...), uris...), ']')
	}
	return append(b, '}')
}

// crossStream turns the notifications of a legacy session into those of a
// subscription. Nothing is sent before the acknowledgement.
type crossStream struct {
	relay *Relay
	id    []byte
	sink  contract.Sink
	lists [catalog.Templates + 1]bool

	mu   sync.Mutex
	open bool
	held [][]byte
}

func (s *crossStream) acknowledge(filter []byte) error {
	raw := append([]byte(`{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":`), s.id...)
	raw = append(append(raw, `},"notifications":`...), filter...)
	m, err := wire.Scan(append(raw, "}}"...), s.relay.limits.Scan)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open = true
	s.sink.Notify(&m)
	for _, raw := range s.held {
		s.send(raw)
	}
	s.held = nil
	return nil
}

// event takes a notification of the session.
func (s *crossStream) event(msg *wire.Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := catalog.ByChanged(msg.Method())
	switch {
	case l != 0 && !s.lists[l], l == 0 && msg.Method() != "notifications/resources/updated":
	case s.open:
		s.send(msg.Raw)
	case len(s.held) < maxHeld:
		s.held = append(s.held, append([]byte(nil), msg.Raw...))
	}
}

// send tags a notification with the subscription and sends it.
func (s *crossStream) send(raw []byte) {
	m, err := wire.Scan(raw, s.relay.limits.Scan)
	if err != nil {
		return
	}
	const key = "io.modelcontextprotocol/subscriptionId"
	meta := append(append([]byte(`{"`+key+`":`), s.id...), '}')
	var edits []wire.Edit
	switch {
	case !m.Meta.IsZero():
		edits = wire.Amend(m.Raw, m.Meta, wire.Change{Old: m.MetaSubscription, Key: key, Value: s.id})
	case !m.Params.IsZero():
		edits = wire.Amend(m.Raw, m.Params, wire.Change{Key: "_meta", Value: meta})
	default:
		params := append(append([]byte(`{"_meta":`), meta...), '}')
		edits = wire.Amend(m.Raw, m.Root(), wire.Change{Key: "params", Value: params})
	}
	if tagged, err := wire.Scan(wire.Splice(nil, m.Raw, edits...), s.relay.limits.Scan); err == nil {
		s.sink.Notify(&tagged)
	}
}
