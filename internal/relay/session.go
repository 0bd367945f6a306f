package relay

import (
	"cmp"
	"context"
	"sync"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/catalog"
	"github.com/answerback/answerback/internal/contract"
	"github.com/answerback/answerback/internal/desk"
	"github.com/answerback/answerback/internal/era"
	"github.com/answerback/answerback/internal/wire"
)

// Session is one legacy client session and its lines to backends: the one
// line of a solo endpoint, opened with the client's own handshake, or a line
// for each backend of the joined endpoint, opened at first use. Safe for
// concurrent use.
type Session struct {
	relay   *Relay
	at      string
	id      string
	who     ask.Principal
	access  contract.Access // guarded by mu
	peer    contract.Peer
	surface string // "" is mcp
	// conversation is whose lines are used, "" for lines of the session's own.
	conversation string
	version      string
	caps         era.Caps
	hello        []byte // initialize params as backends get them
	client       string // what the client calls itself
	manner       Manner
	forms        bool // the client may create forms
	capsKey      string

	soloEntry *Entry
	soloLine  contract.Line
	join      *join // nil on a solo endpoint

	// ready is closed once the handshake is over; no backend may ask before.
	ready chan struct{}

	mu      sync.Mutex
	calls   map[string]*call    // in flight, by id
	created map[string]struct{} // forms of the client's that wait
	closed  bool
	idle    chan struct{} // closed once the session is and no call is in flight
	lent    int           // calls that go on without their client, over the session's lines
	ending  bool          // the lines are to be closed when the last of them ends
}

// Initialize opens a legacy session at an endpoint that the relay knows. id
// is the session's id as the surface minted it. A nil Session means that the
// Response is a refusal to pass on.
func (r *Relay) Initialize(ctx context.Context, at, id string, who contract.Caller, msg *wire.Message, peer contract.Peer) (*Session, contract.Response) {
	clientID := msg.Field(msg.ID)
	params := msg.Field(msg.Params)
	span, err := wire.Value(params)
	if err != nil {
		return nil, fail(clientID, ask.Errorf(ask.BadMessage, "initialize needs params."), era.Legacy)
	}
	capsAt := wire.Get(params, span, "capabilities")
	caps := capsAt.Of(params)
	offered, _ := wire.Unquote(wire.Get(params, span, "protocolVersion").Of(params))
	s := &Session{
		relay: r, at: at, id: id, who: who.Principal, access: who.Access, peer: peer, surface: who.Surface, conversation: conversationOf(who),
		ready: make(chan struct{}),
		calls: make(map[string]*call), idle: make(chan struct{}),
	}
	if r.desk == nil && !capsAt.IsZero() {
		params = wire.Splice(nil, params, wire.Edit{Span: capsAt, With: era.WithoutAsks(caps)})
		caps = era.WithoutAsks(caps)
	}
	s.hello, s.capsKey = params, era.CapsKey(caps)
	s.forms = r.office != nil && era.ExtendsForms(caps)
	if at, err := wire.Value(params); err == nil {
		info := wire.Get(params, at, "clientInfo").Of(params)
		s.client, s.manner = clientName(info), r.clients.of(info)
	}

	t := r.table.Load().seenBy(who.Access)
	if e := r.solo(t, at); e != nil {
		return s.openSolo(ctx, e, clientID, caps, offered)
	}
	if at != "" {
		return nil, fail(clientID, ask.Errorf(ask.UnknownBackend, "There is no backend named "+at+"."), era.Legacy)
	}
	return s.openJoined(clientID, offered, caps)
}

// openSolo makes the client's handshake the backend's.
func (s *Session) openSolo(ctx context.Context, e *Entry, clientID, caps []byte, offered string) (*Session, contract.Response) {
	s.soloEntry = e
	declared := era.ReadCaps(caps, offered)
	line, _, err := s.connect(ctx, e, declared, &soloEvents{s})
	if err != nil {
		return nil, fail(clientID, err, era.Legacy)
	}
	welcome := line.Welcome()
	s.version = versionOf(&welcome)
	s.caps = era.ReadCaps(caps, s.version)
	s.soloLine = line
	close(s.ready)
	s.relay.log.Info("session opened", "backend", e.Backend.Name(), "principal", s.who, "version", s.version,
		"form", s.caps.Form, "url", s.caps.URL, "sampling", s.caps.Sampling, "roots", s.caps.Roots)
	reply := contract.Reply{Msg: welcome, Status: 200}
	if s.forms {
		if reply, err = advertise(s.relay, reply, era.Legacy); err != nil {
			s.Close(ctx, ask.From(err))
			return nil, fail(clientID, err, era.Legacy)
		}
	}
	return s, restore(reply, clientID)
}

