package relay

import (
	"context"
	"crypto/rand"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/desk"
	"github.com/answerback/answerback/internal/era"
	"github.com/answerback/answerback/internal/wire"
)

const (
	// gatherFor is how long a round waits for further questions of its call:
	// clients stop after ten rounds.
	gatherFor = 5 * time.Millisecond
	// maxHeldNotes bounds the notifications kept while no client listens.
	maxHeldNotes = 64
)

// lot holds the calls of modern clients at legacy backends. Such a call
// cannot be started again when its client comes back with an answer, so it
// goes on while the client is away.
type lot struct {
	relay *Relay

	mu    sync.Mutex
	calls map[string]*parked
	each  map[ask.Principal]int
}

// parked is one such call.
type parked struct {
	lot   *lot
	id    string
	who   ask.Principal
	lease *lease
	call  *call
	away  time.Duration // how long it waits for its client

	done  chan struct{} // closed when the backend answered
	reply Reply
	err   error

	changed chan struct{} // has room for one: a question came or went

	mu      sync.Mutex
	round   int  // the one that may come next
	tasks   bool // it may become a task
	created time.Time
	revived bool   // from before a restart: a later round may have been given out
	open    []open // questions without an answer
	keys    int
	coming  int           // questions that are being stored, and will be open in a moment
	sink    Sink          // the client of the round under way, nil while it is away
	msg     *wire.Message // its request
	notes   [][]byte      // what could not be told while it was away
	last    []byte        // the latest progress of these
	patient *time.Timer   // runs while it is away
	visited chan struct{} // a page that the backend wanted opened is finished
	gone    bool
}

// open is a question that waits for an answer.
type open struct {
	key string
	ask ask.Ask
}

// start begins a new call on a session of its own.
func (l *lot) start(ctx context.Context, e *Entry, who ask.Principal, caps era.Caps, msg *wire.Message, name string) (*parked, error) {
	pk := &parked{
		lot: l, id: ownTask + rand.Text(), who: who, away: l.relay.limits.Away, tasks: e.Tasks, created: time.Now(),
		done: make(chan struct{}), changed: make(chan struct{}, 1), visited: make(chan struct{}, 1),
	}
	if e.Away > 0 {
		pk.away = e.Away
	}
	if err := l.admit(pk); err != nil {
		return nil, err
	}
	lease, err := l.relay.pool.take(ctx, e, who, caps, msg, pk)
	if err != nil {
		l.remove(pk)
		return nil, err
	}
	pk.lease = lease
	sent, err := wire.Scan(wire.Splice(nil, msg.Raw, era.Legacise(msg)...), l.relay.limits.Scan)
	if err != nil {
		l.remove(pk)
		l.relay.pool.give(lease, true)
		return nil, err
	}
	a := asker{relay: l.relay, backend: e.Backend.Name(), who: who, session: pk.id, caps: caps, during: msg.Method(), name: name, client: clientName(msg.Field(msg.MetaClientInfo)), alone: !asks(msg.Method())}
	// The call's life is its own: it outlives the request that began it.
	c, life := newCall(context.WithoutCancel(ctx), &sent, nil, a, l.relay.timeout(e), l.relay.limits.CallCap)
	pk.call = c
	l.relay.running.Go(func() { pk.run(life, Outgoing{Msg: &sent, Name: name}) })
	return pk, nil
}

// admit makes room for a call, within the limit of its principal.
func (l *lot) admit(pk *parked) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.each[pk.who] >= l.relay.limits.Parked {
		return ask.Errorf(ask.TooManyOpen, "You have as many calls under way as you may have.")
	}
	l.each[pk.who]++
	l.calls[pk.id] = pk
	return nil
}

func (l *lot) remove(pk *parked) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.calls[pk.id] != pk {
		return
	}
	delete(l.calls, pk.id)
	if l.each[pk.who]--; l.each[pk.who] == 0 {
		delete(l.each, pk.who)
	}
}

// end gives all calls up.
func (l *lot) end(why *ask.Error) {
	l.mu.Lock()
	all := make([]*parked, 0, len(l.calls))
	for _, pk := range l.calls {
		all = append(all, pk)
	}
	l.mu.Unlock()
	for _, pk := range all {
		pk.end(why)
	}
}

// attach finds the call that a retry belongs to. A state is good for one
// retry: of two at the same time one is refused.
func (l *lot) attach(ctx context.Context, who ask.Principal, state string) (*parked, error) {
	id, round, _ := strings.Cut(state, ".")
	n, err := strconv.Atoi(round)
	pk := l.find(ctx, who, id)
	if err != nil || pk == nil {
		return nil, ask.Errorf(ask.BadState, "The call that this requestState belongs to is over. Call again without it.")
	}
	pk.mu.Lock()
	defer pk.mu.Unlock()
	if pk.gone || pk.round != n && !(pk.revived && n > pk.round) {
		return nil, ask.Errorf(ask.BadState, "This requestState was used already.")
	}
	pk.round, pk.revived = n+1, false
	if pk.patient != nil {
		pk.patient.Stop()
	}
	return pk, nil
}

