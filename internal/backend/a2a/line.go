package a2a

import (
	"context"
	"fmt"
	"time"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/contract"
	"github.com/answerback/answerback/internal/wire"
)

// line is the stateless endpoint that an agent is for one principal.
type line struct {
	b   *Backend
	who ask.Principal
}

var _ contract.Line = line{}

func (line) Welcome() wire.Message { return wire.Message{} }

// Notify drops the notification: an agent takes none.
func (line) Notify(context.Context, []byte) error { return nil }

func (line) Listen() {}

func (l line) Done() <-chan struct{} { return l.b.life.Done() }

// Close does nothing: the line lives as long as its backend.
func (line) Close(context.Context) {}

// Call serves one request of the modern era.
func (l line) Call(ctx context.Context, out contract.Outgoing, sink contract.Sink) (contract.Reply, error) {
	msg := out.Msg
	if len(out.Edits) > 0 {
		m, err := wire.Scan(wire.Splice(nil, msg.Raw, out.Edits...), wire.Limits{Bytes: l.b.cfg.Limits.MessageBytes})
		if err != nil {
			return contract.Reply{}, err
		}
		msg = &m
	}
	c, err := l.b.card(ctx)
	if err != nil {
		return contract.Reply{}, err
	}
	switch method := msg.Method(); method {
	case "server/discover":
		return l.reply(msg, c.discovery)
	case "tools/list":
		if !msg.Cursor.IsZero() && string(msg.Field(msg.Cursor)) != "null" {
			return contract.Reply{}, ask.Errorf(ask.BadMessage, "The cursor is not one that was given out: the tools of "+l.b.cfg.Name+" are one page.")
		}
		_, age := l.b.cards.watch()
		return l.reply(msg, fmt.Appendf(nil, `{"resultType":"complete","tools":%s,"ttlMs":%d,"cacheScope":"private"}`, c.list, age/time.Millisecond))
	case "tools/call":
		return l.callTool(ctx, c, msg, sink)
	case "subscriptions/listen":
		return l.listen(ctx, msg, sink)
	default:
		return contract.Reply{}, ask.Errorf(ask.UnknownMethod, "Backend "+l.b.cfg.Name+" is an A2A agent and has no "+method+".")
	}
}

func (l line) reply(msg *wire.Message, result []byte) (contract.Reply, error) {
	m, err := l.b.scan(respond(msg.Field(msg.ID), result))
	return contract.Reply{Msg: m, Status: 200}, err
}

// listen tells of changed tools for as long as somebody listens: while nobody
// does, the card is read when it is needed.
func (l line) listen(ctx context.Context, msg *wire.Message, sink contract.Sink) (contract.Reply, error) {
	const key = `"io.modelcontextprotocol/subscriptionId":`
	id := string(msg.Field(msg.ID))
	wanted := string(wire.Get(msg.Raw, wire.Get(msg.Raw, msg.Params, "notifications"), "toolsListChanged").Of(msg.Raw)) == "true"
	filter := "{}"
	if wanted {
		filter = `{"toolsListChanged":true}`
	}
	tell := func(method, rest string) {
		m, err := l.b.scan([]byte(`{"jsonrpc":"2.0","method":"` + method + `","params":{"_meta":{` + key + id + `}` + rest + `}}`))
		if err == nil {
			sink.Notify(&m)
		}
	}
	changed, due := l.b.cards.watch()
	tell("notifications/subscriptions/acknowledged", `,"notifications":`+filter)
	for {
		timer := time.NewTimer(due)
		select {
		case <-ctx.Done():
			timer.Stop()
			return contract.Reply{}, context.Cause(ctx)
		case <-l.b.life.Done():
			timer.Stop()
			return l.reply(msg, []byte(`{"resultType":"complete","_meta":{`+key+id+`}}`))
		case <-timer.C:
			_, _ = l.b.card(ctx) // what is wrong is told to whoever calls
			_, due = l.b.cards.watch()
		case <-changed:
			timer.Stop()
			changed, due = l.b.cards.watch()
			if wanted {
				tell("notifications/tools/list_changed", "")
			}
		}
	}
}
