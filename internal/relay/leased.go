package relay

import (
	"context"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/catalog"
	"github.com/answerback/answerback/internal/contract"
	"github.com/answerback/answerback/internal/era"
	"github.com/answerback/answerback/internal/lease"
	"github.com/answerback/answerback/internal/wire"
)

// lease gives a session at a legacy backend for the caller of msg. What the
// session sends outside any call goes to to.
func (x *crossed) lease(ctx context.Context, msg *wire.Message, to func(*wire.Message)) (*lease.Lease, error) {
	r, name := x.relay, x.entry.Backend.Name()
	key := lease.Key{Backend: x.entry.Backend, Who: x.who, Caps: era.CapsKey(msg.Field(msg.MetaCapabilities))}
	return r.pool.Take(ctx, key, to, func(deliver func(*wire.Message)) (contract.Line, error) {
		line, err := r.openLine(ctx, x.entry, x.caps, contract.Hello{Principal: x.who, Params: r.hello(msg), Events: &leased{r, name, deliver}})
		if err != nil {
			return nil, unwelcome(name, err)
		}
		if err := greet(ctx, line); err != nil {
			return nil, err
		}
		return line, nil
	})
}

// hello gives the parameters of a handshake for the caller of a modern request.
func (r *Relay) hello(msg *wire.Message) []byte {
	caps := era.WithoutTasks(msg.Field(msg.MetaCapabilities))
	if r.desk == nil {
		caps = era.WithoutAsks(caps)
	}
	params := append([]byte(`{"protocolVersion":"`+era.LatestLegacy+`","capabilities":`), caps...)
	params = append(params, `,"clientInfo":`...)
	if info := msg.Field(msg.MetaClientInfo); info != nil {
		params = append(params, info...)
	} else {
		params = append(params, r.info...)
	}
	return append(params, '}')
}

// leased takes what a session of a modern caller sends outside any call.
type leased struct {
	relay   *Relay
	backend string
	to      func(*wire.Message)
}

func (e *leased) Notify(msg *wire.Message) {
	if l := catalog.ByChanged(msg.Method()); l != 0 {
		e.relay.catalog.Forget(e.backend, l)
	}
	e.to(msg)
}

// Question refuses at once: the modern era carries no question that belongs
// to no call.
func (e *leased) Question(q *contract.Question) {
	asker{relay: e.relay, backend: e.backend}.refuse(q, ask.Errorf(ask.NoClient, "No client is available: this question belongs to no call."))
}

func (e *leased) Lost(err *ask.Error) {
	e.relay.log.Debug("leased session lost", "backend", e.backend, "err", err)
}
