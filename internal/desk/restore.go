package desk

import (
	"context"
	"fmt"
	"hash/maphash"
	"maps"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/aside"
	"github.com/answerback/answerback/internal/exchange"
	"github.com/answerback/answerback/internal/journal"
	"github.com/answerback/answerback/internal/plant"
)

// Revive takes up the askers of a group of asks after a restart, in the order
// in which they asked. It gives for each who waits for its outcome and the
// ways to its addressee, or says why nobody waits any more. It returns soon
// after ctx ends.
type Revive func(ctx context.Context, group []Stored) []Revived

// Stored is an ask from before a restart.
type Stored struct {
	Ask    ask.Ask
	Resume []byte
	Open   bool // it has not ended
	// Restored means that it comes from a backup, and has not ended since: what
	// became of it after the backup is not known.
	Restored bool
}

// Revived is what became of its asker.
type Revived struct {
	Asker Asker
	Ways  Ways
	Again bool       // the client is shown the ask again, because it has lost it
	Lost  *ask.Error // why nobody waits for it any more
	// Aside is why it cannot be said whether somebody waits for it: what was
	// kept of the asker cannot be read.
	Aside error
}

const (
	// reviveAtOnce bounds how many groups of askers are taken up at the same time.
	reviveAtOnce = 64
	// reviveTime bounds how long it takes to take a group up.
	reviveTime = 30 * time.Second
)

// Restore puts the asks of this home back on the desk, as they were stored,
// and has their askers taken up: whoever comes back finds them there. Those
// that nobody waits for any more are ended in the background. It is called
// once, before the first Ask. An ask that cannot be read, or whose asker cannot
// be taken up, is set aside, and the rest goes on. An error means that the
// store cannot be read, and nothing may be served then.
func (d *Desk) Restore(ctx context.Context, home string, revive Revive) (int, error) {
	restored, err := d.readAll(ctx, home)
	if err != nil {
		return 0, err
	}
	if lost := d.reviveAll(restored, revive); len(lost) > 0 {
		d.start(func() {
			atOnce(lost, func(o orphan) { d.step(o.entry, exchange.Restarted{Lost: o.why}) })
		})
	}
	return len(restored), nil
}

// orphan is an ask that nobody waits for any more.
type orphan struct {
	entry *entry
	why   *ask.Error
}

// atOnce does something for all of a list, many at a time, and waits.
func atOnce[T any](list []T, do func(T)) {
	var next atomic.Int64
	var wg sync.WaitGroup
	defer wg.Wait()
	for range min(reviveAtOnce, len(list)) {
		wg.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(list)); i = next.Add(1) - 1 {
				do(list[i])
			}
		})
	}
}

// readAll puts back what is stored, with as many readers as can run: opening
// what is sealed costs more than fetching it.
func (d *Desk) readAll(ctx context.Context, home string) ([]*entry, error) {
	type reader struct {
		in       chan journal.Record
		restored []*entry
	}
	readers := make([]reader, runtime.GOMAXPROCS(0))
	var wg sync.WaitGroup
	for i := range readers {
		x := &readers[i]
		x.in = make(chan journal.Record, readAhead)
		wg.Go(func() {
			var known words
			for r := range x.in {
				if e := d.putBack(r, &known); e != nil {
					x.restored = append(x.restored, e)
				}
			}
		})
	}
	var unread error
	for r, err := range d.cfg.Journal.Open(ctx, home) {
		if err != nil {
			unread = fmt.Errorf("the journal cannot be read: %w", err)
			break
		}
		// The versions of one record stay in their order.
		readers[maphash.String(d.seed, r.ID)%uint64(len(readers))].in <- r
	}
	var restored []*entry
	for i := range readers {
		close(readers[i].in)
	}
	wg.Wait()
	for _, x := range readers {
		restored = append(restored, x.restored...)
	}
	return restored, unread
}

// readAhead is how many records wait for each reader.
const readAhead = 64

