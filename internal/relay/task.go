package relay

import (
	"encoding/binary"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/contract"
	"github.com/answerback/answerback/internal/era"
	"github.com/answerback/answerback/internal/seal"
	"github.com/answerback/answerback/internal/wire"
)

// The id of a task may be all that it takes at a backend to read the task, to
// answer for it and to end it. So clients never get it: they get it sealed,
// with the backend's name, for their principal alone. That is also how a
// request that names a task finds its backend.
//
// No two seals are alike, but clients compare ids. What answers a request
// therefore names a task as the request did.

// known maps a backend's own ids of tasks to those that a request named them
// with.
type known map[string]string

func (rd *round) sealTask(backend, own string) string {
	return rd.relay.ring.Seal(seal.Task, seal.Words(rd.who.Issuer, rd.who.Subject), append(seal.Words(backend), own...))
}

// openTask gives the backend and its own id of a task; false for an id that
// was not given to this principal.
func (rd *round) openTask(id string) (backend, own string, ok bool) {
	plain, err := rd.relay.ring.Unseal(seal.Task, seal.Words(rd.who.Issuer, rd.who.Subject), id)
	if err != nil || len(plain) < 4 {
		return "", "", false
	}
	size, rest := binary.BigEndian.Uint32(plain), plain[4:]
	if uint64(size) > uint64(len(rest)) {
		return "", "", false
	}
	return string(rest[:size]), string(rest[size:]), true
}

// isTask reports whether a method belongs to the tasks extension, which has
// reserved the prefix.
func isTask(method string) bool { return strings.HasPrefix(method, "tasks/") }

// task finds the backend of the task that a request names, among those given.
func (rd *round) task(among map[string]*Entry) (found, error) {
	msg := rd.call.msg
	switch method := msg.Method(); method {
	case "tasks/get", "tasks/update", "tasks/cancel":
	default:
		return found{}, ask.Errorf(ask.UnknownMethod, "The tasks extension has no "+method+".")
	}
	if err := rd.needTasks(); err != nil {
		return found{}, err
	}
	at, err := sole(msg.Raw, msg.Params, "taskId")
	if err != nil {
		return found{}, err
	}
	id := msg.Text(at)
	backend, own, ok := rd.openTask(id)
	e := among[backend]
	if !ok || e == nil {
		return found{}, ask.Errorf(ask.UnknownName, "There is no such task here.")
	}
	rd.tasks = known{own: id}
	return found{e, own, []wire.Edit{{Span: at, With: wire.AppendString(nil, own)}}}, nil
}

// needTasks refuses a client that did not declare the extension.
func (rd *round) needTasks() error {
	msg := rd.call.msg
	if era.Extends(msg.Field(msg.MetaCapabilities), era.Tasks) {
		return nil
	}
	return &ask.Error{
		Code: ask.MissingCapability, Message: "This request did not declare the tasks extension.",
		Data: map[string]any{"requiredCapabilities": json.RawMessage(era.RequiredTasks)},
	}
}

// sole finds a member whose value is rewritten for the receiver. Where there
// are two, or another spelling, the receiver might read what was not.
func sole(raw []byte, obj wire.Span, key string) (wire.Span, error) {
	var at wire.Span
	for m := range wire.Members(raw, obj) {
		token := m.Key.Of(raw)
		if name, _ := wire.Unquote(token); !strings.EqualFold(name, key) {
			continue
		}
		if !at.IsZero() || string(token) != `"`+key+`"` {
			return wire.Span{}, ask.Errorf(ask.Ambiguous, "The message can be read in two ways: it has the key "+key+" twice, or in another spelling.")
		}
		at = m.Value
	}
	return at, nil
}

// typed lets a result through whose type the client is ready for, without
// questions that it did not declare, and seals the id of a task in it.
func (rd *round) typed(backend string, reply contract.Reply) (contract.Reply, error) {
	m := &reply.Msg
	if m.Kind != wire.Result {
		return reply, nil
	}
	kind, isText := wire.Unquote(m.Field(m.ResultType))
	caps := rd.call.msg.Field(rd.call.msg.MetaCapabilities)
	switch {
	case m.ResultType.IsZero(), kind == "complete":
	case kind == "input_required":
		return rd.inputRequired(backend, reply)
	case kind == "task" && !era.Extends(caps, era.Tasks):
		return refused(reply, "The backend "+backend+" answered with a task, and this client did not declare the tasks extension.")
	case kind != "task" && (!isText || !era.ExtendsAny(caps)):
		return refused(reply, "The backend "+backend+" answered with a type of result that MCP does not know, and this client declared no extension.")
	}
	if _, err := rd.checkInputs(backend, m, m.InputRequests); err != nil {
		return contract.Reply{Event: reply.Event}, err
	}
	asked := isTask(rd.call.msg.Method())
	if kind != "task" && !asked {
		return reply, nil
	}
	at, err := sole(m.Raw, m.Result, "taskId")
	if err != nil {
		return refused(reply, "The backend "+backend+" answered with a task whose id can be read in two ways.")
	}
	if at.IsZero() && asked {
		return reply, nil // it only acknowledges
	}
	own, _ := wire.Unquote(m.Field(at))
	id := rd.tasks[own]
	switch {
	case own == "":
		return refused(reply, "The backend "+backend+" answered with a task without an id.")
	case id == "" && asked:
		return refused(reply, "The backend "+backend+" answered with another task than it was asked for.")
	case id == "":
		id = rd.sealTask(backend, own)
	}
	msg, err := wire.Scan(wire.Splice(nil, m.Raw, wire.Edit{Span: at, With: wire.AppendString(nil, id)}), rd.relay.limits.Scan)
	reply.Msg = msg
	return reply, err
}

