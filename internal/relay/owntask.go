package relay

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/era"
	"github.com/answerback/answerback/internal/wire"
)

// A call in which somebody is asked can become a task of the gateway's own:
// its client gets the task's id in place of a question, and polls, however
// long a person takes. To everything else it is a task like a backend's.

// ownTask begins the ids of calls that the relay holds, and so of its tasks.
const ownTask = "answerback-"

// pollEvery is how often the client of a task is asked to look.
const pollEvery = time.Second

// mayTask reports whether this round's client would take a task.
func (pk *parked) mayTask(msg *wire.Message) bool {
	return pk.tasks && era.Extends(msg.Field(msg.MetaCapabilities), era.Tasks)
}

// becomeTask answers the request with a task. Where the client does not get
// it the call is ended: nobody else knows of it.
func (pk *parked) becomeTask(msg *wire.Message) (Reply, error) {
	pk.mu.Lock()
	if pk.patient != nil {
		pk.patient.Stop()
	}
	pk.patient = time.AfterFunc(pk.lot.relay.limits.CallCap, func() {
		pk.end(ask.Errorf(ask.ClientGone, "Nobody asked for the task in time."))
	})
	pk.mu.Unlock()
	status, _ := pk.status()
	body := append([]byte(`{"resultType":"task",`), pk.task(status)...)
	reply, err := pk.lot.relay.reply(msg, append(body, '}'))
	reply.Unsent = func() { pk.end(ask.Errorf(ask.ClientGone, "The client did not get the task.")) }
	return reply, err
}

// task writes the members that every form of the task has.
func (pk *parked) task(status string) []byte {
	b := wire.AppendString([]byte(`"taskId":`), pk.id)
	b = append(b, `,"status":"`+status+`","createdAt":"`...)
	b = pk.created.UTC().AppendFormat(b, time.RFC3339)
	b = append(b, `","lastUpdatedAt":"`...)
	b = time.Now().UTC().AppendFormat(b, time.RFC3339)
	b = append(b, `","ttlMs":`...)
	b = strconv.AppendInt(b, pk.lot.relay.limits.CallCap.Milliseconds(), 10)
	b = append(b, `,"pollIntervalMs":`...)
	return strconv.AppendInt(b, pollEvery.Milliseconds(), 10)
}

// status is the task's, as the extension spells it, with the questions that
// it waits for.
func (pk *parked) status() (string, []open) {
	if !pk.isDone() {
		pk.mu.Lock()
		defer pk.mu.Unlock()
		if len(pk.open) > 0 {
			return "input_required", slices.Clone(pk.open)
		}
		return "working", nil
	}
	switch {
	case pk.isCancelled():
		return "cancelled", nil
	case pk.err != nil || pk.reply.Msg.Kind == wire.Failure:
		return "failed", nil
	}
	return "completed", nil
}

func (pk *parked) isDone() bool {
	select {
	case <-pk.done:
		return true
	default:
		return false
	}
}

func (pk *parked) isCancelled() bool {
	return pk.call.isAbandoned() || ask.CodeOf(pk.err) == ask.ClientCancelled
}

// taskCall serves a request about a task of the gateway's own.
func (x *crossed) taskCall(ctx context.Context, msg *wire.Message, id string) (Reply, error) {
	pk := x.relay.lot.find(ctx, x.who, id)
	if pk == nil {
		return Reply{}, ask.Errorf(ask.UnknownName, "There is no such task here.")
	}
	switch msg.Method() {
	case "tasks/update":
		pk.answer(msg)
	case "tasks/cancel":
		if !pk.isDone() { // what is over stays as it is
			pk.call.end(ask.Errorf(ask.ClientCancelled, "The client cancelled the task."))
		}
	default:
		return pk.describe(msg)
	}
	return x.relay.reply(msg, []byte(`{"resultType":"complete"}`))
}

// describe answers tasks/get.
func (pk *parked) describe(msg *wire.Message) (Reply, error) {
	status, questions := pk.status()
	body := append([]byte(`{"resultType":"complete",`), pk.task(status)...)
	switch status {
	case "input_required":
		body = appendOpen(append(body, `,"inputRequests":`...), questions)
	case "completed":
		reply, err := modernReply(pk.lot.relay, pk.reply, pk.call.msg.Method())
		if err != nil {
			return Reply{}, err
		}
		body = append(append(body, `,"result":`...), reply.Msg.Field(reply.Msg.Result)...)
	case "failed":
		object, err := pk.failure()
		if err != nil {
			return Reply{}, err
		}
		at, err := wire.Value(object)
		if err != nil {
			return Reply{}, err
		}
		if message, ok := wire.Unquote(wire.Get(object, at, "message").Of(object)); ok {
			body = wire.AppendString(append(body, `,"statusMessage":`...), message)
		}
		body = append(append(body, `,"error":`...), object...)
	}
	return pk.lot.relay.reply(msg, append(body, '}'))
}

