package mcp

import (
	"bytes"
	"context"
	"log/slog"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/budget"
	"github.com/answerback/answerback/internal/contract"
	"github.com/answerback/answerback/internal/wire"
)

// board is what one line has in flight: calls under ids of the line's own,
// and open questions under the server's. It routes what the server sends. It
// also holds the line's life.
type board struct {
	name   string
	held   func() *budget.Hold // begins to count what the server sends
	log    *slog.Logger
	limits Limits
	noise  limiter

	// events takes what belongs to no call; nil on a stateless line, where
	// the server may not ask either.
	events   contract.Events
	eventsMu sync.Mutex

	// send brings a message of ours to the server. Its error is an
	// *ask.Error: BackendUnreachable means that the server did not see it.
	send func(ctx context.Context, msg []byte) error
	// handle makes the resume handle of a question; nil where there is none.
	handle func(c *call, q *question, cursor string) []byte

	life context.Context // ends when the line is dead, with an *ask.Error as its cause
	kill context.CancelCauseFunc
	over atomic.Bool
	up   atomic.Bool // the handshake is over: somebody wants to know of the end
	crew crew
	busy chan struct{} // bounds the answers that the line sends by itself

	next atomic.Int64

	mu    sync.Mutex
	calls map[int64]*call
	asked map[string]*question // open ones
	seen  []string             // ring of ids asked with, against redelivery
	at    int
}

// answersAtOnce bounds the answers to pings and refused questions that are on
// their way to the server at one time.
const answersAtOnce = 16

// seenQuestions is how many question ids a line remembers. The protocol does
// not allow an id to be used twice, but a resumed stream may repeat itself.
const seenQuestions = 1024

func newBoard(b *Backend, events contract.Events) *board {
	life, kill := context.WithCancelCause(context.Background())
	return &board{
		name: b.cfg.Name, held: b.held, log: b.log, limits: b.cfg.Limits, events: events,
		life: life, kill: kill, busy: make(chan struct{}, answersAtOnce),
		calls: make(map[int64]*call),
	}
}

// end makes the line dead. It is true for the first caller only.
func (b *board) end(why *ask.Error) bool {
	if !b.over.CompareAndSwap(false, true) {
		return false
	}
	b.kill(why)
	return true
}

// die makes the line dead by itself, and says so to whoever has it.
func (b *board) die(line contract.Line, owner *Backend, why *ask.Error) {
	if !b.end(why) {
		return
	}
	owner.drop(line)
	if b.up.Load() {
		// On a goroutine that the line does not wait for: whoever is told
		// may close it.
		owner.crew.spawn(func() { b.events.Lost(why) })
	}
}

// why gives the reason of the line's death.
func (b *board) why() *ask.Error { return ask.From(context.Cause(b.life)) }

// call is one request in flight.
type call struct {
	id     int64
	method string
	own    []byte // the client's id
	token  []byte // the client's progress token, nil when it gave none
	wake   func() // called once when the call is settled by another stream

	// mu lets one goroutine at a time use the sink.
	mu      sync.Mutex
	sink    contract.Sink // nil once the call is over
	settled bool
	reply   wire.Message
	err     *ask.Error
	asked   []*question // what it was asked, perhaps with others as candidates

	hold    *budget.Hold // the memory of its response
	request *budget.Hold // what the response is let go with, nil for none
}

// open registers a call. wake is called, once, when the call is settled.
func (b *board) open(ctx context.Context, msg *wire.Message, sink contract.Sink, wake func()) (*call, error) {
	c := &call{
		id: b.next.Add(1), method: msg.Method(), wake: wake,
		own: msg.Field(msg.ID), token: msg.Field(msg.MetaToken), sink: sink,
		hold: b.held(), request: budget.From(ctx),
	}
	b.mu.Lock()
	b.calls[c.id] = c
	b.mu.Unlock()
	if b.life.Err() != nil {
		b.close(c, b.why())
		return nil, b.why()
	}
	return c, nil
}

// close takes a call off the board. Questions that can be no other call's end
// with it, for the reason given.
func (b *board) close(c *call, why *ask.Error) {
	b.mu.Lock()
	delete(b.calls, c.id)
	b.mu.Unlock()
	c.mu.Lock()
	c.sink = nil
	asked, hold := c.asked, c.hold
	c.asked, c.hold = nil, nil
	c.mu.Unlock()
	passOn(hold, c.request)
	for _, q := range asked {
		q.without(c, why)
	}
}

