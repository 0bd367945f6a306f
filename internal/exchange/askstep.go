package exchange

import "github.com/answerback/answerback/ask"

// This file holds what each event means to an ask, as if nothing had to be
// stored: what must wait for the store is found out afterwards.

func (s *askStep) asked(ev Asked) {
	if s.Phase != PhaseNew {
		return
	}
	s.Phase, s.Deadline, s.Warn, s.Left = PhaseOpen, ev.Deadline, ev.Warn, rungSet(ev.Rungs)
	s.do(Audit{Transition: TransitionAsked})
	if ev.Refuse != nil {
		s.end(ask.Refused, ev.Refuse)
		return
	}
	if s.overdue(); !s.live() {
		return
	}
	s.climb(ask.Errorf(ask.NoClient, "No client is available to answer the question."))
	s.Kept = s.live() && (s.Kept || ev.Kept)
}

// climb shows the ask on the next rung, or ends it where there is none left.
func (s *askStep) climb(why *ask.Error) {
	if s.Left != 0 {
		r := s.Left.best()
		s.Left, s.Coming = s.Left.without(r), s.Coming.with(r)
		s.Kept = s.Kept || r.promises()
		s.do(Show{Rung: r})
		return
	}
	if s.Phase >= PhaseShown {
		s.end(ask.Abandoned, why)
		return
	}
	s.end(ask.Refused, why)
}

func (s *askStep) shown(r Rung) {
	if !s.Coming.Has(r) {
		return
	}
	if s.Phase == PhaseSettled {
		// The ask ended while this showing was on its way: a withdrawal sent
		// then could have overtaken it.
		s.Coming = s.Coming.without(r)
		s.do(Withdraw{Rung: r, Why: s.why})
		return
	}
	s.wentUp(r)
}

func (s *askStep) wentUp(r Rung) {
	s.Left, s.Coming, s.Up = s.Left.without(r), s.Coming.without(r), s.Up.with(r)
	s.Phase = max(s.Phase, PhaseShown)
	s.do(Audit{Transition: TransitionShown, Rung: r})
}

func (s *askStep) showFailed(ev ShowFailed) {
	if s.Phase == PhaseSettled {
		s.Coming = s.Coming.without(ev.Rung)
		return
	}
	if why := orUnsaid(ev.Why); s.lost(ev.Rung, why) {
		s.climb(why)
	}
}

// lost takes a showing down. It reports whether that was the last one.
func (s *askStep) lost(r Rung, why *ask.Error) bool {
	if !(s.Coming | s.Up).Has(r) {
		return false
	}
	s.Coming, s.Up = s.Coming.without(r), s.Up.without(r)
	s.do(Audit{Transition: TransitionShowFailed, Rung: r, Why: why})
	return s.Coming|s.Up == 0
}

func (s *askStep) reachable(ev Reachable) {
	if !s.live() {
		return
	}
	s.Left |= rungSet(ev.Rungs) &^ (s.Coming | s.Up)
	if s.Coming|s.Up == 0 && s.Left != 0 {
		s.climb(nil)
	}
}

// open reports whether the ask is there for somebody who wants something of
// it, and tells them where it no longer is.
func (s *askStep) open(ev AskEvent) bool {
	if s.Phase == PhaseSettled {
		s.do(NotDone{Event: ev, Why: tooLate()})
	}
	return s.live()
}

func (s *askStep) opened(ev Opened) {
	if !s.open(ev) {
		return
	}
	switch {
	case ev.Rung == RungPage:
		s.Kept = true
		if !s.Up.Has(RungPage) {
			s.wentUp(RungPage)
		}
	case s.Coming.Has(ev.Rung):
		s.wentUp(ev.Rung)
	case !s.Up.Has(ev.Rung):
		return
	}
	if s.Phase < PhaseActive {
		s.Phase = PhaseActive
		s.do(Audit{Transition: TransitionOpened, Rung: ev.Rung, By: ev.By, Surface: ev.Surface})
	}
}

func (s *askStep) promised(ev Promised) {
	if s.open(ev) {
		s.Kept = true
	}
}

