package exchange

import (
	"time"

	"github.com/answerback/answerback/ask"
)

// callModel is what an onlooker knows of one call.
type callModel struct {
	begun, attached, finished, over, stopped bool
	limits                                   Limits
	cap, expires                             time.Time
	asks                                     int
	worked                                   time.Duration
	armed                                    time.Time
	shelf                                    *Call // what is durable of it
}

// playCall makes up events for one call and checks every step.
func playCall(pick draw, events int, seen map[string]bool, fail report) {
	m := &callModel{}
	now := start
	var c Call
	for range events {
		past := time.Duration(pick(4)) * time.Second
		if m.begun && m.asks == 0 {
			m.worked += past
		}
		now = now.Add(past)
		ev := pickCallEvent(pick, now)
		if restarted, ok := ev.(CallRestarted); ok {
			if m.shelf == nil || c.pending != nil {
				continue // a call that was promised to nobody ends with its gateway
			}
			if !m.finished {
				c = *m.shelf
				m.begun, m.stopped = true, c.Stopped
				m.asks, m.worked = restarted.Asks, m.limits.Work-c.Work.Left
			}
			m.attached = false
		}
		next, effects := StepCall(c, now, ev)
		name := eventName(callEventNames, ev)
		if seen != nil {
			seen["call "+callPhase(c)+" "+name+" -> "+callPhase(next)] = true
		}
		if c.Phase == CallDone && (next != c || len(effects) > 0) {
			fail("%s changes a call that is done: %v", name, effects)
		}
		if m.shelves(c, next, ev, effects, fail) {
			m.check(now, ev, name, c, next, effects, fail)
		}
		c = next
	}
	if !m.begun {
		return
	}
	// Whatever happened: a call ends once its cap, its time as a task and the
	// patience with a backend that was told to stop are over.
	c, _ = StepCall(c, now, ShelveFailed{})
	for _, end := range []time.Time{m.cap, m.expires} {
		if now.Before(end) {
			now = end
		}
	}
	for range 3 {
		c, _ = StepCall(c, now, Tick{})
		now = now.Add(m.limits.Away)
	}
	if c.Phase != CallDone {
		fail("not done after its cap and its patience: %s", callText(c, now))
	}
}

// shelves holds that nobody is promised anything before it is stored. It
// reports whether the step went through.
func (m *callModel) shelves(before, after Call, ev CallEvent, effects []CallEffect, fail report) bool {
	if before.pending != nil {
		switch ev.(type) {
		case Shelved:
			m.attached, m.shelf, m.expires = false, &before.pending.next, after.Expires
			return true
		case ShelveFailed:
			return true
		}
		if len(effects) != 1 || effects[0] != (Again{}) || after != before {
			fail("%T is not put off while a Shelve is under way: %v", ev, effects)
		}
		return false
	}
	for _, e := range effects {
		switch e.(type) {
		case Shelve:
			if len(effects) > 1 || m.shelf != nil {
				fail("%T acts beside a Shelve, or shelves again: %v", ev, effects)
			}
			return false
		case Dismiss:
			fail("%T dismisses the client at once", ev)
		}
	}
	return true
}

func pickCallEvent(pick draw, now time.Time) CallEvent {
	seconds := func(n int) time.Duration { return time.Duration(pick(n)+1) * time.Second }
	switch pick(20) {
	case 0, 1:
		return Began{Started: now, Limits: Limits{Work: seconds(30), Total: seconds(120), Away: seconds(20)}}
	case 2, 3:
		return AskOpened{}
	case 4, 5:
		return AskSettled{}
	case 6, 7:
		return StreamLost{}
	case 8, 9:
		return StreamBack{}
	case 10:
		if pick(3) == 0 {
			return Finished{}
		}
	case 11:
		return Collected{}
	case 12:
		if pick(4) == 0 {
			return Cancelled{}
		}
	case 13:
		return BecameTask{TTL: seconds(100)}
	case 14:
		return Told{TTL: seconds(100)}
	case 15:
		return CalledAgain{}
	case 16, 17:
		return []CallEvent{Shelved{}, Shelved{}, ShelveFailed{}}[pick(3)]
	case 18:
		ev := CallRestarted{Asks: pick(2)}
		if pick(3) == 0 {
			ev.Lost = ask.Errorf(ask.BackendLost, "Because.")
		}
		return ev
	}
	return Tick{}
}

func (m *callModel) check(now time.Time, ev CallEvent, name string, before, after Call, effects []CallEffect, fail report) {
	m.observe(ev, now)
	kept := false
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
			if _, finished := ev.(Finished); !m.finished || !m.attached || finished && m.shelf != nil && !kept {
				fail("%s delivers with nothing to deliver, nobody there, or what was promised and is not kept", name)
			}
		case Attach:
			if _, again := ev.(CalledAgain); !again || m.shelf == nil || !m.shelf.Told || before.Phase == CallAttached || before.Delivering {
				fail("%s attaches a call to one that waits for none: %s", name, callText(before, now))
			}
			m.attached = true
		case Fail:
			if m.finished || e.Why == nil {
				fail("%s fails a call that has its response, or for no reason", name)
			}
			m.finished = true
		case Keep:
			if !m.finished || m.attached && m.shelf == nil || e.Call.Phase != CallUncollected {
				fail("%s keeps with nothing to keep or somebody there", name)
			}
			kept = true
		case Release:
			if m.over || i != len(effects)-1 {
				fail("%s releases twice, or not last: %v", name, effects)
			}
			m.over, m.shelf = true, nil
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
