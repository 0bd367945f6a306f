package desk

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/exchange"
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
}

// Revived is what became of its asker.
type Revived struct {
	Asker Asker
	Ways  Ways
	Lost  *ask.Error // why nobody waits for it any more
}

const (
	// reviveAtOnce bounds how many groups of askers are taken up at the same time.
	reviveAtOnce = 64
	// reviveTime bounds how long it takes to take a group up.
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
		plant.Kill("restore.read")
		if kept.Outcome != nil && plant.LostAnswer.On() {
			continue
		}
		e := &entry{ask: b.ask(), group: b.Group, resume: b.Resume, rev: r.Rev, open: kept.Outcome == nil, taken: make(chan struct{}), state: exchange.Restore(kept)}
		if e.open {
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

// reviveAll takes up the askers, many groups at a time.
func (d *Desk) reviveAll(restored []*entry, revive Revive) {
	groups := map[string][]*entry{}
	for _, e := range restored {
		name := e.group
		if name == "" {
			name = e.ask.ID
		}
		groups[name] = append(groups[name], e)
	}
	var wg sync.WaitGroup
	defer wg.Wait()
	room := make(chan struct{}, reviveAtOnce)
	for _, group := range groups {
		room <- struct{}{}
		wg.Go(func() {
			defer func() { <-room }()
			d.reviveGroup(group, revive)
		})
	}
}

func (d *Desk) reviveGroup(group []*entry, revive Revive) {
	slices.SortFunc(group, older)
	stored := make([]Stored, len(group))
	for i, e := range group {
		stored[i] = Stored{Ask: e.ask, Resume: e.resume, Open: e.open}
	}
	ctx, cancel := context.WithTimeout(d.life, reviveTime)
	defer cancel()
	plant.Kill("restore.revive.before")
	revived := revive(ctx, stored)
	plant.Kill("restore.revive.after")
	for i, e := range group {
		by := revived[i]
		if by.Lost != nil {
			by.Asker = Asker{Settled: func(ask.Outcome) error { return by.Lost }}
		}
		e.asker, e.ways = by.Asker, by.Ways
		close(e.taken)
		// Whoever was shown the ask before may have it before them still: it
		// is not shown again by itself.
		d.step(e, exchange.Restarted{Lost: by.Lost})
		plant.Kill("restore.taken")
	}
}