// run carries the call to its end at the backend.
func (pk *parked) run(ctx context.Context, out Outgoing) {
	pk.reply, pk.err = pk.conduct(ctx, out)
	pk.call.finish()
	// The session is free before the client hears the end, so that its next
	// call finds it; closing one may take a while.
	kept := pk.lot.relay.pool.keep(pk.lease, pk.err == nil)
	pk.finished()
	if !kept {
		closeLine(pk.lease.line)
	}
}

// finished ends the wait for the backend. What no client waits for is kept.
func (pk *parked) finished() {
	pk.mu.Lock()
	away := pk.sink == nil && !pk.gone && !pk.call.isSuspended()
	if pk.patient != nil {
		pk.patient.Reset(pk.away)
	}
	pk.mu.Unlock()
	if away {
		pk.keepReply()
	}
	close(pk.done)
}

// serve takes part in the call for one round: it gives the final reply, or
// one that asks the client to come back with answers.
func (pk *parked) serve(ctx context.Context, msg *wire.Message, sink Sink) (Reply, error) {
	pk.board(msg, sink)
	defer pk.board(nil, nil)
	pk.answer(msg)
	var gather, budget <-chan time.Time
	if pk.call.asker.caps.Any() {
		timer := time.NewTimer(pk.lot.relay.limits.Round)
		defer timer.Stop()
		budget = timer.C
	}
	for {
		if gather == nil && pk.waits() {
			timer := time.NewTimer(gatherFor)
			defer timer.Stop()
			gather = timer.C
		}
		select {
		case <-pk.done:
			if pk.call.isSuspended() {
				return pk.inputRequired(msg) // and the next gateway has it
			}
			return pk.collect(msg)
		case <-pk.changed:
		case <-gather:
			switch {
			case !pk.waits() || pk.more():
				gather = nil
			case pk.mayTask(msg):
				return pk.becomeTask(msg)
			default:
				return pk.inputRequired(msg)
			}
		case <-budget:
			if pk.mayTask(msg) {
				return pk.becomeTask(msg)
			}
			return pk.inputRequired(msg)
		case <-ctx.Done():
			why := ask.From(context.Cause(ctx))
			if why.Code == ask.Internal {
				why = ask.Errorf(ask.ClientCancelled, "The client closed the stream of its call.")
			}
			pk.end(why)
			return Reply{}, why
		}
	}
}

// board puts the client of a round on the line, and tells it first what it
// missed.
func (pk *parked) board(msg *wire.Message, sink Sink) {
	pk.mu.Lock()
	defer pk.mu.Unlock()
	pk.msg, pk.sink = msg, sink
	if sink == nil {
		return
	}
	notes := pk.notes
	if pk.last != nil {
		notes = append(notes, pk.last)
	}
	pk.notes, pk.last = nil, nil
	for _, raw := range notes {
		pk.tell(raw)
	}
}

func (pk *parked) waits() bool {
	pk.mu.Lock()
	defer pk.mu.Unlock()
	return len(pk.open) > 0
}

// more reports whether another question is on its way: a round is not sent
// while one is being stored.
func (pk *parked) more() bool {
	pk.mu.Lock()
	defer pk.mu.Unlock()
	return pk.coming > 0
}

// answer gives the desk what the client brought. Keys that nobody asked with
// are passed over; what is missing is asked again.
func (pk *parked) answer(msg *wire.Message) {
	for member := range wire.Members(msg.Raw, msg.InputResponses) {
		key, _ := wire.Unquote(member.Key.Of(msg.Raw))
		id := pk.take(key)
		if id == "" {
			continue
		}
		err := pk.lot.relay.desk.Answer(id, desk.From{Principal: pk.who, Session: pk.id, Surface: "mcp"}, answerIn(msg.Raw, member.Value))
		if err != nil {
			pk.lot.relay.log.Info("answer not taken", "ask", id, "code", ask.CodeOf(err), "err", err)
		}
	}
}

// take gives the ask behind a key, which is then no longer open.
func (pk *parked) take(key string) string {
	pk.mu.Lock()
	defer pk.mu.Unlock()
	for i, o := range pk.open {
		if o.key == key {
			pk.open = append(pk.open[:i:i], pk.open[i+1:]...)
			return o.ask.ID
		}
	}
	return ""
}

// inputRequired sends the client away, with what it is asked.
func (pk *parked) inputRequired(msg *wire.Message) (Reply, error) {
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
	return Reply{Msg: m, Status: 200, Unsent: func() {
		pk.end(ask.Errorf(ask.ClientGone, "The client did not get the question."))
	}}, err
}

