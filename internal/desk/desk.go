package desk

import (
	"context"
	"hash/maphash"
	"sync"
	"sync/atomic"
	"time"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/exchange"
	"github.com/answerback/answerback/internal/journal"
)

// Showing is one way to somebody who can answer. It is called from many
// goroutines, and never under a lock of the desk.
type Showing interface {
	// Show puts the question before somebody. An error means that it was not
	// shown; an *ask.Error says with its code why. The ask is not modified.
	Show(a *ask.Ask) error
	// Withdraw takes a question back that was shown.
	Withdraw(id string, why *ask.Error)
}

// Link is a Showing at a client that offers a link to the ask's page.
type Link interface {
	Showing
	// Followed says that the person agreed to open the link.
	Followed()
}

// Ways are the ways to the addressee of an ask. Without any the ask is
// refused.
type Ways struct {
	Client Showing // the client's own form or model
	Link   Link    // a client that offers a link to the ask's page; its accept is no answer
	Page   bool    // whether the addressee learns of the page by themselves, or by Waits
	// Waits is called when the ask has come to wait on its page, for whoever
	// is to say so; it may be nil.
	Waits func(*ask.Ask)
	// Doubt is how quick a refusal must be that is taken for a client's own,
	// and not for a person's: the ask goes on to the next way. Zero is never.
	Doubt time.Duration
}

func (w Ways) rungs() []exchange.Rung {
	return exchange.Ladder(exchange.Reach{Client: w.Client != nil, Link: w.Link != nil, Page: w.Page})
}

// Asker is who waits for the outcome of an ask.
type Asker struct {
	// Settled takes the outcome, once. It may wait until the asker has it; an
	// error says that the asker will not have it. An outcome without an ending
	// means that the gateway stops, and that the ask goes on after its restart.
	Settled func(ask.Outcome) error
	// Resume gives the handle from which the asker can be taken up after a
	// restart, nil where it cannot. It is called when the ask is stored; nil
	// means that there is none.
	Resume func() []byte
	// Group names the asker: those of one group are taken up together.
	Group string
	// Kept says that the ask must be kept from the start, because its call
	// was promised to go on without its client.
	Kept bool
	// Keep gives what of an answer stays in the store once Settled has taken
	// it, with the question, until the ask is forgotten. Nil means nothing.
	Keep func(result []byte) []byte
	// Note is what the audit notes of the question itself, "" for nothing.
	Note ask.Code
}

// From says where an answer of a client comes from.
type From struct {
	Principal ask.Principal
	Session   string // the client session it came through, "" for none
	Surface   string
}

// Desk runs asks. Safe for concurrent use.
type Desk struct {
	cfg    Config
	limits *limits
	inbox  *inbox
	seed   maphash.Seed
	shards [shardCount]shard
	counts counts

	// life is that of what the desk does by itself: storing, and waiting for
	// askers that are taken up.
	life context.Context
	end  context.CancelFunc

	// unsettled counts the asks whose asker was not told, the goroutines of
	// the desk, and one for the desk itself until it is closed. idle is closed
	// when it falls to zero.
	unsettled atomic.Int64
	idle      chan struct{}
	closing   sync.Once
}

// shard is a part of the open asks with its lock.
type shard struct {
	mu     sync.Mutex
	open   map[string]*entry
	closed bool
}

// entry is one open ask.
type entry struct {
	ask    ask.Ask // never modified, but for its deadline in what is handed out
	ways   Ways
	asker  Asker
	group  string // the asker's; never modified
	resume []byte // the asker's handle, from the store; nil for a new ask
	open   bool   // it had not ended when it was restored
	// steppedBack means that it was read from a backup that was restored.
	steppedBack bool
	// taken is closed once ways and asker are there; nil where they were from
	// the start.
	taken chan struct{}
	rev   journal.Rev // of the stored version; whoever stores has it

	held   bool          // guarded by the shard's lock: in its map, and counted
	state  exchange.Ask  // guarded by the shard's lock
	timer  *time.Timer   // guarded by the shard's lock
	stored chan struct{} // guarded by the shard's lock: closed when what is being stored was
}

type counts struct {
	asked   atomic.Uint64
	late    atomic.Uint64
	settled [ask.Refused + 1]atomic.Uint64
}

// New makes a Desk with nothing on it.
func New(cfg Config) (*Desk, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	d := &Desk{cfg: cfg, limits: newLimits(&cfg), inbox: newInbox(), seed: maphash.MakeSeed(), idle: make(chan struct{})}
	for i := range d.shards {
		d.shards[i].open = map[string]*entry{}
	}
	d.life, d.end = context.WithCancel(context.Background())
	d.unsettled.Store(1)
	return d, nil
}

