package exchange

import (
	"slices"
	"time"

	"github.com/answerback/answerback/ask"
)

// CallPhase is where a call that waits stands.
type CallPhase uint8

// The phases of a call that waits.
const (
	CallNew         CallPhase = iota // not begun
	CallAttached                     // running, its client has a stream open
	CallAway                         // running, its client is away and may come back
	CallUncollected                  // finished, its client does not have the response yet
	CallDone                         // over, for ever
)

// String gives the phase's name.
func (p CallPhase) String() string {
	switch p {
	case CallNew:
		return "new"
	case CallAttached:
		return "attached"
	case CallAway:
		return "away"
	case CallUncollected:
		return "uncollected"
	}
	return "done"
}

// Limits bound a call that waits.
type Limits struct {
	Work  time.Duration // how long it may work, time spent on asks not counted
	Total time.Duration // how long it may take, everything counted
	Away  time.Duration // how long its client may be away, and then its response uncollected
}

// Call is the state of one call that waits. The zero Call is new. It is a
// value: only StepCall makes another one from it. All that must be durable of
// it is in its exported fields; CallRestarted follows when they are read back.
type Call struct {
	Work    Clock
	Cap     time.Time     // when its total time is over
	Until   time.Time     // when the patience with an absent client, a stopped backend or an uncollected response ends
	Away    time.Duration // how long that patience is
	Expires time.Time     // of a call that is a task or whose client was told to call again: when it is forgotten
	Asks    int           // open now
	Phase   CallPhase
	// Told is set once the client was told to call again.
	Told bool
	// Stopped is set once the upstream request was cancelled for taking too
	// long: what is still to come is the failure that the client is told.
	Stopped bool
	// Delivering is set while the response is being written.
	Delivering bool

	pending *callPending // the step that waits for its Shelve
}

type callPending struct {
	next    Call
	effects []CallEffect
}

// Task reports whether the call has become a task.
func (c Call) Task() bool { return !c.Expires.IsZero() && !c.Told }

// StepCall takes a call from one state to the next. Only a Tick judges time: a
// response that is there is delivered, even if the limit passed a moment ago.
func StepCall(c Call, now time.Time, ev CallEvent) (Call, []CallEffect) {
	if c.pending == nil {
		next, effects := stepCall(c, now, ev)
		if c.Expires.Equal(next.Expires) {
			return next, effects
		}
		// Nobody is told that the call waits for them before it can.
		c.pending = &callPending{next: next, effects: effects}
		return c, []CallEffect{Shelve{Call: next}}
	}
	switch ev.(type) {
	case Shelved:
		return c.pending.next, c.pending.effects
	case ShelveFailed:
		c.pending = nil
		return c, nil
	}
	return c, []CallEffect{Again{}}
}

// stepCall is a step that nothing holds up.
func stepCall(c Call, now time.Time, ev CallEvent) (Call, []CallEffect) {
	s := callStep{Call: c, now: now}
	switch ev := ev.(type) {
	case Began:
		s.began(ev)
	case AskOpened:
		s.askOpened()
	case AskSettled:
		s.askSettled()
	case StreamLost:
		s.streamLost()
	case StreamBack:
		s.streamBack()
	case BecameTask:
		s.park(ev.TTL, false)
	case Told:
		s.park(ev.TTL, true)
	case CalledAgain:
		s.calledAgain()
	case CallRestarted:
		s.restarted(ev)
	case Finished:
		s.finished()
	case Collected:
		s.collected()
	case Cancelled:
		s.cancelled()
	case Tick:
		s.ring = true
		s.tick()
	}
	// The alarm comes first: nothing that acts may delay it.
	if next := s.next(); !next.IsZero() && (s.ring || !next.Equal(c.next())) {
		s.effects = slices.Insert(s.effects, 0, CallEffect(Arm{At: next}))
	}
	return s.Call, s.effects
}

// callStep is one step under way.
type callStep struct {
	Call
	now     time.Time
	effects []CallEffect
	ring    bool // whether the alarm must be set, changed or not
}

func (s *callStep) do(e CallEffect) { s.effects = append(s.effects, e) }

func (c Call) running() bool { return c.Phase == CallAttached || c.Phase == CallAway }

// next is when the call must be looked at again, zero for never.
func (c Call) next() time.Time {
	if c.Phase == CallUncollected || c.running() && c.Stopped {
		return c.Until
	}
	if !c.running() {
		return time.Time{}
	}
	next := c.Cap
	if t, runs := c.Work.Deadline(); runs && t.Before(next) {
		next = t
	}
	if c.Phase == CallAway && c.Until.Before(next) {
		next = c.Until
	}
	return next
}

func (s *callStep) began(ev Began) {
	if s.Phase != CallNew {
		return
	}
	s.Phase = CallAttached
	s.Work = Clock{Left: ev.Limits.Work}.Start(ev.Started)
	s.Cap = ev.Started.Add(ev.Limits.Total)
	s.Away = ev.Limits.Away
}

