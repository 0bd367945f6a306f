package mcp

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/contract"
	"github.com/answerback/answerback/internal/door"
	"github.com/answerback/answerback/internal/era"
	"github.com/answerback/answerback/internal/wire"
)

const (
	// tellTime bounds how long a call that is being cancelled waits for the
	// server to be told.
	tellTime = time.Second
	// farewellTime bounds the end of a session.
	farewellTime = 3 * time.Second
)

// What ends a request before its response, beside its context.
var (
	errElsewhere = errors.New("the response came on another stream")
	errLeft      = errors.New("the caller left")
)

// legacyLine is one session over Streamable HTTP.
type legacyLine struct {
	*board
	backend *Backend
	door    door.Door
	session string // "" where the server gave none
	version string
	welcome wire.Message

	left      atomic.Bool // a call of it goes on after a restart, and so must the session
	headers   atomic.Pointer[headers]
	listening sync.Once
}

// headers are those of a line's requests. They are shared and never modified.
type headers struct{ post, get http.Header }

var _ contract.Line = (*legacyLine)(nil)

func (b *Backend) newLegacyLine(hello contract.Hello) *legacyLine {
	l := &legacyLine{board: newBoard(b, hello.Events), backend: b, door: b.door(hello.Principal)}
	l.board.send = l.deliverMessage
	l.identify()
	if b.cfg.Ring != nil {
		l.board.handle = func(c *call, q *question, cursor string) []byte {
			return l.seal(hello.Principal, c, q, cursor)
		}
	}
	return l
}

// openLegacy performs the handshake over Streamable HTTP.
func (b *Backend) openLegacy(ctx context.Context, hello contract.Hello) (contract.Line, error) {
	l := b.newLegacyLine(hello)
	if err := l.handshake(ctx, hello); err != nil {
		l.Close(ctx)
		return nil, err
	}
	if l.session == "" {
		// A server without sessions cannot ask in this era. Where it speaks
		// the other one too, it can there.
		if m, err := b.Discover(ctx, hello.Principal); err == nil && m.Kind == wire.Result {
			l.Close(ctx)
			return nil, ask.Errorf(ask.BadVersion, fmt.Sprintf("Backend %s has no sessions, and speaks %s.", b.cfg.Name, era.Latest))
		}
		return l, nil
	}
	b.mu.Lock()
	b.sessions[l.session] = l
	b.mu.Unlock()
	return l, nil
}

func (l *legacyLine) handshake(ctx context.Context, hello contract.Hello) error {
	msg, err := initialize(hello.Params)
	if err != nil {
		return err
	}
	reply, err := l.exchange(ctx, &contract.Outgoing{Msg: msg}, hello.Events, l.join)
	if err != nil {
		return err
	}
	if l.version, err = welcomed(l.name, reply); err != nil {
		return err
	}
	l.welcome = reply.Msg
	l.identify()
	l.up.Store(true)
	return nil
}

// join takes the session id from the response to initialize, before its body
// is read: its stream may have to be resumed.
func (l *legacyLine) join(h http.Header) *ask.Error {
	id := h.Get(sessionHeader)
	if len(id) > 4096 || strings.IndexFunc(id, func(r rune) bool { return r <= ' ' || r > '~' }) >= 0 {
		return broken(l.name, "a session id with characters that it must not have", nil)
	}
	l.session = id
	l.identify()
	return nil
}

// identify puts session and version into the headers of the line.
func (l *legacyLine) identify() {
	base := l.backend.headers()
	h := &headers{post: with(base.post), get: with(base.get)}
	for _, h := range []http.Header{h.post, h.get} {
		if l.session != "" {
			h[sessionHeader] = []string{l.session}
		}
		if l.version != "" {
			h[era.VersionHeader] = []string{l.version}
		}
	}
	l.headers.Store(h)
}