// Ask opens an ask and shows it. The desk sets the ask's id, when it was asked,
// the terms that it leaves open, and its deadline, which may be earlier than
// its terms say but not later. by is told the outcome, once, be it a refusal:
// maybe before Ask returns.
func (d *Desk) Ask(a ask.Ask, ways Ways, by Asker) (id string) {
	now := d.cfg.Now()
	a.ID = d.cfg.Mint(a.Addressee)
	a.Asked = now
	a.Terms = d.terms(&a)
	if latest := now.Add(a.Terms.Timeout); a.Deadline.IsZero() || latest.Before(a.Deadline) {
		a.Deadline = latest
	}
	e := &entry{ask: a, ways: ways, asker: by, group: by.Group}
	ev := exchange.Asked{
		Deadline: a.Deadline,
		Warn:     a.Terms.Warn,
		Rungs:    ways.rungs(),
		Kept:     by.Kept,
		Refuse:   d.limits.take(&e.ask, now),
	}
	admitted := ev.Refuse == nil
	effects, held := d.open(e, now, ev)
	if admitted && !held {
		d.limits.release(&e.ask)
	}
	d.perform(e, now, effects)
	return a.ID
}

// Answer takes what a client answered to an ask that was shown to it. The
// error's code is Unknown where there is no such ask, NotYours where it is for
// somebody else, TooLate where it has ended.
func (d *Desk) Answer(id string, from From, answer ask.Answer) error {
	if (len(answer.Result) == 0) == (len(answer.Error) == 0) {
		return errNoAnswer
	}
	e := d.find(id)
	if e == nil {
		if _, err := d.cfg.Key(id); err != nil {
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
	if e.taken != nil {
		<-e.taken
	}
	ev := exchange.Submitted{Rung: exchange.RungClient, By: from.Principal, Surface: from.Surface, Answer: answer}
	switch took := d.cfg.Now().Sub(e.ask.Asked); {
	case e.ways.Client != nil:
		ev.Instant, ev.Doubted = took < max(instant, e.ways.Doubt), took < e.ways.Doubt
	case e.ways.Link != nil:
		ev.Rung = exchange.RungLink
	default: // it was never shown to a client
		d.auditNotYours(e, from, answer)
		return errNotYours
	}
	return d.step(e, ev).err()
}

// instant is how quick no person is who reads a question before refusing it.
const instant = 300 * time.Millisecond

// What is refused in the same words each time.
var (
	errNoAnswer = ask.Errorf(ask.BadMessage, "An answer has either a result or an error.")
	errUnknown  = ask.Errorf(ask.Unknown, "There is no such question.")
	errNotYours = ask.Errorf(ask.NotYours, "This question is for somebody else.")
	errTooLate  = ask.Errorf(ask.TooLate, "The question is no longer open: the answer came too late.")
)

// End ends an ask without an answer: Withdrawn where its asker took it back,
// else Abandoned. It does nothing where the ask has ended.
func (d *Desk) End(id string, ending ask.Ending, why *ask.Error) {
	e := d.find(id)
	if e == nil {
		return
	}
	var ev exchange.AskEvent = exchange.Abandoned{Why: why}
	if ending == ask.Withdrawn {
		ev = exchange.Withdrawn{Why: why}
	}
	d.step(e, ev)
}

// Suspend refuses new asks and lets go of those that are kept: their askers
// are told that they go on after the next start. It comes before whatever
// ends the calls in which they were asked, which would end them too.
func (d *Desk) Suspend() {
	for i := range d.shards {
		for _, e := range d.shards[i].close() {
			d.letGo(e, false)
		}
	}
}

// Close refuses new asks, abandons those that only pass through, lets go of
// those that are kept, and waits until every asker was told or ctx ends.
func (d *Desk) Close(ctx context.Context) error {
	d.closing.Do(func() {
		for i := range d.shards {
			if open := d.shards[i].close(); len(open) > 0 {
				d.start(func() {
					for _, e := range open {
						d.letGo(e, true)
					}
				})
			}
		}
		d.done()
	})
	defer d.end()
	select {
	case <-d.idle:
		return nil
	case <-ctx.Done():
		return ask.Wrap(ask.Internal, "The gateway stopped before every asker was told.", context.Cause(ctx))
	}
}

// start runs f in a goroutine that Close waits for.
func (d *Desk) start(f func()) {
	d.unsettled.Add(1)
	go func() {
		defer d.done()
		f()
	}()
}

func (d *Desk) done() {
	if d.unsettled.Add(-1) == 0 {
		close(d.idle)
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

// Timeout is how long an ask of this kind may stay open.
func (d *Desk) Timeout(k ask.Kind) time.Duration { return d.cfg.Timeout(k) }
