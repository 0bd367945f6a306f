package desk

import (
	"errors"
	"hash/maphash"
	"time"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/exchange"
	"github.com/answerback/answerback/internal/plant"
)

// An ask's steps are serialised by its shard's lock; effects are performed
// after the lock was given back, those of one step in their order. Effects of
// different steps can overlap. The exchange allows for that: it withdraws only
// what is known to be up, and replies in one step alone.
//
// Where a step must be stored first, everything else that happens to the ask
// waits until it was, or could not be.

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
func (d *Desk) open(e *entry, now time.Time, ev exchange.Asked) (effects []exchange.AskEffect, held bool) {
	s := d.shard(e.ask.ID)
	s.mu.Lock()
	defer s.mu.Unlock()
	ev.Refuse = plant.Without(plant.UnboundedQueue, ev.Refuse)
	switch {
	case ev.Refuse != nil:
	case s.closed:
		ev.Refuse = shuttingDown()
	case s.open[e.ask.ID] != nil:
		ev.Refuse = ask.From(errors.New("the id minted for an ask is in use"))
	default:
		d.hold(s, e)
	}
	return e.advance(now, ev), e.held
}

// hold makes e one of the open asks. The caller has the shard's lock.
func (d *Desk) hold(s *shard, e *entry) {
	e.held = true
	s.open[e.ask.ID] = e
	d.unsettled.Add(1)
	d.inbox.add(e)
}

func shuttingDown() *ask.Error {
	return ask.Errorf(ask.ShuttingDown, "The gateway is shutting down.")
}

// advance takes one step. The caller has the shard's lock.
func (e *entry) advance(now time.Time, ev exchange.AskEvent) (effects []exchange.AskEffect) {
	e.state, effects = exchange.StepAsk(e.state, now, ev)
	if e.state.Persisting() {
		e.stored = make(chan struct{})
	}
	return effects
}

// verdict is what became of an event for whoever brought it.
type verdict struct {
	late    bool
	notDone *ask.Error
	// undelivered says why an outcome that the event brought about did not
	// reach the asker.
	undelivered *ask.Error
}

func (v verdict) err() error {
	switch {
	case v.late:
		return errTooLate
	case v.notDone != nil:
		return v.notDone
	}
	return nil
}

// step takes e one step further, once what is being stored was.
func (d *Desk) step(e *entry, ev exchange.AskEvent) verdict {
	s := d.shard(e.ask.ID)
	for {
		s.mu.Lock()
		if e.state.Persisting() {
			stored := e.stored
			s.mu.Unlock()
			<-stored
			continue
		}
		now := plant.Instead(plant.LateAnswer, e.ask.Asked, d.cfg.Now())
		effects := e.advance(now, ev)
		s.mu.Unlock()
		return d.perform(e, now, effects)
	}
}

// report takes the step that was waiting for the store.
func (d *Desk) report(e *entry, ev exchange.AskEvent) verdict {
	s := d.shard(e.ask.ID)
	s.mu.Lock()
	stored, now := e.stored, d.cfg.Now()
	effects := e.advance(now, ev)
	s.mu.Unlock()
	close(stored)
	return d.perform(e, now, effects)
}

func (d *Desk) perform(e *entry, now time.Time, effects []exchange.AskEffect) (v verdict) {
	for _, effect := range effects {
		switch effect := effect.(type) {
		case exchange.Persist:
			v = d.report(e, persist(d, e, effect))
		case exchange.Forget:
			d.forget(e)
		case exchange.Note:
			d.note(e, effect.Kept)
		case exchange.Audit:
			d.audit(e, effect, now)
			if effect.Transition == exchange.TransitionConsented {
				e.ways.Link.Followed()
			}
		case exchange.Arm:
			d.arm(e, effect.At.Sub(now))
		case exchange.Show:
			d.show(e, effect.Rung)
		case exchange.Withdraw:
			if to := e.way(effect.Rung); to != nil {
				to.Withdraw(e.ask.ID, effect.Why)
			}
		case exchange.Warn:
			d.warn(e, effect.Up)
		case exchange.Reply:
			v.undelivered = d.reply(e, effect.Outcome)
		case exchange.Late:
			v.late = !plant.DoubleSettle.On()
			d.auditLate(d.record(e, transitionLate, now), effect.By, effect.Surface, effect.Answer)
		case exchange.NotDone:
			v.notDone = effect.Why
		}
	}
	return v
}

