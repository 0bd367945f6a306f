package mcp

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"sync"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/budget"
	"github.com/answerback/answerback/internal/contract"
	"github.com/answerback/answerback/internal/era"
	"github.com/answerback/answerback/internal/seal"
	"github.com/answerback/answerback/internal/wire"
)

// ServeStdio serves one client of either era on a pair of streams, one
// message a line, at the joined endpoint. It returns when in ends (nil), when
// in or out fails, or when ctx or the surface ends; by then every call has
// ended. It closes in if it can: where ctx ends first, a read that cannot be
// interrupted is left behind.
func (s *Surface) ServeStdio(ctx context.Context, in io.Reader, out io.Writer) error {
	if !s.inside.Enter() {
		return shuttingDown
	}
	defer s.inside.Leave()
	life, end := context.WithCancelCause(ctx)
	defer end(nil)
	stop := context.AfterFunc(s.life, func() { end(context.Cause(s.life)) })
	defer stop()

	// What is asked ends before the calls that ask, so these do not end with
	// the client's life but after its session.
	work, stopWork := context.WithCancelCause(context.WithoutCancel(ctx))
	defer stopWork(nil)

	p := &pipe{
		surface: s, out: out, life: life, end: end, work: work,
		room:   make(chan struct{}, s.cfg.MaxCalls),
		modern: make(map[string]context.CancelCauseFunc),
	}
	err := p.serve(in)
	end(clientGone)
	if p.session != nil {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeWait)
		defer cancel()
		p.session.Close(closing, clientGone)
	}
	stopWork(clientGone)
	p.calls.Wait()
	return err
}

// pipe is one client on standard streams. It is the gateway's peer for that
// client's session and for all its legacy calls.
type pipe struct {
	surface *Surface
	life    context.Context
	end     context.CancelCauseFunc
	work    context.Context // of legacy calls
	session Session         // nil before initialize; used by the goroutine that serves

	hold *budget.Hold // of the message that is being taken; used by the goroutine that serves

	calls sync.WaitGroup
	room  chan struct{} // a place for each call that may run

	mu  sync.Mutex // one line at a time
	out io.Writer

	modernMu sync.Mutex
	modern   map[string]context.CancelCauseFunc // modern calls in flight, by id
}

var _ contract.Peer = (*pipe)(nil)

// serve takes lines until the client's life ends, and says why it did: nil
// for the end of the input.
func (p *pipe) serve(in io.Reader) error {
	lines := make(chan line)
	go p.read(in, lines)
	for p.life.Err() == nil {
		select {
		case l := <-lines:
			p.take(l)
		case <-p.life.Done():
		}
	}
	if c, ok := in.(io.Closer); ok {
		_ = c.Close()
	}
	if why := context.Cause(p.life); !errors.Is(why, clientGone) {
		return why
	}
	return nil
}

// read hands lines over. Its end is the end of the client's life: whatever a
// call still waits for, nobody will send it.
func (p *pipe) read(in io.Reader, lines chan<- line) {
	r := newLineReader(in, p.surface.cfg.MaxBody)
	for {
		l, err := r.next()
		switch {
		case errors.Is(err, io.EOF):
			p.end(clientGone)
			return
		case err != nil:
			p.end(ask.Wrap(ask.ClientGone, "Standard input could not be read.", err))
			return
		}
		select {
		case lines <- l:
		case <-p.life.Done():
			return
		}
	}
}

