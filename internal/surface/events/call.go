package events

import (
	"cmp"
	"context"
	"crypto/sha256"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/contract"
	"github.com/answerback/answerback/internal/wire"
)

// call is one tool call of one principal, with its events. It is the relay's
// peer, for its session and for its one request.
type call struct {
	surface *Surface
	id      string // also that of its session
	who     contract.Caller
	access  string
	key     string            // the Idempotency-Key of its start, "" for none
	digest  [sha256.Size]byte // of what was started with that key
	start   start
	log     *eventLog
	done    chan struct{} // closed when its last event is there
	expiry  *time.Timer   // the registry's

	life context.Context
	end  context.CancelCauseFunc

	recording sync.Mutex  // held while the call's start is being written down
	recorded  atomic.Bool // that it was

	mu        sync.Mutex
	session   Session    // nil before it is open
	sent      bool       // the request was handed to the session
	why       *ask.Error // why it was stopped, nil where it was not
	open      map[string]*question
	unasked   []authRequired
	followers []chan struct{} // of those who follow it now, oldest first; closed when another takes the place
	linger    *time.Timer     // runs while nobody follows

	// Answers on their way: what they settle is told before the call's end.
	// None begins once ending is set.
	answering sync.WaitGroup
	ending    bool
}

func (s *Surface) newCall(who contract.Caller, st start) *call {
	c := &call{
		surface: s, who: who, access: accessKey(who), start: st,
		log:  newLog(s.cfg.MaxEvents, s.cfg.MaxEventBytes),
		done: make(chan struct{}),
		open: make(map[string]*question),
	}
	c.life, c.end = context.WithCancelCause(context.Background())
	return c
}

// The request that a session carries. Its ids are the session's own, so they
// can be the same in each.
const (
	requestID     = "1"
	progressToken = `"1"`
)

// run carries the call to its end. It is the call's own goroutine.
func (c *call) run() {
	st := &c.start
	c.begun()
	session, resp := c.surface.cfg.Gateway.Initialize(c.life, st.at, c.id, c.who, &st.hello, c)
	if session != nil {
		resp = contract.Response{} // that of the handshake is not the call's
		if c.opened(session) {
			session.Notify(c.life, &initialized)
			resp = session.Call(c.life, &st.request, c)
		}
	}
	st.hello, st.request = wire.Message{}, wire.Message{} // a finished call is kept for its events alone
	c.settle(resp)
}

// begun writes the first event.
func (c *call) begun() {
	st := &c.start
	c.log.add(typeStarted, startedEvent{
		Type: typeStarted, SchemaVersion: schemaVersion, CallID: c.id, Tool: st.tool, Backend: st.at,
		Elicitation: st.elicitation, Sampling: st.sampling, At: millis(c.surface.cfg.Now()),
	}, false, false)
}

// settle ends the call with its response. The session ends before the consumer
// is told, so that the next call of the conversation finds its lines free.
func (c *call) settle(resp contract.Response) {
	c.mu.Lock()
	c.ending = true
	session := c.session
	c.mu.Unlock()
	c.answering.Wait()
	if session != nil {
		ctx, cancel := context.WithTimeout(context.Background(), closeWait)
		defer cancel()
		session.Close(ctx, c.ended())
	}
	c.finish(resp)
	c.end(callOver)
}

// ended says why the session is not needed any more: the call may have been
// stopped before there was one.
func (c *call) ended() *ask.Error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return cmp.Or(c.why, callOver)
}

// opened takes the session. It is false where the call was stopped before.
func (c *call) opened(session Session) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.session, c.sent = session, c.why == nil
	return c.sent
}

// stop ends the call before its backend does. The session ends first: so the
// backend hears of the end of its questions before that of the call.
func (c *call) stop(ctx context.Context, why *ask.Error) {
	c.mu.Lock()
	if c.why != nil {
		c.mu.Unlock()
		return
	}
	c.why = why
	session := c.session
	c.mu.Unlock()
	if session != nil {
		session.Close(ctx, why)
	}
	c.end(why)
}

// stopNow stops the call whatever becomes of the request that made it do so.
func (c *call) stopNow(why *ask.Error) {
	ctx, cancel := context.WithTimeout(context.Background(), closeWait)
	defer cancel()
	c.stop(ctx, why)
}

// closeWait is how long a session may take to end.
const closeWait = 10 * time.Second

// finish writes the last event.
func (c *call) finish(resp contract.Response) {
	c.mu.Lock()
	why, sent := c.why, c.sent
	unasked := c.unasked
	if c.linger != nil {
		c.linger.Stop()
	}
	c.mu.Unlock()
	if why == shuttingDown && sent && len(resp.Body) == 0 {
		// It goes on after the restart: it has no last event yet.
		c.log.cut()
	} else {
		c.conclude(resp, why, unasked)
	}
	c.surface.calls.retire(c, c.surface.cfg.Keep)
	close(c.done)
}

// over reports whether the last event is there.
func (c *call) over() bool {
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

// maxFollowers bounds how many connections can carry the events of one call.
// The oldest goes first: it may be one that broke and does not know it yet.
const maxFollowers = 8

// attach counts a follower of the call in. The channel is closed when another
// takes its place.
func (c *call) attach() chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.linger != nil {
		c.linger.Stop()
	}
	if len(c.followers) == maxFollowers {
		close(c.followers[0])
		c.followers = slices.Delete(c.followers, 0, 1)
	}
	follower := make(chan struct{})
	c.followers = append(c.followers, follower)
	return follower
}

// detach ends what attach began. A call that nobody follows goes on for a
// while.
func (c *call) detach(follower chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.Index(c.followers, follower)
	if i < 0 {
		return
	}
	c.followers = slices.Delete(c.followers, i, i+1)
	if len(c.followers) == 0 && !c.over() {
		c.linger = time.AfterFunc(c.surface.cfg.Linger, c.abandoned)
	}
}

// abandoned stops a call that nobody came back to.
func (c *call) abandoned() {
	c.mu.Lock()
	followed := len(c.followers) > 0
	c.mu.Unlock()
	if followed || c.over() || !c.surface.inside.Enter() {
		return
	}
	defer c.surface.inside.Leave()
	c.stopNow(consumerGone)
}

// initialized is what a client says after its handshake.
var initialized = mustScan(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)

func mustScan(raw string) wire.Message {
	msg, err := wire.Scan([]byte(raw), wire.Limits{})
	if err != nil {
		panic(err)
	}
	return msg
}