func (s *askStep) extend(ev Extend) {
	if !s.open(ev) {
		return
	}
	switch {
	case ev.For <= 0:
		s.do(NotDone{Event: ev, Why: ask.Errorf(ask.BadMessage, "An extension must be longer than nothing.")})
		return
	case s.Extensions >= ev.Limit:
		s.do(NotDone{Event: ev, Why: ask.Errorf(ask.NotAllowed, "The time for this question cannot be extended any further.")})
		return
	}
	s.Extensions++
	s.Deadline = s.Deadline.Add(ev.For)
	s.calm()
	s.do(Audit{Transition: TransitionExtended, By: ev.By, Surface: ev.Surface})
}

// calm takes a warning back: the end is no longer near.
func (s *askStep) calm() {
	if s.Phase == PhaseWarned {
		s.Phase = PhaseActive
	}
}

func (s *askStep) attempted(ev Attempted) {
	if !s.open(ev) {
		return
	}
	s.Attempts++
	s.do(Audit{Transition: TransitionAttempted, By: ev.By, Surface: ev.Surface})
	if s.Attempts > ev.Limit {
		s.end(ask.Abandoned, ask.Errorf(ask.FormInvalidated, "The question was not answered properly within the attempts allowed."))
	}
}

func (s *askStep) submitted(ev Submitted) {
	if s.Phase == PhaseSettled {
		s.do(Late{By: ev.By, Surface: ev.Surface, Answer: ev.Answer})
		return
	}
	if s.Phase == PhaseNew {
		return
	}
	if s.Coming.Has(ev.Rung) {
		// An answer can be quicker than the report that its question was
		// sent. It proves that it was.
		s.wentUp(ev.Rung)
	}
	if ev.Rung == RungClient && ev.Instant && refuses(ev.Answer) {
		s.do(Audit{Transition: TransitionInstant, Rung: RungClient, By: ev.By, Surface: ev.Surface})
		if ev.Doubted && s.Left != 0 {
			s.showFailed(ShowFailed{Rung: RungClient, Why: ask.Errorf(ask.NoClient, "The client refused the question sooner than a person could have.")})
			return
		}
	}
	if ev.Rung == RungLink && !refuses(ev.Answer) {
		s.followed(ev)
		return
	}
	if ev.Rung != RungPage {
		// The client's form closed with the answer. A page may be open on
		// other screens too.
		s.Up = s.Up.without(ev.Rung)
	}
	s.settle(ask.Outcome{Ending: ask.Answered, Answer: ev.Answer, By: ev.By, Surface: ev.Surface, At: s.now},
		ask.Errorf(ask.TooLate, "The question was answered elsewhere."))
}

func refuses(a ask.Answer) bool { return a.Action == ask.Decline || a.Action == ask.Cancel }

// followed takes what came back for a link. It stays up after the consent to
// open it: its client is told when the page is done with.
func (s *askStep) followed(ev Submitted) {
	if ev.Answer.Action == ask.Accept {
		s.do(Audit{Transition: TransitionConsented, Rung: RungLink, By: ev.By, Surface: ev.Surface})
		return
	}
	s.showFailed(ShowFailed{Rung: RungLink, Why: ask.Errorf(ask.ModeNotDeclared, "The client could not show the link.")})
}

func (s *askStep) delivered(d Delivery, tr Transition, why *ask.Error) {
	if s.Phase != PhaseSettled || s.Delivery != 0 {
		return
	}
	s.Delivery, s.Undelivered, s.restored = d, why, false
	s.do(Audit{Transition: tr, Why: why})
	if s.Kept {
		s.do(Note{Kept: Snapshot(s.Ask)})
	}
}

func (s *askStep) restarted(ev Restarted, tr Transition) {
	if !s.restored {
		return
	}
	s.restored = false
	switch {
	case s.live():
		s.ring = true
		s.do(Audit{Transition: tr})
		if ev.Lost != nil {
			s.end(ask.Abandoned, ev.Lost)
			return
		}
		s.reachable(Reachable{Rungs: ev.Rungs})
	case ev.Lost != nil:
		s.delivered(DeliveryFailed, TransitionUndeliverable, ev.Lost)
	case s.Phase == PhaseSettled && s.Delivery == 0:
		s.do(Reply{Outcome: *s.Outcome})
	}
}
