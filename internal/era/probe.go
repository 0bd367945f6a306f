package era

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/wire"
)

// Prober finds out which era a backend speaks, once, and remembers it until
// it is told to forget. Safe for concurrent use.
type Prober struct {
	probe   func(ctx context.Context, who ask.Principal) (wire.Message, error)
	timeout time.Duration

	mu     sync.Mutex
	known  Era           // zero while not known
	flight chan struct{} // closed when the probe under way has ended; nil when there is none
	epoch  int           // counts the calls of Forget
}

// NewProber makes a prober. probe sends server/discover and returns what came
// back: the response, or the zero Message for anything that is no JSON-RPC
// response (an empty body, a status that says "no such thing"). Its errors
// mean that the backend could not be asked. A server that is silent for as
// long as timeout is legacy; zero means to wait for as long as the caller does.
func NewProber(probe func(ctx context.Context, who ask.Principal) (wire.Message, error), timeout time.Duration) *Prober {
	return &Prober{probe: probe, timeout: timeout}
}

// Era gives the era in which to speak to the backend, the modern one where it
// speaks both. Who is whose request needs to know: some backends answer nobody
// they do not know. Several callers share one probe; where the one who runs it gives up,
// the next runs another. The error is that of the probe, an *ask.Error with
// code BadVersion where we have no version in common, or the cause of ctx.
// Errors are not remembered.
func (p *Prober) Era(ctx context.Context, who ask.Principal) (Era, error) {
	for {
		p.mu.Lock()
		if p.known != 0 {
			defer p.mu.Unlock()
			return p.known, nil
		}
		if p.flight == nil {
			done := make(chan struct{})
			p.flight = done
			epoch := p.epoch
			p.mu.Unlock()
			return p.lead(ctx, who, done, epoch)
		}
		done := p.flight
		p.mu.Unlock()
		select {
		case <-done:
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		}
	}
}

func (p *Prober) lead(ctx context.Context, who ask.Principal, done chan struct{}, epoch int) (era Era, err error) {
	// Also when the probe panics, or nobody would ever probe again.
	defer func() {
		p.mu.Lock()
		if p.epoch == epoch {
			p.known = era
		}
		p.flight = nil
		p.mu.Unlock()
		close(done)
	}()
	return p.ask(ctx, who)
}

var errSilent = errors.New("era: no answer to server/discover in time")

func (p *Prober) ask(ctx context.Context, who ask.Principal) (Era, error) {
	pctx := ctx
	if p.timeout > 0 {
		var cancel context.CancelFunc
		pctx, cancel = context.WithTimeoutCause(ctx, p.timeout, errSilent)
		defer cancel()
	}
	m, err := p.probe(pctx, who)
	if err != nil {
		if ctx.Err() == nil && errors.Is(context.Cause(pctx), errSilent) {
			return Legacy, nil
		}
		return 0, err
	}
	return read(&m)
}

// Forget drops what is known, for when the backend turned out to be of the
// other era. The result of a probe under way is not remembered either.
func (p *Prober) Forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.known = 0
	p.epoch++
}

// read decides the era from the answer to server/discover. Some servers give
// a modern error and name only legacy versions in it, so what counts is which
// versions are named. What is no modern answer at all is a legacy server's.
func read(m *wire.Message) (Era, error) {
	switch {
	case m.Kind == wire.Result:
		versions := wire.Get(m.Raw, m.Result, "supportedVersions")
		if versions.IsZero() {
			return Legacy, nil
		}
		return choose(m.Raw, versions)
	case IsModernError(m):
		versions := wire.Get(m.Raw, wire.Get(m.Raw, m.Error, "data"), "supported")
		if versions.IsZero() {
			return Modern, nil
		}
		return choose(m.Raw, versions)
	}
	return Legacy, nil
}

func choose(raw []byte, versions wire.Span) (Era, error) {
	var found Era
	for at := range wire.Elements(raw, versions) {
		if v, ok := wire.Unquote(at.Of(raw)); ok {
			e, _ := Of(v)
			found = max(found, e)
		}
	}
	if found == 0 {
		return 0, ask.Errorf(ask.BadVersion, "The backend speaks no version of MCP that this gateway speaks.")
	}
	return found, nil
}
