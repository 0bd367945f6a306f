package exchange

import (
	"time"

	"github.com/answerback/answerback/ask"
)

// AskEvent is something that happened to an ask.
type AskEvent interface{ askEvent() }

// Asked opens an ask. Nothing else has an effect before it.
type Asked struct {
	Deadline time.Time
	Rungs    []Rung     // from Ladder; never modified
	Refuse   *ask.Error // why it may not be asked at all, or nil
}

// Shown reports that the Show of a rung succeeded.
type Shown struct{ Rung Rung }

// ShowFailed reports that the Show of a rung failed, or that a showing which
// was up has been lost.
type ShowFailed struct {
	Rung Rung
	Why  *ask.Error
}

// Submitted brings an answer.
type Submitted struct {
	Rung    Rung // the showing it came through, NoRung where it came through none
	By      ask.Principal
	Surface string
	Answer  ask.Answer
}

// Withdrawn reports that the asker took its question back, or is gone.
type Withdrawn struct{ Why *ask.Error }

// Abandoned reports that nobody is left to answer, or nobody to hear the answer.
type Abandoned struct{ Why *ask.Error }

// CallEvent is something that happened to a call that waits.
type CallEvent interface{ callEvent() }

// Began hands a call to its machine, attached. Nothing else has an effect
// before it. Started may lie in the past: a call that has run for a while
// before its first question has used up that much of its work time.
type Began struct {
	Started time.Time
	Limits  Limits
}

// AskOpened reports that an ask of this call was opened.
type AskOpened struct{}

// AskSettled reports that an ask of this call has ended.
type AskSettled struct{}

// StreamLost reports that the client's stream broke. It is no cancel.
type StreamLost struct{}

// StreamBack reports that the client has a stream again.
type StreamBack struct{}

// Finished reports that the call's final response, or its failure, is there.
type Finished struct{}

// Collected reports that the client has the response.
type Collected struct{}

// Cancelled reports that the client cancelled the call.
type Cancelled struct{}

// Tick reports only that time has passed.
type Tick struct{}

func (Asked) askEvent()      {}
func (Shown) askEvent()      {}
func (ShowFailed) askEvent() {}
func (Submitted) askEvent()  {}
func (Withdrawn) askEvent()  {}
func (Abandoned) askEvent()  {}
func (Tick) askEvent()       {}

func (Began) callEvent()      {}
func (AskOpened) callEvent()  {}
func (AskSettled) callEvent() {}
func (StreamLost) callEvent() {}
func (StreamBack) callEvent() {}
func (Finished) callEvent()   {}
func (Collected) callEvent()  {}
func (Cancelled) callEvent()  {}
func (Tick) callEvent()       {}
