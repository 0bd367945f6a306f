package parking

import (
	"crypto/rand"
	"strings"
	"sync"
	"time"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/budget"
	"github.com/answerback/answerback/internal/contract"
	"github.com/answerback/answerback/internal/era"
	"github.com/answerback/answerback/internal/wire"
)

// Terms say what a call is, and how its client is treated.
type Terms struct {
	Who     ask.Principal
	Era     era.Era // the client's
	Backend string
	Name    string        // what it calls, in the backend's own names
	Through string        // the surface by which its client comes, "" for MCP
	Asks    bool          // its client can be asked something
	Tasks   bool          // it may become a task
	Away    time.Duration // how long it waits for its client, zero for the lot's own
	Hold    time.Duration // how long its client is held while a page waits, zero for not at all
	Beat    time.Duration // how often it is told meanwhile that the call goes on
	// Held counts the memory of its request and its response, nil where
	// nothing does. It is kept for as long as the call is in the lot.
	Held *budget.Hold
	// Told, where it is not nil, is called when the client is first told to
	// call again. It must not wait.
	Told func()
}

// Result is how the work of a call ended.
type Result struct {
	Reply     contract.Reply
	Err       error // an *ask.Error where there is no reply
	Cancelled bool  // its client cancelled it
	Suspended bool  // it goes on after a restart: nothing is kept of it
}

// Call is a call that can outlive the request that began it. Its owner does
// the work: it makes the call with New and Begin, says with Notify, Offer and
// Page what the backend sends and asks meanwhile, and with Finish how it ended.
// The requests of the client wait in Serve. Safe for concurrent use.
type Call struct {
	lot   *Lot
	id    string
	terms Terms
	began *wire.Message    // the request that began it, as its backend got it
	stop  func(*ask.Error) // ends the work

	done   chan struct{} // closed when the backend answered
	result Result        // from then on

	changed chan struct{} // has room for one: a question came or went

	claimed bool   // guarded by the lot's lock: a repeated call has it
	key     string // guarded by the lot's lock: what a repeated call is known by
	holds   bool   // guarded by the lot's lock: it is an owner of terms.Held

	mu      sync.Mutex
	round   int // the one that may come next
	created time.Time
	updated time.Time // when it last changed, as a task
	revived bool      // from before a restart: a later round may have been given out
	open    []open    // questions without an answer
	pages   []Page    // questions that wait on pages
	keys    int
	coming  int           // questions that are being stored, and will be open in a moment
	sink    contract.Sink // the client of the round under way, nil while it is away
	msg     *wire.Message // its request
	notes   [][]byte      // what could not be told while it was away
	last    []byte        // the latest progress of these
	reached float64       // how far progress has come
	patient *time.Timer   // runs while it is away
	told    bool          // its client was told to call again
	over    bool          // the backend answered
	gone    bool
}

// ours begins the ids of calls, and so of tasks that the gateway makes of them.
const ours = "answerback-"

// Ours reports whether a requestState or the id of a task is a call's.
func Ours(id string) bool { return strings.HasPrefix(id, ours) }

// New makes a call that may outlive its request. It is in the lot, where others
// find it, once it was let in: see Call.Admit.
func (l *Lot) New(t Terms) *Call {
	now := time.Now()
	if t.Away == 0 {
		t.Away = l.limits.Away
	}
	return &Call{
		lot: l, id: ours + rand.Text(), terms: t, created: now, updated: now,
		done: make(chan struct{}), changed: make(chan struct{}, 1),
	}
}

// ID is the call's, which nobody can guess.
func (pk *Call) ID() string { return pk.id }

// Begin says that the work begins: with which request, which is not modified
// afterwards, and how it is stopped. It comes before everything else but Admit.
func (pk *Call) Begin(msg *wire.Message, stop func(*ask.Error)) {
	pk.began, pk.stop = msg, stop
}

// Finish ends the wait for the backend. What no client waits for is kept.
func (pk *Call) Finish(r Result) {
	pk.mu.Lock()
	pk.result = r
	pk.over, pk.updated = true, time.Now()
	away := pk.sink == nil && !pk.gone && !r.Suspended
	switch {
	case pk.patient != nil:
		pk.patient.Reset(pk.terms.Away)
	case pk.told && away:
		pk.expireLater()
	}
	pk.mu.Unlock()
	if away {
		pk.keepReply()
	}
	close(pk.done)
}

// isDone reports whether the backend answered.
func (pk *Call) isDone() bool {
	select {
	case <-pk.done:
		return true
	default:
		return false
	}
}

// isCancelled reports whether a call that is done was cancelled.
func (pk *Call) isCancelled() bool {
	return pk.result.Cancelled || ask.CodeOf(pk.result.Err) == ask.ClientCancelled
}

// end gives the call up: its questions first, then the call itself.
func (pk *Call) end(why *ask.Error) {
	pk.mu.Lock()
	pk.gone = true
	if pk.patient != nil {
		pk.patient.Stop()
	}
	told := pk.told
	pk.mu.Unlock()
	pk.lot.remove(pk)
	pk.stop(why)
	if told && why.Code != ask.ShuttingDown {
		pk.drop()
	}
}

func (pk *Call) signal() {
	select {
	case pk.changed <- struct{}{}:
	default:
	}
}
