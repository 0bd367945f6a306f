package exchange

import (
	"time"

	"github.com/answerback/answerback/ask"
)

// stepper is StepAsk, or a broken one that the model must catch.
type stepper func(Ask, time.Time, AskEvent) (Ask, []AskEffect)

// report stops the test.
type report func(format string, args ...any)

// onlooker knows of one ask what events, effects and the store tell, without
// looking into the machine's state. It holds the promises against that.
type onlooker struct {
	fail  report
	store *Kept // what is durable; nil where nothing is

	asked    bool
	deadline time.Time
	ended    *ask.Outcome // what anybody was told, in any life

	// Of the life of the gateway that runs now.
	settled bool // told so in this life
	replies int
	lost    bool // the asker is known to be gone
	armed   time.Time
	warned  time.Time
	given   Rungs // Show was given and not reported on yet
	up      Rungs // on somebody's screen
}

// deed is one step as the onlooker sees it: what was brought when, what was
// reported on it if it had to wait, and what came of it.
type deed struct {
	event    AskEvent
	at       time.Time
	reported AskEvent
	effects  []AskEffect
}

func (o *onlooker) watch(d deed) {
	if ev, ok := d.event.(Asked); ok && !o.asked {
		o.asked, o.deadline = true, ev.Deadline
	}
	o.persistsAlone(d)
	o.learns(d)
	replied := false
	for _, e := range d.effects {
		switch e := e.(type) {
		case Show:
			if o.settled || (o.given | o.up).Has(e.Rung) {
				o.fail("%T shows on %s again, or after the end", d.event, e.Rung)
			}
			o.mustBeStored(d, e.Rung)
			o.given = o.given.with(e.Rung)
		case Withdraw:
			if !o.settled || e.Why == nil {
				o.fail("%T withdraws an open ask, or gives no reason", d.event)
			}
			if ev, shown := d.event.(Shown); shown && o.given.Has(ev.Rung) && ev.Rung == e.Rung {
				o.given, o.up = o.given.without(e.Rung), o.up.with(e.Rung)
			}
			if !o.up.Has(e.Rung) || replied && !isShown(d.event) {
				o.fail("%T withdraws from %s, where it is not up, or after the reply", d.event, e.Rung)
			}
			o.up = o.up.without(e.Rung)
		case Arm:
			o.armed = e.At
		case Warn:
			if o.settled || o.warned.Equal(e.Deadline) || !e.Deadline.Equal(o.deadline) || !d.at.Before(o.deadline) {
				o.fail("%T warns of %s, deadline %s, warned of %s", d.event, e.Deadline, o.deadline, o.warned)
			}
			o.warned = e.Deadline
		case Audit:
			o.audit(d, e)
		case Reply:
			replied = true
			o.reply(d, e.Outcome)
		}
	}
	o.answered(d)
	if o.settled && o.up != 0 {
		o.fail("%T leaves a showing up after the end: %b", d.event, o.up)
	}
}

// persistsAlone holds that nothing can be done before what it rests on is stored.
func (o *onlooker) persistsAlone(d deed) {
	persists, others := 0, 0
	for _, e := range d.effects {
		switch e.(type) {
		case Persist:
			persists++
		case Arm:
		default:
			others++
		}
	}
	if persists > 1 || persists == 1 && others > 0 {
		o.fail("%T acts beside a Persist: %v", d.event, d.effects)
	}
}

func (o *onlooker) learns(d deed) {
	for _, ev := range []AskEvent{d.event, d.reported} {
		if ev, ok := ev.(Learned); ok && o.asked && !o.settled {
			o.deadline = ev.Kept.Deadline
		}
	}
}

func (o *onlooker) mustBeStored(d deed, r Rung) {
	if r.promises() && o.store == nil {
		o.fail("%T shows on %s what is not stored", d.event, r)
	}
}

func (o *onlooker) audit(d deed, e Audit) {
	switch e.Transition {
	case TransitionShown:
		o.mustBeStored(d, e.Rung)
		o.given, o.up = o.given.without(e.Rung), o.up.with(e.Rung)
	case TransitionShowFailed:
		o.given, o.up = o.given.without(e.Rung), o.up.without(e.Rung)
	case TransitionOpened:
		o.mustBeStored(d, e.Rung)
	case TransitionExtended:
		ev, asked := d.event.(Extend)
		if !asked || o.settled || !d.at.Before(o.deadline) {
			o.fail("%T extends what has ended", d.event)
		}
		if o.deadline = o.deadline.Add(ev.For); o.store != nil && !o.store.Deadline.Equal(o.deadline) {
			o.fail("extended to %s, the store has %s", o.deadline, o.store.Deadline)
		}
	case TransitionSettled:
		o.settle(d, e.Outcome)
	}
}