// take acts on one line.
func (p *pipe) take(l line) {
	if l.cut {
		p.refuse(wire.Salvage(l.text), ask.Errorf(ask.TooLarge, "The message is larger than this gateway takes."), era.Legacy)
		return
	}
	p.hold = p.surface.cfg.Budget.Hold(budget.Of(p.surface.cfg.Local.Principal))
	defer p.hold.Release()
	if err := p.hold.Grow(int64(cap(l.text))); err != nil {
		p.refuse(wire.Salvage(l.text[:min(cutAt, len(l.text))]), ask.From(err), era.Legacy)
		return
	}
	if wire.IsBatch(l.text) {
		p.takeBatch(l.text)
		return
	}
	msg, err := wire.Scan(l.text, p.surface.limits())
	if err != nil {
		p.refuse(idOfBad(l.text, err), ask.From(err), era.Legacy)
		return
	}
	switch msg.Kind {
	case wire.Request:
		p.takeRequest(&msg)
	case wire.Notification:
		p.takeNotification(&msg)
	default:
		p.takeAnswer(&msg)
	}
}

func (p *pipe) takeRequest(msg *wire.Message) {
	id := msg.Field(msg.ID)
	if era.Detect(msg, nil) == era.Modern {
		p.takeModern(msg)
		return
	}
	if msg.Method() == "initialize" && p.session == nil {
		p.initialize(msg)
		return
	}
	if p.session == nil {
		p.refuse(id, ask.Errorf(ask.BadMessage, "Send initialize first."), era.Legacy)
		return
	}
	session := p.session
	p.run(id, era.Legacy, func() { p.write(session.Call(p.work, msg, p).Body) })
}

// initialize opens the session. Messages behind it wait: they may need it.
func (p *pipe) initialize(msg *wire.Message) {
	cfg := &p.surface.cfg
	id := cfg.Ring.Mint(seal.Session, cfg.Home, 0)
	session, resp := cfg.Gateway.Initialize(p.life, "", id, cfg.Local, msg, p)
	if session != nil {
		p.session = session
	}
	p.write(resp.Body)
}

// takeModern runs a modern request. What HTTP has in headers is in the body
// alone here.
func (p *pipe) takeModern(msg *wire.Message) {
	id := msg.Field(msg.ID)
	h := make(http.Header, 3)
	name, _ := era.NameOf(msg)
	era.SetHeaders(h, msg, msg.Text(msg.MetaVersion), name)
	if fault := era.CheckRequest(msg, h); fault != nil {
		p.refuse(id, fault, era.Modern)
		return
	}
	key := wire.IDKey(id)
	ctx, cancel := context.WithCancelCause(p.life)
	p.modernMu.Lock()
	taken := p.modern[key] != nil
	if !taken {
		p.modern[key] = cancel
	}
	p.modernMu.Unlock()
	if taken {
		cancel(nil)
		p.refuse(id, ask.Errorf(ask.BadMessage, "A request with this id is in flight already."), era.Modern)
		return
	}
	forget := func() {
		p.modernMu.Lock()
		delete(p.modern, key)
		p.modernMu.Unlock()
		cancel(nil)
	}
	started := p.run(id, era.Modern, func() {
		defer forget()
		resp := p.surface.cfg.Gateway.Call(ctx, "", p.surface.cfg.Local, msg, nil, &modernPeer{p, ctx})
		if ctx.Err() == nil {
			p.write(resp.Body)
		}
	})
	if !started {
		forget()
	}
}

// run starts a call, or refuses it where too many run. Reading goes on either
// way: an answer that a running call waits for may be next.
func (p *pipe) run(id []byte, in era.Era, call func()) bool {
	select {
	case p.room <- struct{}{}:
	default:
		p.refuse(id, ask.Errorf(ask.TooManyOpen, "Too many calls are in flight. Wait for one to end."), in)
		return false
	}
	hold := p.hold
	hold.Keep() // the message is there as long as its call
	p.calls.Go(func() {
		defer func() { <-p.room }()
		defer hold.Release()
		call()
	})
	return true
}

func (p *pipe) takeNotification(msg *wire.Message) {
	if msg.Method() == "notifications/cancelled" && p.cancelModern(msg) {
		return
	}
	if p.session == nil {
		return
	}
	p.session.Notify(p.work, msg)
	if msg.Method() == "notifications/initialized" {
		// Here the session's own stream is always open.
		p.session.Listen()
	}
}

