package desk

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/exchange"
)

// Revive takes up the asker of an ask after a restart. It gives who waits for
// the outcome and the ways to the addressee, or says why nobody waits any
// more. It returns soon after ctx ends.
type Revive func(ctx context.Context, a ask.Ask, resume []byte) (Asker, Ways, *ask.Error)

const (
	// reviveAtOnce bounds how many askers are taken up at the same time.
	reviveAtOnce = 64
	// reviveTime bounds how long it takes to take one up.
	reviveTime = 30 * time.Second
)

// Restore puts the asks of this home back on the desk, as they were stored.
// From its return on they can be looked at and answered; their askers are
// taken up in the background. It is called once, before the first Ask. An
// error names the ask that cannot be read, and nothing may be served then.
func (d *Desk) Restore(ctx context.Context, home string, revive Revive) (int, error) {
	var restored []*entry
	for r, err := range d.cfg.Journal.Open(ctx, home) {
		if err != nil {
			return 0, fmt.Errorf("the journal cannot be read: %w", err)
		}
		if len(r.Body) == 0 {
			continue // it was refused before anybody was told of it
		}
		b, kept, err := d.read(r)
		if err != nil {
			return 0, err
		}
		if kept.Delivery != 0 {
			continue
		}
		e := &entry{ask: b.ask(), resume: b.Resume, rev: r.Rev, taken: make(chan struct{}), state: exchange.Restore(kept)}
		if kept.Outcome == nil {
			s := d.shard(e.ask.ID)
			s.mu.Lock()
			d.limits.restore(&e.ask)
			d.hold(s, e)
			s.mu.Unlock()
		}
		restored = append(restored, e)
	}
	d.start(func() { d.reviveAll(restored, revive) })
	return len(restored), nil
}

// reviveAll takes up the askers, many at a time.
func (d *Desk) reviveAll(restored []*entry, revive Revive) {
	var wg sync.WaitGroup
	defer wg.Wait()
	room := make(chan struct{}, reviveAtOnce)
	for _, e := range restored {
		room <- struct{}{}
		wg.Go(func() {
			defer func() { <-room }()
			ctx, cancel := context.WithTimeout(d.life, reviveTime)
			defer cancel()
			by, ways, lost := revive(ctx, e.ask, e.resume)
			if lost != nil {
				by = Asker{Settled: func(ask.Outcome) error { return lost }}
			}
			e.asker, e.ways = by, ways
			close(e.taken)
			d.step(e, exchange.Restarted{Lost: lost, Rungs: ways.rungs()})
		})
	}
}
