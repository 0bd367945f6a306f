package relay

import (
	"context"
	"sync"
	"time"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/exchange"
	"github.com/answerback/answerback/internal/wire"
)

// call is one client request in flight. It is the sink of what its backend
// sends, and it owns the clock: the time that people take does not count as
// work, and everything ends at the cap.
type call struct {
	asker asker
	msg   *wire.Message
	peer  Peer
	// changed takes list_changed notifications where the endpoint joins
	// several backends; nil where they pass as they are.
	changed func(method string) bool

	cancel context.CancelCauseFunc
	clock  clock

	mu    sync.Mutex
	asks  map[string]struct{} // open ones, made at the first
	ended bool                // no further ask may open
}

// newCall starts the clock of a call and derives its life from ctx.
func newCall(ctx context.Context, msg *wire.Message, peer Peer, a asker, work, limit time.Duration) (*call, context.Context) {
	ctx, cancel := context.WithCancelCause(ctx)
	c := &call{asker: a, msg: msg, peer: peer, cancel: cancel}
	c.clock.start(exchange.Limits{Work: work, Total: limit, Away: limit}, c.end)
	return c, ctx
}

// end cancels a call from outside: its open asks end first, so that the
// backend hears the end of its question before the end of the call.
func (c *call) end(why *ask.Error) {
	for _, id := range c.close() {
		c.asker.relay.desk.End(id, ask.Abandoned, why)
	}
	c.cancel(why)
}

// close refuses further asks and gives the ids of the open ones.
func (c *call) close() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = true
	ids := make([]string, 0, len(c.asks))
	for id := range c.asks {
		ids = append(ids, id)
	}
	return ids
}

// finish releases what a call holds after its final response.
func (c *call) finish() {
	c.clock.stop()
	for _, id := range c.close() {
		c.asker.relay.desk.End(id, ask.Withdrawn, ask.Errorf(ask.BackendWithdrew, "The call that asked has ended."))
	}
	c.cancel(nil)
}

// Notify passes a notification of the backend on to the client.
func (c *call) Notify(msg *wire.Message) {
	if c.changed != nil && c.changed(msg.Method()) {
		return
	}
	c.peer.Notify(msg.Raw)
}

// Question carries a question of this call.
func (c *call) Question(q *Question) {
	c.asker.carry(q, c.peer, c)
}

// self finds the call behind a sink.
func (c *call) self() *call { return c }

// opened records an open ask, unless the call has ended meanwhile.
func (c *call) opened(id string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return false
	}
	if c.asks == nil {
		c.asks = make(map[string]struct{}, 1)
	}
	c.asks[id] = struct{}{}
	return true
}

func (c *call) settled(id string) {
	c.mu.Lock()
	delete(c.asks, id)
	c.mu.Unlock()
}