// settle holds P2, and that nobody's answer is made up or taken too late.
func (o *onlooker) settle(d deed, out ask.Outcome) {
	if o.settled || o.ended != nil && !alike(*o.ended, out) {
		o.fail("%T settles a second time: %+v, then %+v", d.event, o.ended, out)
	}
	o.settled = true
	fromStore := o.store != nil && o.store.Outcome != nil && alike(*o.store.Outcome, out) && isLearned(d)
	switch ev, submitted := d.event.(Submitted); {
	case out.Ending != ask.Answered:
		if out.Err == nil || out.Answer.Action != ask.NoAction || out.Answer.Result != nil {
			o.fail("%T made up an answer or gave no reason: %+v", d.event, out)
		}
	case fromStore:
	case !submitted || string(ev.Answer.Result) != string(out.Answer.Result):
		o.fail("%T counts as the answer %s", d.event, out.Answer.Result)
	case !d.at.Before(o.deadline):
		o.fail("an answer was taken at %s, the deadline was %s", d.at, o.deadline)
	case ev.Rung == RungLink && ev.Answer.Action == ask.Accept:
		o.fail("the consent to open a link counts as the answer")
	case ev.Rung != RungPage:
		// Whoever answered in their client needs no withdrawal.
		o.given, o.up = o.given.without(ev.Rung), o.up.without(ev.Rung)
	}
	o.ended = &out
	o.mustBeDurable(d, out)
}

// mustBeDurable holds P1: what is stored of an ask is what is told of it.
func (o *onlooker) mustBeDurable(d deed, out ask.Outcome) {
	if o.store != nil && (o.store.Outcome == nil || !alike(*o.store.Outcome, out)) {
		o.fail("%T tells of %s before it is stored: the store has %+v", d.event, out.Ending, o.store)
	}
}

// reply holds P4.
func (o *onlooker) reply(d deed, out ask.Outcome) {
	if o.replies++; o.replies > 1 || o.lost && isRestart(d.event) && !o.settled {
		o.fail("%T replies %d times in one life, or to nobody", d.event, o.replies)
	}
	if o.store != nil && o.store.Delivery != 0 {
		o.fail("%T replies again to an asker that is known to have the outcome, or to be gone", d.event)
	}
	if o.ended != nil && !alike(*o.ended, out) {
		o.fail("%T replies %+v, it was %+v", d.event, out, *o.ended)
	}
	o.settled, o.ended = true, &out
	o.mustBeDurable(d, out)
}

// answered holds that whoever submits is told one thing.
func (o *onlooker) answered(d deed) {
	told := 0
	for _, e := range d.effects {
		switch e := e.(type) {
		case Late:
			if told++; !o.settled {
				o.fail("an answer to an open ask is called late")
			}
		case NotDone:
			told++
			if e.Why == nil {
				o.fail("%T is not done, for no reason", d.event)
			}
		case Persist:
			told++ // they wait
		case Audit:
			if e.Transition == TransitionSettled && e.Outcome.Ending == ask.Answered && !isLearned(d) || e.Transition == TransitionConsented {
				told++
			}
		}
	}
	ev, submitted := d.event.(Submitted)
	if submitted && o.asked && told != 1 && (ev.Rung != RungLink || told != 0) {
		o.fail("whoever submitted was told %d things: %v", told, d.effects)
	}
}

func isShown(ev AskEvent) bool { _, ok := ev.(Shown); return ok }

func isLearned(d deed) bool {
	_, brought := d.event.(Learned)
	_, reported := d.reported.(Learned)
	return brought || reported
}

func isRestart(ev AskEvent) bool {
	switch ev.(type) {
	case Restarted, Adopted:
		return true
	}
	return false
}

func alike(a, b ask.Outcome) bool {
	return a.Ending == b.Ending && a.By == b.By && a.At.Equal(b.At) && a.Answer.Action == b.Answer.Action &&
		string(a.Answer.Result) == string(b.Answer.Result) && ask.CodeOf(errorOf(a.Err)) == ask.CodeOf(errorOf(b.Err))
}

// errorOf keeps a nil *ask.Error from becoming an error that is not nil.
func errorOf(e *ask.Error) error {
	if e == nil {
		return nil
	}
	return e
}