// way is who shows the ask on a rung, nil for the page, which is there anyway.
func (e *entry) way(r exchange.Rung) Showing {
	switch r {
	case exchange.RungClient:
		return e.ways.Client
	case exchange.RungLink:
		if e.ways.Link != nil {
			return e.ways.Link
		}
	}
	return nil
}

func (d *Desk) show(e *entry, rung exchange.Rung) {
	var ev exchange.AskEvent = exchange.Shown{Rung: rung}
	plant.Kill("desk.show.before")
	if to := e.way(rung); to != nil {
		if err := to.Show(&e.ask); err != nil {
			why, coded := errors.AsType[*ask.Error](err)
			if !coded {
				why = ask.Wrap(ask.NoClient, "No client is available to answer the question.", err)
			}
			ev = exchange.ShowFailed{Rung: rung, Why: why}
		}
	} else if rung == exchange.RungPage && e.ways.Waits != nil {
		e.ways.Waits(&e.ask)
	}
	plant.Kill("desk.show.after")
	d.step(e, ev)
}

// arm sets the ask's one timer, unless the ask has ended meanwhile.
func (d *Desk) arm(e *entry, in time.Duration) {
	s := d.shard(e.ask.ID)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case e.state.Phase == exchange.PhaseSettled, s.closed && e.state.Kept, e.taken != nil && plant.LostTimer.On():
	case e.timer == nil:
		e.timer = time.AfterFunc(in, func() { d.step(e, exchange.Tick{}) })
	default:
		e.timer.Reset(in)
	}
}

// reply gives the outcome to the asker, and says why it did not arrive. The
// ask's place is free before that, so that an asker may ask its next question
// at once.
func (d *Desk) reply(e *entry, out ask.Outcome) *ask.Error {
	if d.drop(e) {
		defer d.done()
	}
	if e.taken != nil {
		<-e.taken
	}
	plant.Kill("desk.reply.before")
	err := e.asker.Settled(out)
	plant.Kill("desk.reply.after")
	if err == error(errHeldBack) {
		return errHeldBack // a later start goes on from what is stored
	}
	if err != nil {
		why := ask.From(err)
		d.step(e, exchange.Undeliverable{Why: why})
		return why
	}
	d.step(e, exchange.Delivered{})
	return nil
}

// drop takes e off the desk. It is false where e is not on it; where it was,
// the caller still owes done.
func (d *Desk) drop(e *entry) bool {
	s := d.shard(e.ask.ID)
	s.mu.Lock()
	held := e.held
	e.held = false
	if held {
		delete(s.open, e.ask.ID)
	}
	if e.timer != nil {
		e.timer.Stop()
	}
	s.mu.Unlock()
	if held {
		d.inbox.remove(e)
		d.limits.release(&e.ask)
	}
	return held
}

// letGo ends e for this process: one that is kept goes on after the next
// start, one that passes through is abandoned where abandon says so.
func (d *Desk) letGo(e *entry, abandon bool) {
	s := d.shard(e.ask.ID)
	s.mu.Lock()
	for e.state.Persisting() {
		stored := e.stored
		s.mu.Unlock()
		<-stored
		s.mu.Lock()
	}
	kept, ended := e.state.Kept, e.state.Phase == exchange.PhaseSettled
	s.mu.Unlock()
	if ended {
		return // its asker is being told
	}
	if !kept {
		if abandon {
			d.step(e, exchange.Abandoned{Why: shuttingDown()})
		}
		return
	}
	if d.drop(e) {
		defer d.done()
		if e.taken != nil {
			<-e.taken
		}
		_ = e.asker.Settled(ask.Outcome{}) // nothing was decided that could be lost
	}
}