func (p *pipe) cancelModern(msg *wire.Message) bool {
	p.modernMu.Lock()
	cancel := p.modern[wire.IDKey(msg.Field(msg.RequestID))]
	p.modernMu.Unlock()
	if cancel == nil {
		return false
	}
	cancel(ask.Errorf(ask.ClientCancelled, "The client cancelled the call."))
	return true
}

func (p *pipe) takeAnswer(msg *wire.Message) {
	if p.session == nil {
		return
	}
	if err := p.session.Answer(msg); err != nil {
		p.surface.cfg.Log.Info("answer not taken", "surface", "stdio", "code", ask.CodeOf(err), "err", err)
	}
}

// takeBatch runs a batch as one call, whose responses are one line.
func (p *pipe) takeBatch(raw []byte) {
	if p.session == nil || p.session.Version() != batchVersion {
		p.refuse(nil, ask.Errorf(ask.BadMessage, "A batch is taken in a session of version "+batchVersion+" only."), era.Legacy)
		return
	}
	msgs, err := p.surface.scanBatch(raw)
	if err != nil {
		p.refuse(nil, ask.From(err), era.Legacy)
		return
	}
	msgs = slices.DeleteFunc(msgs, func(m wire.Message) bool {
		switch m.Kind {
		case wire.Request:
			return false
		case wire.Notification:
			p.takeNotification(&m)
		default:
			p.takeAnswer(&m)
		}
		return true
	})
	if len(msgs) == 0 {
		return
	}
	session := p.session
	p.run(nil, era.Legacy, func() {
		bodies := make([][]byte, len(msgs))
		var wg sync.WaitGroup
		for i := range msgs {
			wg.Go(func() { bodies[i] = session.Call(p.work, &msgs[i], p).Body })
		}
		wg.Wait()
		bodies = slices.DeleteFunc(bodies, func(b []byte) bool { return len(b) == 0 })
		if len(bodies) > 0 {
			p.write(joinArray(bodies))
		}
	})
}

func (p *pipe) refuse(id []byte, e *ask.Error, in era.Era) {
	p.write(appendFault(nil, id, e, in))
}

// write sends one message as one line. A client that cannot be written to is
// gone.
func (p *pipe) write(msg []byte) {
	if len(msg) == 0 {
		return
	}
	buf := make([]byte, 0, len(msg)+1)
	if bytes.ContainsAny(msg, "\r\n") {
		buf = wire.Compact(buf, msg)
	} else {
		buf = append(buf, msg...)
	}
	buf = append(buf, '\n')
	p.mu.Lock()
	_, err := p.out.Write(buf)
	p.mu.Unlock()
	if err != nil {
		p.end(ask.Wrap(ask.ClientGone, "Standard output could not be written.", err))
	}
}

// Notify sends a notification.
func (p *pipe) Notify(msg []byte) { p.write(msg) }

// Mark is empty: the client ends with its pipe.
func (p *pipe) Mark() []byte { return nil }

// Show sends a question.
func (p *pipe) Show(a *ask.Ask) error {
	if err := context.Cause(p.life); err != nil {
		return clientAway
	}
	p.write(appendQuestion(nil, a))
	return nil
}

// Withdraw takes a question back.
func (p *pipe) Withdraw(id string, why *ask.Error) { p.write(appendWithdrawal(nil, id, why)) }

// modernPeer is the peer of one modern call: it takes no questions, and
// nothing more once the call was cancelled.
type modernPeer struct {
	pipe *pipe
	ctx  context.Context // the call's
}

func (m *modernPeer) Notify(msg []byte) {
	if m.ctx.Err() == nil {
		m.pipe.write(msg)
	}
}

func (m *modernPeer) Show(*ask.Ask) error { return noRequestsHere }

func (m *modernPeer) Withdraw(string, *ask.Error) {}

// Mark is empty: the call ends with its pipe.
func (m *modernPeer) Mark() []byte { return nil }
