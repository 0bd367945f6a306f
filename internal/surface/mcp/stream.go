package mcp

import (
	"context"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/answerback/answerback/internal/entry"
	"github.com/answerback/answerback/internal/wire/sse"
)

// stream is what a client gets for one HTTP request: a plain JSON response
// when the response is the first thing there is to send, else a stream of
// events. A stream of a legacy session outlives its connection: what is sent
// is kept, and a later GET with Last-Event-ID takes it up where it broke off.
//
// Writing to the client happens under mu, with a deadline: a slow client
// holds up its own stream and nothing else. A session's lock may be taken
// under mu, never the other way round.
type stream struct {
	surface *Surface
	sess    *session // nil in the modern era: no event ids, nothing kept
	accept  accepts
	batch   bool

	mu       sync.Mutex
	conn     *conn  // what carries it now, or nil
	post     conn   // the connection that it began with
	id       string // its part of event ids; "" until the first event of a legacy stream
	named    string // what id will be, where it was promised before the first event
	next     uint64 // the number of its next event; the first is 1
	sent     uint64 // the highest number that was written to a connection
	lead     []byte // a priming event that goes out with the next write
	leads    uint64 // its number
	log      eventLog
	waiting  [][]byte // responses that have come while it can still be plain JSON
	one      [1][]byte
	status   int
	ifUnsent func() // what is to be done where a waiting response cannot be sent
	unsent   func() // what is to be done because one was not
	finished bool
	beat     *time.Timer
}

// newStream makes the stream of a POST.
func (s *Surface) newStream(w http.ResponseWriter, r *http.Request, sess *session, a accepts) *stream {
	st := &stream{
		surface: s, sess: sess, accept: a, next: 1, status: http.StatusOK,
		post: conn{out: entry.NewPusher(w), ctx: r.Context()},
	}
	st.conn = &st.post
	st.waiting = st.one[:0]
	if a.sse {
		st.mu.Lock()
		st.beat = time.AfterFunc(s.cfg.KeepAlive, st.keepAlive)
		st.mu.Unlock()
	}
	return st
}

// newOwnStream makes the stream of a session itself, which is opened by GET.
func (s *Surface) newOwnStream(sess *session) *stream {
	return &stream{surface: s, sess: sess, accept: accepts{sse: true}, next: 1, id: ownStream}
}

// fate says what became of a message that was put on a stream.
type fate uint8

const (
	lost fate = iota // nobody will ever get it
	kept             // the client has it, or can fetch it
	over             // the stream had its last message already
)

// send puts a message on the stream. A message that must be seen is not kept
// for a client that was never told an event id of this stream.
func (st *stream) send(msg []byte, must bool) fate {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.finished {
		return over
	}
	return st.emit(msg, must)
}

// sendLive puts a message on the stream only where a client follows it.
func (st *stream) sendLive(msg []byte) fate {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.finished || st.conn == nil || !st.conn.alive() {
		return lost
	}
	return st.emit(msg, true)
}

func (st *stream) emit(msg []byte, must bool) fate {
	if st.conn != nil && !st.conn.alive() {
		st.release()
	}
	if st.conn != nil && !st.begin() {
		return lost
	}
	if st.sess == nil {
		if st.conn == nil || !st.write(sse.Append(nil, "", "", msg)) {
			return lost
		}
		return kept
	}
	if st.id == "" {
		return lost
	}
	n := st.next
	st.next++
	frame := sse.Append(nil, st.eventID(n), "", msg)
	if st.conn != nil && st.write(frame) {
		st.sent = n
	}
	if must && st.sent == 0 {
		return lost
	}
	st.log.add(event{n, frame}, st.surface.cfg.MaxEvents, st.surface.cfg.MaxEventBytes)
	return kept
}

// begin sees to it that the connection carries events. It is false where the
// client takes none.
func (st *stream) begin() bool {
	c := st.conn
	if c.began {
		return true
	}
	if !st.accept.sse {
		return false
	}
	c.begin()
	if st.sess != nil && st.id == "" {
		if st.id = st.named; st.id == "" {
			st.id = st.sess.name(st)
		}
		if st.sess.primes.Load() {
			st.prime()
		}
	}
	waiting := st.waiting
	st.waiting = nil
	for _, body := range waiting {
		st.emit(body, false)
	}
	return true
}

// prime gives the client an event id before there is anything to say, so that
// it can come back from the start. It goes out with what is written next: a
// write of its own would cost as much as the message.
func (st *stream) prime() {
	n := st.next
	st.next++
	st.lead = sse.Append(sse.AppendRetry(nil, retryAfter), st.eventID(n), "", nil)
	st.leads = n
}

// retryAfter is how long a client is asked to wait before it comes back to a
// stream that broke off.
const retryAfter = time.Second

