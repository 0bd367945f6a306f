package mcp

import (
	"bytes"
	"sync"
	"time"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/era"
	"github.com/answerback/answerback/internal/wire"
)

// maxBatch bounds the messages in one batch of a 2025-03-26 server.
const maxBatch = 1000

// inbound takes what came in one frame: a message, or a batch of them. own is
// the call on whose stream it came, nil for a stream of the whole line. It
// gives own's final response when that was in it, else nil. Bytes are used only
// until it returns, but for that response, which shares them.
func (b *board) inbound(frame []byte, own *call, cursor string) (final *wire.Message) {
	if !wire.IsBatch(frame) {
		return b.one(frame, own, cursor)
	}
	parts, err := wire.Batch(frame, b.scan(), maxBatch)
	if err != nil {
		b.unread(frame, err, own)
		return nil
	}
	for _, part := range parts {
		if m := b.one(part, own, cursor); m != nil {
			final = m
		}
	}
	return final
}

func (b *board) one(raw []byte, own *call, cursor string) *wire.Message {
	m := b.read(raw, own)
	if m == nil {
		return nil
	}
	switch m.Kind {
	case wire.Request:
		b.ask(m, own, cursor)
	case wire.Notification:
		b.notify(m, own)
	default:
		c := b.find(m.Field(m.ID))
		if c == nil {
			b.log.Debug("response to nothing in flight dropped")
			break
		}
		m = c.restoreSubscription(m)
		if c == own {
			return m
		}
		c.settleOwn(b.name, m)
	}
	return nil
}

// read scans a message; nil where it could not be read. It is apart from what
// comes after it, which then does not have the scanner's frame below it.
func (b *board) read(raw []byte, own *call) *wire.Message {
	m, err := wire.Scan(raw, b.scan())
	if err != nil {
		b.unread(raw, err, own)
		return nil
	}
	return &m
}

func (b *board) scan() wire.Limits { return wire.Limits{Bytes: b.limits.MessageBytes} }

// unread deals with what could not be read. A message that is JSON-RPC but
// ambiguous or too large fails the call that it names; anything else is noise.
func (b *board) unread(raw []byte, err error, own *call) {
	code := ask.CodeOf(err)
	if b.noise.allow() {
		b.log.Warn("unreadable message from backend skipped", "code", code, "bytes", len(raw), "err", err)
	}
	kind := kindOfHead(raw)
	if kind == headNoise || own == nil && code == ask.BadMessage {
		return // a stray line of output; its numbers mean nothing
	}
	if kind == headAsks {
		if id := wire.Salvage(raw); id != nil {
			b.answer(bytes.Clone(id), nil, ask.From(err))
		}
		return
	}
	if c := b.find(wire.Salvage(raw)); c != nil {
		if code == ask.TooLarge {
			c.settle(wire.Message{}, tooLarge(b.name, b.limits.MessageBytes))
			return
		}
		c.settle(wire.Message{}, broken(b.name, "a response that cannot be read", err))
	}
}

// What the beginning of an unreadable message can be.
const (
	headNoise    = iota // no JSON-RPC at all
	headAsks            // a request or a notification
	headResponds        // a response, or a batch that may hold one
)

func kindOfHead(head []byte) int {
	head = bytes.TrimLeft(head, " \t\r\n")
	if len(head) == 0 || head[0] != '{' && head[0] != '[' {
		return headNoise
	}
	for m := range wire.Members(head, wire.Whole(head)) {
		if key, _ := wire.Unquote(m.Key.Of(head)); key == "method" {
			return headAsks
		}
	}
	return headResponds
}

// notify routes a notification.
func (b *board) notify(m *wire.Message, own *call) {
	switch method := m.Method(); {
	case method == "notifications/progress":
		// Without a token of the client's nobody asked for progress.
		if c := b.find(m.Field(m.Token)); c != nil && c.token != nil {
			if n, ok := replaced(m, m.Token, c.token); ok {
				c.notify(&n)
			}
		}
	case method == "notifications/cancelled":
		b.cancelled(m)
	case !m.MetaSubscription.IsZero():
		if c := b.find(m.Field(m.MetaSubscription)); c != nil {
			if n, ok := replaced(m, m.MetaSubscription, c.own); ok {
				c.notify(&n)
			}
		}
	case own != nil:
		own.notify(m)
	case b.events != nil:
		b.eventsMu.Lock()
		defer b.eventsMu.Unlock()
		b.events.Notify(m)
	default:
		// A log message of a modern server on a shared channel does not say
		// whose it is. The newest call is the best guess.
		if calls := b.inFlight(); len(calls) > 0 {
			calls[len(calls)-1].notify(m)
		}
	}
}

// cancelled takes back a question of the server's, or ends a subscription.
func (b *board) cancelled(m *wire.Message) {
	id := m.Field(m.RequestID)
	if id == nil {
		return
	}
	b.mu.Lock()
	q := b.asked[wire.IDKey(id)]
	b.mu.Unlock()
	if q != nil {
		q.end(ask.Errorf(ask.BackendWithdrew, "The server took its question back."))
		return
	}
	if c := b.find(id); c != nil && c.method == "subscriptions/listen" {
		c.settle(wire.Message{}, lost(b.name, c.method, "it ended the subscription", nil))
	}
}

// restoreSubscription puts the client's id back where a final response
// repeats it as the id of a subscription.
func (c *call) restoreSubscription(m *wire.Message) *wire.Message {
	if m.ResultMetaSubscription.IsZero() {
		return m
	}
	if n, ok := number(m.Field(m.ResultMetaSubscription)); !ok || n != c.id {
		return m
	}
	if n, ok := replaced(m, m.ResultMetaSubscription, c.own); ok {
		return &n
	}
	return m
}

// replaced gives a copy of m with other bytes at a span.
func replaced(m *wire.Message, at wire.Span, with []byte) (wire.Message, bool) {
	if bytes.Equal(m.Field(at), with) {
		return *m, true
	}
	raw := wire.Splice(make([]byte, 0, len(m.Raw)+len(with)), m.Raw, wire.Edit{Span: at, With: with})
	n, err := wire.Scan(raw, wire.Limits{Bytes: len(raw)})
	return n, err == nil
}

// answer sends a response of the line's own, without holding up the stream
// for longer than it takes to find somebody to send it.
func (b *board) answer(id, result []byte, refusal *ask.Error) {
	var fault []byte
	if refusal != nil {
		fault = era.ErrorObject(refusal, era.Legacy)
	}
	body := response(id, result, fault)
	select {
	case b.busy <- struct{}{}:
	case <-b.life.Done():
		return
	}
	started := b.crew.spawn(func() {
		defer func() { <-b.busy }()
		if err := b.send(b.life, body); err != nil {
			b.log.Debug("answer not delivered", "err", err)
		}
	})
	if !started {
		<-b.busy
	}
}

// limiter lets a few log lines through each second, whatever a server does.
type limiter struct {
	mu    sync.Mutex
	since time.Time
	n     int
}

const linesPerSecond = 10

func (l *limiter) allow() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now := time.Now(); now.Sub(l.since) > time.Second {
		l.since, l.n = now, 0
	}
	l.n++
	return l.n <= linesPerSecond
}
