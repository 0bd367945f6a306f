package exchange

import (
	"time"

	"github.com/answerback/answerback/ask"
)

// Kept is what must be durable of a kept ask, beside the question itself. It
// is a value; what it points to is not written to.
type Kept struct {
	Deadline    time.Time
	Warn        time.Duration
	Phase       Phase
	Extensions  int32
	Attempts    int32
	Outcome     *ask.Outcome // once settled
	Delivery    Delivery
	Undelivered *ask.Error // of DeliveryFailed
}

// Snapshot gives what must be durable of an ask. A step that waits for its
// Persist is not in it.
func Snapshot(a Ask) Kept {
	return Kept{
		Deadline:    a.Deadline,
		Warn:        a.Warn,
		Phase:       a.Phase,
		Extensions:  a.Extensions,
		Attempts:    a.Attempts,
		Outcome:     a.Outcome,
		Delivery:    a.Delivery,
		Undelivered: a.Undelivered,
	}
}

// Restore makes an ask from what was durable of it. It is shown nowhere and
// has no alarm until Restarted or Adopted tells what became of its asker.
func Restore(k Kept) Ask {
	return Ask{
		Deadline:    k.Deadline,
		Warn:        k.Warn,
		Phase:       k.Phase,
		Extensions:  k.Extensions,
		Attempts:    k.Attempts,
		Outcome:     k.Outcome,
		Delivery:    k.Delivery,
		Undelivered: k.Undelivered,
		Kept:        true,
		restored:    true,
	}
}

// pending is a step that waits for its Persist.
type pending struct {
	event   AskEvent
	at      time.Time
	next    Ask
	effects []AskEffect
}

// doom is an end without an answer that could not be stored yet.
type doom struct {
	ending ask.Ending
	why    *ask.Error
}

// gate lets a step through, or puts it by until what it changed is durable.
// That somebody was shown the ask, opened it or was warned is stored with the
// next change: losing it costs nobody anything.
func (a Ask) gate(now time.Time, ev AskEvent, next Ask, effects []AskEffect) (Ask, []AskEffect) {
	if !next.Kept {
		return next, effects
	}
	same := a.Kept && a.Deadline.Equal(next.Deadline) && a.Attempts == next.Attempts && (a.Outcome == nil) == (next.Outcome == nil)
	if same {
		return next, effects
	}
	persist := Persist{Kept: Snapshot(next), New: !a.Kept}
	a.pending = &pending{event: ev, at: now, next: next, effects: effects}
	return a, []AskEffect{persist}
}

// report takes what became of a Persist. Everything else must wait for that.
func (a Ask) report(now time.Time, ev AskEvent) (Ask, []AskEffect) {
	p := a.pending
	switch ev := ev.(type) {
	case Persisted:
		return p.next, p.effects
	case PersistFailed:
		a.pending = nil
		s := askStep{Ask: a, now: now}
		s.undone(p, orUnsaid(ev.Why))
		return s.Ask, s.effects
	case Learned:
		a.pending = nil
		s := askStep{Ask: a, now: now}
		if ev, ok := p.event.(Asked); ok && a.Phase == PhaseNew {
			ev.Refuse = ask.Errorf(ask.Internal, "The id of the question is in use.")
			s.asked(ev)
			return s.Ask, s.effects
		}
		s.learned(ev.Kept)
		// On what is now known, the same event may come to something else.
		next, effects := StepAsk(s.Ask, p.at, p.event)
		return next, append(s.effects, effects...)
	}
	return a, []AskEffect{Again{}}
}

// learned takes over what the store says.
func (s *askStep) learned(k Kept) {
	if !s.live() {
		return
	}
	was := s.next()
	s.Kept = true
	if k.Outcome != nil {
		why := k.Outcome.Err
		if why == nil {
			why = ask.Errorf(ask.TooLate, "The question was answered elsewhere.")
		}
		s.Extensions, s.Attempts, s.Deadline = k.Extensions, k.Attempts, k.Deadline
		s.settle(*k.Outcome, why)
		return
	}
	s.Attempts = max(s.Attempts, k.Attempts)
	if s.Extensions != k.Extensions {
		s.Extensions, s.Deadline = k.Extensions, k.Deadline
		s.calm()
	}
	s.arm(was)
}

// undone goes on from before a step that could not be stored.
func (s *askStep) undone(p *pending, why *ask.Error) {
	if !s.Kept {
		// The attempt may have left something behind that nobody may find.
		s.do(Forget{})
	}
	out := p.next.Outcome
	ends := out != nil && out.Ending != ask.Answered
	if ends {
		s.doomed(out.Ending, out.Err)
	}
	switch ev := p.event.(type) {
	case Asked:
		ev.Refuse = why
		s.asked(ev)
	case Submitted:
		s.do(NotDone{Event: ev, Why: why})
		s.shown(ev.Rung)
		if ev.Rung != RungPage && s.lost(ev.Rung, why) && !ends {
			// The client's form closed with the answer: nobody can try again there.
			s.elsewhere(why)
		}
	case Opened, Promised, Extend, Attempted:
		s.do(NotDone{Event: ev, Why: why})
	case Shown:
		s.shown(ev.Rung)
	case ShowFailed:
		if s.lost(ev.Rung, why) && !ends {
			s.elsewhere(why)
		}
	}
}

// elsewhere looks for the next rung while the store fails: for a passing ask
// one that needs the store is no way out, and a kept one cannot end yet.
func (s *askStep) elsewhere(why *ask.Error) {
	switch {
	case !s.Kept:
		s.Left = 0
		s.climb(why)
	case s.Left != 0:
		s.climb(why)
	default:
		s.doomed(ask.Abandoned, why)
	}
}

// doomed asks for the next attempt to store an end. One that is not due to the
// deadline, which speaks for itself, must be remembered until then.
func (s *askStep) doomed(how ask.Ending, why *ask.Error) {
	if how != ask.Expired {
		s.doom = &doom{ending: how, why: why}
	}
	s.do(Arm{At: s.now.Add(retryAfter)})
}