// settle ends a call from another goroutine than its own: with a response,
// whose bytes the call then owns, or with an error.
func (c *call) settle(reply wire.Message, err *ask.Error) {
	c.mu.Lock()
	first := !c.settled && c.sink != nil
	if first {
		c.settled, c.reply, c.err = true, reply, err
	}
	c.mu.Unlock()
	if first {
		c.wake()
	}
}

// settleOwn ends a call with a response that is not its own to keep yet. Where
// there is no memory for it the call fails.
func (c *call) settleOwn(backend string, m *wire.Message) {
	c.mu.Lock()
	var err error
	if !c.settled && c.hold != nil {
		err = c.hold.Grow(int64(len(m.Raw)))
	}
	c.mu.Unlock()
	if err != nil {
		c.settle(wire.Message{}, noRoom(backend, err))
		return
	}
	c.settle(owned(m), nil)
}

// outcome gives what settle was given, if it was called.
func (c *call) outcome() (wire.Message, *ask.Error, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.reply, c.err, c.settled
}

func (c *call) isSettled() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.settled
}

func (c *call) notify(m *wire.Message) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.sink != nil {
		c.sink.Notify(m)
	}
}

// question puts q to the call's own sink. It is false when the call is over.
func (c *call) question(q *contract.Question) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.sink == nil {
		return false
	}
	c.sink.Question(q)
	return true
}

// find gives the call that an id or token of ours names, or nil.
func (b *board) find(token []byte) *call {
	id, ok := number(token)
	if !ok {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.calls[id]
}

// inFlight gives the calls that a question without an address may belong to,
// newest last: those in which servers ask, or else all.
func (b *board) inFlight() []*call {
	b.mu.Lock()
	defer b.mu.Unlock()
	var can, other []*call
	for _, c := range b.calls {
		if canAsk(c.method) {
			can = append(can, c)
		} else {
			other = append(other, c)
		}
	}
	if can == nil {
		can = other
	}
	slices.SortFunc(can, func(x, y *call) int { return int(x.id - y.id) })
	return can
}

// canAsk reports whether servers ask questions in requests of a method.
func canAsk(method string) bool {
	switch method {
	case "tools/call", "prompts/get", "resources/read", "completion/complete", "tasks/result":
		return true
	}
	return false
}

// upstream gives a request as it goes to the server: with its edits, and with
// the call's number in place of the client's id and progress token.
func (c *call) upstream(out *contract.Outgoing) []byte {
	m := out.Msg
	var buf [20]byte
	id := strconv.AppendInt(buf[:0], c.id, 10)
	var room [8]wire.Edit
	edits := append(room[:0], out.Edits...)
	edits = addEdit(edits, wire.Edit{Span: m.ID, With: id})
	if c.token != nil && !covered(out.Edits, m.MetaToken) {
		edits = addEdit(edits, wire.Edit{Span: m.MetaToken, With: id})
	}
	return wire.Splice(make([]byte, 0, grown(m.Raw, edits)), m.Raw, edits...)
}

// addEdit inserts e in its place.
func addEdit(edits []wire.Edit, e wire.Edit) []wire.Edit {
	i := len(edits)
	for i > 0 && edits[i-1].Span.Start > e.Span.Start {
		i--
	}
	return slices.Insert(edits, i, e)
}

// covered reports whether an edit removes or replaces what is at s.
func covered(edits []wire.Edit, s wire.Span) bool {
	for _, e := range edits {
		if e.Span.Start < s.End && s.Start < e.Span.End {
			return true
		}
	}
	return false
}

func grown(raw []byte, edits []wire.Edit) int {
	n := len(raw)
	for _, e := range edits {
		n += len(e.With)
	}
	return n
}

// number reads an id or token that may be one of ours.
func number(token []byte) (int64, bool) {
	if len(token) == 0 || token[0] == '"' || len(token) > 24 {
		return 0, false
	}
	n, err := strconv.ParseInt(string(token), 10, 64)
	if err == nil {
		return n, true
	}
	// Servers that hold numbers as floats may write 1 as 1.0 or 1e0.
	f, err := strconv.ParseFloat(string(token), 64)
	if err != nil || f != float64(int64(f)) {
		return 0, false
	}
	return int64(f), true
}

// owned gives m with bytes of its own.
func owned(m *wire.Message) wire.Message {
	o := *m
	o.Raw = bytes.Clone(m.Raw)
	return o
}
