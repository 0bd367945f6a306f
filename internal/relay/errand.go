package relay

import (
	"context"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/budget"
	"github.com/answerback/answerback/internal/contract"
	"github.com/answerback/answerback/internal/era"
	"github.com/answerback/answerback/internal/lease"
	"github.com/answerback/answerback/internal/parking"
	"github.com/answerback/answerback/internal/wire"
)

// errand is the work of a call that can outlive its request: the backend's end
// of it, where a parking.Call is the client's. It is the sink of its call where
// nobody else is.
type errand struct {
	pk   *parking.Call
	call *call
	line contract.Line
	sink contract.Sink
	// release gives the line back once the backend has answered. What it
	// returns, if anything, is done after the client was told.
	release func(clean bool) func()
	visited chan struct{} // a page that the backend wanted opened is finished
}

func newErrand(pk *parking.Call) *errand {
	w := &errand{pk: pk, visited: make(chan struct{}, 1)}
	w.sink = w
	return w
}

// carries ties the errand to the call of the relay that carries it.
func (w *errand) carries(c *call) {
	w.call, c.pk = c, w.pk
	w.pk.Begin(c.msg, c.end)
}

// terms are those of a call at a backend that may outlive its request.
func (e *Entry) terms(who ask.Principal, in era.Era, name string, caps era.Caps, m Manner) parking.Terms {
	return parking.Terms{
		Who: who, Era: in, Backend: e.Backend.Name(), Name: name, Asks: caps.Any(),
		Tasks: e.Tasks, Away: e.Away, Hold: m.Hold, Beat: m.Beat,
	}
}

// begin parks a new call of a modern client, on a session that open gives.
func (x *crossed) begin(ctx context.Context, msg *wire.Message, name string, open func(*errand) (*lease.Lease, error)) (*parking.Call, error) {
	r, info := x.relay, msg.Field(msg.MetaClientInfo)
	manner := r.clients.Of(info)
	terms := x.entry.terms(x.who, era.Modern, name, x.caps, manner)
	terms.Through, terms.Held = x.through, budget.From(ctx)
	pk := r.lot.New(terms)
	if err := pk.Admit(); err != nil {
		return nil, err
	}
	w := newErrand(pk)
	l, err := open(w)
	if err != nil {
		pk.Forget()
		return nil, err
	}
	w.line = l.Line()
	w.release = func(clean bool) func() {
		// The session is free before the client hears the end, so that its
		// next call finds it; closing one may take a while.
		if r.pool.Keep(l, clean) {
			return nil
		}
		return l.Close
	}
	sent, err := wire.Scan(wire.Splice(nil, msg.Raw, era.Legacise(msg)...), r.limits.Scan)
	if err != nil {
		pk.Forget()
		r.pool.Give(l, true)
		return nil, err
	}
	a := asker{
		relay: r, backend: x.entry.Backend.Name(), who: x.who, session: pk.ID(), caps: x.caps, version: era.Latest,
		during: msg.Method(), name: name, client: clientName(info), alone: !asks(msg.Method()), manner: manner, through: x.through,
	}
	// The call's life is its own: it outlives the request that began it.
	c, life := newCall(context.WithoutCancel(ctx), &sent, nil, a, r.timeout(x.entry), r.limits.CallCap)
	w.carries(c)
	w.start(life, contract.Outgoing{Msg: &sent, Name: name})
	return pk, nil
}

// start has the call carried to its end. What it is about stays in memory for
// as long.
func (w *errand) start(ctx context.Context, out contract.Outgoing) {
	held := budget.From(ctx)
	kept := held.Keep()
	w.call.asker.relay.running.Go(func() {
		if kept {
			defer held.Release()
		}
		w.run(ctx, out)
	})
}

// run carries the call to its end at the backend.
func (w *errand) run(ctx context.Context, out contract.Outgoing) {
	reply, err := w.conduct(ctx, out)
	w.call.finish()
	after := w.release(err == nil)
	w.finish(reply, err)
	if after != nil {
		after()
	}
}

// finish tells the client's end how the work ended.
func (w *errand) finish(reply contract.Reply, err error) {
	w.pk.Finish(parking.Result{Reply: reply, Err: err, Cancelled: w.call.isAbandoned(), Suspended: w.call.isSuspended()})
}

// Notify hands a notification of the call to its client's end.
func (w *errand) Notify(msg *wire.Message) { w.pk.Notify(msg.Raw) }

// Question carries a question of the call, under a key of its own.
func (w *errand) Question(q *contract.Question) {
	w.pk.Offer(func(o *parking.Offer) { w.call.asker.carry(q, o, w.call) })
}

// self finds the call behind a sink.
func (w *errand) self() *call { return w.call }

// event takes what the session sends outside any call.
func (w *errand) event(msg *wire.Message) {
	if msg.Method() == "notifications/elicitation/complete" {
		select {
		case w.visited <- struct{}{}:
		default:
		}
	}
}