// initialize builds the request that opens a session.
func initialize(params []byte) (*wire.Message, error) {
	raw := make([]byte, 0, len(params)+64)
	raw = append(raw, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":`...)
	raw = append(raw, params...)
	raw = append(raw, '}')
	m, err := wire.Scan(raw, wire.Limits{})
	if err != nil {
		return nil, ask.Wrap(ask.BadMessage, "The parameters of initialize cannot be read.", err)
	}
	return &m, nil
}

// welcomed checks a response to initialize and gives the version agreed on.
func welcomed(backend string, reply *contract.Reply) (string, error) {
	m := &reply.Msg
	if m.Kind == wire.Failure {
		return "", &contract.UpstreamError{Backend: backend, Reply: *reply}
	}
	version, ok := wire.Unquote(wire.Get(m.Raw, m.Result, "protocolVersion").Of(m.Raw))
	if !ok || version == "" || len(version) > 64 || !door.ValidValue(version) {
		return "", broken(backend, "a response to initialize without a protocol version", nil)
	}
	return version, nil
}

// perhapsOld reports whether a failed handshake leaves it possible that the
// server speaks the HTTP+SSE transport.
func perhapsOld(err error) bool {
	if up, ok := errors.AsType[*contract.UpstreamError](err); ok {
		m := up.Reply.Msg
		return oldStatus(up.Reply.Status) && !era.IsModernError(&m)
	}
	status, _ := ask.From(err).Data["status"].(int)
	return oldStatus(status)
}

func oldStatus(status int) bool { return status == 400 || status == 404 || status == 405 }

func (l *legacyLine) Welcome() wire.Message { return l.welcome }

func (l *legacyLine) Done() <-chan struct{} { return l.life.Done() }

func (l *legacyLine) Call(ctx context.Context, out contract.Outgoing, sink contract.Sink) (contract.Reply, error) {
	reply, err := l.exchange(ctx, &out, sink, nil)
	return *reply, err
}

// exchange sends one request and reads until its final response. met sees the
// headers of the response before its body is read. A reply is always given; it
// is a pointer, as everywhere below, because a call may wait here for hours
// and keeps the stack that its frames need.
func (l *legacyLine) exchange(ctx context.Context, out *contract.Outgoing, sink contract.Sink, met func(http.Header) *ask.Error) (*contract.Reply, error) {
	// The request ends with the line or with its caller, but a caller that
	// leaves must not keep the connection from being used again.
	rctx, cancel := context.WithCancelCause(l.life)
	c, err := l.open(ctx, out.Msg, sink, func() { cancel(errElsewhere) })
	if err != nil {
		cancel(nil)
		return &contract.Reply{}, err
	}
	s := &stream{line: l, call: c, ctx: rctx, cancel: cancel, retry: -1}
	return s.conduct(ctx, func() error { return s.run(out, met) })
}

// conduct reads a call to its end, by read, and closes it.
func (s *stream) conduct(ctx context.Context, read func() error) (*contract.Reply, error) {
	l, c := s.line, s.call
	stop := context.AfterFunc(ctx, func() {
		l.tellCancelled(c, context.Cause(ctx))
		s.cancel(errLeft)
	})
	err := read()
	if err != nil {
		err = s.reason(err)
		s.cancel(nil)
	}
	if !stop() && ctx.Err() != nil {
		// The server was told that nobody waits any more, so what it says
		// now is about that.
		s.reply, err = contract.Reply{}, context.Cause(ctx)
	}
	if errors.Is(context.Cause(ctx), contract.ErrSuspended) {
		l.left.Store(true)
	}
	l.close(c, l.ended(err))
	return &s.reply, err
}

// reason finds out why a call got no response on its own stream: it may have
// one from another.
func (s *stream) reason(err error) error {
	l, c := s.line, s.call
	if m, fault, ok := c.outcome(); ok {
		if fault != nil {
			return fault
		}
		s.reply = contract.Reply{Msg: m, Status: http.StatusOK}
		return nil
	}
	if l.life.Err() != nil {
		return inFlight(l.name, c.method, l.why())
	}
	return err
}

// inFlight is the error of a call whose line died under it.
func inFlight(backend, method string, why *ask.Error) *ask.Error {
	if method != "tools/call" {
		return why
	}
	return lost(backend, method, "its session was lost", why)
}

// ended is what a call's open questions are told when it is over.
func (b *board) ended(err error) *ask.Error {
	if err == nil {
		return ask.Errorf(ask.BackendWithdrew, "The server finished the call without waiting for the answer.")
	}
	if code := ask.CodeOf(err); code == ask.BackendLost || code == ask.OutcomeUnknown {
		return ask.Errorf(ask.BackendLost, fmt.Sprintf("Backend %s was lost while it waited for the answer.", b.name))
	}
	return ask.Errorf(ask.BackendWithdrew, "The call that asked is over.")
}

// tellCancelled tells the server that nobody waits for a call any more.
func (l *legacyLine) tellCancelled(c *call, why error) {
	if errors.Is(why, contract.ErrSuspended) {
		return
	}
	// initialize must not be cancelled.
	if c.method == "initialize" || !l.crew.join() {
		return
	}
	defer l.crew.leave()
	ctx, cancel := context.WithTimeout(l.life, tellTime)
	defer cancel()
	if err := l.deliverMessage(ctx, cancelNotice(c.id, why)); err != nil {
		l.log.Debug("cancellation not delivered", "err", err)
	}
}

func (l *legacyLine) Notify(ctx context.Context, msg []byte) error {
	return l.deliverMessage(ctx, msg)
}

// deliverMessage posts what has no response.
func (l *legacyLine) deliverMessage(ctx context.Context, msg []byte) error {
	if l.life.Err() != nil {
		return l.why()
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(l.life, cancel)()
	resp, sent, err := post(ctx, l.door, l.backend.url, l.headers.Load().post, msg)
	if err != nil {
		return failedToSend(l.name, "", sent, err)
	}
	if l.gone(resp.StatusCode) {
		resp.Body.Close()
		return l.lose(resp.StatusCode)
	}
	return acknowledged(l.name, resp)
}

// gone reports whether a status says that the session is no more.
func (l *legacyLine) gone(status int) bool {
	return status == http.StatusNotFound && l.session != ""
}

// lose makes the line dead because the server ended its session.
func (l *legacyLine) lose(status int) *ask.Error {
	why := ask.Errorf(ask.BackendLost, fmt.Sprintf(
		"Backend %s ended the session (HTTP status %s), perhaps because it was restarted. Open a new one.", l.name, strconv.Itoa(status)))
	l.die(l, l.backend, why)
	return l.why()
}

// Close ends the session at the server and waits for what the line started.
func (l *legacyLine) Close(ctx context.Context) {
	alive := l.end(ask.Errorf(ask.BackendLost, fmt.Sprintf("The session with backend %s was closed.", l.name)))
	l.backend.drop(l)
	if alive && l.session != "" && !l.left.Load() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), farewellTime)
		defer cancel()
		resp, err := get(ctx, l.door, http.MethodDelete, l.backend.url, l.headers.Load().get)
		if err != nil {
			l.log.Debug("session not ended at the backend", "err", err)
		} else {
			resp.Body.Close()
		}
	}
	l.crew.dismiss(ctx)
}
