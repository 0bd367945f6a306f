package lease

import (
	"context"
	"sync"
	"time"

	"github.com/answerback/answerback/internal/contract"
	"github.com/answerback/answerback/internal/wire"
)

// closeTime bounds how long a session may take to be closed.
const closeTime = 30 * time.Second

// Lease is one session in the hands of one request.
type Lease struct {
	key   Key
	line  contract.Line
	alone bool      // it is for one call, and never kept
	order uint64    // the pool's sessions are numbered in the order of their opening
	since time.Time // when it became idle; guarded by the pool's lock

	mu     sync.Mutex
	to     func(*wire.Message) // who gets what belongs to no call; nil while idle
	expiry *time.Timer         // while idle
}

// Alone is a lease of a session that is for one call: no pool keeps it.
func Alone(line contract.Line) *Lease { return &Lease{line: line, alone: true} }

// Line is the session.
func (l *Lease) Line() contract.Line { return l.line }

// Close closes the session, and waits for that a while.
func (l *Lease) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), closeTime)
	defer cancel()
	l.line.Close(ctx)
}

func (l *Lease) hold(to func(*wire.Message)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.to = to
}

func (l *Lease) deliver(msg *wire.Message) {
	l.mu.Lock()
	to := l.to
	l.mu.Unlock()
	if to != nil {
		to(msg)
	}
}
