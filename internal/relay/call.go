package relay

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/contract"
	"github.com/answerback/answerback/internal/era"
	"github.com/answerback/answerback/internal/exchange"
	"github.com/answerback/answerback/internal/flight"
	"github.com/answerback/answerback/internal/parking"
	"github.com/answerback/answerback/internal/wire"
)

// call is one client request in flight. It is the sink of what its backend
// sends, and it owns the clock: the time that people take does not count as
// work, and everything ends at the cap.
type call struct {
	asker asker
	msg   *wire.Message
	peer  contract.Peer
	pk    *parking.Call // nil where the call ends with its request
	// changed takes list_changed notifications where the endpoint joins
	// several backends; nil where they pass as they are.
	changed func(method string) bool

	cancel context.CancelCauseFunc
	clock  clock
	trip   *flight.Trip // of the request that began it

	mu        sync.Mutex
	asks      map[*carried]struct{} // open ones, made at the first
	ended     bool                  // no further ask may open
	abandoned bool                  // the client cancelled: whatever comes, nothing is owed
	suspended bool                  // it goes on after a restart: nobody is told of an end
}

// newCall starts the clock of a call and derives its life from ctx.
func newCall(ctx context.Context, msg *wire.Message, peer contract.Peer, a asker, work, limit time.Duration) (*call, context.Context) {
	ctx, cancel := context.WithCancelCause(ctx)
	c := &call{asker: a, msg: msg, peer: peer, cancel: cancel, trip: flight.Of(ctx)}
	c.trip.Calls(a.backend, cmp.Or(a.name, msg.Method()))
	c.clock.start(exchange.Limits{Work: work, Total: limit, Away: limit}, c.end)
	return c, ctx
}

// end cancels a call from outside: its open asks end first, so that the
// backend hears the end of its question before the end of the call.
func (c *call) end(why *ask.Error) {
	c.mu.Lock()
	c.abandoned = c.abandoned || why.Code == ask.ClientCancelled
	if c.suspended {
		why = contract.ErrSuspended
	}
	c.mu.Unlock()
	c.endAsks(ask.Abandoned, why)
	c.cancel(why)
}

func (c *call) suspend() {
	c.mu.Lock()
	c.suspended = true
	c.mu.Unlock()
}

func (c *call) isSuspended() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.suspended
}

// isAbandoned reports whether the client cancelled the call. The end of its
// questions may make the backend answer before the cancel reaches it.
func (c *call) isAbandoned() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.abandoned
}

// finish releases what a call holds after its final response. Questions that
// are still open are withdrawn before the client gets the response.
func (c *call) finish() {
	c.clock.stop()
	c.endAsks(ask.Withdrawn, ask.Errorf(ask.BackendWithdrew, "The call that asked has ended."))
	c.cancel(nil)
}

// endAsks refuses further asks, ends the open ones, and waits until each has
// settled.
func (c *call) endAsks(how ask.Ending, why *ask.Error) {
	c.mu.Lock()
	c.ended = true
	open := make([]*carried, 0, len(c.asks))
	for k := range c.asks {
		open = append(open, k)
	}
	c.mu.Unlock()
	for _, k := range open {
		k.end(how, why)
	}
}

// report tells how the call went. It is for calls in which a client waits.
func (c *call) report(client era.Era, resp contract.Response, err error) {
	o := c.asker.relay.observe
	if o == nil {
		return
	}
	s := CallStats{Backend: c.asker.backend, Client: client}
	s.Work, s.People = c.clock.spent()
	if _, upstream := errors.AsType[*contract.UpstreamError](err); err != nil && !upstream {
		s.Code = ask.CodeOf(err)
	}
	s.Failed = s.Code == "" && (err != nil || resp.Failed)
	o.Call(s)
}

// Notify passes a notification of the backend on to the client.
func (c *call) Notify(msg *wire.Message) {
	if c.changed != nil && c.changed(msg.Method()) {
		return
	}
	c.peer.Notify(msg.Raw)
}

// Question carries a question of this call.
func (c *call) Question(q *contract.Question) {
	c.asker.carry(q, c.peer, c)
}

// self finds the call behind a sink.
func (c *call) self() *call { return c }

// opens records an ask that is about to open. It is false when the call has
// ended.
func (c *call) opens(k *carried) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return false
	}
	if c.asks == nil {
		c.asks = make(map[*carried]struct{}, 1)
	}
	c.asks[k] = struct{}{}
	return true
}

func (c *call) settled(k *carried) {
	c.mu.Lock()
	delete(c.asks, k)
	c.mu.Unlock()
}
