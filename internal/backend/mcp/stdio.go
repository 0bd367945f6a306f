package mcp

import (
	"context"
	"fmt"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/relay"
	"github.com/answerback/answerback/internal/wire"
)

// openStdio starts a process for one legacy session.
func (b *Backend) openStdio(ctx context.Context, hello relay.Hello) (relay.Line, error) {
	l := &duplexLine{duplex: duplex{board: newBoard(b, hello.Events)}, backend: b}
	_, err := b.start(func(p *process) handler {
		l.board.send, l.hangup = p.send, p.stop
		return &talk{board: l.board, ended: func(why *ask.Error) { l.die(l, b, why) }}
	})
	if err != nil {
		l.end(ask.From(err))
		return nil, err
	}
	if _, err := l.handshake(ctx, hello); err != nil {
		l.Close(ctx)
		return nil, err
	}
	return l, nil
}

// talk brings what a process says to a board.
type talk struct {
	board *board
	ended func(why *ask.Error)
}

func (t *talk) line(msg []byte) { t.board.inbound(msg, nil, "") }

// cut fails the call whose response was too long; where that cannot be told,
// any of them might wait for ever, so all fail.
func (t *talk) cut(head []byte) {
	b := t.board
	b.log.Warn("over-long message from backend skipped", "limit", b.limits.MessageBytes)
	why := tooLarge(b.name, b.limits.MessageBytes)
	if id := wire.Salvage(head); id != nil {
		if c := b.find(id); c != nil {
			c.settle(wire.Message{}, why)
		}
		return
	}
	b.mu.Lock()
	calls := make([]*call, 0, len(b.calls))
	for _, c := range b.calls {
		calls = append(calls, c)
	}
	b.mu.Unlock()
	for _, c := range calls {
		c.settle(wire.Message{}, why)
	}
}

func (t *talk) down(_ *process, err error) {
	t.ended(ask.Wrap(ask.BackendLost, fmt.Sprintf("Backend %s is gone: %s. Check its log.", t.board.name, exitReason(err)), err))
}
