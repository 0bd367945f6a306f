package relay

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/catalog"
	"github.com/answerback/answerback/internal/contract"
	"github.com/answerback/answerback/internal/era"
	"github.com/answerback/answerback/internal/office"
	"github.com/answerback/answerback/internal/parking"
	"github.com/answerback/answerback/internal/wire"
)

// Call carries one modern request. ctx ends when the client goes away, which
// is its way to cancel; params are the request's Mcp-Param-* headers, or nil.
// The request has passed era.CheckRequest.
func (r *Relay) Call(ctx context.Context, at string, who contract.Caller, msg *wire.Message, params http.Header, peer contract.Peer) contract.Response {
	id := msg.Field(msg.ID)
	t := r.table.Load().seenBy(who.Access)
	e := r.solo(t, at)
	if at != "" && e == nil {
		return fail(id, ask.Errorf(ask.UnknownBackend, "There is no backend named "+at+"."), era.Modern)
	}
	switch {
	case r.ownsForm(msg, r.formsFor):
		return r.formCall(ctx, office.Creator{Principal: who.Principal, Client: clientName(msg.Field(msg.MetaClientInfo))}, msg, era.Modern)
	case r.watchesForms(msg):
		resp, err := r.listenForms(ctx, r.creator(office.Creator{Principal: who.Principal}), msg, peer)
		if err != nil {
			return fail(id, err, era.Modern)
		}
		return resp
	}
	rd := &round{relay: r, who: who.Principal, through: who.Surface, caps: era.ReadCaps(msg.Field(msg.MetaCapabilities), msg.Text(msg.MetaVersion)), params: params}
	a := asker{relay: r, who: who.Principal, during: msg.Method()}
	a.name, _ = era.NameOf(msg)
	work := r.timeout(e)
	if msg.Method() == "subscriptions/listen" {
		work = r.limits.CallCap
	}
	c, ctx := newCall(ctx, msg, peer, a, work, r.limits.CallCap)
	defer c.finish()
	rd.call = c

	var resp contract.Response
	var err error
	if e != nil {
		resp, err = rd.solo(ctx, e)
	} else {
		resp, err = (&modernJoin{round: rd, table: t}).do(ctx)
	}
	if msg.Method() != "subscriptions/listen" {
		c.report(era.Modern, resp, err)
	}
	if told, ok := parking.CallAgain(id, msg.Method(), err, era.Modern); ok {
		return told
	}
	if err != nil {
		return failed(id, err, era.Modern, resp.Event)
	}
	return resp
}

// round is one modern request on its way: one round of a call that may need
// several.
type round struct {
	relay   *Relay
	who     ask.Principal
	through string // the surface, "" for MCP
	caps    era.Caps
	params  http.Header
	call    *call
	tasks   known // those that the request names
}

// Notify passes a notification on, with the ids of tasks that the client has.
func (rd *round) Notify(msg *wire.Message) {
	if msg = rd.told(rd.call.asker.backend, rd.tasks, msg); msg != nil {
		rd.call.Notify(msg)
	}
}

// Question carries a question of the call.
func (rd *round) Question(q *contract.Question) { rd.call.Question(q) }

// Peer is the client's end of the request.
func (rd *round) Peer() contract.Peer { return rd.call.peer }

// self finds the call behind a sink.
func (rd *round) self() *call { return rd.call }

func (rd *round) solo(ctx context.Context, e *Entry) (contract.Response, error) {
	method := rd.call.msg.Method()
	to, err := rd.at(e, method)
	if err != nil {
		return contract.Response{}, err
	}
	reply, err := rd.forward(ctx, to)
	if err != nil {
		return contract.Response{Event: reply.Event}, err
	}
	switch {
	case method == "tools/list":
		reply, err = filterTools(e.Filter, reply)
	case method == "server/discover" && e.Tasks:
		reply, err = rd.relay.advertised(e, reply)
	}
	if err == nil && method == "server/discover" && rd.relay.formsFor(rd.call.msg) {
		reply, err = advertise(rd.relay, reply, era.Modern)
	}
	if err != nil {
		return contract.Response{}, err
	}
	return restore(reply, rd.call.msg.Field(rd.call.msg.ID)), nil
}

