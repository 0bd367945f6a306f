package desk

import (
	"errors"
	"hash/maphash"
	"time"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/exchange"
)

// An ask's steps are serialised by its shard's lock; effects are performed
// after the lock was given back, those of one step in their order. Effects of
// different steps can overlap. The exchange allows for that: it withdraws only
// what is known to be up, and replies in one step alone.

func (d *Desk) shard(id string) *shard {
	return &d.shards[maphash.String(d.seed, id)%shardCount]
}

func (d *Desk) find(id string) *entry {
	s := d.shard(id)
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.open[id]
}

// open takes the first step of e and holds it, unless it is refused. Both
// happen under one lock, so that whoever finds the ask finds it asked.
func (d *Desk) open(e *entry, now time.Time, ev exchange.Asked) (effects []exchange.AskEffect) {
	s := d.shard(e.ask.ID)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case ev.Refuse != nil:
	case s.closed:
		ev.Refuse = ask.Errorf(ask.ShuttingDown, "The gateway is shutting down.")
	case s.open[e.ask.ID] != nil:
		ev.Refuse = ask.From(errors.New("the id minted for an ask is in use"))
	default:
		e.held = true
		s.open[e.ask.ID] = e
		d.unsettled.Add(1)
	}
	if e.held {
		d.inbox.add(e)
	}
	e.state, effects = exchange.StepAsk(e.state, now, ev)
	return effects
}

// step takes e one step further. It reports whether an answer came late.
func (d *Desk) step(e *entry, now time.Time, ev exchange.AskEvent) (late bool) {
	s := d.shard(e.ask.ID)
	s.mu.Lock()
	var effects []exchange.AskEffect
	e.state, effects = exchange.StepAsk(e.state, now, ev)
	s.mu.Unlock()
	return d.perform(e, now, effects)
}

func (d *Desk) perform(e *entry, now time.Time, effects []exchange.AskEffect) (late bool) {
	for _, effect := range effects {
		switch effect := effect.(type) {
		case exchange.Audit:
			d.audit(e, effect, now)
		case exchange.Arm:
			d.arm(e, effect.At.Sub(now))
		case exchange.Show:
			d.show(e, effect.Rung)
		case exchange.Withdraw:
			e.to.Withdraw(e.ask.ID, effect.Why)
		case exchange.Reply:
			d.reply(e, effect.Outcome)
		case exchange.Late:
			late = true
			d.auditLate(d.record(e, transitionLate, now), effect.By, effect.Surface, effect.Answer)
		}
	}
	return late
}

func (d *Desk) show(e *entry, rung exchange.Rung) {
	var ev exchange.AskEvent = exchange.Shown{Rung: rung}
	if err := e.to.Show(&e.ask); err != nil {
		why, coded := errors.AsType[*ask.Error](err)
		if !coded {
			why = ask.Wrap(ask.NoClient, "No client is available to answer the question.", err)
		}
		ev = exchange.ShowFailed{Rung: rung, Why: why}
	}
	d.step(e, d.cfg.Now(), ev)
}

// arm sets the ask's one timer, unless the ask has ended meanwhile.
func (d *Desk) arm(e *entry, in time.Duration) {
	s := d.shard(e.ask.ID)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case e.state.Phase == exchange.PhaseSettled:
	case e.timer == nil:
		e.timer = time.AfterFunc(in, func() { d.step(e, d.cfg.Now(), exchange.Tick{}) })
	default:
		e.timer.Reset(in)
	}
}

// reply gives the outcome to the asker. The ask's place is free before that,
// so that an asker may ask its next question at once.
func (d *Desk) reply(e *entry, out ask.Outcome) {
	if e.held {
		d.drop(e)
		d.limits.release(&e.ask)
		defer d.done()
	}
	e.settled(out)
}

func (d *Desk) drop(e *entry) {
	d.inbox.remove(e)
	s := d.shard(e.ask.ID)
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, e.ask.ID)
	if e.timer != nil {
		e.timer.Stop()
	}
}
