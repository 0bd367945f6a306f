package relay

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/contract"
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
func (pk *parked) becomeTask(msg *wire.Message) (contract.Reply, error) {
	if !pk.leave() {
		return contract.Reply{}, errStays
	}
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

// task writes the members that every form of the task has. Where a person is
// to answer on a page, it says on which.
func (pk *parked) task(status string) []byte {
	pk.mu.Lock()
	updated, page := pk.updated, ""
	for _, p := range pk.pages {
		if !p.group {
			page = p.link
		}
	}
	pk.mu.Unlock()
	b := wire.AppendString([]byte(`"taskId":`), pk.id)
	b = append(b, `,"status":"`+status+`","createdAt":"`...)
	b = pk.created.UTC().AppendFormat(b, time.RFC3339)
	b = append(b, `","lastUpdatedAt":"`...)
	b = updated.UTC().AppendFormat(b, time.RFC3339)
	b = append(b, `","ttlMs":`...)
	b = strconv.AppendInt(b, pk.lot.relay.limits.CallCap.Milliseconds(), 10)
	b = append(b, `,"pollIntervalMs":`...)
	b = strconv.AppendInt(b, pollEvery.Milliseconds(), 10)
	if page != "" && status == "working" {
		b = wire.AppendString(append(b, `,"statusMessage":`...), "A person must answer at "+page)
	}
	return b
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
func (x *crossed) taskCall(ctx context.Context, msg *wire.Message, id string) (contract.Reply, error) {
	pk := x.relay.lot.find(ctx, x.who, id)
	if pk == nil {
		return contract.Reply{}, ask.Errorf(ask.UnknownName, "There is no such task here.")
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
func (pk *parked) describe(msg *wire.Message) (contract.Reply, error) {
	status, questions := pk.status()
	body := append([]byte(`{"resultType":"complete",`), pk.task(status)...)
	switch status {
	case "input_required":
		body = appendOpen(append(body, `,"inputRequests":`...), questions)
	case "completed":
		reply, err := modernReply(pk.lot.relay, pk.reply, pk.call.msg.Method())
		if err != nil {
			return contract.Reply{}, err
		}
		body = append(append(body, `,"result":`...), reply.Msg.Field(reply.Msg.Result)...)
	case "failed":
		object, err := pk.failure()
		if err != nil {
			return contract.Reply{}, err
		}
		at, err := wire.Value(object)
		if err != nil {
			return contract.Reply{}, err
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
func (r *Relay) reply(msg *wire.Message, body []byte) (contract.Reply, error) {
	m, err := wire.Scan(result(msg.Field(msg.ID), body).Body, r.limits.Scan)
	return contract.Reply{Msg: m, Status: 200}, err
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
