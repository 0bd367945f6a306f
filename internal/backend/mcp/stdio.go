package mcp

import (
	"bytes"
	"context"
	"fmt"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/budget"
	"github.com/answerback/answerback/internal/contract"
	"github.com/answerback/answerback/internal/wire"
)

// openStdio starts a process for one legacy session.
func (b *Backend) openStdio(ctx context.Context, hello contract.Hello) (contract.Line, error) {
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

// cut takes the head of a message that is beyond the limit, or for which there
// is no memory. A response fails
// its call, or all of them where it does not say whose it is; a question is
// refused; anything else is noise.
func (t *talk) cut(head []byte, fault error) {
	b := t.board
	why := tooLarge(b.name, b.limits.MessageBytes)
	if budget.IsFull(fault) {
		why = noRoom(b.name, fault)
	}
	b.log.Warn("over-long message from backend skipped", "limit", b.limits.MessageBytes, "code", why.Code)
	id := wire.Salvage(head)
	switch kindOfHead(head) {
	case headNoise:
		return
	case headAsks:
		if id != nil {
			b.answer(bytes.Clone(id), nil, why)
		}
		return
	}
	if id != nil {
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
