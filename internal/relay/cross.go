package relay

import (
	"context"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/contract"
	"github.com/answerback/answerback/internal/era"
	"github.com/answerback/answerback/internal/lease"
	"github.com/answerback/answerback/internal/parking"
	"github.com/answerback/answerback/internal/wire"
)

// openLine opens a legacy session at a backend of either era, for a client
// that declared caps in its handshake.
func (r *Relay) openLine(ctx context.Context, e *Entry, caps era.Caps, hello contract.Hello) (contract.Line, error) {
	hello.Params = r.tellHello(e, caps, hello)
	if e.Doorstep == nil {
		return r.open(ctx, e.Backend, hello)
	}
	return e.Doorstep.Open(ctx, hello, r.opener(e.Backend))
}

// greet begins a legacy session of the gateway's own making: it says that the
// handshake is over, and asks for what belongs to no call. A session that does
// not take that is closed.
func greet(ctx context.Context, line contract.Line) error {
	if err := line.Notify(ctx, []byte(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)); err != nil {
		line.Close(ctx)
		return err
	}
	line.Listen()
	return nil
}

func (r *Relay) opener(b contract.Backend) contract.Opener {
	return func(ctx context.Context, hello contract.Hello) (contract.Line, error) { return r.open(ctx, b, hello) }
}

func (r *Relay) open(ctx context.Context, b contract.Backend, hello contract.Hello) (contract.Line, error) {
	line, err := b.Open(ctx, hello)
	if err == nil {
		return line, nil
	}
	discovered, derr := b.Discover(ctx, hello.Principal)
	if derr != nil || discovered.Kind != wire.Result {
		return nil, err
	}
	far, err := b.Stateless(ctx, hello.Principal)
	if err != nil {
		return nil, err
	}
	return r.cross(contract.Crossing{Backend: b.Name(), Far: far, Hello: hello, Discovered: discovered})
}

// tellHello gives the parameters of a handshake as the backend gets them.
func (r *Relay) tellHello(e *Entry, caps era.Caps, hello contract.Hello) []byte {
	obj, err := wire.Value(hello.Params)
	if err != nil {
		return hello.Params
	}
	at := wire.Get(hello.Params, obj, "capabilities")
	if at.IsZero() {
		return hello.Params
	}
	raw := at.Of(hello.Params)
	version, _ := wire.Unquote(wire.Get(hello.Params, obj, "protocolVersion").Of(hello.Params))
	if told := r.tell(e, hello.Principal, caps, version, raw); len(told) != len(raw) {
		return wire.Splice(nil, hello.Params, wire.Edit{Span: at, With: told})
	}
	return hello.Params
}

// stateless gives a line for modern requests to a backend of either era. A
// legacy backend is crossed to; so is a modern one where the gateway drives:
// then it takes the rounds on itself, as where somebody may have to connect an
// account in the middle.
func (r *Relay) stateless(ctx context.Context, e *Entry, who ask.Principal, caps era.Caps, drive bool) (contract.Line, error) {
	if e.Doorstep == nil {
		discovered, err := e.Backend.Discover(ctx, who)
		if err != nil {
			return nil, err
		}
		if discovered.Kind != 0 && !drive {
			return e.Backend.Stateless(ctx, who)
		}
	}
	return &crossed{relay: r, entry: e, who: who, caps: caps}, nil
}

// drives reports whether the gateway takes the rounds of a request on itself,
// because the backend may ask in it what the client itself cannot be asked, or
// because the call may become a task of the gateway's. For a client that can
// show nothing it does so only when something is asked.
func (rd *round) drives(to found) bool {
	msg := rd.call.msg
	return asks(msg.Method()) && (rd.relay.told(to.entry, rd.who, rd.caps, era.Latest) != rd.caps && !rd.lazy(to) ||
		to.entry.Tasks && rd.takesTasks())
}

func (rd *round) takesTasks() bool {
	return era.Extends(rd.call.msg.Field(rd.call.msg.MetaCapabilities), era.Tasks)
}