func refused(reply contract.Reply, why string) (contract.Reply, error) {
	return contract.Reply{Event: reply.Event}, ask.Errorf(ask.BackendBroken, why)
}

// taskFilter is the part of a subscription that names tasks.
type taskFilter struct {
	at wire.Span // the list of ids; zero where there is none
	by map[string]known
}

// taskFilter reads which tasks a subscription is about. Those that are not
// this principal's are passed over, and so not acknowledged.
func (rd *round) taskFilter() (taskFilter, error) {
	raw := rd.call.msg.Raw
	filter, err := sole(raw, rd.call.msg.Params, "notifications")
	if err != nil {
		return taskFilter{}, err
	}
	at, err := sole(raw, filter, "taskIds")
	if err != nil || at.IsZero() {
		return taskFilter{}, err
	}
	if err := rd.needTasks(); err != nil {
		return taskFilter{}, err
	}
	f := taskFilter{at: at, by: make(map[string]known)}
	for item := range wire.Elements(raw, at) {
		id, _ := wire.Unquote(item.Of(raw))
		backend, own, ok := rd.openTask(id)
		if !ok {
			continue
		}
		if f.by[backend] == nil {
			f.by[backend] = make(known)
		}
		f.by[backend][own] = id
	}
	return f, nil
}

// share gives the edit that leaves a backend its own tasks, in its own ids.
func (f taskFilter) share(backend string) []wire.Edit {
	if f.at.IsZero() {
		return nil
	}
	return []wire.Edit{{Span: f.at, With: appendStrings(nil, slices.Sorted(maps.Keys(f.by[backend])))}}
}

func appendStrings(dst []byte, items []string) []byte {
	dst = append(dst, '[')
	for i, s := range items {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = wire.AppendString(dst, s)
	}
	return append(dst, ']')
}

// told gives a notification as the client must read it. It is nil for one
// about a task that the client did not name: to seal its id would be to give
// the task away to whoever listens.
func (rd *round) told(backend string, tasks known, m *wire.Message) *wire.Message {
	var edit wire.Edit
	switch method := m.Method(); {
	case method == "notifications/subscriptions/acknowledged":
		at := wire.Get(m.Raw, wire.Get(m.Raw, m.Params, "notifications"), "taskIds")
		if at.IsZero() {
			return m
		}
		var agreed []string
		for item := range wire.Elements(m.Raw, at) {
			own, _ := wire.Unquote(item.Of(m.Raw))
			if id := tasks[own]; id != "" {
				agreed = append(agreed, id)
			}
		}
		edit = wire.Edit{Span: at, With: appendStrings(nil, agreed)}
	case strings.HasPrefix(method, "notifications/tasks"):
		at, err := sole(m.Raw, m.Params, "taskId")
		if err == nil {
			err = rd.checkNews(backend, m)
		}
		id := tasks[m.Text(at)]
		if err != nil || id == "" {
			rd.relay.log.Info("notification of a task dropped", "backend", backend, "named", id != "", "err", err)
			return nil
		}
		edit = wire.Edit{Span: at, With: wire.AppendString(nil, id)}
	default:
		return m
	}
	msg, err := wire.Scan(wire.Splice(nil, m.Raw, edit), rd.relay.limits.Scan)
	if err != nil {
		return nil
	}
	return &msg
}

// checkNews refuses a notification with questions that the client did not
// declare: it hears of them when it asks for the task.
func (rd *round) checkNews(backend string, m *wire.Message) error {
	at, err := sole(m.Raw, m.Params, "inputRequests")
	if err != nil {
		return err
	}
	_, err = rd.checkInputs(backend, m, at)
	return err
}

// tasked gives a server's capabilities with the tasks that the gateway makes
// of its calls.
func (e *Entry) tasked(caps []byte) []byte {
	if !e.Tasks || era.Extends(caps, era.Tasks) {
		return caps
	}
	return era.WithTasks(caps)
}

// advertised gives a response to server/discover with these tasks.
func (r *Relay) advertised(e *Entry, reply contract.Reply) (contract.Reply, error) {
	m := &reply.Msg
	at := wire.Get(m.Raw, m.Result, "capabilities")
	if m.Kind != wire.Result || at.IsZero() {
		return reply, nil
	}
	msg, err := wire.Scan(wire.Splice(nil, m.Raw, wire.Edit{Span: at, With: e.tasked(at.Of(m.Raw))}), r.limits.Scan)
	reply.Msg = msg
	return reply, err
}
