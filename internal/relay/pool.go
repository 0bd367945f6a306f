package relay

import (
	"context"
	"sync"
	"time"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/catalog"
	"github.com/answerback/answerback/internal/contract"
	"github.com/answerback/answerback/internal/era"
	"github.com/answerback/answerback/internal/wire"
)

const (
	// leaseIdle is how long an unused session at a backend is kept.
	leaseIdle = 5 * time.Minute
	// maxIdle bounds the unused sessions for one kind of caller.
	maxIdle = 16
)

// pool keeps sessions at legacy backends for modern callers, who have none.
// A session is leased to one request at a time, because a question on a
// shared one could not be told to whom it belongs, and never to a caller of
// another principal or with other capabilities.
type pool struct {
	relay *Relay

	mu     sync.Mutex
	idle   map[leaseKey][]*lease
	closed bool
}

type leaseKey struct {
	backend contract.Backend
	who     ask.Principal
	caps    string
}

// lease is one session, in the hands of one request.
type lease struct {
	key    leaseKey
	line   contract.Line
	single bool // it is for one call, and never kept

	mu     sync.Mutex
	holder holder      // who gets what belongs to no call; nil while idle
	expiry *time.Timer // while idle
}

// holder is who holds a lease.
type holder interface {
	event(msg *wire.Message)
}

// take gives a session for the caller of msg, an idle one or a new one.
func (p *pool) take(ctx context.Context, e *Entry, who ask.Principal, caps era.Caps, msg *wire.Message, h holder) (*lease, error) {
	key := leaseKey{e.Backend, who, era.CapsKey(msg.Field(msg.MetaCapabilities))}
	for {
		l := p.pop(key)
		if l == nil {
			return p.open(ctx, e, key, caps, msg, h)
		}
		select {
		case <-l.line.Done():
			l.line.Close(ctx)
		default:
			l.hold(h)
			return l, nil
		}
	}
}

func (p *pool) pop(key leaseKey) *lease {
	p.mu.Lock()
	defer p.mu.Unlock()
	free := p.idle[key]
	if len(free) == 0 {
		return nil
	}
	l := free[len(free)-1]
	p.idle[key] = free[:len(free)-1]
	if len(free) == 1 {
		delete(p.idle, key)
	}
	l.expiry.Stop()
	return l
}

// hello gives the parameters of a handshake for the caller of msg.
func (p *pool) hello(msg *wire.Message) []byte {
	caps := era.WithoutTasks(msg.Field(msg.MetaCapabilities))
	if p.relay.desk == nil {
		caps = era.WithoutAsks(caps)
	}
	params := append([]byte(`{"protocolVersion":"`+era.LatestLegacy+`","capabilities":`), caps...)
	params = append(params, `,"clientInfo":`...)
	if info := msg.Field(msg.MetaClientInfo); info != nil {
		params = append(params, info...)
	} else {
		params = append(params, p.relay.info...)
	}
	return append(params, '}')
}

func (p *pool) open(ctx context.Context, e *Entry, key leaseKey, have era.Caps, msg *wire.Message, h holder) (*lease, error) {
	l := &lease{key: key, holder: h}
	line, err := p.relay.openLine(ctx, e, have, contract.Hello{Principal: key.who, Params: p.hello(msg), Events: &leaseEvents{p.relay, l}})
	if err != nil {
		return nil, unwelcome(key.backend.Name(), err)
	}
	if err := line.Notify(ctx, []byte(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)); err != nil {
		line.Close(ctx)
		return nil, err
	}
	line.Listen()
	l.line = line
	return l, nil
}

// give returns a lease. One whose session may still be busy is closed.
func (p *pool) give(l *lease, clean bool) {
	if !p.keep(l, clean) {
		closeLine(l.line)
	}
}

// keep is give for who closes the line itself where it is not kept.
func (p *pool) keep(l *lease, clean bool) bool {
	l.hold(nil)
	p.mu.Lock()
	defer p.mu.Unlock()
	if !clean || l.single || p.closed || len(p.idle[l.key]) >= maxIdle {
		return false
	}
	p.idle[l.key] = append(p.idle[l.key], l)
	l.expiry = time.AfterFunc(leaseIdle, func() { p.expire(l) })
	return true
}

// expire closes a lease that nobody took in time.
func (p *pool) expire(l *lease) {
	p.mu.Lock()
	free := p.idle[l.key]
	found := false
	for i, other := range free {
		if other == l {
			p.idle[l.key] = append(free[:i:i], free[i+1:]...)
			found = true
			break
		}
	}
	if len(p.idle[l.key]) == 0 {
		delete(p.idle, l.key)
	}
	p.mu.Unlock()
	if found {
		closeLine(l.line)
	}
}

// close closes what is idle; what is leased is closed when it comes back.
func (p *pool) close() {
	p.mu.Lock()
	p.closed = true
	idle := p.idle
	p.idle = nil
	p.mu.Unlock()
	var wg sync.WaitGroup
	for _, free := range idle {
		for _, l := range free {
			l.expiry.Stop()
			wg.Go(func() { closeLine(l.line) })
		}
	}
	wg.Wait()
}

func closeLine(line contract.Line) {
	ctx, cancel := context.WithTimeout(context.Background(), replyTime)
	defer cancel()
	line.Close(ctx)
}

func (l *lease) hold(h holder) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.holder = h
}

// leaseEvents takes what a leased session sends outside any call.
type leaseEvents struct {
	relay *Relay
	lease *lease
}

func (e *leaseEvents) Notify(msg *wire.Message) {
	if l := catalog.ByChanged(msg.Method()); l != 0 {
		e.relay.catalog.Forget(e.lease.key.backend.Name(), l)
	}
	e.lease.mu.Lock()
	h := e.lease.holder
	e.lease.mu.Unlock()
	if h != nil {
		h.event(msg)
	}
}

// Question refuses at once: the modern era carries no question that belongs
// to no call.
func (e *leaseEvents) Question(q *contract.Question) {
	asker{relay: e.relay, backend: e.lease.key.backend.Name()}.refuse(q, ask.Errorf(ask.NoClient, "No client is available: this question belongs to no call."))
}

func (e *leaseEvents) Lost(err *ask.Error) {
	e.relay.log.Debug("leased session lost", "backend", e.lease.key.backend.Name(), "err", err)
}