// putBack makes an ask from its record, nil where nobody waits for it, or where
// it cannot be read: then it stays in the store as it is.
func (d *Desk) putBack(r journal.Record, known *words) (e *entry) {
	if len(r.Body) == 0 {
		return nil // it was refused before anybody was told of it
	}
	err := d.cfg.Aside.TakeUp(aside.Thing{Kind: aside.Ask, Name: r.ID}, func() error {
		// Most of what is stored has long ended, and need not be opened.
		if over, err := told(r.ID, r.Body); over || err != nil || r.Settled && plant.LostAnswer.On() {
			return err
		}
		b, err := d.read(r, known)
		if err != nil {
			return err
		}
		e = &entry{ask: b.ask, group: b.group, resume: b.resume, rev: r.Rev, open: b.kept.Outcome == nil, taken: make(chan struct{}), state: exchange.Restore(b.kept), steppedBack: steppedBack(r.Body)}
		return nil
	})
	if err != nil || e == nil {
		return nil
	}
	plant.Kill("restore.read")
	if e.open {
		s := d.shard(e.ask.ID)
		s.mu.Lock()
		d.limits.restore(&e.ask)
		d.hold(s, e)
		s.mu.Unlock()
	}
	return e
}

// reviveAll takes up the askers, and gives the asks whose askers are lost.
func (d *Desk) reviveAll(restored []*entry, revive Revive) []orphan {
	groups := make(map[string][]*entry, len(restored))
	for _, e := range restored {
		name := e.group
		if name == "" {
			name = e.ask.ID
		}
		groups[name] = append(groups[name], e)
	}
	var mu sync.Mutex
	var lost []orphan
	atOnce(slices.Collect(maps.Keys(groups)), func(name string) {
		found := d.reviveGroup(name, groups[name], revive)
		mu.Lock()
		defer mu.Unlock()
		lost = append(lost, found...)
	})
	return lost
}

func (d *Desk) reviveGroup(name string, group []*entry, revive Revive) (lost []orphan) {
	slices.SortFunc(group, older)
	stored := make([]Stored, len(group))
	for i, e := range group {
		stored[i] = Stored{Ask: e.ask, Resume: e.resume, Open: e.open, Restored: e.steppedBack}
	}
	plant.Kill("restore.revive.before")
	revived, err := d.takeUp(name, stored, revive)
	plant.Kill("restore.revive.after")
	for i, e := range group {
		var by Revived
		switch {
		case err != nil:
			by.Asker = Asker{Settled: holdBack}
		case revived[i].Lost != nil:
			by.Lost = revived[i].Lost
			by.Asker = Asker{Settled: func(ask.Outcome) error { return by.Lost }}
		default:
			by = revived[i]
		}
		e.asker, e.ways = by.Asker, by.Ways
		close(e.taken)
		plant.Kill("restore.taken")
		if by.Lost != nil {
			lost = append(lost, orphan{e, by.Lost})
			continue
		}
		// Whoever was shown the ask before may have it before them still: it
		// is not shown again by itself.
		var again exchange.Restarted
		if by.Again {
			again.Rungs = Ways{Client: by.Ways.Client, Link: by.Ways.Link}.rungs()
		}
		d.step(e, again)
	}
	return lost
}

// takeUp has the askers of a group taken up. Where that fails, or panics, the
// group is set aside.
func (d *Desk) takeUp(name string, stored []Stored, revive Revive) (revived []Revived, err error) {
	ctx, cancel := context.WithTimeout(d.life, reviveTime)
	defer cancel()
	thing := aside.Thing{Kind: aside.Call, Name: name, Backend: stored[0].Ask.Backend}
	for i := range stored {
		thing.Asks = append(thing.Asks, stored[i].Ask.ID)
	}
	err = d.cfg.Aside.TakeUp(thing, func() error {
		if revived = revive(ctx, stored); len(revived) != len(stored) {
			return fmt.Errorf("%d of %d asks were taken up", len(revived), len(stored))
		}
		for i := range revived {
			if revived[i].Aside != nil {
				return revived[i].Aside
			}
		}
		return nil
	})
	return revived, err
}

// holdBack stands for an asker that was set aside. The ask stays open, and can
// be answered until its deadline; how it ends is stored, and is given to the
// asker when it is taken up at a later start.
func holdBack(out ask.Outcome) error {
	if out.Ending == 0 {
		return nil
	}
	return errHeldBack
}

// errHeldBack means that an outcome is neither delivered nor undeliverable.
var errHeldBack = ask.Errorf(ask.BackendLost, "The call in which this was asked could not be taken up after a restart, and was set aside. The outcome is stored, and is given to it if the operator of the gateway gets it to go on.")
