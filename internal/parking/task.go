package parking

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

// pollEvery is how often the client of a task is asked to look.
const pollEvery = time.Second

// mayTask reports whether this round's client would take a task.
func (pk *Call) mayTask(msg *wire.Message) bool {
	return pk.terms.Tasks && era.Extends(msg.Field(msg.MetaCapabilities), era.Tasks)
}

// becomeTask answers the request with a task. Where the client does not get
// it the call is ended: nobody else knows of it.
func (pk *Call) becomeTask(msg *wire.Message) (contract.Reply, error) {
	if !pk.leave() {
		return contract.Reply{}, errStays
	}
	pk.mu.Lock()
	if pk.patient != nil {
		pk.patient.Stop()
	}
	pk.patient = time.AfterFunc(pk.lot.limits.Total, func() {
		pk.end(ask.Errorf(ask.ClientGone, "Nobody asked for the task in time."))
	})
	pk.mu.Unlock()
	status, _ := pk.status()
	body := append([]byte(`{"resultType":"task",`), pk.task(status)...)
	reply, err := pk.lot.reply(msg, append(body, '}'))
	reply.Unsent = func() { pk.end(ask.Errorf(ask.ClientGone, "The client did not get the task.")) }
	return reply, err
}

// task writes the members that every form of the task has. Where a person is
// to answer on a page, it says on which.
func (pk *Call) task(status string) []byte {
	pk.mu.Lock()
	updated, page := pk.updated, ""
	for _, p := range pk.pages {
		if !p.Group {
			page = p.Link
		}
	}
	pk.mu.Unlock()
	b := wire.AppendString([]byte(`"taskId":`), pk.id)
	b = append(b, `,"status":"`+status+`","createdAt":"`...)
	b = pk.created.UTC().AppendFormat(b, time.RFC3339)
	b = append(b, `","lastUpdatedAt":"`...)
	b = updated.UTC().AppendFormat(b, time.RFC3339)
	b = append(b, `","ttlMs":`...)
	b = strconv.AppendInt(b, pk.lot.limits.Total.Milliseconds(), 10)
	b = append(b, `,"pollIntervalMs":`...)
	b = strconv.AppendInt(b, pollEvery.Milliseconds(), 10)
	if page != "" && status == "working" {
		b = wire.AppendString(append(b, `,"statusMessage":`...), "A person must answer at "+page)
	}
	return b
}

// status is the task's, as the extension spells it, with the questions that
// it waits for.
func (pk *Call) status() (string, []open) {
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
	case pk.result.Err != nil || pk.result.Reply.Msg.Kind == wire.Failure:
		return "failed", nil
	}
	return "completed", nil
}

// Task serves a request about a task of the gateway's own.
func (l *Lot) Task(ctx context.Context, who ask.Principal, id string, msg *wire.Message) (contract.Reply, error) {
	pk := l.find(ctx, who, id)
	if pk == nil {
		return contract.Reply{}, ask.Errorf(ask.UnknownName, "There is no such task here.")
	}
	switch msg.Method() {
	case "tasks/update":
		pk.answer(msg)
	case "tasks/cancel":
		if !pk.isDone() { // what is over stays as it is
			pk.stop(ask.Errorf(ask.ClientCancelled, "The client cancelled the task."))
		}
	default:
		return pk.describe(msg)
	}
	return l.reply(msg, []byte(`{"resultType":"complete"}`))
}

// describe answers tasks/get.
func (pk *Call) describe(msg *wire.Message) (contract.Reply, error) {
	status, questions := pk.status()
	body := append([]byte(`{"resultType":"complete",`), pk.task(status)...)
	switch status {
	case "input_required":
		body = appendOpen(append(body, `,"inputRequests":`...), questions)
	case "completed":
		reply, err := modernised(pk.result.Reply, pk.began.Method(), pk.lot.limits.Scan)
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
	return pk.lot.reply(msg, append(body, '}'))
}

// failure gives the error with which the call would have been answered.
func (pk *Call) failure() ([]byte, error) {
	if pk.result.Err != nil {
		return era.ErrorObject(ask.From(pk.result.Err), era.Modern), nil
	}
	reply, err := modernised(pk.result.Reply, pk.began.Method(), pk.lot.limits.Scan)
	return reply.Msg.Field(reply.Msg.Error), err
}