func (s *callStep) askOpened() {
	if !s.running() {
		return
	}
	s.Asks++
	s.Work = s.Work.Stop(s.now)
}

func (s *callStep) askSettled() {
	if !s.running() || s.Asks == 0 {
		return
	}
	s.Asks--
	if s.Asks == 0 {
		s.Work = s.Work.Start(s.now)
	}
}

// patience is until when an absent client is waited for from now on.
func (s *callStep) patience() time.Time {
	if !s.Expires.IsZero() {
		return s.Expires
	}
	return s.now.Add(s.Away)
}

func (s *callStep) streamLost() {
	switch s.Phase {
	case CallAttached:
		s.Phase = CallAway
		if !s.Stopped {
			s.Until = s.patience()
		}
	case CallUncollected:
		s.Delivering = false
		s.keep()
	}
}

func (s *callStep) streamBack() {
	switch s.Phase {
	case CallAway:
		s.Phase = CallAttached
	case CallUncollected:
		s.deliver()
	}
}

func (s *callStep) deliver() {
	s.Delivering = true
	s.do(Deliver{})
}

// park sends the client away with a promise. Only one that is there can be
// told, and only once.
func (s *callStep) park(ttl time.Duration, told bool) {
	if s.Phase != CallAttached || !s.Expires.IsZero() || s.Stopped {
		return
	}
	s.Phase, s.Told = CallAway, told
	s.Expires = s.now.Add(ttl)
	s.Until = s.Expires
	s.do(Dismiss{Task: !told})
}

func (s *callStep) calledAgain() {
	switch {
	case s.Phase == CallNew || s.Phase == CallDone:
	case s.Told && s.Phase == CallAway:
		s.Phase = CallAttached
		s.do(Attach{})
	case s.Told && s.Phase == CallUncollected && !s.Delivering:
		s.do(Attach{})
		s.deliver()
	default:
		s.do(Already{})
	}
}

// restarted goes on with a call of an earlier life. The time in which the
// gateway was down is not charged to the backend.
func (s *callStep) restarted(ev CallRestarted) {
	s.ring = true
	s.Delivering = false
	if !s.running() {
		return
	}
	s.Phase, s.Asks = CallAway, ev.Asks
	s.Work = Clock{Left: s.Work.Left}
	if s.Asks == 0 {
		s.Work = s.Work.Start(s.now)
	}
	if !s.Stopped {
		s.Until = s.patience()
	}
	if ev.Lost != nil {
		s.do(Fail{Why: ev.Lost})
		s.finished()
	}
}

func (s *callStep) finished() {
	if !s.running() {
		return
	}
	attached := s.Phase == CallAttached
	s.Phase, s.Until = CallUncollected, s.patience()
	if !attached || !s.Expires.IsZero() {
		s.keep()
	}
	if attached {
		s.deliver()
	}
}

func (s *callStep) keep() { s.do(Keep{Until: s.Until, Call: s.Call}) }

// collected forgets a response that has arrived. A task's client may poll again.
func (s *callStep) collected() {
	switch {
	case s.Phase != CallUncollected:
	case s.Task():
		s.Delivering = false
	default:
		s.release()
	}
}

func (s *callStep) cancelled() {
	switch {
	case s.running():
		s.abort(ask.Errorf(ask.ClientCancelled, "The client cancelled the call."))
	case s.Phase == CallUncollected:
		s.release()
	}
}

func (s *callStep) tick() {
	gone := !s.now.Before(s.Until)
	switch {
	case s.Phase == CallUncollected || s.running() && s.Stopped:
		if gone {
			s.release()
		}
	case s.Phase == CallAway && gone:
		s.abort(ask.Errorf(ask.ClientGone, "The client went away and did not come back."))
	case s.running():
		s.judge()
	}
}

// judge stops a call whose time is up, and says whose time it was.
func (s *callStep) judge() {
	capped := !s.now.Before(s.Cap)
	switch {
	case capped && s.Asks > 0:
		s.stop(ask.Errorf(ask.Timeout, "The call reached its limit while a question was open."))
	case capped || s.Asks == 0 && s.Work.Remaining(s.now) == 0:
		s.stop(ask.Errorf(ask.BackendTimeout, "The backend took too long."))
	}
}

// stop ends the upstream request; the client will be told of the failure.
func (s *callStep) stop(why *ask.Error) {
	s.Stopped = true
	s.Until = s.now.Add(s.Away)
	s.do(CancelUpstream{Why: why})
}

// abort ends a call whose client is not there to be told.
func (s *callStep) abort(why *ask.Error) {
	if !s.Stopped {
		s.do(CancelUpstream{Why: why})
	}
	s.release()
}

func (s *callStep) release() {
	s.Phase = CallDone
	s.do(Release{})
}
