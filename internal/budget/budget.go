package budget

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/answerback/answerback/ask"
)

// Holder is what bytes are counted for, such as the issuer and the subject of
// a principal.
type Holder [2]string

// Of gives the Holder of a principal.
func Of(p ask.Principal) Holder { return Holder{p.Issuer, p.Subject} }

// Config is what a Budget is made of. Limits that are not positive are none.
type Config struct {
	Name  string // what the bytes are, for the log
	Total int64  // bytes of all holders together
	Each  int64  // bytes of one holder

	// Memory says whether the process has memory for new work; nil where
	// that is not watched.
	Memory *Memory
	// Refused is told of every refusal; nil for none.
	Refused func(ask.Code)
	Log     *slog.Logger     // of refusals, one line a second; nil for none
	Now     func() time.Time // time.Now
}

// Budget counts bytes. A nil Budget refuses nothing. Safe for concurrent use.
//
// A holder gets no more than its share, and no more than it leaves for others:
// after each taking as much is free as the taker holds. Few holders may thus
// use much, many use less each, and whoever comes last still gets something.
type Budget struct {
	cfg   Config
	quiet quiet

	mu    sync.Mutex
	used  int64
	held  map[Holder]int64 // none is 0
	freed chan struct{}    // closed when bytes are given back; nil while nobody waits
	first *Hold            // the one that may go beyond the limits; nil while none waited
}

// New makes a Budget of which nothing is taken.
func New(cfg Config) *Budget {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &Budget{cfg: cfg, quiet: quiet{log: cfg.Log, now: cfg.Now}, held: make(map[Holder]int64)}
}

// RetryAfter is when whoever is refused may come back.
const RetryAfter = time.Second

// What is refused in the same words each time.
var (
	retry = map[string]any{"retryAfterMs": RetryAfter.Milliseconds()}
	// errShare is of a holder that has its share.
	errShare = &ask.Error{Code: ask.TooManyOpen, Message: "Your messages under way take as much memory as they may. Wait for one of them to end, and try again.", Data: retry}
	errFull  = &ask.Error{Code: ask.Overloaded, Message: "The messages under way take as much memory as this gateway has for them. Try again in a moment.", Data: retry}
	errShort = &ask.Error{Code: ask.Overloaded, Message: "This gateway is short of memory and takes nothing new. Try again in a moment.", Data: retry}
)

// Admit says whether new work may begin: the error has the code Overloaded
// while the process is short of memory.
func (b *Budget) Admit(who Holder) *ask.Error {
	if b == nil || !b.cfg.Memory.Short() {
		return nil
	}
	return b.refuse(who, 0, errShort)
}

// Used is how many bytes are taken.
func (b *Budget) Used() int64 {
	if b == nil {
		return 0
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used
}

// take takes n bytes, or says why not.
func (b *Budget) take(who Holder, n int64) *ask.Error {
	b.mu.Lock()
	defer b.mu.Unlock()
	held := b.held[who] + n
	switch {
	case b.cfg.Each > 0 && held > b.cfg.Each:
		return errShare
	case b.cfg.Total > 0 && held > b.cfg.Total-b.used-n:
		return errFull
	}
	b.used += n
	b.held[who] = held
	return nil
}

func (b *Budget) give(who Holder, n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.used -= n
	if b.held[who] -= n; b.held[who] == 0 {
		delete(b.held, who)
	}
	b.wake()
}

// wait takes n bytes as soon as they are there. It gives up when ctx ends.
func (b *Budget) wait(ctx context.Context, h *Hold, n int64) *ask.Error {
	for {
		// The channel comes first, so that nothing is given back unnoticed.
		freed := b.next()
		err := b.take(h.who, n)
		if err == nil || b.goFirst(h, n) {
			return nil
		}
		select {
		case <-freed:
		case <-ctx.Done():
			return err
		}
	}
}

// goFirst takes n bytes beyond the limits where no other Hold has done so and
// is still there. Those that have a part of what they need would else wait for
// each other.
func (b *Budget) goFirst(h *Hold, n int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.first != nil && b.first != h {
		return false
	}
	b.first = h
	b.used += n
	b.held[h.who] += n
	return true
}

// leave lets another go first.
func (b *Budget) leave(h *Hold) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.first == h {
		b.first = nil
		b.wake()
	}
}

// wake has those that wait look again. b is locked.
func (b *Budget) wake() {
	if b.freed != nil {
		close(b.freed)
		b.freed = nil
	}
}

func (b *Budget) next() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.freed == nil {
		b.freed = make(chan struct{})
	}
	return b.freed
}

func (b *Budget) refuse(who Holder, n int64, e *ask.Error) *ask.Error {
	if b.cfg.Refused != nil {
		b.cfg.Refused(e.Code)
	}
	b.quiet.warn("no memory for what came", "budget", b.cfg.Name, "holder", who[0]+" "+who[1], "bytes", n, "code", e.Code, "reason", e.Message)
	return e
}

// quiet logs at most one line a second, with the number of those left out: who
// can be refused can be refused often.
type quiet struct {
	log  *slog.Logger
	now  func() time.Time
	next atomic.Int64 // nanoseconds since 1970
	left atomic.Int64
}

func (q *quiet) warn(msg string, args ...any) {
	if q.log == nil {
		return
	}
	now := q.now().UnixNano()
	next := q.next.Load()
	if now < next || !q.next.CompareAndSwap(next, now+int64(time.Second)) {
		q.left.Add(1)
		return
	}
	q.log.Warn(msg, append(args, "unlogged", q.left.Swap(0))...)
}
