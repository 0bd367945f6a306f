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
	Warn     time.Duration // how long before the deadline somebody is warned, zero for never
	Rungs    []Rung        // from Ladder; never modified
	Kept     bool          // whether it is kept from the start, as for a call that is parked
	Refuse   *ask.Error    // why it may not be asked at all, or nil
}

// Shown reports that the Show of a rung succeeded.
type Shown struct{ Rung Rung }

// ShowFailed reports that the Show of a rung failed, or that a showing which
// was up has been lost.
type ShowFailed struct {
	Rung Rung
	Why  *ask.Error
}

// Reachable reports ways to the addressee that were not there before. They are
// used at once where the ask is shown nowhere, else when its showings fail.
type Reachable struct{ Rungs []Rung }

// Opened reports that somebody is about to see the ask, who came for it by
// themselves or on being shown it. On RungPage it makes the ask kept: the page
// may be served once the step's effects are there, and have no NotDone.
type Opened struct {
	Rung    Rung
	By      ask.Principal
	Surface string
}

// Promised reports that somebody is about to be told that the ask is kept: by
// the inbox, the API, or as a call is parked. They may be told once the step's
// effects are there, and have no NotDone.
type Promised struct{}

// Extend asks for more time, counted from the deadline as it stands.
type Extend struct {
	For     time.Duration
	Limit   int32 // how many extensions the way it came by allows in all
	By      ask.Principal
	Surface string
}

// Attempted reports an answer that failed validation. More of them than Limit
// end the ask.
type Attempted struct {
	Limit   int32
	By      ask.Principal
	Surface string
}

// Submitted brings an answer. Through RungLink an accept is the consent to
// open the link, and settles nothing.
type Submitted struct {
	Rung    Rung // the showing it came through, NoRung where it came through none
	By      ask.Principal
	Surface string
	Answer  ask.Answer
	// Instant says that it came sooner than a person could have given it.
	Instant bool
	// Doubted says that a refusal which came so soon is not believed: nobody
	// saw the question.
	Doubted bool
}

// Withdrawn reports that the asker took its question back, or is gone.
type Withdrawn struct{ Why *ask.Error }

// Abandoned reports that nobody is left to answer, or nobody to hear the answer.
type Abandoned struct{ Why *ask.Error }

// Delivered reports that the asker has the outcome.
type Delivered struct{}

// Undeliverable reports that the asker will never have the outcome.
type Undeliverable struct{ Why *ask.Error }

// Persisted reports that what a Persist gave is durable.
type Persisted struct{}

// PersistFailed reports that it is not, or not known to be, durable. Why is
// what somebody is told to whom that matters.
type PersistFailed struct{ Why *ask.Error }

// Learned brings what the store says. While a Persist is under way it reports
// that the store had something newer than the Persist was founded on, be it
// from another gateway, or from a write of which only its failure was known.
// At other times it tells what another gateway has stored.
type Learned struct{ Kept Kept }

// Restarted reports to a restored ask that this gateway has started again. It
// has an effect once.
type Restarted struct {
	Lost  *ask.Error // why its asker can hear no answer any more, nil where it waits on
	Rungs []Rung     // where its addressee can be reached now
}

// Adopted is Restarted for an ask whose gateway is gone: this one takes over.
type Adopted struct {
	Lost  *ask.Error
	Rungs []Rung
}

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

// BecameTask reports that the call is to go on as a task: its client gets the
// task's id, and polls. TTL is how long the task lives, its response included.
type BecameTask struct{ TTL time.Duration }

// Told reports that the client is to be told to call again later. TTL is how
// long the call, and then its response, waits for that.
type Told struct{ TTL time.Duration }

// CalledAgain reports that the client which was told to did call again.
type CalledAgain struct{}

// Shelved reports that what a Shelve gave is durable.
type Shelved struct{}

// ShelveFailed reports that it is not. The call goes on as it was.
type ShelveFailed struct{}

// CallRestarted reports to a call from the store that the gateway has started
// again. No client is there yet.
type CallRestarted struct {
	Lost *ask.Error // why the upstream request cannot go on, nil where it was resumed
	Asks int        // how many of its asks are open
}

// Finished reports that the call's final response, or its failure, is there.
type Finished struct{}

// Collected reports that the client has the response.
type Collected struct{}

// Cancelled reports that the client cancelled the call.
type Cancelled struct{}

// Tick reports only that time has passed.
type Tick struct{}

func (Asked) askEvent()         {}
func (Shown) askEvent()         {}
func (ShowFailed) askEvent()    {}
func (Reachable) askEvent()     {}
func (Opened) askEvent()        {}
func (Promised) askEvent()      {}
func (Extend) askEvent()        {}
func (Attempted) askEvent()     {}
func (Submitted) askEvent()     {}
func (Withdrawn) askEvent()     {}
func (Abandoned) askEvent()     {}
func (Delivered) askEvent()     {}
func (Undeliverable) askEvent() {}
func (Persisted) askEvent()     {}
func (PersistFailed) askEvent() {}
func (Learned) askEvent()       {}
func (Restarted) askEvent()     {}
func (Adopted) askEvent()       {}
func (Tick) askEvent()          {}

func (Began) callEvent()         {}
func (AskOpened) callEvent()     {}
func (AskSettled) callEvent()    {}
func (StreamLost) callEvent()    {}
func (StreamBack) callEvent()    {}
func (BecameTask) callEvent()    {}
func (Told) callEvent()          {}
func (CalledAgain) callEvent()   {}
func (Shelved) callEvent()       {}
func (ShelveFailed) callEvent()  {}
func (CallRestarted) callEvent() {}
func (Finished) callEvent()      {}
func (Collected) callEvent()     {}
func (Cancelled) callEvent()     {}
func (Tick) callEvent()          {}
