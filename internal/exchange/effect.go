package exchange

import (
	"time"

	"github.com/answerback/answerback/ask"
)

// AskEffect is something to be done for an ask.
type AskEffect interface{ askEffect() }

// Persist makes what must be durable of the ask durable. Nothing that acts or
// replies stands beside it: that comes with the step of its report. Its end is
// reported with Persisted, PersistFailed or Learned, once, within a bounded time.
type Persist struct {
	Kept Kept
	New  bool // whether the store does not have the ask yet
}

// Forget removes what a Persist with New may have stored before it failed, as
// well as that can be done. Nothing waits for it.
type Forget struct{}

// Note stores what became of an outcome. Nothing waits for it, and where it is
// lost the outcome may be given to the same asker once more after a restart.
type Note struct{ Kept Kept }

// Audit puts a transition on record.
type Audit struct {
	Transition Transition
	Rung       Rung          // of shown, show_failed, opened and consented
	Why        *ask.Error    // of show_failed and undeliverable
	Outcome    ask.Outcome   // of settled
	By         ask.Principal // of opened, consented, extended, attempted and instant
	Surface    string        // of the same
}

// Transition names what an Audit is about.
type Transition uint8

// The transitions of an ask. An answer that came late is no transition: it
// changes nothing, and has its own effect.
const (
	TransitionAsked Transition = iota + 1
	TransitionShown
	TransitionShowFailed
	TransitionSettled
	TransitionOpened
	TransitionConsented
	TransitionWarned
	TransitionExtended
	TransitionAttempted
	TransitionRestarted
	TransitionAdopted
	TransitionDelivered
	TransitionUndeliverable
	TransitionInstant // a client refused the question sooner than a person could have
)

var transitionNames = [...]string{
	TransitionAsked:         "asked",
	TransitionShown:         "shown",
	TransitionShowFailed:    "show_failed",
	TransitionSettled:       "settled",
	TransitionOpened:        "opened",
	TransitionConsented:     "consented",
	TransitionWarned:        "warned",
	TransitionExtended:      "extended",
	TransitionAttempted:     "attempted",
	TransitionRestarted:     "restarted",
	TransitionAdopted:       "adopted",
	TransitionDelivered:     "delivered",
	TransitionUndeliverable: "undeliverable",
	TransitionInstant:       "instant",
}

// String gives the transition's name as it stands in logs and in the audit.
func (t Transition) String() string {
	if t == 0 || int(t) >= len(transitionNames) {
		return "unknown"
	}
	return transitionNames[t]
}

// Show puts the ask before somebody. Its end is reported with Shown or
// ShowFailed, once.
type Show struct{ Rung Rung }

// Withdraw takes a showing back that is known to be up. On RungLink, where the
// link was followed, it tells the client that the page is done with; on
// RungPage it tells every screen, that of the answerer too.
type Withdraw struct {
	Rung Rung
	Why  *ask.Error
}

// Warn tells whoever has the ask before them that its time is nearly up.
type Warn struct {
	Deadline time.Time
	Up       Rungs // where it is shown
}

// Reply gives the outcome to the asker. An ask that was opened has exactly one
// in the life of a gateway. After a restart it is repeated only to an asker
// that waits on, and of which it is not known that it has the outcome. Its end
// is reported with Delivered or Undeliverable.
type Reply struct{ Outcome ask.Outcome }

// Late tells whoever submitted the answer that it was not taken, and puts
// that on record.
type Late struct {
	By      ask.Principal
	Surface string
	Answer  ask.Answer
}

// NotDone tells whoever brought the event that it changed nothing, and why.
// Nothing was promised to them. Where the reason is the store they may try
// again.
type NotDone struct {
	Event AskEvent // Submitted, Extend, Attempted, Opened or Promised
	Why   *ask.Error
}

// Again says that the event was not looked at, because the report of a Persist
// or a Shelve is due. It must be brought again after that.
type Again struct{}

// Arm asks for a Tick at that time. It replaces the Arm before it.
type Arm struct{ At time.Time }

// CallEffect is something to be done for a call that waits.
type CallEffect interface{ callEffect() }

// CancelUpstream ends the call's asks that are still open, and then the
// upstream request, both for the same reason.
type CancelUpstream struct{ Why *ask.Error }

// Shelve makes the call durable, so that it can be promised. Its end is
// reported with Shelved or ShelveFailed, once, within a bounded time.
type Shelve struct{ Call Call }

// Dismiss ends the client's request for now: with the task's id for a task,
// else with the words to call again.
type Dismiss struct{ Task bool }

// Attach joins the request of a client that called again to the call.
type Attach struct{}

// Already tells a client that called again that another of its calls got there
// first, or that none is waited for.
type Already struct{}

// Fail makes the failure Why the call's response.
type Fail struct{ Why *ask.Error }

// Deliver writes the response to the client's stream. Its success is reported
// with Collected, its failure with StreamLost.
type Deliver struct{}

// Keep stores the response for a client that is away, and of a call that was
// promised before anybody has it. It may be repeated.
type Keep struct {
	Until time.Time
	Call  Call // what must be durable with it
}

// Release frees all that the call holds. It is the last effect of a call.
type Release struct{}

func (Persist) askEffect()  {}
func (Forget) askEffect()   {}
func (Note) askEffect()     {}
func (Audit) askEffect()    {}
func (Show) askEffect()     {}
func (Withdraw) askEffect() {}
func (Warn) askEffect()     {}
func (Reply) askEffect()    {}
func (Late) askEffect()     {}
func (NotDone) askEffect()  {}
func (Again) askEffect()    {}
func (Arm) askEffect()      {}

func (Arm) callEffect()            {}
func (Again) callEffect()          {}
func (CancelUpstream) callEffect() {}
func (Shelve) callEffect()         {}
func (Dismiss) callEffect()        {}
func (Attach) callEffect()         {}
func (Already) callEffect()        {}
func (Fail) callEffect()           {}
func (Deliver) callEffect()        {}
func (Keep) callEffect()           {}
func (Release) callEffect()        {}
