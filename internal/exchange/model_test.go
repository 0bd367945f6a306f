package exchange

import (
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/answerback/answerback/ask"
	"pgregory.net/rapid"
)

// draw picks one of n.
type draw func(n int) int

func seeded(seed uint64) draw {
	return rand.New(rand.NewPCG(seed, 0)).IntN
}

// report stops the test.
type report func(format string, args ...any)

// TestAskModel holds P2 and P3 for any interleaving of events.
func TestAskModel(t *testing.T) {
	for seed := range uint64(10_000) {
		playAsk(seeded(seed), 200, nil, func(format string, args ...any) {
			t.Helper()
			t.Fatalf("seed %d: "+format, append([]any{seed}, args...)...)
		})
	}
}

// TestCallModel holds that a call ends, is released once and is charged only
// for its own work, for any interleaving of events.
func TestCallModel(t *testing.T) {
	for seed := range uint64(10_000) {
		playCall(seeded(seed), 200, nil, func(format string, args ...any) {
			t.Helper()
			t.Fatalf("seed %d: "+format, append([]any{seed}, args...)...)
		})
	}
}

// TestModelsShrinking plays the same games with a generator that finds the
// shortest failing one.
func TestModelsShrinking(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		pick := func(n int) int { return rapid.IntRange(0, n-1).Draw(rt, "choice") }
		playAsk(pick, 30, nil, rt.Fatalf)
		playCall(pick, 30, nil, rt.Fatalf)
	})
}

// askModel is what an onlooker knows of one ask from its events and effects
// alone, without its state.
type askModel struct {
	fail     report
	deadline time.Time
	asked    bool
	outcome  *ask.Outcome
	armed    time.Time
	given    rungs // Show was given and not reported on yet
	tried    rungs
	up       rungs // on somebody's screen
}

// rungs is a set of the rungs that are played with.
type rungs [4]bool

func (s rungs) count() int {
	n := 0
	for _, in := range s {
		if in {
			n++
		}
	}
	return n
}

// playAsk makes up events for one ask and checks every step.
func playAsk(pick draw, events int, found map[string]bool, fail report) {
	m := &askModel{fail: fail}
	now := start
	var a Ask
	for range events {
		now = now.Add(time.Duration(pick(4)) * time.Second)
		var ev AskEvent
		var name string
		rung := Rung(pick(4))
		switch pick(12) {
		case 0, 1:
			deadline := now.Add(time.Duration(pick(60)) * time.Second)
			asked := Asked{Deadline: deadline, Rungs: []Rung{RungClient, 2, 3}[:pick(4)]}
			if pick(20) == 0 {
				asked.Refuse = ask.Errorf(ask.RateLimited, "Because.")
			}
			ev, name = asked, "asked"
		case 2, 3, 4:
			ev, name = Shown{Rung: rung}, "shown"
		case 5, 6:
			ev, name = ShowFailed{Rung: rung, Why: ask.Errorf(ask.ClientGone, "Because.")}, "show-failed"
		case 7:
			ev, name = Submitted{Rung: rung, Answer: ask.Answer{Action: ask.Accept, Result: strconv.AppendInt(nil, now.Unix(), 10)}}, "submitted"
		case 8:
			ev, name = Withdrawn{Why: ask.Errorf(ask.BackendWithdrew, "Because.")}, "withdrawn"
			if pick(3) > 0 {
				ev, name = Tick{}, "tick"
			}
		case 9:
			ev, name = Abandoned{Why: ask.Errorf(ask.ClientGone, "Because.")}, "abandoned"
			if pick(3) > 0 {
				ev, name = Tick{}, "tick"
			}
		default:
			ev, name = Tick{}, "tick"
		}
		next, effects := StepAsk(a, now, ev)
		if found != nil {
			found[transition(a.Phase, name, next.Phase, effects)] = true
		}
		if a.Phase > next.Phase || a.Phase == PhaseSettled && (a.Ending != next.Ending || a.Why != next.Why) {
			fail("%T took %s back to %s", ev, askText(a), askText(next))
		}
		m.check(now, ev, next, effects)
		a = next
	}
	if !m.asked {
		return
	}
	if now.Before(m.deadline) {
		now = m.deadline
	}
	a, effects := StepAsk(a, now, Tick{})
	m.check(now, Tick{}, a, effects)
	if m.outcome == nil {
		fail("not settled by a tick at its deadline: %s", askText(a))
	}
}