func versionOf(welcome *wire.Message) string {
	v, _ := wire.Unquote(wire.Get(welcome.Raw, welcome.Result, "protocolVersion").Of(welcome.Raw))
	return v
}

// Version is the protocol version that the handshake settled on.
func (s *Session) Version() string { return s.version }

// Done is closed when the backend of a solo session ended it. A joined
// session outlives its backends: its Done is never closed.
func (s *Session) Done() <-chan struct{} {
	if s.soloLine != nil {
		return s.soloLine.Done()
	}
	return nil
}

// Listen says that the client opened its own stream for what belongs to no
// call. The lines of a joined session listen from the moment they are opened.
func (s *Session) Listen() {
	if s.soloLine != nil {
		s.soloLine.Listen()
	}
}

// Call carries one request to its end. ctx is the life that the call may
// have. Errors come as JSON-RPC error responses.
func (s *Session) Call(ctx context.Context, msg *wire.Message, peer contract.Peer) contract.Response {
	id := msg.Field(msg.ID)
	switch msg.Method() {
	case "ping":
		return result(id, []byte("{}"))
	case "initialize":
		return fail(id, ask.Errorf(ask.BadMessage, "This session is initialized already."), era.Legacy)
	}
	if s.relay.ownsForm(msg, func(*wire.Message) bool { return s.forms }) {
		return s.formCall(ctx, msg)
	}
	if s.tells(msg.Method()) {
		return s.callAside(ctx, msg, peer)
	}
	c, ctx := s.newCall(ctx, msg, peer)
	defer c.finish()
	key := wire.IDKey(id)
	if err := s.begin(key, c); err != nil {
		return fail(id, err, era.Legacy)
	}
	defer s.finished(key)

	var resp contract.Response
	var err error
	if s.join.answers(msg.Method()) {
		resp, err = s.join.call(ctx, c)
	} else {
		resp, err = s.forward(ctx, c)
	}
	return c.outcome(ctx, resp, err)
}

// outcome is what the client gets of a call that has ended.
func (c *call) outcome(ctx context.Context, resp contract.Response, err error) contract.Response {
	c.report(era.Legacy, resp, err)
	if c.isAbandoned() || c.isSuspended() || cancelled(ctx, err) {
		return contract.Response{}
	}
	if err != nil {
		return failed(c.msg.Field(c.msg.ID), err, era.Legacy, resp.Event)
	}
	return resp
}

// newCall starts a call of this session.
func (s *Session) newCall(ctx context.Context, msg *wire.Message, peer contract.Peer) (*call, context.Context) {
	return newCall(ctx, msg, peer, s.asker(s.soloName(), msg), s.relay.timeout(s.soloEntry), s.relay.limits.CallCap)
}

// forward passes a request on to its backend.
func (s *Session) forward(ctx context.Context, c *call) (contract.Response, error) {
	var w way
	if err := s.way(ctx, c, &w); err != nil {
		return contract.Response{}, err
	}
	reply, err := w.line.Call(ctx, w.out, w.sink)
	if err != nil {
		return contract.Response{Event: reply.Event}, err
	}
	return s.passOn(c, w.entry, &reply)
}

// passOn makes a backend's reply the client's. It is apart from where the
// reply is waited for, so that those who wait do not hold its frame.
func (s *Session) passOn(c *call, from *Entry, got *contract.Reply) (contract.Response, error) {
	reply, err := *got, error(nil)
	if s.soloLine != nil && c.msg.Method() == "tools/list" {
		if reply, err = filterTools(from.Filter, reply); err != nil {
			return contract.Response{}, err
		}
	}
	if reply, err = s.explained(c.asker, reply); err != nil {
		return contract.Response{}, err
	}
	return restore(reply, c.msg.Field(c.msg.ID)), nil
}

func (s *Session) soloName() string {
	if s.soloEntry == nil {
		return ""
	}
	return s.soloEntry.Backend.Name()
}

func (s *Session) asker(backend string, msg *wire.Message) asker {
	a := asker{relay: s.relay, backend: backend, who: s.who, session: s.id, client: s.client, caps: s.caps, version: s.version, manner: s.manner, of: s}
	if msg != nil {
		a.during = msg.Method()
		a.name, _ = era.NameOf(msg)
	}
	return a
}

