package bridge

import (
	"context"
	"crypto/rand"
	"sync"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/contract"
	"github.com/answerback/answerback/internal/wire"
)

// pending is one question of a round.
type pending struct {
	key   []byte // the raw token of its key
	page  string // the address that it wants opened, "" for another question
	id    string // the elicitationId of such a question
	asked bool   // somebody is asked: not for a page that was agreed to already

	done   chan struct{} // closed once answered
	result []byte
	fault  []byte
	leave  context.CancelCauseFunc
	once   sync.Once
}

// pose asks one question of a round at the client.
func (c *conversation) pose(ctx context.Context, m *wire.Message, member wire.Member) *pending {
	p := &pending{key: clone(member.Key.Of(m.Raw)), done: make(chan struct{})}
	method, _ := wire.Unquote(wire.Get(m.Raw, member.Value, "method").Of(m.Raw))
	params := clone(wire.Get(m.Raw, member.Value, "params").Of(m.Raw))
	if len(params) == 0 {
		params = []byte("{}")
	}
	gone, leave := context.WithCancelCause(ctx)
	p.leave = leave
	if c.isPage(method, params, p) {
		if id, ok := c.visited[p.page]; ok {
			// `accept` meant only that the page was opened: until it is
			// finished the server asks again, and the person is not asked.
			p.id = id
			p.answer([]byte(`{"action":"accept"}`), nil)
			return p
		}
		params = p.identified(params)
	}
	p.asked = true
	c.sink.Question(&contract.Question{
		Method: method, Params: params, Gone: gone,
		Reply: func(_ context.Context, result, fault []byte) error {
			p.answer(clone(result), clone(fault))
			return nil
		},
	})
	return p
}

// isPage reports whether a question wants a page to be opened, and notes which.
func (c *conversation) isPage(method string, params []byte, p *pending) bool {
	at, err := wire.Value(params)
	if err != nil || method != "elicitation/create" {
		return false
	}
	if mode, _ := wire.Unquote(wire.Get(params, at, "mode").Of(params)); mode != "url" {
		return false
	}
	p.page, _ = wire.Unquote(wire.Get(params, at, "url").Of(params))
	p.id, _ = wire.Unquote(wire.Get(params, at, "elicitationId").Of(params))
	return true
}

// identified gives the parameters the elicitationId that the legacy era
// demands and the modern one does not have.
func (p *pending) identified(params []byte) []byte {
	if p.id != "" {
		return params
	}
	at, err := wire.Value(params)
	if err != nil {
		return params
	}
	p.id = "answerback-" + rand.Text()
	return wire.Splice(nil, params, wire.Set(params, at, wire.Span{}, "elicitationId", wire.AppendString(nil, p.id)))
}

func (p *pending) answer(result, fault []byte) {
	p.once.Do(func() {
		p.result, p.fault = result, fault
		close(p.done)
	})
}

// close takes a question back that nobody answered in time.
func (p *pending) close() {
	p.leave(ask.Errorf(ask.BackendWithdrew, "The call that asked is over."))
}

// consented remembers that a person agreed to open a page.
func (c *conversation) consented(p *pending) {
	if p.page == "" {
		return
	}
	at, err := wire.Value(p.result)
	if err != nil {
		return
	}
	if action, _ := wire.Unquote(wire.Get(p.result, at, "action").Of(p.result)); action == "accept" {
		if c.visited == nil {
			c.visited = make(map[string]string)
		}
		c.visited[p.page] = p.id
	}
}

// finished tells the client that the pages it opened are done with.
func (c *conversation) finished() {
	for _, id := range c.visited {
		raw := wire.AppendString([]byte(`{"jsonrpc":"2.0","method":"notifications/elicitation/complete","params":{"elicitationId":`), id)
		if m, err := wire.Scan(append(raw, "}}"...), c.line.cfg.Scan); err == nil {
			c.sink.Notify(&m)
		}
	}
}

func clone(b []byte) []byte {
	if b == nil {
		return nil
	}
	return append([]byte(nil), b...)
}
