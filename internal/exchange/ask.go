package exchange

import (
	"time"

	"github.com/answerback/answerback/ask"
)

// Phase is how far an ask has come. It only ever grows, but for one step back:
// an extension takes a warned ask back to active.
type Phase uint8

// The phases of an ask.
const (
	PhaseNew     Phase = iota // not asked yet
	PhaseOpen                 // asked, and nobody has seen it yet
	PhaseShown                // somebody has had it before them at least once
	PhaseActive               // somebody has opened it
	PhaseWarned               // somebody was warned that its time is nearly up
	PhaseSettled              // ended, for ever
)

// String gives the phase's name.
func (p Phase) String() string {
	switch p {
	case PhaseNew:
		return "new"
	case PhaseOpen:
		return "open"
	case PhaseShown:
		return "shown"
	case PhaseActive:
		return "active"
	case PhaseWarned:
		return "warned"
	}
	return "settled"
}

// retryAfter is how long an end that could not be stored waits for the next
// attempt to store it.
const retryAfter = time.Second

// Ask is the state of one question. The zero Ask is new. It is a value: only
// StepAsk and Restore make another one from it, and nothing it points to is
// written to.
type Ask struct {
	Deadline time.Time
	Warn     time.Duration // how long before the deadline somebody is warned, zero for never
	Outcome  *ask.Outcome  // once settled
	// Undelivered says why the outcome did not reach the asker, if it is known
	// not to have.
	Undelivered *ask.Error

	Extensions int32 // how often the deadline was moved
	Attempts   int32 // how many answers failed validation

	Phase    Phase
	Delivery Delivery // once settled
	Kept     bool     // whether what Snapshot gives of it must be durable
	Left     Rungs    // not tried yet
	Coming   Rungs    // being shown, not known to be up
	Up       Rungs    // shown

	restored bool       // from the store, and not yet told what became of its asker
	why      *ask.Error // once settled: what a showing is told that must go
	doom     *doom      // the end that it must come to, once that can be stored
	pending  *pending   // the step that waits for its Persist
}

// Delivery is what became of an outcome.
type Delivery uint8

// The zero Delivery is one that is not known of.
const (
	DeliveryDone   Delivery = iota + 1 // the asker has it
	DeliveryFailed                     // the asker will never have it
)

// Persisting reports whether a Persist was given that is not reported on yet.
func (a Ask) Persisting() bool { return a.pending != nil }

// live reports whether the ask can still be answered.
func (a Ask) live() bool { return a.Phase > PhaseNew && a.Phase < PhaseSettled }

// next is when the ask must be looked at again, zero for never.
func (a Ask) next() time.Time {
	switch {
	case !a.live():
		return time.Time{}
	case a.Warn > 0 && (a.Phase == PhaseShown || a.Phase == PhaseActive):
		return a.Deadline.Add(-a.Warn)
	}
	return a.Deadline
}

// StepAsk takes an ask from one state to the next. Time counts before the
// event does: at or after the deadline the ask has expired, whatever the event
// brings, so that a slow timer never lets a late answer in.
//
// An ask that does not end by an answer never carries one: nobody's accept,
// decline or cancel is made up.
func StepAsk(a Ask, now time.Time, ev AskEvent) (Ask, []AskEffect) {
	if a.pending != nil {
		return a.report(now, ev)
	}
	if ev, ok := ev.(Learned); ok {
		// What comes from the store need not go there.
		s := askStep{Ask: a, now: now}
		s.learned(ev.Kept)
		return s.Ask, s.effects
	}
	next, effects := stepAsk(a, now, ev)
	return a.gate(now, ev, next, effects)
}

// stepAsk is a step that nothing holds up.
func stepAsk(a Ask, now time.Time, ev AskEvent) (Ask, []AskEffect) {
	s := askStep{Ask: a, now: now}
	s.overdue()
	switch ev := ev.(type) {
	case Asked:
		s.asked(ev)
	case Shown:
		s.shown(ev.Rung)
	case ShowFailed:
		s.showFailed(ev)
	case Reachable:
		s.reachable(ev)
	case Opened:
		s.opened(ev)
	case Promised:
		s.promised(ev)
	case Extend:
		s.extend(ev)
	case Attempted:
		s.attempted(ev)
	case Submitted:
		s.submitted(ev)
	case Withdrawn:
		s.end(ask.Withdrawn, ev.Why)
	case Abandoned:
		s.end(ask.Abandoned, ev.Why)
	case Delivered:
		s.delivered(DeliveryDone, TransitionDelivered, nil)
	case Undeliverable:
		s.delivered(DeliveryFailed, TransitionUndeliverable, orUnsaid(ev.Why))
	case Restarted:
		s.restarted(ev, TransitionRestarted)
	case Adopted:
		s.restarted(Restarted(ev), TransitionAdopted)
	case Tick:
		s.ring = true
	}
	s.warn()
	s.arm(a.next())
	return s.Ask, s.effects
}

// askStep is one step under way.
type askStep struct {
	Ask
	now     time.Time
	effects []AskEffect
	ring    bool // whether the alarm must be set, changed or not
}

func (s *askStep) do(e AskEffect) { s.effects = append(s.effects, e) }

// arm sets the alarm where it is not what it was. It comes first: nothing that
// acts may delay it.
func (s *askStep) arm(was time.Time) {
	next := s.next()
	if !next.IsZero() && (s.ring || !next.Equal(was)) {
		s.effects = append([]AskEffect{Arm{At: next}}, s.effects...)
	}
}

// overdue ends an ask whose time is up, or whose end could not be stored so far.
func (s *askStep) overdue() {
	switch {
	case s.doom != nil:
		s.end(s.doom.ending, s.doom.why)
	case !s.now.Before(s.Deadline):
		s.end(ask.Expired, ask.Errorf(ask.Timeout, "The question was not answered in time."))
	}
}

// warn says that time is nearly up, once, and only where somebody can see it.
func (s *askStep) warn() {
	if s.Warn <= 0 || s.Phase != PhaseShown && s.Phase != PhaseActive || s.now.Before(s.next()) {
		return
	}
	s.Phase = PhaseWarned
	s.do(Audit{Transition: TransitionWarned})
	s.do(Warn{Deadline: s.Deadline, Up: s.Up})
}

// end settles a live ask without an answer.
func (s *askStep) end(how ask.Ending, why *ask.Error) {
	if s.live() {
		why = orUnsaid(why)
		s.settle(ask.Outcome{Ending: how, Err: why, At: s.now}, why)
	}
}

func (s *askStep) settle(out ask.Outcome, why *ask.Error) {
	s.Phase, s.Outcome, s.why = PhaseSettled, &out, why
	s.Left, s.doom, s.restored = 0, nil, false
	s.do(Audit{Transition: TransitionSettled, Outcome: out})
	for ; s.Up != 0; s.Up = s.Up.without(s.Up.best()) {
		s.do(Withdraw{Rung: s.Up.best(), Why: why})
	}
	s.do(Reply{Outcome: out})
}

// orUnsaid makes sure that there is a reason.
func orUnsaid(why *ask.Error) *ask.Error {
	if why == nil {
		return ask.Errorf(ask.Internal, "The question was ended without a reason.")
	}
	return why
}

func tooLate() *ask.Error {
	return ask.Errorf(ask.TooLate, "The question is no longer open.")
}
