package doorstep

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/catalog"
	"github.com/answerback/answerback/internal/contract"
	"github.com/answerback/answerback/internal/wire"
)

// maxTries is how often one call is tried: once as it comes, once when an
// account was connected, and once more when that lacked a permission.
const maxTries = 3

// line is one session, before and after there is an account.
type line struct {
	step    *Doorstep
	hello   contract.Hello
	open    contract.Opener
	welcome wire.Message

	done    chan struct{} // closed when the backend ended the session
	quit    chan struct{} // closed by Close
	watches sync.WaitGroup

	opening sync.Mutex // held while the backend's line is being opened
	mu      sync.Mutex
	inner   contract.Line // nil until there is an account
	ready   []byte        // the client's word that the handshake is over
	listens bool
	closed  bool
	offered bool // the client was shown our own tool
}

var _ contract.Line = (*line)(nil)

func (l *line) Welcome() wire.Message { return l.welcome }

func (l *line) Done() <-chan struct{} { return l.done }

// Call sends a request on. One that the backend refuses for want of an
// account waits for it, where somebody can be asked, and is sent again: what
// was refused was not executed, or says from where it goes on.
func (l *line) Call(ctx context.Context, out contract.Outgoing, sink contract.Sink) (contract.Reply, error) {
	return l.call(ctx, out, sink, 1)
}

// call is Call from a try on.
func (l *line) call(ctx context.Context, out contract.Outgoing, sink contract.Sink, try int) (contract.Reply, error) {
	method, edits := out.Msg.Method(), out.Edits
	for ; ; try++ {
		reply, err := l.try(ctx, &out, sink, try > 1)
		if ask.CodeOf(err) != ask.NotConnected {
			return reply, err
		}
		switch {
		case !asks(method):
			return l.without(out.Msg, err)
		case l.step.cfg.NoPause && l.hello.Links:
			return l.required(out.Msg)
		case try == maxTries:
			return l.fails(out.Msg, l.step.still())
		}
		out = goingOn(out, edits, err)
		if err := l.connect(ctx, sink, &out, err); err != nil {
			return l.ends(ctx, out.Msg, err)
		}
	}
}

// ends ends a call that waited in vain.
func (l *line) ends(ctx context.Context, msg *wire.Message, why error) (contract.Reply, error) {
	if ctx.Err() != nil {
		return contract.Reply{}, context.Cause(ctx)
	}
	return l.fails(msg, why)
}

// goingOn gives a request that is sent again the state from which a backend
// goes on that had begun on it. Edits are those that it came with.
func goingOn(out contract.Outgoing, edits []wire.Edit, refused error) contract.Outgoing {
	why, ok := errors.AsType[*contract.Challenge](refused)
	if !ok || why.State == "" {
		return out
	}
	m := out.Msg
	state := wire.Set(m.Raw, m.Params, m.RequestState, "requestState", wire.AppendString(nil, why.State))
	out.Edits = append(slices.Clone(edits), state)
	slices.SortStableFunc(out.Edits, func(a, b wire.Edit) int { return int(a.Span.Start - b.Span.Start) })
	return out
}

// try sends a request, on a session that it opens where there is none. It has
// waited for an account where waited is set.
func (l *line) try(ctx context.Context, out *contract.Outgoing, sink contract.Sink, waited bool) (contract.Reply, error) {
	inner, err := l.session(ctx)
	if err != nil {
		return contract.Reply{}, err
	}
	if l.isOurs(out, waited) {
		return l.connected(out.Msg)
	}
	return inner.Call(ctx, *out, sink)
}

// session gives the backend's line, and opens it where that has become
// possible.
func (l *line) session(ctx context.Context) (contract.Line, error) {
	l.opening.Lock()
	defer l.opening.Unlock()
	if inner := l.current(); inner != nil {
		return inner, nil
	}
	inner, err := l.open(ctx, l.hello)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	closed, ready, listens := l.closed, l.ready, l.listens
	if !closed {
		l.inner = inner
	}
	l.mu.Unlock()
	if closed {
		inner.Close(ctx)
		return nil, ask.Errorf(ask.ClientGone, "The session has ended.")
	}
	l.watch(inner)
	if ready != nil {
		if err := inner.Notify(ctx, ready); err != nil {
			return nil, err
		}
	}
	if listens {
		inner.Listen()
	}
	l.changed()
	return inner, nil
}

func (l *line) current() contract.Line {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.inner
}

// watch makes the end of the backend's line that of this one.
func (l *line) watch(inner contract.Line) {
	l.watches.Go(func() {
		select {
		case <-inner.Done():
			close(l.done)
		case <-l.quit:
		}
	})
}

// changed tells the client that it was shown the lists of nobody.
func (l *line) changed() {
	for _, list := range []catalog.List{catalog.Tools, catalog.Prompts, catalog.Resources} {
		raw := []byte(`{"jsonrpc":"2.0","method":"` + list.Changed() + `"}`)
		if msg, err := wire.Scan(raw, wire.Limits{}); err == nil {
			l.hello.Events.Notify(&msg)
		}
	}
}

// Notify passes a notification on. Before there is an account only the end of
// the handshake matters, and is kept.
func (l *line) Notify(ctx context.Context, msg []byte) error {
	l.mu.Lock()
	inner := l.inner
	if inner == nil {
		if m, err := wire.Scan(msg, wire.Limits{}); err == nil && m.Method() == "notifications/initialized" {
			l.ready = append([]byte(nil), msg...)
		}
	}
	l.mu.Unlock()
	if inner == nil {
		return nil
	}
	return inner.Notify(ctx, msg)
}

// Listen asks for what belongs to no call, now or once there is a session.
func (l *line) Listen() {
	l.mu.Lock()
	inner := l.inner
	l.listens = true
	l.mu.Unlock()
	if inner != nil {
		inner.Listen()
	}
}

// Close ends the line and the backend's.
func (l *line) Close(ctx context.Context) {
	l.mu.Lock()
	inner, closed := l.inner, l.closed
	l.closed = true
	l.mu.Unlock()
	if !closed {
		close(l.quit)
	}
	if inner != nil {
		inner.Close(ctx)
	}
	l.watches.Wait()
}
