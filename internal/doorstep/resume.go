package doorstep

import (
	"context"
	"encoding/json"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/contract"
	"github.com/answerback/answerback/internal/wire"
)

// kept is what it takes to go on with a call that waits here, after a restart.
type kept struct {
	Hello []byte `json:"hello"`
	Links bool   `json:"links,omitempty"`
	Call  []byte `json:"call"` // as the backend is to get it
	Name  string `json:"name"`
	// Offered says that the client was shown our own tool.
	Offered bool `json:"offered,omitempty"`
}

// handle describes a call that waits.
func (l *line) handle(out *contract.Outgoing) []byte {
	l.mu.Lock()
	offered := l.offered
	l.mu.Unlock()
	handle, err := json.Marshal(kept{
		Hello: l.hello.Params, Links: l.hello.Links, Call: wire.Splice(nil, out.Msg.Raw, out.Edits...), Name: out.Name, Offered: offered,
	})
	if err != nil {
		return nil // there is nothing in it that cannot be written
	}
	return handle
}

var ready = []byte(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)

// Resume takes up a call that waited here before a restart: it was not sent,
// or says from where it goes on, and is sent when the account is connected.
func (d *Doorstep) Resume(hello contract.Hello, open contract.Opener, sink contract.Sink, handle []byte) (*contract.Resumed, error) {
	var k kept
	if err := json.Unmarshal(handle, &k); err != nil {
		return nil, ask.Wrap(ask.BadState, "A call that waited for an account cannot be read any more.", err)
	}
	msg, err := wire.Scan(k.Call, wire.Limits{})
	if err != nil {
		return nil, ask.Wrap(ask.BadState, "A call that waited for an account cannot be read any more.", err)
	}
	hello.Params, hello.Links = k.Hello, k.Links
	l := &line{
		step: d, hello: hello, open: open, ready: ready, listens: true, offered: k.Offered,
		done: make(chan struct{}), quit: make(chan struct{}),
	}
	a := l.newAsked(context.Background())
	wait := func(ctx context.Context) (contract.Reply, error) {
		defer a.end(nil)
		if err := l.await(ctx, a, d.cfg.Accounts.Want(hello.Principal, nil)); err != nil {
			return l.ends(ctx, &msg, err)
		}
		return l.call(ctx, contract.Outgoing{Msg: &msg, Name: k.Name}, sink, 2)
	}
	return &contract.Resumed{Line: l, Questions: []*contract.Question{a.Question}, Wait: wait}, nil
}
