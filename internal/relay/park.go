package relay

import (
	"context"
	"crypto/rand"
	"strconv"
	"sync"
	"time"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/contract"
	"github.com/answerback/answerback/internal/era"
	"github.com/answerback/answerback/internal/wire"
)

// gatherFor is how long a round waits for further questions of its call:
// clients stop after ten rounds.
const gatherFor = 5 * time.Millisecond

// parked is a call that can outlive the request that began it.
type parked struct {
	lot    *lot
	id     string
	who    ask.Principal
	era    era.Era // its client's
	call   *call
	line   contract.Line
	away   time.Duration // how long it waits for its client
	manner Manner        // how its client is treated
	// release gives the line back once the backend has answered. What it
	// returns, if anything, is done after the client was told.
	release func(clean bool) func()
	// lend sees to it that the line outlives the client's session; nil where
	// it does anyway.
	lend func()

	done  chan struct{} // closed when the backend answered
	reply contract.Reply
	err   error

	changed chan struct{} // has room for one: a question came or went

	claimed bool   // guarded by the lot's lock: a repeated call has it
	key     string // guarded by the lot's lock: what a repeated call is known by

	mu      sync.Mutex
	round   int  // the one that may come next
	tasks   bool // it may become a task
	created time.Time
	updated time.Time // when it last changed, as a task
	revived bool      // from before a restart: a later round may have been given out
	open    []open    // questions without an answer
	pages   []onPage  // questions that wait on pages
	keys    int
	coming  int           // questions that are being stored, and will be open in a moment
	sink    contract.Sink // the client of the round under way, nil while it is away
	msg     *wire.Message // its request
	notes   [][]byte      // what could not be told while it was away
	last    []byte        // the latest progress of these
	reached float64       // how far progress has come
	patient *time.Timer   // runs while it is away
	visited chan struct{} // a page that the backend wanted opened is finished
	told    bool          // its client was told to call again
	over    bool          // the backend answered
	gone    bool
}

// newParked makes a call of a client of an era that may outlive its request.
func (l *lot) newParked(e *Entry, who ask.Principal, in era.Era, m Manner) *parked {
	now := time.Now()
	pk := &parked{
		lot: l, id: ownTask + rand.Text(), who: who, era: in, away: l.relay.limits.Away, manner: m,
		tasks: e.Tasks, created: now, updated: now,
		done: make(chan struct{}), changed: make(chan struct{}, 1), visited: make(chan struct{}, 1),
	}
	if e.Away > 0 {
		pk.away = e.Away
	}
	return pk
}

// start begins a new call of a modern client, on a session that open gives.
func (l *lot) start(ctx context.Context, x *crossed, msg *wire.Message, name string, open func(*parked) (*lease, error)) (*parked, error) {
	r, info := l.relay, msg.Field(msg.MetaClientInfo)
	pk := l.newParked(x.entry, x.who, era.Modern, r.clients.of(info))
	if err := l.admit(pk); err != nil {
		return nil, err
	}
	lease, err := open(pk)
	if err != nil {
		l.remove(pk)
		return nil, err
	}
	pk.line = lease.line
	pk.release = func(clean bool) func() {
		// The session is free before the client hears the end, so that its
		// next call finds it; closing one may take a while.
		if r.pool.keep(lease, clean) {
			return nil
		}
		return func() { closeLine(lease.line) }
	}
	sent, err := wire.Scan(wire.Splice(nil, msg.Raw, era.Legacise(msg)...), r.limits.Scan)
	if err != nil {
		l.remove(pk)
		r.pool.give(lease, true)
		return nil, err
	}
	a := asker{
		relay: r, backend: x.entry.Backend.Name(), who: x.who, session: pk.id, caps: x.caps, version: era.Latest,
		during: msg.Method(), name: name, client: clientName(info), alone: !asks(msg.Method()), manner: pk.manner,
	}
	// The call's life is its own: it outlives the request that began it.
	c, life := newCall(context.WithoutCancel(ctx), &sent, nil, a, r.timeout(x.entry), r.limits.CallCap)
	pk.call, c.pk = c, pk
	r.running.Go(func() { pk.run(life, contract.Outgoing{Msg: &sent, Name: name}, pk) })
	return pk, nil
}

// run carries the call to its end at the backend.
func (pk *parked) run(ctx context.Context, out contract.Outgoing, sink contract.Sink) {
	pk.reply, pk.err = pk.conduct(ctx, out, sink)
	pk.call.finish()
	after := pk.release(pk.err == nil)
	pk.finished()
	if after != nil {
		after()
	}
}

// finished ends the wait for the backend. What no client waits for is kept.
func (pk *parked) finished() {
	pk.mu.Lock()
	pk.over, pk.updated = true, time.Now()
	suspended := pk.call.isSuspended()
	away := pk.sink == nil && !pk.gone && !suspended
	switch {
	case pk.patient != nil:
		pk.patient.Reset(pk.away)
	case pk.told && away:
		pk.expireLater()
	}
	pk.mu.Unlock()
	if away {
		pk.keepReply()
	}
	close(pk.done)
}

