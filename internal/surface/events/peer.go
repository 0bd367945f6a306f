package events

import (
	"encoding/json"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/form"
	"github.com/answerback/answerback/internal/contract"
	"github.com/answerback/answerback/internal/desk"
	"github.com/answerback/answerback/internal/wire"
)

var (
	_ contract.Informed = (*call)(nil)
	_ contract.Lasting  = (*call)(nil)
	_ desk.Warner       = (*call)(nil)
)

// question is one that was shown and not yet settled.
type question struct {
	kind    ask.Kind
	schema  []byte
	message string
	// link says that it leads to the ask's own page: to accept it is to agree
	// to open that, and no answer.
	link bool
}

// Show puts a question before the consumer. Somebody who is not there now can
// come back for it as long as the call goes on.
func (c *call) Show(a *ask.Ask) error {
	p := readParams(a.Params)
	q := &question{kind: a.Kind, schema: p.schema, message: p.message, link: p.elicitationID == a.ID}
	if q.link {
		q.kind = ask.URL
	}
	if err := c.keep(); err != nil {
		// The question is kept all the same, and the call with it.
		c.surface.cfg.Log.Warn("start of a call not stored", "surface", surfaceName, "principal", c.who.String(), "code", ask.CodeOf(err), "err", err)
	}
	c.mu.Lock()
	c.open[a.ID] = q
	c.mu.Unlock()
	switch q.kind {
	case ask.Form, ask.URL:
		ev := askedEvent{
			Type: typeAsked, ID: a.ID, Mode: q.kind.String(), Message: p.message, Backend: a.Backend, Tool: a.Name,
			URL: p.url, ElicitationID: p.elicitationID, Deadline: millis(a.Deadline),
		}
		if q.kind == ask.Form {
			ev.RequestedSchema, ev.Sensitive = p.schema, form.Sensitive(p.schema, p.message)
		}
		c.log.add(typeAsked, ev, false, false)
	case ask.Sampling:
		c.log.add(typeSampling, samplingEvent{
			Type: typeSampling, ID: a.ID, Backend: a.Backend, Tool: a.Name, Params: a.Params, Deadline: millis(a.Deadline),
		}, false, false)
	default:
		c.take(a.ID)
		return ask.Errorf(ask.NoClient, "No client is available: an event stream cannot be asked for its "+a.Kind.String()+".")
	}
	return nil
}

// take gives a question that is open, and makes it settled.
func (c *call) take(id string) *question {
	c.mu.Lock()
	defer c.mu.Unlock()
	q := c.open[id]
	delete(c.open, id)
	return q
}

// settled tells how a question ended, once.
func (c *call) settled(ev settledEvent) {
	q := c.take(ev.ID)
	if q == nil {
		return
	}
	ev.Type = typeSettled
	if q.kind == ask.Sampling {
		ev.Type = typeSampled
	}
	c.log.add(ev.Type, ev, false, false)
}

// Withdraw tells that a question is not to be answered any more.
func (c *call) Withdraw(id string, why *ask.Error) {
	c.settled(settledEvent{ID: id, Outcome: endingOf(why), Reason: reasonOf(why)})
}

// endingOf names how a question ended that is taken back for this reason.
func endingOf(why *ask.Error) string {
	switch ask.CodeOf(why) {
	case ask.Timeout:
		return ask.Expired.String()
	case ask.BackendWithdrew:
		return ask.Withdrawn.String()
	case ask.TooLate:
		return ask.Answered.String() // elsewhere
	}
	return ask.Abandoned.String()
}

// Warn tells that the time for an answer is nearly up.
func (c *call) Warn(a *ask.Ask, _ int) {
	c.log.add(typeWarning, warningEvent{Type: typeWarning, ID: a.ID, Deadline: millis(a.Deadline)}, false, false)
}

// Unasked tells what somebody would have been asked, at a front end that did
// not say that it can. Where the question waits on a page, that is where they
// have to go, and the relay itself tells the model so.
func (c *call) Unasked(kind ask.Kind, params []byte, page string) {
	if kind == ask.Connect || page != "" {
		kind = ask.URL
	}
	p := readParams(params)
	need := authRequired{
		CallID: c.id, Tool: c.start.tool, Backend: c.start.at, Mode: kind.String(),
		Message: p.message, URL: p.url, ElicitationID: p.elicitationID,
	}
	if page != "" {
		need.URL, need.ElicitationID, need.page = page, "", true
	}
	if kind == ask.Form {
		need.RequestedSchema = p.schema
	}
	c.needs(need)
}

// maxUnasked bounds what is remembered of a backend that does not stop asking.
const maxUnasked = 16

// needs notes what the call lacks, and tells it.
func (c *call) needs(need authRequired) {
	c.mu.Lock()
	room := len(c.unasked) < maxUnasked
	if room {
		c.unasked = append(c.unasked, need)
	}
	c.mu.Unlock()
	if room {
		c.log.add(typeAuthRequired, authRequiredEvent{typeAuthRequired, need}, false, false)
	}
}

// Notify tells what the backend says on the way.
func (c *call) Notify(raw []byte) {
	msg, err := wire.Scan(raw, c.surface.scan())
	if err != nil || msg.Kind != wire.Notification {
		return
	}
	// The bytes are the relay's, and are used up in add.
	of := func(key string) json.RawMessage { return wire.Get(raw, msg.Params, key).Of(raw) }
	switch method := msg.Method(); method {
	case "notifications/progress":
		c.log.add(typeProgress, progressEvent{typeProgress, of("progress"), of("total"), of("message")}, true, false)
	case "notifications/message":
		c.log.add(typeLog, logEvent{typeLog, of("level"), of("logger"), of("data")}, true, false)
	case "notifications/elicitation/complete":
		id, _ := wire.Unquote(of("elicitationId"))
		c.log.add(typeComplete, completeEvent{typeComplete, id}, false, false)
	case "notifications/tools/list_changed", "notifications/prompts/list_changed", "notifications/resources/list_changed":
		// Whoever makes one call has no lists.
	default:
		c.log.add(typeNotification, notificationEvent{typeNotification, method, msg.Field(msg.Params)}, true, false)
	}
}

// params is what a question says that consumers are told by name.
type params struct {
	message, url, elicitationID string
	schema                      []byte
}

func readParams(raw []byte) (p params) {
	at, err := wire.Value(raw)
	if err != nil {
		return p
	}
	text := func(key string) string {
		s, _ := wire.Unquote(wire.Get(raw, at, key).Of(raw))
		return s
	}
	p.message, p.url, p.elicitationID = text("message"), text("url"), text("elicitationId")
	p.schema = wire.Get(raw, at, "requestedSchema").Of(raw)
	return p
}