// write sends a frame, and lets go of a connection that does not take it.
func (st *stream) write(frame []byte) bool {
	if st.conn == nil {
		return false
	}
	lead := st.lead
	st.lead = nil
	if lead != nil {
		frame = append(lead, frame...)
	}
	if err := st.conn.write(frame); err != nil {
		st.release()
		return false
	}
	if lead != nil {
		st.sent = max(st.sent, st.leads)
	}
	return true
}

func (st *stream) eventID(n uint64) string {
	b := make([]byte, 0, 24)
	b = append(b, st.id...)
	b = append(b, '.')
	return string(strconv.AppendUint(b, n, 10))
}

// release lets go of the connection.
func (st *stream) release() {
	c := st.conn
	if c == nil {
		return
	}
	st.conn = nil
	if st.beat != nil {
		st.beat.Stop()
	}
	if c.ended != nil {
		close(c.ended)
	}
}

// keepAlive says something on a stream that may have been silent, so that
// nothing between here and the client takes it for dead.
func (st *stream) keepAlive() {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.finished || st.conn == nil {
		return
	}
	if !st.conn.alive() {
		st.release()
		return
	}
	if st.begin() && st.write(st.surface.beat) {
		st.beat.Reset(st.surface.cfg.KeepAlive)
	}
}

// respond puts a response on the stream. An empty body stands for a request
// that gets none.
func (st *stream) respond(resp Response) {
	if len(resp.Body) == 0 {
		return
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	if resp.Status != 0 && st.sess == nil {
		st.status = resp.Status
	}
	event := resp.Event && st.status == http.StatusOK && st.accept.sse
	if st.id == "" && !event && (st.conn == nil || !st.conn.began) {
		st.waiting = append(st.waiting, resp.Body)
		st.ifUnsent = resp.Unsent
		return
	}
	if st.emit(resp.Body, false) == lost && resp.Unsent != nil {
		st.unsent = resp.Unsent
	}
}

// finish ends the stream: with the plain responses where no event was sent.
// After it nothing is written to any connection any more.
func (st *stream) finish() {
	st.mu.Lock()
	if st.conn != nil && !st.conn.began {
		st.finishPlain()
	}
	st.finished = true
	if st.beat != nil {
		st.beat.Stop()
	}
	st.release()
	id, size, unsent := st.id, st.log.bytes, st.unsent
	st.mu.Unlock()
	if unsent != nil {
		unsent()
	}
	if st.sess != nil && id != "" {
		st.sess.retire(st, size)
	}
}

func (st *stream) finishPlain() {
	switch {
	case len(st.waiting) == 0:
		st.conn.out.W.WriteHeader(http.StatusAccepted)
	case !st.accept.json && st.conn.alive():
		st.begin()
		if st.conn == nil {
			st.unsent = st.ifUnsent
		}
	case st.batch:
		_ = st.conn.json(http.StatusOK, joinArray(st.waiting))
	default:
		if err := st.conn.json(st.status, st.waiting[0]); err != nil {
			st.unsent = st.ifUnsent
		}
	}
}

func joinArray(values [][]byte) []byte {
	size := 2
	for _, v := range values {
		size += len(v) + 1
	}
	b := append(make([]byte, 0, size), '[')
	for i, v := range values {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, v...)
	}
	return append(b, ']')
}

// follow makes an open GET the connection of the stream, in place of the one
// it had, and first sends what came after the event numbered after: for zero,
// what no connection took so far. It gives the channel that is closed when
// the stream is through with the connection.
func (st *stream) follow(ctx context.Context, w http.ResponseWriter, after uint64) <-chan struct{} {
	c := &conn{out: entry.NewPusher(w), ctx: ctx, ended: make(chan struct{})}
	st.mu.Lock()
	defer st.mu.Unlock()
	st.release()
	c.begin()
	st.conn = c
	fresh := after == 0
	if fresh {
		after = st.sent
	}
	missed := st.log.after(after)
	if fresh && len(missed) == 0 && st.sess.primes.Load() {
		st.prime()
		st.write(nil)
	}
	for _, e := range missed {
		if !st.write(e.frame) {
			break
		}
		st.sent = max(st.sent, e.n)
	}
	if st.conn == nil {
		return c.ended
	}
	if st.finished {
		st.release()
		return c.ended
	}
	_ = c.out.Flush()
	if st.beat == nil {
		st.beat = time.AfterFunc(st.surface.cfg.KeepAlive, st.keepAlive)
	} else {
		st.beat.Reset(st.surface.cfg.KeepAlive)
	}
	return c.ended
}

// unfollow ends what follow began, where it has not ended by itself.
func (st *stream) unfollow(ended <-chan struct{}) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.conn != nil && st.conn.ended == ended {
		st.release()
	}
}

// issued reports whether n is the number of an event of this stream so far.
func (st *stream) issued(n uint64) bool {
	st.mu.Lock()
	defer st.mu.Unlock()
	return n > 0 && n < st.next
}
