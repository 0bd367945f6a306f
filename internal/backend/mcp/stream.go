package mcp

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/budget"
	"github.com/answerback/answerback/internal/contract"
	"github.com/answerback/answerback/internal/wire"
	"github.com/answerback/answerback/internal/wire/sse"
)

const (
	// defaultRetry is how long to wait before a stream is taken up again
	// when the server does not say.
	defaultRetry = time.Second
	// maxRetry bounds the wait that grows with failures, maxNamed the one
	// that a server can ask for.
	maxRetry = 30 * time.Second
	maxNamed = 10 * time.Minute
	// minRetry keeps a server that names no time, and has nothing to say,
	// from being asked in a tight loop.
	minRetry = 10 * time.Millisecond
	// fruitless is how often in a row a stream is taken up again without
	// anything coming of it.
	fruitless = 6
	// A stream that was resumed is asked for anew when it has been silent
	// for this long, and after twice the time when it still is: a connection
	// may be dead without a sign, and some servers replay what they stored
	// but do not tie a resumed stream to the call that is still at work.
	firstSilence = 2 * time.Second
	maxSilence   = 30 * time.Second
	// maxResumes bounds how often one call's stream is taken up in all.
	maxResumes = 100_000
)

// stream reads the messages of one call: from its POST, and after a break
// from the GETs that resume it.
type stream struct {
	line   *legacyLine
	call   *call
	ctx    context.Context
	cancel context.CancelCauseFunc

	cursor string
	retry  time.Duration // negative while the server has named none

	watch silence // of a resumed connection

	reply contract.Reply // what has become of the call
}

// silence ends a connection on which nothing comes.
type silence struct {
	timer *time.Timer // nil on a connection that was not resumed
	limit time.Duration
	fired atomic.Bool
	stop  context.CancelFunc
}

// begin watches a new connection and gives the context to make it with.
func (w *silence) begin(ctx context.Context) context.Context {
	ctx, w.stop = context.WithCancel(ctx)
	w.fired.Store(false)
	w.limit = max(w.limit, firstSilence)
	w.timer = time.AfterFunc(w.limit, func() {
		w.fired.Store(true)
		w.stop()
	})
	return ctx
}

// heard says that something came.
func (w *silence) heard() {
	if w.timer != nil && w.timer.Stop() {
		w.limit = firstSilence
		w.timer.Reset(w.limit)
	}
}

// end stops watching, and says whether silence ended the connection. The
// context of the connection lives on while keep is set.
func (w *silence) end(keep bool) bool {
	if w.timer == nil {
		return false
	}
	w.timer.Stop()
	w.timer = nil
	if !keep {
		w.stop()
	}
	if !w.fired.Load() {
		return false
	}
	w.limit = min(2*w.limit, maxSilence)
	return true
}

// run sends the request and reads to its final response.
func (s *stream) run(out *contract.Outgoing, met func(http.Header) *ask.Error) error {
	resp, err := s.post(out, met)
	switch {
	case err != nil:
		return err
	case resp.StatusCode != http.StatusOK:
		return s.refused(resp)
	case mediaType(resp.Header) == typeJSON:
		return s.single(resp)
	}
	return s.follow(resp)
}

// post sends the request. A response of status 200 has a body that can be read.
func (s *stream) post(out *contract.Outgoing, met func(http.Header) *ask.Error) (*http.Response, error) {
	l := s.line
	resp, sent, err := post(s.ctx, l.door, l.backend.url, l.headers.Load().post, s.call.upstream(out))
	if err != nil {
		return nil, failedToSend(l.name, s.call.method, sent, err)
	}
	if met != nil {
		if err := met(resp.Header); err != nil {
			resp.Body.Close()
			return nil, err
		}
	}
	if resp.StatusCode != http.StatusOK {
		return resp, nil
	}
	kind := mediaType(resp.Header)
	switch {
	case encoded(resp.Header):
		resp.Body.Close()
		return nil, broken(l.name, "a compressed body that nobody asked for", nil)
	case kind != typeJSON && kind != typeStream:
		resp.Body.Close()
		return nil, broken(l.name, fmt.Sprintf("a body of type %q; check that the url is its MCP endpoint", kind), nil)
	}
	return resp, nil
}

// single reads a response that is one JSON body.
func (s *stream) single(resp *http.Response) error {
	l := s.line
	defer s.cancel(nil)
	defer resp.Body.Close()
	body, err := readAll(resp, l.limits.MessageBytes, growing(s.ctx, s.call.hold))
	if errors.Is(err, errTooLarge) {
		return tooLarge(l.name, l.limits.MessageBytes)
	}
	if budget.IsFull(err) {
		return noRoom(l.name, err)
	}
	if err != nil {
		return lost(l.name, s.call.method, "its response broke off", err)
	}
	m := l.inbound(body, s.call, "")
	if m == nil {
		return broken(l.name, "a JSON body that does not hold the response", nil)
	}
	s.reply = contract.Reply{Msg: *m, Status: resp.StatusCode}
	return nil
}