// begin registers a call under its id.
func (s *Session) begin(key string, c *call) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return ask.Errorf(ask.ClientGone, "The session has ended.")
	case s.calls[key] != nil:
		return ask.Errorf(ask.BadMessage, "A request with this id is in flight on this session already.")
	case len(s.calls) >= s.relay.limits.CallsPerSession:
		return ask.Errorf(ask.TooManyOpen, "This session has as many calls in flight as it may have (limits.calls_per_session).")
	}
	s.calls[key] = c
	return nil
}

func (s *Session) finished(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.calls, key)
	if s.closed && len(s.calls) == 0 {
		close(s.idle)
	}
}

// Notify passes a client's notification on, or acts on it.
func (s *Session) Notify(ctx context.Context, msg *wire.Message) {
	method := msg.Method()
	if method == "notifications/cancelled" {
		s.cancelCall(msg)
		return
	}
	if s.soloLine == nil {
		s.join.notify(ctx, msg)
		return
	}
	if err := s.soloLine.Notify(ctx, msg.Raw); err != nil {
		s.relay.log.Warn("notification not delivered", "backend", s.soloName(), "method", method, "err", err)
		return
	}
	if method == "notifications/initialized" && s.caps.Any() {
		s.soloLine.Listen()
	}
}

// cancelCall ends the call that the client names. Unknown ids are ignored,
// as the specification asks.
func (s *Session) cancelCall(msg *wire.Message) {
	s.mu.Lock()
	c := s.calls[wire.IDKey(msg.Field(msg.RequestID))]
	s.mu.Unlock()
	if c == nil {
		return
	}
	reason, _ := wire.Unquote(wire.Get(msg.Raw, msg.Params, "reason").Of(msg.Raw))
	if reason == "" {
		reason = "The client cancelled the call."
	}
	c.end(ask.Errorf(ask.ClientCancelled, reason))
}

// from says who answers through this session.
func (s *Session) from() desk.From {
	return desk.From{Principal: s.who, Session: s.id, Surface: cmp.Or(s.surface, contract.MCP)}
}

// Answer takes the client's response to a question that was shown to it.
func (s *Session) Answer(msg *wire.Message) error {
	if s.relay.desk == nil {
		return ask.Errorf(ask.Unknown, "No question was asked.")
	}
	id, ok := wire.Unquote(msg.Field(msg.ID))
	if !ok {
		return ask.Errorf(ask.Unknown, "No question has this id.")
	}
	return s.relay.desk.Answer(id, s.from(), answerOf(msg))
}

// Close ends the session: its asks and calls first, then its lines. It waits
// for the lines, but for those over which a call goes on whose client was told
// to call again: they are closed when it ends.
func (s *Session) Close(ctx context.Context, why *ask.Error) {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return
	}
	s.closed = true
	calls := make([]*call, 0, len(s.calls))
	for _, c := range s.calls {
		calls = append(calls, c)
	}
	if len(calls) == 0 {
		close(s.idle)
	}
	s.mu.Unlock()
	s.leaveForms(why)
	for _, c := range calls {
		c.end(why)
	}
	// A line knows only after its calls whether its session must go on.
	select {
	case <-s.idle:
	case <-ctx.Done():
	}
	s.mu.Lock()
	s.ending = true
	lent := s.lent > 0
	s.mu.Unlock()
	if !lent {
		s.closeLines(ctx)
	}
}

func (s *Session) closeLines(ctx context.Context) {
	if s.soloLine != nil {
		s.soloLine.Close(ctx)
		return
	}
	s.join.close(ctx)
}

// soloEvents takes what the backend of a solo session sends outside any
// call: it passes to the client as it is.
type soloEvents struct{ s *Session }

func (e *soloEvents) Notify(msg *wire.Message) {
	if l := catalog.ByChanged(msg.Method()); l != 0 {
		e.s.relay.catalog.Forget(e.s.soloName(), l)
	}
	e.s.peer.Notify(msg.Raw)
}

func (e *soloEvents) Question(q *contract.Question) {
	select {
	case <-e.s.ready:
		e.s.asker(e.s.soloName(), nil).carry(q, e.s.peer, callsOf(q)...)
	default:
		asker{relay: e.s.relay, backend: e.s.soloName()}.refuse(q, tooEarly())
	}
}

func tooEarly() *ask.Error {
	return ask.Errorf(ask.NoClient, "No client is available before the handshake is over.")
}

func (e *soloEvents) Lost(err *ask.Error) {
	e.s.relay.log.Warn("backend session lost", "backend", e.s.soloName(), "code", err.Code, "err", err)
}

func callsOf(q *contract.Question) []*call {
	calls := make([]*call, 0, len(q.Candidates))
	for _, sink := range q.Candidates {
		if c, ok := sink.(interface{ self() *call }); ok {
			calls = append(calls, c.self())
		}
	}
	return calls
}
