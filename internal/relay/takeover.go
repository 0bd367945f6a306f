package relay

import (
	"context"
	"sync/atomic"

	"github.com/answerback/answerback/internal/contract"
	"github.com/answerback/answerback/internal/lease"
	"github.com/answerback/answerback/internal/wire"
)

// asksPerson reports whether a result wants something of a person.
func asksPerson(m *wire.Message) bool {
	if m.Kind != wire.Result || m.Text(m.ResultType) != "input_required" {
		return false
	}
	for q := range wire.Members(m.Raw, m.InputRequests) {
		method, _ := wire.Unquote(wire.Get(m.Raw, q.Value, "method").Of(m.Raw))
		if method == "elicitation/create" {
			return true
		}
	}
	return false
}

// takeOver makes the gateway the client of a call between two modern peers
// from the reply on in which the server asked what the client cannot show.
func (rd *round) takeOver(ctx context.Context, to found, reply contract.Reply) (contract.Reply, error) {
	r, msg := rd.relay, rd.call.msg
	if len(to.edits) > 0 {
		m, err := wire.Scan(wire.Splice(nil, msg.Raw, sorted(to.edits)...), r.limits.Scan)
		if err != nil {
			return contract.Reply{}, err
		}
		msg = &m
	}
	x := &crossed{relay: r, entry: to.entry, who: rd.who, caps: rd.caps, through: rd.through}
	pk, err := x.begin(ctx, msg, to.own, func(w *errand) (*lease.Lease, error) {
		discovered, err := to.entry.Backend.Discover(ctx, rd.who)
		if err != nil {
			return nil, err
		}
		far, err := to.entry.Backend.Stateless(ctx, rd.who)
		if err != nil {
			return nil, err
		}
		name := to.entry.Backend.Name()
		hello := contract.Hello{Principal: rd.who, Params: r.hello(msg), Events: &leased{r, name, w.event}}
		hello.Params = r.tellHello(to.entry, rd.caps, hello)
		line, err := r.cross(contract.Crossing{Backend: name, Far: &primed{Line: far, reply: reply}, Hello: hello, Discovered: discovered})
		return lease.Alone(line), err
	})
	if err != nil {
		return contract.Reply{}, err
	}
	return pk.Serve(ctx, rd.call.msg, rd)
}

// primed is a line to a server that has answered the first request already.
type primed struct {
	contract.Line
	reply contract.Reply
	spent atomic.Bool
}

func (p *primed) Call(ctx context.Context, out contract.Outgoing, sink contract.Sink) (contract.Reply, error) {
	if p.spent.CompareAndSwap(false, true) {
		return p.reply, nil
	}
	return p.Line.Call(ctx, out, sink)
}