func (m *askModel) check(now time.Time, ev AskEvent, a Ask, effects []AskEffect) {
	open := m.asked && m.outcome == nil
	if asked, ok := ev.(Asked); ok && !m.asked {
		m.asked, m.deadline, open = true, asked.Deadline, true
	}
	before := m.outcome
	answeredBy := NoRung
	switch ev := ev.(type) {
	case Shown:
		if m.given[ev.Rung] {
			m.given[ev.Rung] = false
			m.up[ev.Rung] = true
		}
	case Submitted:
		answeredBy = ev.Rung
	}

	replies, lates := 0, 0
	for i, e := range effects {
		switch e := e.(type) {
		case Show:
			if m.tried[e.Rung] || !open {
				m.fail("%T shows on rung %d again, or after the end", ev, e.Rung)
			}
			m.tried[e.Rung], m.given[e.Rung] = true, true
		case Withdraw:
			if !m.up[e.Rung] || e.Why == nil {
				m.fail("%T withdraws rung %d, which is not up, or gives no reason", ev, e.Rung)
			}
			m.up[e.Rung] = false
		case Arm:
			m.armed = e.At
		case Reply:
			replies++
			out := e.Outcome
			m.outcome = &out
			// An expiry and a late answer can share a step; the reply still
			// comes after everything that acts on the outcome.
			for _, later := range effects[i+1:] {
				if _, ok := later.(Withdraw); ok {
					if _, shown := ev.(Shown); !shown {
						m.fail("%T replies before it withdraws", ev)
					}
				}
			}
		case Late:
			lates++
		}
	}

	if failed, ok := ev.(ShowFailed); ok {
		// Last, because an ask that expires in this step withdraws it first.
		m.given[failed.Rung] = false
		m.up[failed.Rung] = false
	}
	if replies > 1 || replies == 1 && before != nil {
		m.fail("%T gives a second reply", ev)
	}
	if (a.Phase == PhaseSettled) != (m.outcome != nil) {
		m.fail("%T leaves %s, outcome %v", ev, askText(a), m.outcome)
	}
	m.checkAnswer(now, ev, before, replies, lates, answeredBy)
	if m.outcome == nil && m.asked && !m.armed.Equal(m.deadline) {
		m.fail("an open ask has no alarm at its deadline")
	}
	if m.outcome == nil && m.asked && !now.Before(m.deadline) {
		m.fail("%T at %s leaves an ask open whose deadline was %s", ev, now, m.deadline)
	}
	if m.outcome == nil && m.asked && m.up.count()+m.given.count() != 1 {
		m.fail("an open ask is shown on %d rungs", m.up.count()+m.given.count())
	}
	if m.outcome != nil && m.up.count() > 0 {
		m.fail("%T leaves a showing up after the end: %v", ev, m.up)
	}
}

// checkAnswer holds that outcomes with an answer come from people, and that
// every answer is either taken or told that it came late.
func (m *askModel) checkAnswer(now time.Time, ev AskEvent, before *ask.Outcome, replies, lates int, by Rung) {
	submitted, isAnswer := ev.(Submitted)
	taken := isAnswer && replies == 1 && m.outcome.Ending == ask.Answered
	switch {
	case taken && (before != nil || !now.Before(m.deadline) || m.outcome.Err != nil ||
		string(m.outcome.Answer.Result) != string(submitted.Answer.Result)):
		m.fail("an answer was taken wrongly: %+v", *m.outcome)
	case !taken && replies == 1 && (m.outcome.Err == nil || m.outcome.Answer.Action != ask.NoAction || m.outcome.Answer.Result != nil):
		m.fail("%T made up an answer or gave no reason: %+v", ev, *m.outcome)
	case !isAnswer && replies == 1 && m.outcome.Ending == ask.Answered:
		m.fail("%T counts as an answer", ev)
	case isAnswer && m.asked && !taken && lates != 1, !isAnswer && lates > 0, taken && lates > 0:
		m.fail("%T: taken %t and told late %d times", ev, taken, lates)
	}
	if taken {
		// Whoever answered needs no withdrawal, now or when the report of
		// their showing comes in.
		m.up[by] = false
		m.given[by] = false
	}
}

// callModel is what an onlooker knows of one call.
type callModel struct {
	begun, attached, finished, over, stopped bool
	limits                                   Limits
	cap                                      time.Time
	asks                                     int
	worked                                   time.Duration
	armed                                    time.Time
}

