package mcp

import (
	"bytes"
	"context"
	"slices"
	"strconv"
	"sync/atomic"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/contract"
	"github.com/answerback/answerback/internal/wire"
)

// question is an open request of the server's.
type question struct {
	board *board
	id    []byte // as the server wrote it
	key   string
	token []byte // its progress token, nil when it has none
	gone  context.Context
	leave context.CancelCauseFunc
	taken atomic.Bool // somebody is replying, or has
	calls []*call     // those that it may belong to; guarded by board.mu

	method string
}

// ask takes a request of the server's. own is the call on whose stream it
// came, and cursor the id of the event that brought it.
func (b *board) ask(m *wire.Message, own *call, cursor string) {
	id := bytes.Clone(m.Field(m.ID))
	switch {
	case m.Method() == "ping":
		b.answer(id, []byte("{}"), nil)
		return
	case b.events == nil:
		b.answer(id, nil, ask.Errorf(ask.UnknownMethod, "A modern server asks in its results, not by requests."))
		return
	}
	calls := []*call{own}
	if own == nil {
		calls = b.inFlight()
	}
	q := b.newQuestion(m.Method(), id, bytes.Clone(m.Field(m.MetaToken)), slices.Clone(calls))
	if why, ok := b.admit(q); !ok {
		q.leave(nil)
		if why != nil {
			b.answer(id, nil, why)
		}
		return
	}
	// The question is in memory until it has ended, however it does.
	hold := b.held()
	context.AfterFunc(q.gone, hold.Release)
	if err := hold.Grow(int64(len(m.Field(m.Params)))); err != nil {
		q.end(nil)
		b.answer(id, nil, ask.From(err))
		return
	}
	out := q.public()
	out.Params = bytes.Clone(m.Field(m.Params))
	if own != nil && b.handle != nil && cursor != "" {
		out.Resume = b.handle(own, q, cursor)
	}
	b.deliver(q, out, calls)
}

func (b *board) newQuestion(method string, id, token []byte, calls []*call) *question {
	q := &question{board: b, method: method, id: id, key: wire.IDKey(id), token: token, calls: calls}
	q.gone, q.leave = context.WithCancelCause(b.life)
	return q
}

// public gives the question as whoever answers it sees it.
func (q *question) public() *contract.Question {
	out := &contract.Question{Method: q.method, Token: q.token, Reply: q.reply, Gone: q.gone}
	if q.token != nil {
		out.Progress = q.progress
	}
	return out
}

// admit enters a question on the board. It is not ok where the question is a
// repetition, or, with a reason to tell the server, where there are too many.
func (b *board) admit(q *question) (*ask.Error, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.asked) >= b.limits.Questions && !b.knows(q) {
		return ask.Errorf(ask.TooManyOpen, "This session has as many open questions as it may have."), false
	}
	return nil, b.put(q)
}

// readmit is admit for a question from before a restart, whatever the limit
// says now.
func (b *board) readmit(q *question) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.put(q)
}

// knows reports whether a question is open, or was. The board is locked.
func (b *board) knows(q *question) bool {
	return b.asked[q.key] != nil || slices.Contains(b.seen, q.key)
}

// put takes a question that is new. The board is locked.
func (b *board) put(q *question) bool {
	if b.knows(q) {
		return false
	}
	if b.asked == nil {
		b.asked = make(map[string]*question)
	}
	b.remember(q.key)
	b.asked[q.key] = q
	return true
}

// remember notes that an id was asked with. The board is locked.
func (b *board) remember(key string) {
	if len(b.seen) < seenQuestions {
		b.seen = append(b.seen, key)
		return
	}
	b.seen[b.at] = key
	b.at = (b.at + 1) % seenQuestions
}

// deliver puts a question to its call's sink, or to the line's events where
// it may be any of several calls', or nobody's.
func (b *board) deliver(q *question, out *contract.Question, calls []*call) {
	sinks := make([]contract.Sink, 0, len(calls))
	var only *call
	for _, c := range calls {
		c.mu.Lock()
		sink := c.sink
		if sink != nil {
			c.asked = append(c.asked, q)
		}
		c.mu.Unlock()
		if sink == nil {
			q.drop(c)
			continue
		}
		sinks = append(sinks, sink)
		only = c
	}
	if len(sinks) == 1 && (only.question(out) || q.gone.Err() != nil) {
		return
	}
	if len(sinks) > 1 {
		out.Candidates = sinks
	}
	b.eventsMu.Lock()
	defer b.eventsMu.Unlock()
	b.events.Question(out)
}

// forget takes a question off the board.
func (q *question) forget() {
	b := q.board
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.asked[q.key] == q {
		delete(b.asked, q.key)
	}
}

// end closes a question that was not answered.
func (q *question) end(why *ask.Error) {
	q.forget()
	if !q.taken.Load() {
		q.leave(why)
	}
}

// without says that c is over. The question ends with the last call that it
// may belong to.
func (q *question) without(c *call, why *ask.Error) {
	if q.drop(c) == 0 {
		q.end(why)
	}
}

// drop takes a call from those that the question may belong to, and gives the
// number left.
func (q *question) drop(c *call) int {
	q.board.mu.Lock()
	defer q.board.mu.Unlock()
	q.calls = slices.DeleteFunc(q.calls, func(x *call) bool { return x == c })
	return len(q.calls)
}

// reply answers the server, once.
func (q *question) reply(ctx context.Context, result, fault []byte) error {
	if !q.taken.CompareAndSwap(false, true) {
		return nil
	}
	q.forget()
	if ask.CodeOf(context.Cause(q.gone)) == ask.BackendWithdrew {
		return nil // it would not know what is being answered
	}
	defer q.leave(nil)
	return q.board.send(ctx, response(q.id, result, fault))
}

// progress tells the server that somebody is still thinking.
func (q *question) progress(ctx context.Context, n int) error {
	if q.taken.Load() || q.gone.Err() != nil {
		return nil
	}
	msg := append([]byte(nil), `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":`...)
	msg = append(msg, q.token...)
	msg = append(msg, `,"progress":`...)
	msg = strconv.AppendInt(msg, int64(n), 10)
	msg = append(msg, "}}"...)
	return q.board.send(ctx, msg)
}

// response builds a response: with fault where that is set.
func response(id, result, fault []byte) []byte {
	key, value := `,"result":`, result
	if fault != nil {
		key, value = `,"error":`, fault
	}
	msg := make([]byte, 0, len(id)+len(value)+40)
	msg = append(msg, `{"jsonrpc":"2.0","id":`...)
	msg = append(msg, id...)
	msg = append(msg, key...)
	msg = append(msg, value...)
	return append(msg, '}')
}

// cancelNotice builds the notification that tells a server of a cancelled call.
func cancelNotice(id int64, why error) []byte {
	reason := "The caller went away."
	if e := ask.From(why); e.Code != ask.Internal {
		reason = e.Message
	}
	msg := append([]byte(nil), `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":`...)
	msg = strconv.AppendInt(msg, id, 10)
	msg = append(msg, `,"reason":`...)
	msg = wire.AppendString(msg, reason)
	return append(msg, "}}"...)
}
