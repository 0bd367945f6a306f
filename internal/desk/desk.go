package desk

import (
	"context"
	"hash/maphash"
	"sync"
	"sync/atomic"
	"time"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/exchange"
)

// Showing is a way to put one ask before somebody. Its methods do not block
// for long: the ask's own course waits for them.
type Showing interface {
	// Show puts the question before somebody. An error means that it was not
	// shown; an *ask.Error says with its code why. The ask is not modified.
	Show(a *ask.Ask) error
	// Withdraw takes a question back that was shown.
	Withdraw(id string, why *ask.Error)
}

// From says who answers, and through what.
type From struct {
	Principal ask.Principal
	Session   string // the client session it came through, "" for none
	Surface   string
}

// Desk runs asks in memory. It starts no goroutine of its own but the ones of
// Close; timers run on the runtime's. Safe for concurrent use, also from
// within the functions it calls, which it never calls under a lock.
type Desk struct {
	cfg    Config
	limits *limits
	inbox  *inbox
	seed   maphash.Seed
	shards [shardCount]shard
	counts counts

	// unsettled counts the asks whose settled function has not returned, the
	// goroutines of Close, and one for the desk itself until it is closed.
	// idle is closed when it falls to zero.
	unsettled atomic.Int64
	idle      chan struct{}
	closing   sync.Once
}

type shard struct {
	mu     sync.Mutex
	open   map[string]*entry
	closed bool
}

// entry is one ask that the desk holds.
type entry struct {
	ask     ask.Ask // never modified
	to      Showing
	settled func(ask.Outcome)
	held    bool // in its shard's map and counted; set before it is shared

	state exchange.Ask // guarded by the shard's lock
	timer *time.Timer  // guarded by the shard's lock
}

type counts struct {
	asked   atomic.Uint64
	late    atomic.Uint64
	settled [ask.Refused + 1]atomic.Uint64
}

// New makes a Desk. An error names every field that is missing or bad.
func New(cfg Config) (*Desk, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	d := &Desk{cfg: cfg, limits: newLimits(&cfg), inbox: newInbox(), seed: maphash.MakeSeed(), idle: make(chan struct{})}
	for i := range d.shards {
		d.shards[i].open = map[string]*entry{}
	}
	d.unsettled.Store(1)
	return d, nil
}

// Ask opens an ask and shows it. The desk sets its ID and Asked; a Deadline
// that is set already can only shorten what its kind allows. A nil to means
// that nobody can be reached. settled is called exactly once, also where the
// ask is refused, on the goroutine that brought the end, possibly before Ask
// returns. It must not block for long.
func (d *Desk) Ask(a ask.Ask, to Showing, settled func(ask.Outcome)) (id string) {
	now := d.cfg.Now()
	a.ID = d.cfg.Mint(a.Addressee)
	a.Asked = now
	if latest := now.Add(d.cfg.Timeout(a.Kind)); a.Deadline.IsZero() || latest.Before(a.Deadline) {
		a.Deadline = latest
	}
	e := &entry{ask: a, to: to, settled: settled}
	ev := exchange.Asked{
		Deadline: a.Deadline,
		Rungs:    exchange.Ladder(exchange.Reach{Client: to != nil}),
		Refuse:   d.limits.take(&e.ask, now),
	}
	admitted := ev.Refuse == nil
	effects := d.open(e, now, ev)
	if admitted && !e.held {
		d.limits.release(&e.ask)
	}
	d.perform(e, now, effects)
	return a.ID
}

