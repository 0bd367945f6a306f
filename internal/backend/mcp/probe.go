package mcp

import (
	"context"
	"time"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/contract"
	"github.com/answerback/answerback/internal/era"
	"github.com/answerback/answerback/internal/wire"
)

// Discover gives the server's response to server/discover, which may be an
// error of the modern era, or the zero Message where it speaks the legacy era
// only. The answer is remembered, whoever asks.
func (b *Backend) Discover(ctx context.Context, who ask.Principal) (wire.Message, error) {
	speaks, err := b.prober.Era(ctx, who)
	if err != nil {
		return wire.Message{}, ask.From(err)
	}
	if m := b.discovered.Load(); speaks == era.Modern && m != nil {
		return *m, nil
	}
	return wire.Message{}, nil
}

// probeTime is how long a process may say nothing to server/discover before it
// is taken for one that only knows the other era.
const probeTime = 3 * time.Second

func (b *Backend) newProber() *era.Prober {
	limit := time.Duration(0) // a server over HTTP always answers
	if b.url == nil {
		limit = probeTime
	}
	return era.NewProber(func(ctx context.Context, who ask.Principal) (wire.Message, error) {
		m, err := b.probe(ctx, who)
		if err == nil && era.IsModernError(&m) {
			// The specification lets a server turn a first request down and
			// name the versions to try: ours may be among them.
			m, err = b.probe(ctx, who)
		}
		if err == nil && m.Kind != 0 {
			b.discovered.Store(&m)
		}
		return m, err
	}, limit)
}

// self is how the gateway names itself to servers.
const self = `{"name":"answerback","version":"1"}`

// probe asks the server which versions it speaks, as an era.Prober wants it:
// the response to server/discover, or the zero Message where the server gave
// something that is no JSON-RPC response. The error is an *ask.Error, and
// means that the server could not be asked. A command is started for the
// question alone.
func (b *Backend) probe(ctx context.Context, who ask.Principal) (wire.Message, error) {
	if b.cfg.Transport == SSE || b.old.Load() {
		return wire.Message{}, nil
	}
	msg, err := wire.Scan(era.DiscoverRequest([]byte("1"), []byte(self)), wire.Limits{})
	if err != nil {
		return wire.Message{}, ask.From(err)
	}
	out := contract.Outgoing{Msg: &msg}
	if b.url != nil {
		reply, err := b.modern.call(ctx, b.door(who), &out, deaf{})
		if err == nil {
			return reply.Msg, nil
		}
		if ctx.Err() == nil && isNoAnswer(err) {
			return wire.Message{}, nil
		}
		return wire.Message{}, err
	}
	ln := &lane{backend: b, gate: make(chan struct{}, 1)}
	defer ln.stop(context.WithoutCancel(ctx))
	r, err := ln.start()
	if err != nil {
		return wire.Message{}, err
	}
	reply, err := r.call(ctx, &out, deaf{})
	if err != nil && ctx.Err() == nil {
		return wire.Message{}, nil // it died of the question, or said something unreadable
	}
	return reply.Msg, err
}

// isNoAnswer reports whether err says that the server was reached and does
// not know what it was asked.
func isNoAnswer(err error) bool {
	e := ask.From(err)
	status, _ := e.Data["status"].(int)
	return e.Code == ask.BackendBroken || oldStatus(status)
}

// deaf is a sink for calls in which nothing is expected.
type deaf struct{}

func (deaf) Notify(*wire.Message) {}

func (deaf) Question(*contract.Question) {}