// serve takes part in the call for one request of its client: it gives the
// final reply, or one that asks the client to come back with answers. The
// error is a *toldError where the client is to call again once a person has
// answered on a page.
func (pk *parked) serve(ctx context.Context, msg *wire.Message, sink contract.Sink) (contract.Reply, error) {
	pk.board(msg, sink)
	defer pk.unboard(msg)
	pk.answer(msg)
	var look, budget <-chan time.Time
	if pk.era == era.Modern && pk.call.asker.caps.Any() {
		timer := time.NewTimer(pk.lot.relay.limits.Round)
		defer timer.Stop()
		budget = timer.C
	}
	held := pk.hold(msg)
	defer held.stop()
	for {
		var reply contract.Reply
		err := error(errStays)
		select {
		case <-pk.done:
			if pk.call.isSuspended() && pk.era == era.Modern {
				return pk.sendAway(msg) // and the next gateway has it
			}
			return pk.collect(msg)
		case <-pk.changed:
			if look == nil {
				look = time.After(gatherFor)
			}
		case <-look:
			if look = nil; pk.more() {
				look = time.After(gatherFor)
				continue
			}
			reply, err = pk.part(msg, held)
		case <-budget:
			if pk.mayTask(msg) {
				reply, err = pk.becomeTask(msg)
			} else {
				reply, err = pk.inputRequired(msg)
			}
		case <-held.tick():
			pk.stillWaiting()
		case <-held.over():
			held = nil
			reply, err = pk.part(msg, nil)
		case <-ctx.Done():
			return contract.Reply{}, pk.leaves(ctx)
		}
		if err != error(errStays) {
			return reply, err
		}
	}
}

// errStays says that a client is kept waiting: there is nothing to part with,
// or the call has just ended.
var errStays = ask.Errorf(ask.Internal, "The client waits on.")

// part ends the client's request where somebody must be asked first.
func (pk *parked) part(msg *wire.Message, held *hold) (contract.Reply, error) {
	pk.mu.Lock()
	open, pages, own := len(pk.open) > 0, len(pk.pages) > 0, pk.ownPages()
	pk.mu.Unlock()
	switch {
	case (open || pages) && pk.mayTask(msg):
		return pk.becomeTask(msg)
	case open && pk.era == era.Modern:
		return pk.inputRequired(msg)
	case own && held == nil:
		return contract.Reply{}, pk.tellAgain(msg)
	}
	return contract.Reply{}, errStays
}

// leave takes the client off the line, so that what comes from now on is
// kept. It is false where the backend has answered already: then the client
// gets that.
func (pk *parked) leave() bool {
	pk.mu.Lock()
	defer pk.mu.Unlock()
	if pk.over {
		return false
	}
	pk.msg, pk.sink = nil, nil
	return true
}

// leaves ends the part of a client whose request has ended without a
// response. Of a modern one, and where a legacy one said so, that is how it
// cancels; else the call waits on.
func (pk *parked) leaves(ctx context.Context) error {
	why := ask.From(context.Cause(ctx))
	if pk.era == era.Modern && why.Code == ask.Internal {
		why = ask.Errorf(ask.ClientCancelled, "The client closed the stream of its call.")
	}
	if pk.era == era.Modern || why.Code == ask.ClientCancelled {
		pk.end(why)
	} else {
		pk.unclaim()
	}
	return why
}

// more reports whether another question is on its way: a round is not sent
// while one is being stored.
func (pk *parked) more() bool {
	pk.mu.Lock()
	defer pk.mu.Unlock()
	return pk.coming > 0
}

// inputRequired sends the client away, with what it is asked.
func (pk *parked) inputRequired(msg *wire.Message) (contract.Reply, error) {
	if !pk.leave() {
		return contract.Reply{}, errStays
	}
	return pk.sendAway(msg)
}

func (pk *parked) sendAway(msg *wire.Message) (contract.Reply, error) {
	pk.mu.Lock()
	b := append([]byte(`{"jsonrpc":"2.0","id":`), msg.Field(msg.ID)...)
	b = append(b, `,"result":{"resultType":"input_required"`...)
	if len(pk.open) > 0 {
		b = appendOpen(append(b, `,"inputRequests":`...), pk.open)
	}
	b = append(b, `,"requestState":"`+pk.id+"."+strconv.Itoa(pk.round)+`"}}`...)
	pk.patient = time.AfterFunc(pk.away, func() {
		pk.end(ask.Errorf(ask.ClientGone, "The client did not come back with an answer."))
	})
	pk.mu.Unlock()
	m, err := wire.Scan(b, pk.lot.relay.limits.Scan)
	return contract.Reply{Msg: m, Status: 200, Unsent: func() {
		pk.end(ask.Errorf(ask.ClientGone, "The client did not get the question."))
	}}, err
}

// collect hands the final reply over. It is then nobody's any more, unless it
// cannot be sent to a client that may come back.
func (pk *parked) collect(msg *wire.Message) (contract.Reply, error) {
	pk.lot.remove(pk)
	pk.mu.Lock()
	told := pk.told
	pk.mu.Unlock()
	if told {
		pk.drop()
	}
	if pk.err != nil {
		return contract.Reply{Event: pk.reply.Event}, notTaken(pk.err, pk.call.asker.backend, msg.Method())
	}
	reply, err := pk.reply, error(nil)
	if pk.era == era.Modern {
		reply, err = modernReply(pk.lot.relay, pk.reply, msg.Method())
	}
	if told {
		reply.Unsent = pk.giveBack
	}
	return reply, err
}

// end gives the call up: its questions first, then the call itself.
func (pk *parked) end(why *ask.Error) {
	pk.mu.Lock()
	pk.gone = true
	if pk.patient != nil {
		pk.patient.Stop()
	}
	told := pk.told
	pk.mu.Unlock()
	pk.lot.remove(pk)
	pk.call.end(why)
	if told && why.Code != ask.ShuttingDown {
		pk.drop()
	}
}

// self finds the call behind a sink.
func (pk *parked) self() *call { return pk.call }

func (pk *parked) signal() {
	select {
	case pk.changed <- struct{}{}:
	default:
	}
}