// failure gives the error with which the call would have been answered.
func (pk *parked) failure() ([]byte, error) {
	if pk.err != nil {
		return era.ErrorObject(ask.From(pk.err), era.Modern), nil
	}
	reply, err := modernReply(pk.lot.relay, pk.reply, pk.call.msg.Method())
	return reply.Msg.Field(reply.Msg.Error), err
}

// reply makes a response of the relay's own to a request.
func (r *Relay) reply(msg *wire.Message, body []byte) (Reply, error) {
	m, err := wire.Scan(result(msg.Field(msg.ID), body).Body, r.limits.Scan)
	return Reply{Msg: m, Status: 200}, err
}

// Results keeps the responses of calls whose clients are away, so that they
// outlive the gateway. Safe for concurrent use.
type Results interface {
	Keep(ctx context.Context, id string, value []byte, ttl time.Duration) error
	// Kept gives a response, nil where there is none.
	Kept(ctx context.Context, id string) ([]byte, error)
}

// uncollected is a response that waits for its client, as it is kept.
type uncollected struct {
	Who     ask.Principal
	Backend string
	Message []byte // the client's request
	Reply   []byte // the backend's response
	Code    ask.Code
	Why     string // the gateway's own failure, where there is no response
	Created time.Time
}

// keepTime bounds how long a response may take to be kept.
const keepTime = 5 * time.Second

// keepReply keeps the response of a call whose client is away: that of one
// which may be a task for as long as a task was promised to last.
func (pk *parked) keepReply() {
	r := pk.lot.relay
	if r.results == nil {
		return
	}
	u := uncollected{Who: pk.who, Backend: pk.call.asker.backend, Message: pk.call.msg.Raw, Reply: pk.reply.Msg.Raw, Created: pk.created}
	switch {
	case pk.isCancelled():
		u.Code, u.Why = ask.ClientCancelled, "The client cancelled the task."
	case pk.err != nil:
		why := ask.From(pk.err)
		u.Code, u.Why = why.Code, why.Message
	}
	ttl := max(pk.away, time.Minute)
	if pk.tasks {
		ttl = max(ttl, r.limits.CallCap-time.Since(pk.created))
	}
	value, err := json.Marshal(u)
	if err == nil {
		ctx, cancel := context.WithTimeout(context.Background(), keepTime)
		defer cancel()
		err = r.results.Keep(ctx, strings.TrimPrefix(pk.id, ownTask), value, ttl)
	}
	if err != nil {
		r.log.Warn("a response that waits for its client would not outlive the gateway", "backend", u.Backend, "err", err)
	}
}

// find gives the call with this id of this principal: the one that is held,
// or one whose response was kept before a restart.
func (l *lot) find(ctx context.Context, who ask.Principal, id string) *parked {
	l.mu.Lock()
	pk := l.calls[id]
	l.mu.Unlock()
	if pk != nil && pk.who == who {
		return pk
	}
	if pk != nil || l.relay.results == nil {
		return nil
	}
	pk, err := l.kept(ctx, who, id)
	if err != nil {
		l.relay.log.Warn("a kept response cannot be read", "err", err)
	}
	return pk
}

func (l *lot) kept(ctx context.Context, who ask.Principal, id string) (*parked, error) {
	value, err := l.relay.results.Kept(ctx, strings.TrimPrefix(id, ownTask))
	if err != nil || value == nil {
		return nil, err
	}
	var u uncollected
	if err := json.Unmarshal(value, &u); err != nil {
		return nil, err
	}
	if u.Who != who {
		return nil, errors.New("it is somebody else's")
	}
	msg, err := wire.Scan(u.Message, l.relay.limits.Scan)
	if err != nil {
		return nil, err
	}
	pk := &parked{lot: l, id: id, who: who, created: u.Created, revived: true, tasks: true, done: make(chan struct{}), changed: make(chan struct{}, 1)}
	pk.call = &call{asker: asker{relay: l.relay, backend: u.Backend, who: who}, msg: &msg}
	if u.Code != "" {
		pk.err = ask.Errorf(u.Code, u.Why)
	} else if pk.reply.Msg, err = wire.Scan(u.Reply, l.relay.limits.Scan); err != nil {
		return nil, err
	}
	close(pk.done)
	return pk, nil
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
func (r *Relay) advertised(e *Entry, reply Reply) (Reply, error) {
	m := &reply.Msg
	at := wire.Get(m.Raw, m.Result, "capabilities")
	if m.Kind != wire.Result || at.IsZero() {
		return reply, nil
	}
	msg, err := wire.Scan(wire.Splice(nil, m.Raw, wire.Edit{Span: at, With: e.tasked(at.Of(m.Raw))}), r.limits.Scan)
	reply.Msg = msg
	return reply, err
}
