package exchange

import (
	"time"

	"github.com/answerback/answerback/ask"
)

// AskEffect is something to be done for an ask.
type AskEffect interface{ askEffect() }

// Audit puts a transition on record.
type Audit struct {
	Transition Transition
	Rung       Rung        // of TransitionShown and TransitionShowFailed
	Why        *ask.Error  // of TransitionShowFailed
	Outcome    ask.Outcome // of TransitionSettled
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
)

// String gives the transition's name as it stands in logs and in the audit.
func (t Transition) String() string {
	switch t {
	case TransitionAsked:
		return "asked"
	case TransitionShown:
		return "shown"
	case TransitionShowFailed:
		return "show_failed"
	case TransitionSettled:
		return "settled"
	}
	return "unknown"
}

// Show puts the ask before somebody. Its end is reported with Shown or
// ShowFailed, once.
type Show struct{ Rung Rung }

// Withdraw takes a showing back that is known to be up.
type Withdraw struct {
	Rung Rung
	Why  *ask.Error
}

// Reply gives the outcome to the asker. An ask that was opened has exactly one.
type Reply struct{ Outcome ask.Outcome }

// Late tells whoever submitted the answer that it was not taken, and puts
// that on record.
type Late struct {
	By      ask.Principal
	Surface string
	Answer  ask.Answer
}

// Arm asks for a Tick at that time. It replaces the Arm before it.
type Arm struct{ At time.Time }

// CallEffect is something to be done for a call that waits.
type CallEffect interface{ callEffect() }

// CancelUpstream ends the call's asks that are still open, and then the
// upstream request, both for the same reason.
type CancelUpstream struct{ Why *ask.Error }

// Deliver writes the response to the client's stream. Its success is reported
// with Collected, its failure with StreamLost.
type Deliver struct{}

// Keep stores the response for a client that is away. It may be repeated.
type Keep struct{ Until time.Time }

// Release frees all that the call holds. It is the last effect of a call.
type Release struct{}

func (Audit) askEffect()    {}
func (Show) askEffect()     {}
func (Withdraw) askEffect() {}
func (Reply) askEffect()    {}
func (Late) askEffect()     {}
func (Arm) askEffect()      {}

func (Arm) callEffect()            {}
func (CancelUpstream) callEffect() {}
func (Deliver) callEffect()        {}
func (Keep) callEffect()           {}
func (Release) callEffect()        {}
