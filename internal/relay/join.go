package relay

import (
	"context"
	"sync"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/catalog"
	"github.com/answerback/answerback/internal/contract"
	"github.com/answerback/answerback/internal/era"
	"github.com/answerback/answerback/internal/wire"
)

// join is what a session of the joined endpoint has beside a solo one: a line
// for each backend it has used.
type join struct {
	s       *Session
	changes *catalog.Debouncer

	mu     sync.Mutex
	slots  map[string]*slot
	level  []byte            // the raw params of the last logging/setLevel
	tokens map[string]string // which backend's open question has this progress token
	beside []contract.Line   // those that serve one call from before a restart each
	closed bool
}

// slot is the place of one backend's line. Its mutex is held while the line
// is being opened, so that it is opened once; nothing else waits on it.
type slot struct {
	mu      sync.Mutex
	backend contract.Backend
	line    contract.Line
}

func (s *Session) openJoined(clientID []byte, offered string, caps []byte) (*Session, contract.Response) {
	s.version = era.LatestLegacy
	if e, ok := era.Of(offered); ok && e == era.Legacy {
		s.version = offered
	}
	s.caps = era.ReadCaps(caps, s.version)
	s.hello = joinedHello(s.hello, s.version)
	s.startJoin()
	close(s.ready)
	s.relay.log.Info("session opened", "principal", s.who, "version", s.version,
		"form", s.caps.Form, "url", s.caps.URL, "sampling", s.caps.Sampling, "roots", s.caps.Roots)

	body := append([]byte(nil), `{"protocolVersion":`...)
	body = wire.AppendString(body, s.version)
	body = append(body, `,"capabilities":`...)
	can := []byte(joinedCapabilities)
	if s.forms {
		can = era.WithForms(can, era.Legacy)
	}
	body = append(body, can...)
	body = append(body, `,"serverInfo":`...)
	body = append(body, s.relay.info...)
	body = append(body, '}')
	return s, result(clientID, body)
}

// startJoin makes s a session of the joined endpoint.
func (s *Session) startJoin() {
	s.join = &join{s: s, slots: make(map[string]*slot), tokens: make(map[string]string)}
	s.join.changes = catalog.NewDebouncer(changeWait, s.join.tellChanged)
	s.relay.mu.Lock()
	s.relay.sessions[s] = struct{}{}
	s.relay.mu.Unlock()
}

// joinedCapabilities are those that the joined endpoint serves whatever its
// backends can do: a list may be empty. The tasks of the legacy era are left
// out, because their ids could not be told apart.
const joinedCapabilities = `{"completions":{},"logging":{},"prompts":{"listChanged":true},"resources":{"listChanged":true,"subscribe":true},"tools":{"listChanged":true}}`

// joinedHello gives the handshake of a joined session's lines: the client's
// own, at the version agreed on, without what the joined endpoint cannot
// carry.
func joinedHello(params []byte, version string) []byte {
	obj, err := wire.Value(params)
	if err != nil {
		return params
	}
	var edits []wire.Edit
	if at := wire.Get(params, obj, "capabilities"); !at.IsZero() {
		edits = append(edits, wire.Edit{Span: at, With: era.Without(at.Of(params), "tasks")})
	}
	v := wire.Set(params, obj, wire.Get(params, obj, "protocolVersion"), "protocolVersion", wire.AppendString(nil, version))
	if len(edits) == 1 && v.Span.Start < edits[0].Span.Start {
		edits = append([]wire.Edit{v}, edits...)
	} else {
		edits = append(edits, v)
	}
	return wire.Splice(nil, params, edits...)
}

// line gives the session's line to a backend, opening it at first use and
// anew when it died.
func (j *join) line(ctx context.Context, e *Entry) (contract.Line, error) {
	name := e.Backend.Name()
	j.mu.Lock()
	if j.closed {
		j.mu.Unlock()
		return nil, ask.Errorf(ask.ClientGone, "The session has ended.")
	}
	sl := j.slots[name]
	if sl == nil || sl.backend != e.Backend {
		sl = &slot{backend: e.Backend}
		j.slots[name] = sl
	}
	j.mu.Unlock()

	sl.mu.Lock()
	defer sl.mu.Unlock()
	if sl.line != nil {
		select {
		case <-sl.line.Done():
			sl.line.Close(ctx)
			sl.line = nil
		default:
			return sl.line, nil
		}
	}
	line, greeted, err := j.s.connect(ctx, e, j.s.caps, &joinEvents{j, name})
	if err != nil {
		return nil, unwelcome(name, err)
	}
	if !greeted {
		if err := greet(ctx, line); err != nil {
			return nil, err
		}
	}
	j.mu.Lock()
	level, closed := j.level, j.closed
	j.mu.Unlock()
	if closed {
		line.Close(ctx)
		return nil, ask.Errorf(ask.ClientGone, "The session has ended.")
	}
	if level != nil {
		j.sendLevel(ctx, name, line, level)
	}
	sl.line = line
	return line, nil
}

