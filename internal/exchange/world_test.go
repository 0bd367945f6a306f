package exchange

import (
	"math/rand/v2"
	"reflect"
	"strconv"
	"time"

	"github.com/answerback/answerback/ask"
)

// draw picks one of n.
type draw func(n int) int

func seeded(seed uint64) draw {
	return rand.New(rand.NewPCG(seed, 0)).IntN
}

// world is one gateway after another, the store that outlives them, and
// everybody who asks, answers, or gets in the way.
type world struct {
	onlooker
	step stepper
	pick draw
	seen map[string]bool // phases, events and where they led; may be nil
	now  time.Time
	ask  Ask

	// The store counts its writes; the gateway knows of some.
	written, known int

	writing *Persist // given and not reported on
	waiting deed     // the step that gave it
	failed  time.Time
	woken   bool // the gateway knows what became of the asker
	answers int
}

// playAsk makes up a history of asks and has every step of it checked.
func playAsk(pick draw, events int, step stepper, seen map[string]bool, fail report) {
	w := &world{onlooker: onlooker{fail: fail}, step: step, pick: pick, seen: seen, now: start, woken: true}
	for range events {
		w.now = w.now.Add(time.Duration(pick(4)) * time.Second)
		w.happen()
	}
	w.finish()
}

// happen lets something happen.
func (w *world) happen() {
	if w.writing != nil && w.pick(2) == 0 {
		w.reportWrite(w.pick(10))
		return
	}
	switch w.pick(40) {
	case 0:
		w.crash()
	case 1:
		w.elsewhere()
	case 2, 3:
		w.wake()
	default:
		w.bring(w.made())
	}
}

// made makes up an event.
func (w *world) made() AskEvent {
	rung := Rung(w.pick(4))
	because := ask.Errorf(ask.ClientGone, "Because.")
	by := ask.Principal{Subject: []string{"ada", "ben", "eve"}[w.pick(3)]}
	rare := func(ev AskEvent) AskEvent {
		if w.pick(8) > 0 {
			return Tick{}
		}
		return ev
	}
	switch w.pick(20) {
	case 0, 1, 2:
		ev := Asked{
			Deadline: w.now.Add(time.Duration(w.pick(90)) * time.Second),
			Warn:     time.Duration(w.pick(3)*10) * time.Second,
			Kept:     w.pick(3) == 0,
			Rungs:    Ladder(Reach{Client: w.pick(3) > 0, Link: w.pick(3) == 0, Page: w.pick(2) == 0}),
		}
		if w.pick(20) == 0 {
			ev.Refuse = ask.Errorf(ask.RateLimited, "Because.")
		}
		return ev
	case 3, 4, 5:
		return Shown{Rung: rung}
	case 6:
		return ShowFailed{Rung: rung, Why: because}
	case 7:
		return Reachable{Rungs: []Rung{rung}}
	case 8, 9:
		return Opened{Rung: rung, By: by}
	case 10:
		return Promised{}
	case 11, 12:
		return Extend{For: time.Duration(w.pick(60)-5) * time.Second, Limit: 3}
	case 13:
		return Attempted{Limit: 3}
	case 14, 15:
		w.answers++
		return Submitted{Rung: rung, By: by, Answer: ask.Answer{Action: ask.Action(w.pick(4)), Result: strconv.AppendInt(nil, int64(w.answers), 10)}}
	case 16:
		return rare(Withdrawn{Why: because})
	case 17:
		return rare(Abandoned{Why: because})
	case 18:
		if w.replies > 0 {
			return []AskEvent{Delivered{}, Undeliverable{Why: because}}[w.pick(2)]
		}
	case 19:
		if w.settled && w.writing == nil && w.pick(3) == 0 {
			w.forgetAll() // the next ask
		}
	}
	// Reports and news that belong to nothing, and ticks.
	switch w.pick(12) {
	case 0:
		if w.writing == nil {
			return Persisted{}
		}
	case 1:
		if w.writing == nil {
			return PersistFailed{Why: because}
		}
	case 2:
		return []AskEvent{Restarted{}, Adopted{}, Restarted{Lost: because}}[w.pick(3)]
	}
	return Tick{}
}

