package exchange

import (
	"time"

	"github.com/answerback/answerback/ask"
)

// Phase is how far an ask has come. It only ever grows.
type Phase uint8

// The phases of an ask.
const (
	PhaseNew     Phase = iota // not asked yet
	PhaseOpen                 // asked, and nobody has seen it yet
	PhaseShown                // somebody has had it before them at least once
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
	}
	return "settled"
}

// Ask is the state of one question. The zero Ask is new. It is a value: only
// StepAsk makes another one from it, and nothing it points to is written to.
type Ask struct {
	Deadline time.Time
	Rungs    []Rung     // not tried yet, best first
	Why      *ask.Error // once settled: what a showing is told that must go
	Phase    Phase
	Rung     Rung       // where it is being shown, or is shown; NoRung for nowhere
	Up       bool       // whether the showing on Rung is known to have succeeded
	Ending   ask.Ending // once settled
}

// StepAsk takes an ask from one state to the next. Time counts before the
// event does: at or after the deadline the ask has expired, whatever the event
// brings, so that a slow timer never lets a late answer in.
//
// An ask that does not end by an answer never carries one: nobody's accept,
// decline or cancel is made up.
func StepAsk(a Ask, now time.Time, ev AskEvent) (Ask, []AskEffect) {
	s := askStep{Ask: a, now: now}
	s.expire()
	switch ev := ev.(type) {
	case Asked:
		s.asked(ev)
	case Shown:
		s.shown(ev.Rung)
	case ShowFailed:
		s.showFailed(ev)
	case Submitted:
		s.submitted(ev)
	case Withdrawn:
		s.end(ask.Withdrawn, ev.Why)
	case Abandoned:
		s.end(ask.Abandoned, ev.Why)
	case Tick:
		s.tick()
	}
	return s.Ask, s.effects
}

// askStep is one step under way.
type askStep struct {
	Ask
	now     time.Time
	effects []AskEffect
}

func (s *askStep) do(e AskEffect) { s.effects = append(s.effects, e) }

func (s *askStep) live() bool { return s.Phase == PhaseOpen || s.Phase == PhaseShown }

func (s *askStep) asked(ev Asked) {
	if s.Phase != PhaseNew {
		return
	}
	s.Phase, s.Deadline, s.Rungs = PhaseOpen, ev.Deadline, ev.Rungs
	s.do(Audit{Transition: TransitionAsked})
	if ev.Refuse != nil {
		s.end(ask.Refused, ev.Refuse)
		return
	}
	if s.expire(); !s.live() {
		return
	}
	if len(s.Rungs) > 0 {
		s.do(Arm{At: s.Deadline})
	}
	s.climb(ask.Errorf(ask.NoClient, "No client is available to answer the question."))
}

// climb shows the ask on the next rung, or ends it where there is none left.
func (s *askStep) climb(why *ask.Error) {
	if len(s.Rungs) > 0 {
		s.Rung, s.Rungs = s.Rungs[0], s.Rungs[1:]
		s.do(Show{Rung: s.Rung})
		return
	}
	if s.Phase == PhaseShown {
		s.end(ask.Abandoned, why)
		return
	}
	s.end(ask.Refused, why)
}

func (s *askStep) shown(r Rung) {
	if r == NoRung || r != s.Rung || s.Up {
		return
	}
	if s.Phase == PhaseSettled {
		// The ask ended while this showing was on its way: a withdrawal sent
		// then could have overtaken it.
		s.Rung = NoRung
		s.do(Withdraw{Rung: r, Why: s.Why})
		return
	}
	s.wentUp()
}

func (s *askStep) wentUp() {
	s.Up, s.Phase = true, PhaseShown
	s.do(Audit{Transition: TransitionShown, Rung: s.Rung})
}

func (s *askStep) showFailed(ev ShowFailed) {
	if ev.Rung == NoRung || ev.Rung != s.Rung {
		return
	}
	s.Rung, s.Up = NoRung, false
	if s.Phase == PhaseSettled {
		return
	}
	s.do(Audit{Transition: TransitionShowFailed, Rung: ev.Rung, Why: ev.Why})
	s.climb(ev.Why)
}

func (s *askStep) submitted(ev Submitted) {
	if s.Phase == PhaseSettled {
		s.do(Late{By: ev.By, Surface: ev.Surface, Answer: ev.Answer})
		return
	}
	if s.Phase == PhaseNew {
		return
	}
	if ev.Rung != NoRung && ev.Rung == s.Rung {
		if !s.Up {
			// An answer can be quicker than the report that its question was
			// sent. It proves that it was.
			s.wentUp()
		}
		s.Rung, s.Up = NoRung, false
	}
	s.settle(ask.Outcome{Ending: ask.Answered, Answer: ev.Answer, By: ev.By, Surface: ev.Surface},
		ask.Errorf(ask.TooLate, "The question was answered elsewhere."))
}

func (s *askStep) tick() {
	if s.live() {
		s.do(Arm{At: s.Deadline})
	}
}

func (s *askStep) expire() {
	if !s.now.Before(s.Deadline) {
		s.end(ask.Expired, ask.Errorf(ask.Timeout, "The question was not answered in time."))
	}
}

// end settles a live ask without an answer.
func (s *askStep) end(how ask.Ending, why *ask.Error) {
	if !s.live() {
		return
	}
	if why == nil {
		why = ask.Errorf(ask.Internal, "The question was ended without a reason.")
	}
	s.settle(ask.Outcome{Ending: how, Err: why}, why)
}

func (s *askStep) settle(out ask.Outcome, why *ask.Error) {
	out.At = s.now
	s.Phase, s.Ending, s.Why, s.Rungs = PhaseSettled, out.Ending, why, nil
	s.do(Audit{Transition: TransitionSettled, Outcome: out})
	if s.Up {
		s.do(Withdraw{Rung: s.Rung, Why: why})
		s.Rung, s.Up = NoRung, false
	}
	s.do(Reply{Outcome: out})
}
