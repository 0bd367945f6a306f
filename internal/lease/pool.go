package lease

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/contract"
	"github.com/answerback/answerback/internal/wire"
)

const (
	// idleTime is how long an unused session at a backend is kept, unless its
	// key says otherwise.
	idleTime = 5 * time.Minute
	// maxIdle bounds the unused sessions for one kind of caller, maxEach those
	// of one principal, and maxAll those of the pool.
	maxIdle = 16
	maxEach = 64
	maxAll  = 1024
)

// Key is a kind of caller. A session never goes from one kind to another:
// not to another principal, nor to a client with other capabilities, nor from
// one conversation to another.
type Key struct {
	Backend      contract.Backend
	Who          ask.Principal
	Caps         string        // tells sets of capabilities apart
	Conversation string        // tells conversations of a principal apart, "" for callers without one
	Idle         time.Duration // how long an unused session is kept, zero for the usual time
}

// Pool keeps the sessions that no request uses at the moment. Safe for
// concurrent use.
type Pool struct {
	mu     sync.Mutex // guards what follows
	idle   map[Key][]*Lease
	each   map[ask.Principal]int // idle sessions
	all    int                   // idle sessions
	opened uint64                // sessions so far
	closed bool
	ending sync.WaitGroup // sessions that are closed to make room
}

// New makes an empty pool.
func New() *Pool {
	return &Pool{idle: make(map[Key][]*Lease), each: make(map[ask.Principal]int)}
}

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
	l := p.lease(key)
	l.to = to
	line, err := open(l.deliver)
	if err != nil {
		return nil, err
	}
	l.line = line
	return l, nil
}

// Adopt makes a lease of a session that was opened elsewhere, in the hands of
// its caller.
func (p *Pool) Adopt(key Key, line contract.Line) *Lease {
	l := p.lease(key)
	l.line = line
	return l
}

func (p *Pool) lease(key Key) *Lease {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.opened++
	return &Lease{key: key, order: p.opened}
}

// pop takes the oldest idle session: a caller whose calls follow one another
// stays with one session, and those that were opened for calls at the same time
// expire first.
func (p *Pool) pop(key Key) *Lease {
	p.mu.Lock()
	defer p.mu.Unlock()
	free := p.idle[key]
	if len(free) == 0 {
		return nil
	}
	l := slices.MinFunc(free, func(a, b *Lease) int { return cmp.Compare(a.order, b.order) })
	p.removeLocked(l)
	l.expiry.Stop()
	return l
}

// removeLocked takes a session out of the idle ones. It is false where it is
// not among them.
func (p *Pool) removeLocked(l *Lease) bool {
	free := p.idle[l.key]
	i := slices.Index(free, l)
	if i < 0 {
		return false
	}
	if p.idle[l.key] = slices.Delete(free, i, i+1); len(free) == 1 {
		delete(p.idle, l.key)
	}
	p.all--
	if p.each[l.key.Who]--; p.each[l.key.Who] == 0 {
		delete(p.each, l.key.Who)
	}
	return true
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
	if p.each[l.key.Who] >= maxEach || p.all >= maxAll {
		p.evictLocked(l.key.Who)
	}
	p.idle[l.key] = append(p.idle[l.key], l)
	p.all++
	p.each[l.key.Who]++
	l.since = time.Now()
	l.expiry = time.AfterFunc(cmp.Or(l.key.Idle, idleTime), func() { p.expire(l) })
	return true
}

// evictLocked closes the session that was idle for longest: of this principal
// where it has as many as it may have, else of all.
func (p *Pool) evictLocked(who ask.Principal) {
	own := p.each[who] >= maxEach
	var oldest *Lease
	for key, free := range p.idle {
		if own && key.Who != who {
			continue
		}
		for _, l := range free {
			if oldest == nil || l.since.Before(oldest.since) {
				oldest = l
			}
		}
	}
	p.removeLocked(oldest)
	oldest.expiry.Stop()
	p.ending.Go(oldest.Close)
}

// expire closes a lease that nobody took in time.
func (p *Pool) expire(l *Lease) {
	p.mu.Lock()
	found := p.removeLocked(l)
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
	p.ending.Wait()
}