// tells reports whether the request may end before its call does, because
// somebody must be asked whom the client cannot ask.
func (rd *round) tells(to found) bool {
	msg := rd.call.msg
	return asks(msg.Method()) && (rd.relay.mute(to.entry, rd.who, rd.caps) || rd.relay.clients.Of(msg.Field(msg.MetaClientInfo)).Doubt > 0)
}

// lazy reports whether the gateway waits for a question before it takes the
// rounds of a request on itself.
func (rd *round) lazy(to found) bool {
	return to.entry.AnsweredBy == "" && rd.relay.mute(to.entry, rd.who, rd.caps)
}

// asks reports whether a server may ask something in the middle of a request
// of this method.
func asks(method string) bool {
	switch method {
	case "tools/call", "prompts/get", "resources/read":
		return true
	}
	return false
}

// crossed is a legacy backend for one modern request. It is a Line, so that
// nothing else has to know.
type crossed struct {
	relay   *Relay
	entry   *Entry
	who     ask.Principal
	caps    era.Caps
	through string // the surface, "" for MCP
}

func (x *crossed) Welcome() wire.Message                { return wire.Message{} }
func (x *crossed) Notify(context.Context, []byte) error { return nil }
func (x *crossed) Listen()                              {}
func (x *crossed) Done() <-chan struct{}                { return nil }
func (x *crossed) Close(context.Context)                {}

// Call serves one round of a request.
func (x *crossed) Call(ctx context.Context, out contract.Outgoing, sink contract.Sink) (contract.Reply, error) {
	msg := out.Msg
	if len(out.Edits) > 0 {
		m, err := wire.Scan(wire.Splice(nil, msg.Raw, out.Edits...), x.relay.limits.Scan)
		if err != nil {
			return contract.Reply{}, err
		}
		msg = &m
	}
	switch method := msg.Method(); {
	case isTask(method) && parking.Ours(out.Name):
		return x.relay.lot.Task(ctx, x.who, out.Name, msg)
	case era.Removed(method) || isTask(method):
		return contract.Reply{}, ask.Errorf(ask.UnknownMethod, "There is no "+method+" between a modern client and a legacy backend.")
	case method == "server/discover":
		return x.discover(ctx, msg)
	case method == "subscriptions/listen":
		return x.listen(ctx, msg, sink)
	}
	pk, err := x.parked(ctx, msg, out.Name)
	if err != nil {
		return contract.Reply{}, err
	}
	return pk.Serve(ctx, msg, sink)
}

// parked begins a call, or finds the one that a retry belongs to.
func (x *crossed) parked(ctx context.Context, msg *wire.Message, name string) (*parking.Call, error) {
	if !msg.RequestState.IsZero() {
		return x.relay.lot.Attach(ctx, x.who, msg.Text(msg.RequestState))
	}
	return x.begin(ctx, msg, name, func(w *errand) (*lease.Lease, error) { return x.lease(ctx, msg, w.event) })
}

// discover answers for a legacy backend from its handshake.
func (x *crossed) discover(ctx context.Context, msg *wire.Message) (contract.Reply, error) {
	l, err := x.lease(ctx, msg, nil)
	if err != nil {
		return contract.Reply{}, err
	}
	defer x.relay.pool.Give(l, true)
	w := l.Line().Welcome()
	text, _ := wire.Unquote(wire.Get(w.Raw, w.Result, "instructions").Of(w.Raw))
	body := era.DiscoverResult(era.Discovery{
		Capabilities: x.entry.tasked(era.WithoutTasks(wire.Get(w.Raw, w.Result, "capabilities").Of(w.Raw))),
		ServerInfo:   wire.Get(w.Raw, w.Result, "serverInfo").Of(w.Raw),
		Instructions: text,
	})
	m, err := wire.Scan(era.AppendResult(nil, msg.Field(msg.ID), body), x.relay.limits.Scan)
	return contract.Reply{Msg: m, Status: 200}, err
}