// unwelcome makes a backend's refusal of a handshake an error that names it.
func unwelcome(name string, err error) error {
	if _, ok := err.(*contract.UpstreamError); ok {
		return ask.Wrap(ask.BackendUnreachable, "The backend "+name+" refused the handshake of this protocol version.", err)
	}
	return err
}

// open gives the lines that are open now, with their backends' names.
func (j *join) open() map[string]contract.Line {
	j.mu.Lock()
	slots := make(map[string]*slot, len(j.slots))
	for name, sl := range j.slots {
		slots[name] = sl
	}
	j.mu.Unlock()
	lines := make(map[string]contract.Line, len(slots))
	for name, sl := range slots {
		sl.mu.Lock()
		if sl.line != nil {
			lines[name] = sl.line
		}
		sl.mu.Unlock()
	}
	return lines
}

func (j *join) close(ctx context.Context) {
	j.s.relay.mu.Lock()
	delete(j.s.relay.sessions, j.s)
	j.s.relay.mu.Unlock()
	j.mu.Lock()
	j.closed = true
	beside := j.beside
	j.mu.Unlock()
	j.changes.Close()
	var wg sync.WaitGroup
	for _, line := range beside {
		wg.Go(func() { line.Close(ctx) })
	}
	for _, line := range j.open() {
		wg.Go(func() { line.Close(ctx) })
	}
	wg.Wait()
}

// allChanged tells the client of a joined session to read its lists again.
func (s *Session) allChanged() {
	for _, l := range []catalog.List{catalog.Tools, catalog.Prompts, catalog.Resources} {
		s.join.changes.Changed(l)
	}
}

func (j *join) tellChanged(l catalog.List) {
	j.s.peer.Notify([]byte(`{"jsonrpc":"2.0","method":"` + l.Changed() + `"}`))
}

// changed takes a list_changed notification of one backend out of the
// stream: the client hears of it once, on its own stream.
func (j *join) changed(backend, method string) bool {
	l := catalog.ByChanged(method)
	if l == 0 {
		return false
	}
	j.s.relay.catalog.Forget(backend, l)
	j.changes.Changed(l)
	return true
}

// notify acts on a notification of the client.
func (j *join) notify(ctx context.Context, msg *wire.Message) {
	switch msg.Method() {
	case "notifications/roots/list_changed":
		for name, line := range j.open() {
			j.send(ctx, name, line, msg)
		}
	case "notifications/progress":
		j.mu.Lock()
		name, ok := j.tokens[wire.IDKey(msg.Field(msg.Token))]
		j.mu.Unlock()
		if line := j.open()[name]; ok && line != nil {
			j.send(ctx, name, line, msg)
		}
	}
}

func (j *join) send(ctx context.Context, name string, line contract.Line, msg *wire.Message) {
	if err := line.Notify(ctx, msg.Raw); err != nil {
		j.s.relay.log.Warn("notification not delivered", "backend", name, "method", msg.Method(), "err", err)
	}
}

// joinEvents takes what one backend of a joined session sends outside any
// call.
type joinEvents struct {
	j       *join
	backend string
}

func (e *joinEvents) Notify(msg *wire.Message) {
	if !e.j.changed(e.backend, msg.Method()) {
		e.j.s.peer.Notify(msg.Raw)
	}
}

func (e *joinEvents) Question(q *contract.Question) {
	e.j.track(e.backend, q)
	e.j.s.asker(e.backend, nil).carry(q, e.j.s.peer, callsOf(q)...)
}

func (e *joinEvents) Lost(err *ask.Error) {
	e.j.s.relay.catalog.Forget(e.backend, 0)
	e.j.s.relay.log.Warn("backend session lost", "backend", e.backend, "code", err.Code, "err", err)
}

// track remembers whose question a progress token of the client will mean,
// until the question is gone.
func (j *join) track(backend string, q *contract.Question) {
	if q.Token == nil {
		return
	}
	key := wire.IDKey(q.Token)
	j.mu.Lock()
	j.tokens[key] = backend
	j.mu.Unlock()
	context.AfterFunc(q.Gone, func() {
		j.mu.Lock()
		delete(j.tokens, key)
		j.mu.Unlock()
	})
}