// playCall makes up events for one call and checks every step.
func playCall(pick draw, events int, found map[string]bool, fail report) {
	m := &callModel{}
	now := start
	var c Call
	for range events {
		past := time.Duration(pick(4)) * time.Second
		if m.begun && m.asks == 0 {
			m.worked += past
		}
		now = now.Add(past)
		ev, name := pickCallEvent(pick, now)
		next, effects := StepCall(c, now, ev)
		if found != nil {
			found[transition(c.Phase, name, next.Phase, effects)] = true
		}
		if c.Phase == CallDone && (next != c || len(effects) > 0) {
			fail("%s changes a call that is done: %v", name, effects)
		}
		m.check(now, ev, name, c, next, effects, fail)
		c = next
	}
	if !m.begun {
		return
	}
	// Whatever happened: a call ends once its cap and the patience with a
	// backend that was told to stop are over.
	for range 2 {
		if now.Before(m.cap) {
			now = m.cap
		}
		c, _ = StepCall(c, now, Tick{})
		now = now.Add(m.limits.Away)
	}
	if c, _ = StepCall(c, now, Tick{}); c.Phase != CallDone {
		fail("not done after its cap and its patience: %s", callText(c, now))
	}
}

func pickCallEvent(pick draw, now time.Time) (CallEvent, string) {
	switch pick(16) {
	case 0, 1:
		seconds := func(n int) time.Duration { return time.Duration(pick(n)+1) * time.Second }
		return Began{Started: now, Limits: Limits{Work: seconds(30), Total: seconds(120), Away: seconds(20)}}, "began"
	case 2, 3:
		return AskOpened{}, "ask-opened"
	case 4, 5:
		return AskSettled{}, "ask-settled"
	case 6, 7:
		return StreamLost{}, "stream-lost"
	case 8, 9:
		return StreamBack{}, "stream-back"
	case 10:
		if pick(3) == 0 {
			return Finished{}, "finished"
		}
	case 11:
		return Collected{}, "collected"
	case 12:
		if pick(4) == 0 {
			return Cancelled{}, "cancelled"
		}
	}
	return Tick{}, "tick"
}

func (m *callModel) check(now time.Time, ev CallEvent, name string, before, after Call, effects []CallEffect, fail report) {
	m.observe(ev, now)
	for i, e := range effects {
		switch e := e.(type) {
		case Arm:
			if i != 0 {
				fail("%s acts before it sets the alarm: %v", name, effects)
			}
			m.armed = e.At
		case CancelUpstream:
			if m.stopped || m.finished {
				fail("%s cancels upstream again, or after the end", name)
			}
			m.stopped = true
			inTime := m.worked < m.limits.Work && now.Before(m.cap)
			if code := e.Why.Code; inTime && code != ask.ClientCancelled && code != ask.ClientGone {
				fail("%s: stopped for %s after %s of %s worked", name, code, m.worked, m.limits.Work)
			}
		case Deliver:
			if !m.finished || !m.attached {
				fail("%s delivers with nothing to deliver or nobody there", name)
			}
		case Keep:
			if !m.finished || m.attached {
				fail("%s keeps with nothing to keep or somebody there", name)
			}
		case Release:
			if m.over || i != len(effects)-1 {
				fail("%s releases twice, or not last: %v", name, effects)
			}
			m.over = true
		}
	}
	if m.over != (after.Phase == CallDone) {
		fail("%s: released %t in %s", name, m.over, callText(after, now))
	}
	if !after.running() && after.Phase != CallUncollected {
		return
	}
	if !m.armed.Equal(after.next()) {
		fail("%s leaves the alarm at %s, next is %s", name, m.armed, after.next())
	}
	if !after.running() || m.stopped {
		return
	}
	if left := max(0, m.limits.Work-m.worked); left != after.Work.Remaining(now) {
		fail("%s: %s of work left, the clock says %s", name, left, after.Work.Remaining(now))
	}
	if _, tick := ev.(Tick); tick && (!now.Before(m.cap) || m.asks == 0 && m.worked >= m.limits.Work) {
		fail("a tick leaves a call running whose time is up: %s", callText(after, now))
	}
	if before.Phase == CallNew && after.Phase != CallAttached {
		fail("a call begins %s", after.Phase)
	}
}

func (m *callModel) observe(ev CallEvent, now time.Time) {
	running := m.begun && !m.finished && !m.over
	switch ev := ev.(type) {
	case Began:
		if !m.begun {
			m.begun, m.attached, m.limits, m.cap = true, true, ev.Limits, now.Add(ev.Limits.Total)
		}
	case AskOpened:
		if running {
			m.asks++
		}
	case AskSettled:
		if running && m.asks > 0 {
			m.asks--
		}
	case StreamLost:
		m.attached = false
	case StreamBack:
		m.attached = m.begun
	case Finished:
		m.finished = m.finished || running
	}
}