// at gives the way to the one backend of an endpoint, where names are its own
// but for those of tasks.
func (rd *round) at(e *Entry, method string) (found, error) {
	name := rd.call.asker.name
	switch {
	case method == "tools/call" && !e.Filter.Allows(name):
		return found{}, noTool(name)
	case method == "subscriptions/listen":
		f, err := rd.taskFilter()
		rd.tasks = f.by[e.Backend.Name()]
		return found{entry: e, own: name, edits: f.share(e.Backend.Name())}, err
	case isTask(method):
		return rd.task(map[string]*Entry{e.Backend.Name(): e})
	}
	return found{entry: e, own: name}, nil
}

// forward sends the request to its backend with the edits given, and makes
// the reply fit for the client: a requestState is sealed before it leaves and
// opened when it comes back, and no question and no type of result passes
// that the client did not declare.
func (rd *round) forward(ctx context.Context, to found) (contract.Reply, error) {
	msg, edits := rd.call.msg, to.edits
	name := to.entry.Backend.Name()
	rd.call.asker.backend = name
	state, ours, err := rd.openState(name)
	if err != nil {
		return contract.Reply{}, err
	}
	if state == nil && rd.tells(to) {
		pk, err := rd.relay.lot.Again(rd.who, era.Modern, name, to.own, msg)
		if err != nil {
			return contract.Reply{}, err
		}
		if pk != nil {
			reply, err := pk.Serve(ctx, msg, rd)
			if err != nil {
				return reply, err
			}
			return rd.typed(name, reply)
		}
	}
	line, err := rd.line(ctx, to, ours)
	if err != nil {
		return contract.Reply{}, err
	}
	lazy := false
	_, crosses := line.(*crossed)
	if !msg.MetaCapabilities.IsZero() {
		caps := msg.Field(msg.MetaCapabilities)
		lazy = !crosses && rd.lazy(to) && !rd.takesTasks()
		if told := rd.tell(to.entry); (!crosses || rd.relay.desk == nil) && len(told) != len(caps) {
			edits = append(edits, wire.Edit{Span: msg.MetaCapabilities, With: told})
		}
	}
	if state != nil {
		edits = append(edits, *state)
	}
	reply, err := line.Call(ctx, contract.Outgoing{Msg: msg, Edits: sorted(edits), Name: to.own, Params: rd.params}, rd)
	if err != nil {
		return contract.Reply{Event: reply.Event}, err
	}
	if lazy && asksPerson(&reply.Msg) || !crosses && rd.keepsApart(to.entry, &reply.Msg) {
		reply, err = rd.takeOver(ctx, to, reply)
		if err != nil {
			return contract.Reply{Event: reply.Event}, err
		}
	}
	if reply.Status == 0 {
		reply.Status = statusOf(&reply.Msg)
	}
	return rd.typed(name, reply)
}

// tell gives the capabilities object of the request as a modern backend gets
// it. Of a task that a backend makes the questions pass through: there a
// client that can show nothing is not said to show anything.
func (rd *round) tell(e *Entry) []byte {
	caps := rd.call.msg.Field(rd.call.msg.MetaCapabilities)
	switch {
	case rd.relay.desk == nil:
		return era.WithoutAsks(caps)
	case rd.lazy(found{entry: e}) && rd.takesTasks():
		return caps
	}
	return rd.relay.tell(e, rd.who, rd.caps, era.Latest, caps)
}

// line gives the line for the request. A call that the gateway holds, and a
// task of its own, are where it is.
func (rd *round) line(ctx context.Context, to found, ours bool) (contract.Line, error) {
	if ours || isTask(rd.call.msg.Method()) && parking.Ours(to.own) {
		return &crossed{relay: rd.relay, entry: to.entry, who: rd.who, caps: rd.caps, through: rd.through}, nil
	}
	line, err := rd.relay.stateless(ctx, to.entry, rd.who, rd.caps, rd.drives(to))
	if x, crosses := line.(*crossed); crosses {
		x.through = rd.through
	}
	return line, err
}

