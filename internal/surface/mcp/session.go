package mcp

import (
	"context"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/budget"
	"github.com/answerback/answerback/internal/contract"
)

const (
	// ownStream is the name of the stream that belongs to the session itself.
	ownStream = "0"
	// primedSince is the first version whose clients expect a first event
	// without a message.
	primedSince = "2025-11-25"
	// Finished streams stay replayable for some time, and so many of them.
	replayFor   = 5 * time.Minute
	replayCount = 16
)

// session is one legacy session of an HTTP client, bound to one principal and
// one endpoint. It is the gateway's peer for what belongs to no call.
type session struct {
	surface *Surface
	id      string
	at      string
	who     ask.Principal
	access  string  // the key of what it was opened with
	behind  Session // the session behind this one; not read before the session is ready
	own     *stream
	primes  atomic.Bool // streams begin with an event that has only an id

	life context.Context
	end  context.CancelCauseFunc

	mu       sync.Mutex
	streams  map[string]*stream // by name: those in flight that carry events, and finished ones
	past     []pastStream       // finished ones, oldest first
	kept     int                // bytes of the finished ones
	replays  *budget.Hold       // the memory of these
	open     []*stream          // of calls in flight, oldest first
	names    uint64
	busy     int // requests being served, open streams included
	used     time.Time
	idle     *time.Timer
	ready    bool // the handshake is done
	returned bool // from before a restart, and its caller is not back yet
	closed   bool
}

type pastStream struct {
	id   string
	size int
	at   time.Time
}

// accessKey names what a caller may use, for comparing.
func accessKey(who contract.Caller) string {
	if who.Access == nil {
		return ""
	}
	return "=" + who.Access.Key()
}

func (s *Surface) newSession(at string, who contract.Caller, id string) *session {
	ss := &session{surface: s, id: id, at: at, who: who.Principal, access: accessKey(who), streams: make(map[string]*stream), busy: 1}
	ss.life, ss.end = context.WithCancelCause(context.Background())
	ss.own = s.newOwnStream(ss)
	ss.replays = s.cfg.Replays.Hold(budget.Of(ss.who))
	return ss
}

// welcome takes the session behind, and starts the idle clock. It is false
// where this session was ended meanwhile.
func (ss *session) welcome(behind Session) bool {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	if ss.closed {
		return false
	}
	ss.behind, ss.ready = behind, true
	ss.primes.Store(behind.Version() >= primedSince)
	ss.idle = time.AfterFunc(ss.surface.cfg.SessionIdle, ss.expire)
	return true
}

// enter counts a request in: a session that serves one is not idle. It is
// false before the handshake is done and once the session has ended. A new
// session has its handshake counted in.
func (ss *session) enter() bool {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	if ss.closed || !ss.ready {
		return false
	}
	ss.busy++
	return true
}

func (ss *session) leave() {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	ss.busy--
	ss.used = ss.surface.cfg.Now()
}

// idleSince says since when nothing has used the session; false while
// something does.
func (ss *session) idleSince() (time.Time, bool) {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	return ss.used, ss.busy == 0 && !ss.closed
}

// expire ends the session when it has been idle for long enough, and comes
// back later when it has not.
func (ss *session) expire() {
	limit := ss.surface.cfg.SessionIdle
	ss.mu.Lock()
	if ss.closed {
		ss.mu.Unlock()
		return
	}
	left := limit
	if ss.busy == 0 {
		left = limit - ss.surface.cfg.Now().Sub(ss.used)
	}
	if left > 0 {
		ss.idle.Reset(left)
		ss.mu.Unlock()
		return
	}
	ss.mu.Unlock()
	if !ss.surface.inside.Enter() {
		return
	}
	defer ss.surface.inside.Leave()
	ss.surface.dropNow(ss, sessionIdle)
}

// shut marks the session as ended, and gives the session behind, if there is
// one yet. It is false when it had ended already.
func (ss *session) shut() (Session, bool) {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	if ss.closed {
		return nil, false
	}
	ss.closed = true
	ss.replays.Release()
	if ss.idle != nil {
		ss.idle.Stop()
	}
	return ss.behind, true
}

// drop ends a session: it is not found any more, then all that hangs on it
// ends.
func (s *Surface) drop(ctx context.Context, ss *session, why *ask.Error) {
	s.sessions.remove(ss)
	behind, ok := ss.shut()
	if !ok {
		return
	}
	if behind != nil {
		behind.Close(ctx, why)
	}
	ss.end(why)
	s.cfg.Log.Info("session ended", "surface", "mcp", "principal", ss.who.String(), "code", why.Code, "reason", why.Message)
}

// closeWait is how long a session may take to end.
const closeWait = 10 * time.Second

// dropNow ends a session whatever becomes of the request that made it do so.
func (s *Surface) dropNow(ss *session, why *ask.Error) {
	ctx, cancel := context.WithTimeout(context.Background(), closeWait)
	defer cancel()
	s.drop(ctx, ss, why)
}

// begin notes the stream of a call in flight.
func (ss *session) begin(st *stream) {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	ss.open = append(ss.open, st)
}

func (ss *session) done(st *stream) {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	if i := slices.Index(ss.open, st); i >= 0 {
		ss.open = slices.Delete(ss.open, i, i+1)
	}
}

// onNewest sends a message on the stream of the newest call in flight that
// takes it.
func (ss *session) onNewest(send func(*stream) fate) fate {
	ss.mu.Lock()
	open := slices.Clone(ss.open)
	ss.mu.Unlock()
	for _, st := range slices.Backward(open) {
		if send(st) == kept {
			return kept
		}
	}
	return lost
}

// name gives a stream its part of event ids, under which it is found again.
func (ss *session) name(st *stream) string {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	ss.names++
	id := strconv.FormatUint(ss.names, 36)
	ss.streams[id] = st
	return id
}

// stream finds a stream by its name.
func (ss *session) stream(id string) *stream {
	if id == ownStream {
		return ss.own
	}
	ss.mu.Lock()
	defer ss.mu.Unlock()
	ss.forget(ss.surface.cfg.Now())
	return ss.streams[id]
}

// retire keeps a finished stream for a while, where there is memory for it.
func (ss *session) retire(st *stream, size int) {
	now := ss.surface.cfg.Now()
	ss.mu.Lock()
	defer ss.mu.Unlock()
	if ss.closed || ss.replays.Grow(int64(size)) != nil {
		delete(ss.streams, st.id)
		return
	}
	ss.past = append(ss.past, pastStream{st.id, size, now})
	ss.kept += size
	ss.forget(now)
}

// forget drops finished streams that are too old, too many or, together, too
// large; the newest may be large alone.
func (ss *session) forget(now time.Time) {
	for len(ss.past) > 0 {
		oldest := ss.past[0]
		fits := len(ss.past) <= replayCount && (ss.kept <= ss.surface.cfg.MaxEventBytes || len(ss.past) == 1)
		if fits && now.Sub(oldest.at) < replayFor {
			return
		}
		delete(ss.streams, oldest.id)
		ss.replays.Shrink(int64(oldest.size))
		ss.kept -= oldest.size
		ss.past = ss.past[1:]
	}
	ss.past = nil
}
