package lease

import (
	"context"
	"sync"
	"time"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/contract"
	"github.com/answerback/answerback/internal/wire"
)

const (
	// idleTime is how long an unused session at a backend is kept.
	idleTime = 5 * time.Minute
	// maxIdle bounds the unused sessions for one kind of caller.
	maxIdle = 16
)

// Key is a kind of caller. A session never goes from one kind to another:
// not to another principal, nor to a client with other capabilities.
type Key struct {
	Backend contract.Backend
	Who     ask.Principal
	Caps    string // tells sets of capabilities apart
}

// Pool keeps the sessions that nobody uses at the moment. Safe for concurrent
// use.
type Pool struct {
	mu     sync.Mutex
	idle   map[Key][]*Lease
	closed bool
}

// New makes an empty pool.
func New() *Pool { return &Pool{idle: make(map[Key][]*Lease)} }

// Take gives a session for a caller, an idle one or the one that open makes.
// What the session sends outside any call, open's line hands to deliver, and
// the lease to its holder of that moment: to. A nil to drops it.
func (p *Pool) Take(ctx context.Context, key Key, to func(*wire.Message), open func(deliver func(*wire.Message)) (contract.Line, error)) (*Lease, error) {
	for {
		l := p.pop(key)
		if l == nil {
			break
		}
		select {
		case <-l.line.Done():
			l.line.Close(ctx)
		default:
			l.hold(to)
			return l, nil
		}
	}
	l := &Lease{key: key, to: to}
	line, err := open(l.deliver)
	if err != nil {
		return nil, err
	}
	l.line = line
	return l, nil
}

func (p *Pool) pop(key Key) *Lease {
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

// Give returns a lease. One whose session may still be busy is not clean, and
// is closed.
func (p *Pool) Give(l *Lease, clean bool) {
	if !p.Keep(l, clean) {
		l.Close()
	}
}

// Keep is Give for who closes the lease itself where it is not kept.
func (p *Pool) Keep(l *Lease, clean bool) bool {
	l.hold(nil)
	p.mu.Lock()
	defer p.mu.Unlock()
	if !clean || l.alone || p.closed || len(p.idle[l.key]) >= maxIdle {
		return false
	}
	p.idle[l.key] = append(p.idle[l.key], l)
	l.expiry = time.AfterFunc(idleTime, func() { p.expire(l) })
	return true
}

// expire closes a lease that nobody took in time.
func (p *Pool) expire(l *Lease) {
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
		l.Close()
	}
}

// Close closes what is idle; what is leased is closed when it comes back.
func (p *Pool) Close() {
	p.mu.Lock()
	p.closed = true
	idle := p.idle
	p.idle = nil
	p.mu.Unlock()
	var wg sync.WaitGroup
	for _, free := range idle {
		for _, l := range free {
			l.expiry.Stop()
			wg.Go(l.Close)
		}
	}
	wg.Wait()
}