// Answer settles an ask with what somebody did. Errors: Unknown where the id
// is not one of ours, NotYours where the ask is for somebody else or of
// another session, BadMessage where the answer is not one, TooLate where the
// ask has ended. The answer's bytes are handed on and must not change.
func (d *Desk) Answer(id string, from From, answer ask.Answer) error {
	if (len(answer.Result) == 0) == (len(answer.Error) == 0) {
		return errNoAnswer
	}
	e := d.find(id)
	if e == nil {
		if !d.cfg.Verify(id) {
			return errUnknown
		}
		d.auditLate(Record{At: d.cfg.Now(), Transition: transitionLate, Ask: id}, from.Principal, from.Surface, answer)
		return errTooLate
	}
	to := e.ask.Addressee
	if to.Group != "" || to.Principal != from.Principal || e.ask.Session != from.Session {
		d.auditNotYours(e, from, answer)
		return errNotYours
	}
	if late := d.step(e, d.cfg.Now(), exchange.Submitted{
		Rung:    exchange.RungClient,
		By:      from.Principal,
		Surface: from.Surface,
		Answer:  answer,
	}); late {
		return errTooLate
	}
	return nil
}

// What is refused in the same words each time.
var (
	errNoAnswer = ask.Errorf(ask.BadMessage, "An answer has either a result or an error.")
	errUnknown  = ask.Errorf(ask.Unknown, "There is no such question.")
	errNotYours = ask.Errorf(ask.NotYours, "This question is for somebody else.")
	errTooLate  = ask.Errorf(ask.TooLate, "The question is no longer open: the answer came too late.")
)

// End settles an ask without an answer: Withdrawn where its asker took it
// back, else Abandoned. Nothing happens where it is not open.
func (d *Desk) End(id string, ending ask.Ending, why *ask.Error) {
	e := d.find(id)
	if e == nil {
		return
	}
	var ev exchange.AskEvent = exchange.Abandoned{Why: why}
	if ending == ask.Withdrawn {
		ev = exchange.Withdrawn{Why: why}
	}
	d.step(e, d.cfg.Now(), ev)
}

// Close refuses new asks, settles the open ones as abandoned because the
// gateway stops, and waits until every settled function has returned. An
// error means that ctx ended first; the rest goes on, and Close can be called
// again to wait for it.
func (d *Desk) Close(ctx context.Context) error {
	d.closing.Do(func() {
		why := ask.Errorf(ask.ShuttingDown, "The gateway is shutting down.")
		for i := range d.shards {
			if open := d.shards[i].close(); len(open) > 0 {
				d.unsettled.Add(1)
				go func() {
					defer d.done()
					for _, e := range open {
						d.step(e, d.cfg.Now(), exchange.Abandoned{Why: why})
					}
				}()
			}
		}
		d.done()
	})
	select {
	case <-d.idle:
		return nil
	case <-ctx.Done():
		return ask.Wrap(ask.Internal, "The gateway stopped before every asker was told.", context.Cause(ctx))
	}
}

func (s *shard) close() []*entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	open := make([]*entry, 0, len(s.open))
	for _, e := range s.open {
		open = append(open, e)
	}
	return open
}

// done takes one off unsettled.
func (d *Desk) done() {
	if d.unsettled.Add(-1) == 0 {
		close(d.idle)
	}
}

// Open counts the asks that are open.
// Timeout is how long an ask of this kind may stay open.
func (d *Desk) Timeout(k ask.Kind) time.Duration { return d.cfg.Timeout(k) }

// Open is how many asks are open now.
func (d *Desk) Open() int { return int(d.limits.open.Load()) }

// Stats are counts for metrics. All but Open and RateKeys only ever grow.
type Stats struct {
	Open      int    // asks open now
	RateKeys  int    // pairs of backend and principal that the rate limit remembers
	Asked     uint64 // refused ones included
	Answered  uint64
	Expired   uint64
	Withdrawn uint64
	Abandoned uint64
	Refused   uint64
	Late      uint64 // answers that came too late
}

// Stats reads the counts, each for itself: they are not one moment's picture.
func (d *Desk) Stats() Stats {
	ended := func(how ask.Ending) uint64 { return d.counts.settled[how].Load() }
	return Stats{
		Open:      d.Open(),
		RateKeys:  d.limits.rate.keys(),
		Asked:     d.counts.asked.Load(),
		Answered:  ended(ask.Answered),
		Expired:   ended(ask.Expired),
		Withdrawn: ended(ask.Withdrawn),
		Abandoned: ended(ask.Abandoned),
		Refused:   ended(ask.Refused),
		Late:      d.counts.late.Load(),
	}
}
