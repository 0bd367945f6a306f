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
// value: only StepCall makes another one from it.
type Call struct {
	Work  Clock
	Cap   time.Time     // when its total time is over
	Until time.Time     // when the patience with an absent client, a stopped backend or an uncollected response ends
	Away  time.Duration // how long that patience is
	Asks  int           // open now
	Phase CallPhase
	// Stopped is set once the upstream request was cancelled for taking too
	// long: what is still to come is the failure that the client is told.
	Stopped bool
}

// StepCall takes a call from one state to the next. Only a Tick judges time: a
// response that is there is delivered, even if the limit passed a moment ago.
func StepCall(c Call, now time.Time, ev CallEvent) (Call, []CallEffect) {
	s := callStep{Call: c, now: now}
	ticked := false
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
	case Finished:
		s.finished()
	case Collected:
		if s.Phase == CallUncollected {
			s.release()
		}
	case Cancelled:
		s.cancelled()
	case Tick:
		ticked = true
		s.tick()
	}
	// The alarm comes first: nothing that acts may delay it.
	if next := s.next(); !next.IsZero() && (ticked || !next.Equal(c.next())) {
		s.effects = slices.Insert(s.effects, 0, CallEffect(Arm{At: next}))
	}
	return s.Call, s.effects
}

// callStep is one step under way.
type callStep struct {
	Call
	now     time.Time
	effects []CallEffect
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

func (s *callStep) streamLost() {
	switch s.Phase {
	case CallAttached:
		s.Phase = CallAway
		if !s.Stopped {
			s.Until = s.now.Add(s.Away)
		}
	case CallUncollected:
		s.do(Keep{Until: s.Until})
	}
}

func (s *callStep) streamBack() {
	switch s.Phase {
	case CallAway:
		s.Phase = CallAttached
	case CallUncollected:
		s.do(Deliver{})
	}
}

func (s *callStep) finished() {
	if !s.running() {
		return
	}
	s.Until = s.now.Add(s.Away)
	if s.Phase == CallAttached {
		s.do(Deliver{})
	} else {
		s.do(Keep{Until: s.Until})
	}
	s.Phase = CallUncollected
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