// refused reads a response whose status is not 200.
func (s *stream) refused(resp *http.Response) error {
	l := s.line
	defer s.cancel(nil)
	defer resp.Body.Close()
	m, isFault := readFault(resp, l.limits.MessageBytes)
	n, _ := number(m.Field(m.ID))
	mine := isFault && n == s.call.id
	switch {
	case mine && (!l.gone(resp.StatusCode) || string(m.Field(m.ErrorCode)) == "-32601"):
		s.reply = contract.Reply{Msg: m, Status: resp.StatusCode}
		return nil
	case l.gone(resp.StatusCode), isFault && l.session != "" && forgotten(resp.StatusCode, &m):
		return l.lose(resp.StatusCode)
	case isFault:
		// It names no request, but it answers this one.
		s.reply = contract.Reply{Msg: m, Status: resp.StatusCode}
		return nil
	}
	return badStatus(l.name, s.call.method, resp.StatusCode, resp.Header.Get("Location"))
}

// forgotten reports whether an error says that the session is unknown. The
// specification has 404 for that, but servers made after the examples of the
// TypeScript SDK say 400 and -32000, and mean it.
func forgotten(status int, m *wire.Message) bool {
	if status != http.StatusBadRequest || string(m.Field(m.ErrorCode)) != "-32000" {
		return false
	}
	text, _ := wire.Unquote(wire.Get(m.Raw, m.Error, "message").Of(m.Raw))
	return strings.Contains(strings.ToLower(text), "session")
}

// follow reads an event stream to the call's final response, and takes the
// stream up again where it breaks and can be resumed. Without a response it
// begins by taking it up.
func (s *stream) follow(resp *http.Response) error {
	l := s.line
	s.reply.Event = true
	for failures, n := 0, 0; n < maxResumes; n++ {
		again := true
		var err error
		if resp == nil {
			resp, again, err = s.resume()
		}
		if resp != nil {
			var heard bool
			before := s.call.hold.Bytes()
			if heard, err = s.events(resp); err != nil {
				// What a connection leaves behind is let go with it.
				s.call.hold.Shrink(s.call.hold.Bytes() - before)
			}
			resp = nil
			switch {
			case err == nil:
				s.watch.end(true)
				return nil
			case ask.CodeOf(err) == ask.TooLarge:
				s.watch.end(false)
				return tooLarge(l.name, l.limits.MessageBytes)
			case budget.IsFull(err):
				s.watch.end(false)
				return noRoom(l.name, err)
			case heard:
				failures = 0
			}
			err = lost(l.name, s.call.method, "its stream ended without a response", err)
			again = s.cursor != ""
		}
		if s.watch.end(false) {
			again, failures = true, 0
		}
		if !again || failures >= fruitless {
			return err
		}
		if !pause(s.ctx, s.retry, failures) {
			return context.Cause(s.ctx)
		}
		failures++
	}
	return lost(l.name, s.call.method, "its stream was resumed too often", nil)
}

// events reads one connection of the stream, without an error to the call's
// response. heard is true when anything came.
func (s *stream) events(resp *http.Response) (heard bool, err error) {
	body := &tail{ReadCloser: resp.Body}
	r := newReader(s.ctx, body, s.line.limits.MessageBytes, s.call.hold)
	for {
		ev, err := r.Next()
		if err != nil {
			resp.Body.Close()
			return heard, err
		}
		s.watch.heard()
		heard = heard || ev.HasID || carries(&ev)
		if s.take(&ev) {
			s.release(body)
			return true, nil
		}
		if s.call.isSettled() {
			resp.Body.Close()
			return true, errElsewhere
		}
	}
}

// carries reports whether an event has a message in it.
func carries(ev *sse.Event) bool {
	return len(ev.Data) > 0 && (ev.Name == "" || ev.Name == "message")
}

// take takes one event, and is true where it brought the call's response.
func (s *stream) take(ev *sse.Event) bool {
	if ev.HasID {
		s.cursor = ev.ID
	}
	if ev.HasRetry {
		s.retry = ev.Retry
	}
	if !carries(ev) {
		return false
	}
	m := s.line.inbound(ev.Data, s.call, s.cursor)
	if m == nil {
		return false
	}
	s.reply.Msg, s.reply.Status = *m, http.StatusOK
	return true
}

// release lets a finished stream end by itself for a moment, so that its
// connection can be used again.
func (s *stream) release(body *tail) {
	if body.eof || !s.line.crew.spawn(func() { drain(body, func() { s.cancel(nil) }) }) {
		body.Close()
		s.cancel(nil)
	}
}

// pause waits before an attempt to connect again: retry, which is negative
// where the server named no time, doubled with every failure.
func pause(ctx context.Context, retry time.Duration, failures int) bool {
	if retry < 0 {
		retry = defaultRetry
	}
	retry = min(max(retry, minRetry), maxNamed)
	d := min(retry<<min(failures, 8), max(maxRetry, retry))
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// resume asks for the stream after the last event that came. again is true
// where it makes sense to try once more.
func (s *stream) resume() (resp *http.Response, again bool, err error) {
	l := s.line
	ctx := s.watch.begin(s.ctx)
	resp, err = get(ctx, l.door, http.MethodGet, l.backend.url, with(l.headers.Load().get, cursorHeader, s.cursor))
	if err != nil {
		return nil, s.ctx.Err() == nil, lost(l.name, s.call.method, "its stream broke and it cannot be reached", err)
	}
	status := resp.StatusCode
	if status == http.StatusOK && mediaType(resp.Header) == typeStream && !encoded(resp.Header) {
		return resp, false, nil
	}
	resp.Body.Close()
	if l.gone(status) {
		return nil, false, l.lose(status)
	}
	again = status == http.StatusConflict || status == http.StatusTooManyRequests || status >= 500
	return nil, again, lost(l.name, s.call.method, fmt.Sprintf("its stream broke and it did not resume it (HTTP status %d)", status), nil)
}