// bring takes one step.
func (w *world) bring(ev AskEvent) {
	if isRestart(ev) && w.writing == nil && !w.woken {
		w.woken = true
		w.lost = lostOf(ev) != nil
	}
	before := w.ask
	next, effects := w.step(w.ask, w.now, ev)
	d := deed{event: ev, at: w.now, effects: effects}
	if w.seen != nil && !timed(before, next, w.now, ev) {
		w.seen["ask "+askPhase(before)+" "+eventName(askEventNames, ev)+" -> "+askPhase(next)] = true
	}
	if w.writing != nil {
		switch ev.(type) {
		case Persisted, PersistFailed, Learned:
			w.writing = nil
			d.event, d.at, d.reported = w.waiting.event, w.waiting.at, ev
		default:
			if len(effects) != 1 || effects[0] != (Again{}) || next != before {
				w.fail("%T is not put off while a Persist is under way: %v", ev, effects)
			}
			return
		}
	}
	w.ask = next
	for _, e := range effects {
		switch e := e.(type) {
		case Persist:
			w.writing, w.waiting = &e, d
		case Forget:
			w.store, w.written, w.known = nil, 0, 0
		case Note:
			if w.store == nil || w.store.Outcome == nil || !alike(*w.store.Outcome, *e.Kept.Outcome) {
				w.fail("%T notes the delivery of what is not stored", ev)
			}
		}
	}
	w.watch(d)
	for _, e := range effects {
		if note, ok := e.(Note); ok && w.pick(4) > 0 {
			w.save(note.Kept)
			w.known = w.written
		}
	}
	w.check(d)
}

// timed reports whether time did more than the event. It counts before the
// event, and for all of them alike: it is enough to tell what it does to a tick.
func timed(before, next Ask, now time.Time, ev AskEvent) bool {
	if _, tick := ev.(Tick); tick && before.doom == nil || before.Persisting() {
		return false
	}
	overdue := before.live() && (before.doom != nil || !now.Before(before.next()))
	return overdue || before.Phase != PhaseWarned && next.Phase == PhaseWarned
}

// save puts a record into the store, where an outcome stays what it is.
func (w *world) save(k Kept) {
	if w.store != nil && w.store.Outcome != nil && (k.Outcome == nil || !alike(*w.store.Outcome, *k.Outcome)) {
		w.fail("the store's outcome is overwritten: %+v by %+v", *w.store.Outcome, k.Outcome)
	}
	w.store = &k
	w.written++
}

// check holds that an open ask can be seen, and ends by its deadline (P3).
func (w *world) check(d deed) {
	if !w.asked {
		return
	}
	if w.settled != (w.ask.Phase == PhaseSettled) && w.woken {
		w.fail("%T leaves %s, told of its end: %t", d.event, askText(w.ask), w.settled)
	}
	if w.settled || w.writing != nil || !w.woken {
		return
	}
	if _, failed := d.reported.(PersistFailed); failed {
		w.failed = w.now
	}
	due := w.deadline
	if retry := w.failed.Add(time.Second); retry.After(due) {
		due = retry
	}
	if w.armed.IsZero() || w.armed.After(due) {
		w.fail("%T leaves an open ask with its alarm at %s, due at %s", d.event, w.armed, due)
	}
	// What was reported late is overdue by its alarm, which rings at once.
	if !w.now.Before(due) && d.reported == nil && !isLearned(d) {
		w.fail("%T leaves an ask open that was due at %s", d.event, due)
	}
	if w.store == nil && w.given|w.up == 0 {
		w.fail("%T leaves a passing ask that nobody can see", d.event)
	}
}