// appendOpen writes open questions as a client of the modern era gets them.
func appendOpen(b []byte, questions []open) []byte {
	b = append(b, '{')
	for i, o := range questions {
		if i > 0 {
			b = append(b, ',')
		}
		b = wire.AppendString(b, o.key)
		b = wire.AppendString(append(b, `:{"method":`...), o.ask.Method)
		// There are clients that cannot read a question without params.
		params := o.ask.Params
		if len(params) == 0 {
			params = []byte("{}")
		}
		b = append(append(append(b, `,"params":`...), params...), '}')
	}
	return append(b, '}')
}

// collect hands the final reply over. It is then nobody's any more.
func (pk *parked) collect(msg *wire.Message) (Reply, error) {
	pk.lot.remove(pk)
	if pk.err != nil {
		return Reply{Event: pk.reply.Event}, notTaken(pk.err, pk.call.asker.backend, msg.Method())
	}
	return modernReply(pk.lot.relay, pk.reply, msg.Method())
}

// end gives the call up: its questions first, then the call itself.
func (pk *parked) end(why *ask.Error) {
	pk.mu.Lock()
	pk.gone = true
	if pk.patient != nil {
		pk.patient.Stop()
	}
	pk.mu.Unlock()
	pk.lot.remove(pk)
	pk.call.end(why)
}

// Question carries a question of the call, under a key of its own.
func (pk *parked) Question(q *Question) {
	o := pk.offer()
	pk.call.asker.carry(q, o, pk.call)
	pk.mu.Lock()
	pk.coming--
	pk.mu.Unlock()
}

// self finds the call behind a sink.
func (pk *parked) self() *call { return pk.call }

// offer makes the way in which one question is put to the client.
func (pk *parked) offer() *offer {
	pk.mu.Lock()
	defer pk.mu.Unlock()
	pk.keys++
	pk.coming++
	return &offer{pk, "q" + strconv.Itoa(pk.keys)}
}

// offer is one question of a parked call on its way to the client.
type offer struct {
	*parked
	key string
}

// Notify sends a notification to the client.
func (o *offer) Notify(msg []byte) { o.tellNow(msg) }

// Mark is empty: a parked call is found by its state, not by a connection.
func (o *offer) Mark() []byte { return nil }

// Show offers a question to the client in the round under way, or in the next.
func (o *offer) Show(a *ask.Ask) error {
	pk := o.parked
	pk.mu.Lock()
	pk.open = append(pk.open, open{o.key, *a})
	pk.mu.Unlock()
	pk.signal()
	return nil
}

// Withdraw takes a question back that was not answered yet.
func (o *offer) Withdraw(id string, _ *ask.Error) {
	pk := o.parked
	pk.mu.Lock()
	for i, o := range pk.open {
		if o.ask.ID == id {
			pk.open = append(pk.open[:i:i], pk.open[i+1:]...)
			break
		}
	}
	pk.mu.Unlock()
	pk.signal()
}

func (pk *parked) signal() {
	select {
	case pk.changed <- struct{}{}:
	default:
	}
}

// Notify passes a notification of the call on, or keeps it for later.
func (pk *parked) Notify(msg *wire.Message) { pk.tellNow(msg.Raw) }

func (pk *parked) tellNow(raw []byte) {
	pk.mu.Lock()
	defer pk.mu.Unlock()
	pk.tell(raw)
}

// tell is Notify for whoever has the lock. Progress carries the token of the
// round under way; log messages go only to who wants them.
func (pk *parked) tell(raw []byte) {
	m, err := wire.Scan(raw, pk.lot.relay.limits.Scan)
	if err != nil {
		return
	}
	progress := m.Method() == "notifications/progress"
	switch {
	case pk.sink == nil && progress:
		pk.last = append(pk.last[:0], raw...)
	case pk.sink == nil:
		if len(pk.notes) < maxHeldNotes {
			pk.notes = append(pk.notes, append([]byte(nil), raw...))
		}
	case progress:
		token := pk.msg.Field(pk.msg.MetaToken)
		if token == nil {
			return
		}
		if m, err = wire.Scan(wire.Splice(nil, raw, wire.Edit{Span: m.Token, With: token}), pk.lot.relay.limits.Scan); err == nil {
			pk.sink.Notify(&m)
		}
	case m.Method() == "notifications/message" && pk.msg.MetaLogLevel.IsZero():
	case m.Method() == "notifications/elicitation/complete":
	default:
		pk.sink.Notify(&m)
	}
}

// event takes what the session sends outside any call.
func (pk *parked) event(msg *wire.Message) {
	if msg.Method() == "notifications/elicitation/complete" {
		select {
		case pk.visited <- struct{}{}:
		default:
		}
	}
}