// statusOf gives the HTTP status of a response that came over a transport
// without one.
func statusOf(m *wire.Message) int {
	if m.Kind != wire.Failure {
		return http.StatusOK
	}
	code, err := strconv.Atoi(string(m.Field(m.ErrorCode)))
	if err != nil {
		return http.StatusOK
	}
	return era.Status(era.Modern, code)
}

// inputRequired checks the questions of a reply and seals its state.
func (rd *round) inputRequired(backend string, reply contract.Reply) (contract.Reply, error) {
	m := &reply.Msg
	patience, err := rd.checkInputs(backend, m, m.InputRequests)
	if err != nil {
		return contract.Reply{}, err
	}
	var state *string
	if !m.ResultState.IsZero() {
		own := m.Text(m.ResultState)
		state = &own
	} else if patience == 0 {
		return reply, nil
	}
	sealed, err := rd.sealState(backend, state, patience)
	if err != nil {
		return contract.Reply{}, err
	}
	edit := wire.Set(m.Raw, m.Result, m.ResultState, "requestState", wire.AppendString(nil, sealed))
	msg, err := wire.Scan(wire.Splice(nil, m.Raw, edit), rd.relay.limits.Scan)
	if err != nil {
		return contract.Reply{}, err
	}
	reply.Msg = msg
	return reply, nil
}

// checkInputs refuses questions, an object of them, that the client cannot be
// asked. It gives how long the most urgent of them may take, zero where there
// are none.
func (rd *round) checkInputs(backend string, m *wire.Message, inputs wire.Span) (patience time.Duration, err error) {
	if rd.relay.desk == nil && !inputs.IsZero() {
		return 0, ask.Errorf(ask.SwitchedOff, "The backend "+backend+" asked a question, and questions are switched off at the gateway (asks.enabled).")
	}
	for q := range wire.Members(m.Raw, inputs) {
		kind, err := rd.checkInput(backend, m, q.Value)
		if err != nil {
			return 0, err
		}
		if t := rd.relay.desk.Timeout(kind); patience == 0 || t < patience {
			patience = t
		}
	}
	return patience, nil
}

// checkInput refuses a question that the client did not say it can answer.
func (rd *round) checkInput(backend string, m *wire.Message, input wire.Span) (ask.Kind, error) {
	method, _ := wire.Unquote(wire.Get(m.Raw, input, "method").Of(m.Raw))
	params := wire.Get(m.Raw, input, "params").Of(m.Raw)
	kind, ok := era.KindOf(method, params)
	if !ok {
		return 0, ask.Errorf(ask.BackendBroken, "The backend "+backend+" asked with the unknown method "+method+".")
	}
	err := era.CheckCaps(kind, params, rd.caps)
	if err == nil {
		err = rd.relay.passable(backend, kind, params)
	}
	if err == nil {
		rd.relay.log.Info("question passed on", "backend", backend, "kind", kind, "name", rd.call.asker.name, "principal", rd.who)
		return kind, nil
	}
	switch err.Code {
	case ask.ClientLacksCapability, ask.ModeNotDeclared:
		required := err.Data["requiredCapabilities"]
		if required == nil {
			required = json.RawMessage(era.RequiredCaps(kind))
		}
		return 0, &ask.Error{
			Code: ask.MissingCapability, Message: "The backend " + backend + " has a question that this client did not declare it can answer.",
			Data: map[string]any{"requiredCapabilities": required},
		}
	}
	return 0, err
}

// modernJoin is one modern request at the joined endpoint.
type modernJoin struct {
	*round
	table *table
}

