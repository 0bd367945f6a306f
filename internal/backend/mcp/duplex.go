package mcp

import (
	"context"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/contract"
	"github.com/answerback/answerback/internal/wire"
)

// duplex is one channel that all messages share, where only ids and tokens
// tell calls apart: a process's standard streams, or HTTP+SSE.
type duplex struct {
	*board
	status int // the HTTP status of responses, 0 where there is none
}

// call sends a request and waits until the reader of the channel settles it.
func (d *duplex) call(ctx context.Context, out *contract.Outgoing, sink contract.Sink) (contract.Reply, error) {
	done := make(chan struct{})
	c, err := d.open(ctx, out.Msg, sink, func() { close(done) })
	if err != nil {
		return contract.Reply{}, err
	}
	reply, err := d.wait(ctx, c, out, done)
	d.close(c, d.ended(err))
	return reply, err
}

func (d *duplex) wait(ctx context.Context, c *call, out *contract.Outgoing, done <-chan struct{}) (contract.Reply, error) {
	err := d.send(ctx, c.upstream(out))
	if err == nil {
		select {
		case <-done:
		case <-d.life.Done():
		case <-ctx.Done():
			// A line that died may be why the caller leaves: then that is
			// what became of the call.
			if d.life.Err() == nil {
				d.tellCancelled(c, context.Cause(ctx))
				return contract.Reply{}, context.Cause(ctx)
			}
		}
	}
	// What came before the end still counts.
	m, fault, settled := c.outcome()
	switch {
	case settled && fault != nil:
		return contract.Reply{}, fault
	case settled:
		return contract.Reply{Msg: m, Status: d.status}, nil
	case ctx.Err() != nil && d.life.Err() == nil:
		return contract.Reply{}, context.Cause(ctx)
	case ask.CodeOf(err) == ask.BackendUnreachable:
		return contract.Reply{}, err
	case d.life.Err() != nil:
		return contract.Reply{}, inFlight(d.name, c.method, d.why())
	}
	return contract.Reply{}, lost(d.name, c.method, "the connection broke", err)
}

// tellCancelled tells the server that nobody waits for a call any more.
func (d *duplex) tellCancelled(c *call, why error) {
	if c.method == "initialize" {
		return // it must not be cancelled
	}
	ctx, cancel := context.WithTimeout(d.life, tellTime)
	defer cancel()
	if err := d.send(ctx, cancelNotice(c.id, why)); err != nil {
		d.log.Debug("cancellation not delivered", "err", err)
	}
}

// duplexLine is a legacy session over a channel of its own.
type duplexLine struct {
	duplex
	backend *Backend
	welcome wire.Message
	hangup  func(ctx context.Context) // ends the channel and waits
}

var _ contract.Line = (*duplexLine)(nil)

// handshake performs the legacy handshake and gives the version agreed on.
func (l *duplexLine) handshake(ctx context.Context, hello contract.Hello) (string, error) {
	msg, err := initialize(hello.Params)
	if err != nil {
		return "", err
	}
	reply, err := l.call(ctx, &contract.Outgoing{Msg: msg}, hello.Events)
	if err != nil {
		return "", err
	}
	version, err := welcomed(l.name, &reply)
	if err != nil {
		return "", err
	}
	l.welcome = reply.Msg
	l.up.Store(true)
	return version, nil
}

func (l *duplexLine) Welcome() wire.Message { return l.welcome }

func (l *duplexLine) Done() <-chan struct{} { return l.life.Done() }

func (l *duplexLine) Listen() {}

func (l *duplexLine) Call(ctx context.Context, out contract.Outgoing, sink contract.Sink) (contract.Reply, error) {
	return l.call(ctx, &out, sink)
}

func (l *duplexLine) Notify(ctx context.Context, msg []byte) error { return l.send(ctx, msg) }

// Close ends the session and its channel, and waits for both.
func (l *duplexLine) Close(ctx context.Context) {
	l.end(ask.Errorf(ask.BackendLost, "The session with backend "+l.name+" was closed."))
	l.backend.drop(l)
	l.hangup(ctx)
	l.crew.dismiss(ctx)
}