// reportWrite lets a Persist succeed, fail, or succeed and be thought to have
// failed. One that rests on old knowledge always fails.
func (w *world) reportWrite(luck int) {
	switch {
	case w.written != w.known:
		w.known = w.written
		w.bring(Learned{Kept: *w.store})
	case luck < 7:
		w.save(w.writing.Kept)
		w.known = w.written
		w.bring(Persisted{})
	default:
		if luck == 9 {
			w.save(w.writing.Kept)
		}
		w.bring(PersistFailed{Why: ask.Errorf(ask.Internal, "Because.")})
	}
}

// crash ends a gateway. What is not in the store is gone.
func (w *world) crash() {
	if w.writing != nil && w.written == w.known && w.pick(2) == 0 {
		w.save(w.writing.Kept)
	}
	if w.store == nil {
		w.forgetAll()
		return
	}
	w.known = w.written
	ended := w.ended
	w.onlooker = onlooker{fail: w.fail, store: w.store, asked: true, deadline: w.store.Deadline, ended: ended}
	w.ask, w.writing, w.woken, w.failed = Restore(*w.store), nil, false, time.Time{}
	if ended != nil {
		w.mustBeDurable(deed{event: Restarted{}}, *ended)
	}
	w.settled = w.store.Outcome != nil
	if w.settled {
		w.ended = w.store.Outcome
	}
	if w.pick(4) > 0 {
		w.wake()
	}
}

// wake tells a restored ask what became of its asker, if it was not told yet.
func (w *world) wake() {
	if w.woken {
		return
	}
	ev := Restarted{Rungs: Ladder(Reach{Client: w.pick(2) == 0, Page: w.pick(2) == 0})}
	if w.pick(3) == 0 {
		ev.Lost = ask.Errorf(ask.BackendLost, "Because.")
	}
	if w.pick(2) == 0 {
		w.bring(Adopted(ev))
		return
	}
	w.bring(ev)
}

// elsewhere lets another gateway take an answer or extend the time, and tells
// this one sooner or later.
func (w *world) elsewhere() {
	if w.store == nil || w.writing != nil && w.writing.New {
		return
	}
	if k := *w.store; k.Outcome == nil && w.now.Before(k.Deadline) {
		if w.pick(2) == 0 {
			k.Deadline, k.Extensions = k.Deadline.Add(10*time.Second), k.Extensions+1
		} else {
			k.Phase = PhaseSettled
			k.Outcome = &ask.Outcome{Ending: ask.Answered, By: ask.Principal{Subject: "kim"}, At: w.now, Answer: ask.Answer{Action: ask.Accept, Result: []byte("elsewhere")}}
			w.ended = k.Outcome
		}
		w.save(k)
	}
	if w.writing == nil && w.pick(2) == 0 {
		w.known = w.written
		w.bring(Learned{Kept: *w.store})
	}
}

// forgetAll begins the next ask.
func (w *world) forgetAll() {
	w.onlooker = onlooker{fail: w.fail}
	w.ask, w.writing, w.written, w.known, w.failed, w.woken = Ask{}, nil, 0, 0, time.Time{}, true
}

// finish lets everything work again. The alarm alone must bring the end.
func (w *world) finish() {
	w.wake()
	for range 12 {
		switch {
		case w.writing != nil:
			w.reportWrite(0)
		case w.asked && !w.settled:
			if w.armed.After(w.now) {
				w.now = w.armed
			}
			w.bring(Tick{})
		}
	}
	for r := RungClient; r <= RungPage; r++ {
		w.bring(Shown{Rung: r})
	}
	if w.asked && !w.settled || w.up != 0 {
		w.fail("not settled by its alarms: %s, alarm at %s, deadline %s", askText(w.ask), w.armed, w.deadline)
	}
	if w.ended != nil {
		w.mustBeDurable(deed{event: Tick{}}, *w.ended)
	}
}

func lostOf(ev AskEvent) *ask.Error {
	switch ev := ev.(type) {
	case Restarted:
		return ev.Lost
	case Adopted:
		return ev.Lost
	}
	return nil
}

func eventName[E any](names map[string]E, ev E) string {
	for name, of := range names {
		if reflect.TypeOf(of) == reflect.TypeOf(ev) {
			return name
		}
	}
	return "?"
}