func (j *modernJoin) do(ctx context.Context) (contract.Response, error) {
	msg := j.call.msg
	id := msg.Field(msg.ID)
	method := msg.Method()
	if l := catalog.ByMethod(method); l != 0 {
		body, err := joinedPage(j.relay, j.table, l, j.gather(ctx, l), msg.Text(msg.Cursor))
		if err != nil {
			return contract.Response{}, err
		}
		return result(id, complete(body)), nil
	}
	switch method {
	case "server/discover":
		return result(id, era.DiscoverResult(era.Discovery{Capabilities: j.capabilities(ctx), ServerInfo: j.relay.info})), nil
	case "subscriptions/listen":
		return j.listen(ctx)
	case "resources/subscribe", "resources/unsubscribe":
		return contract.Response{}, ask.Errorf(ask.UnknownMethod, "The modern era has no "+method+": use subscriptions/listen.")
	}
	to, err := j.find(ctx)
	if err != nil {
		return contract.Response{}, err
	}
	if to.entry.Timeout > 0 {
		j.call.clock.relimit(to.entry.Timeout)
	}
	reply, err := j.forward(ctx, to)
	if err != nil {
		return contract.Response{Event: reply.Event}, err
	}
	return restore(reply, id), nil
}

// find finds the backend of the request: of a task by its id, of all else by
// its name.
func (j *modernJoin) find(ctx context.Context) (found, error) {
	if isTask(j.call.msg.Method()) {
		return j.task(j.table.byName)
	}
	return finder{table: j.table, prefixed: j.relay.prefixed(j.table), gather: func(l catalog.List) []catalog.Part {
		return j.gather(ctx, l).parts
	}}.find(j.call.msg)
}

// capabilities are those of the joined endpoint, with tasks where at least
// one backend has them. A backend that does not say in time has none.
func (j *modernJoin) capabilities(ctx context.Context) []byte {
	ctx, cancel := context.WithTimeout(ctx, ackWait)
	defer cancel()
	var tasks atomic.Bool
	var wg sync.WaitGroup
	for i := range j.table.entries {
		if j.table.entries[i].Tasks {
			tasks.Store(true)
		}
		b := j.table.entries[i].Backend
		wg.Go(func() {
			m, err := b.Discover(ctx, j.who)
			if err == nil && m.Kind == wire.Result && era.Extends(wire.Get(m.Raw, m.Result, "capabilities").Of(m.Raw), era.Tasks) {
				tasks.Store(true)
				cancel() // one is enough
			}
		})
	}
	wg.Wait()
	caps := []byte(joinedCapabilities)
	if tasks.Load() {
		caps = append(caps[:len(caps)-1], `,"extensions":{"`+era.Tasks+`":{}}}`...)
	}
	if j.relay.formsFor(j.call.msg) {
		caps = era.WithForms(caps, era.Modern)
	}
	return caps
}

func (j *modernJoin) gather(ctx context.Context, l catalog.List) gathered {
	msg := j.call.msg
	caps := msg.Field(msg.MetaCapabilities)
	return gather(ctx, j.table, func(ctx context.Context, e *Entry) (*catalog.View, error) {
		name := e.Backend.Name()
		key := catalog.Key{Backend: name, Principal: j.who, Caps: era.CapsKey(caps), Version: msg.Text(msg.MetaVersion), List: l}
		meta := append([]byte(nil), msg.Field(msg.Meta)...)
		if told := j.tell(e); len(told) != len(caps) {
			at := wire.Span{Start: msg.MetaCapabilities.Start - msg.Meta.Start, End: msg.MetaCapabilities.End - msg.Meta.Start}
			meta = wire.Splice(nil, meta, wire.Edit{Span: at, With: told})
		}
		return j.relay.catalog.Get(ctx, key, func(ctx context.Context, _ catalog.Key) (*catalog.View, error) {
			line, err := j.relay.stateless(ctx, e, j.who, j.caps, false)
			if err != nil {
				return nil, err
			}
			return fetchView(ctx, j.relay, line, name, l, meta)
		})
	})
}

// complete gives a list result of our own what the modern era demands of one.
func complete(body []byte) []byte {
	at, err := wire.Value(body)
	if err != nil {
		return body
	}
	return wire.Splice(nil, body, wire.Amend(body, at,
		wire.Change{Key: "resultType", Value: []byte(`"complete"`)},
		wire.Change{Key: "ttlMs", Value: []byte("0")},
		wire.Change{Key: "cacheScope", Value: []byte(`"private"`)})...)
}
