package a2a

import (
	"context"
	"encoding/json"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/contract"
	"github.com/answerback/answerback/internal/door"
	"github.com/answerback/answerback/internal/era"
	"github.com/answerback/answerback/internal/wire"
)

// Forms is the URI of the extension by which forms are exchanged with agents;
// docs/a2a.md describes it.
const Forms = "https://github.com/answerback/answerback/blob/main/docs/a2a.md#forms"

// skillKey is the member of a message's metadata that names the skill meant.
const skillKey = "skillId"

// run is one round of a call: one turn of a task.
type run struct {
	line
	card *card
	msg  *wire.Message
	sink contract.Sink
	caps era.Caps

	agent agent
	task  task
	steps int    // notifications of progress that were sent
	said  string // in the last of them
	again bool   // another credential was tried in this round
	// answered is the digest of the status that this round answers, since when
	// a message did, and passed says that it counts for nothing until it
	// changes.
	answered string
	since    time.Time
	passed   bool
}

// callTool serves one round of tools/call.
func (l line) callTool(ctx context.Context, c *card, msg *wire.Message, sink contract.Sink) (contract.Reply, error) {
	t := c.tool(msg.Text(msg.Name))
	if t == nil {
		return contract.Reply{}, ask.Errorf(ask.UnknownName, "There is no tool named "+clip(msg.Text(msg.Name), maxLabel)+" here.")
	}
	r := &run{line: l, card: c, msg: msg, sink: sink, caps: era.ReadCaps(msg.Field(msg.MetaCapabilities), version(msg)), task: task{b: l.b}}
	own, cancel := context.WithCancelCause(quiet(ctx))
	defer cancel(nil)
	defer context.AfterFunc(l.b.life, func() { cancel(context.Cause(l.b.life)) })()
	var err error
	if r.agent, err = l.b.dial(own, c, door.Door{Client: l.b.cfg.Client, Credentials: l.b.cfg.Credentials, Backend: l.b.cfg.Name, Who: l.who}); err != nil {
		return contract.Reply{}, err
	}
	reply, err := r.round(own, t)
	if ctx.Err() != nil && err != nil {
		r.cancelTask(own)
		return contract.Reply{}, context.Cause(ctx)
	}
	if err != nil && l.b.life.Err() != nil {
		if r.task.id == "" && !r.agent.tap.sent.Load() {
			return contract.Reply{}, l.b.shut()
		}
		return contract.Reply{}, l.b.lost("the gateway is being closed", l.b.shut())
	}
	if ask.CodeOf(err) == ask.TooLarge || ask.CodeOf(err) == ask.BackendBroken {
		r.cancelTask(own) // nobody would learn what comes of it
	}
	return reply, err
}

func version(msg *wire.Message) string {
	if v := msg.Text(msg.MetaVersion); v != "" {
		return v
	}
	return era.Latest
}

// round begins a task, or goes on with one.
func (r *run) round(ctx context.Context, t *tool) (contract.Reply, error) {
	if !r.msg.RequestState.IsZero() {
		s, err := r.unseal(r.msg.Text(r.msg.RequestState))
		if err != nil {
			return contract.Reply{}, err
		}
		r.task.id, r.task.context, r.answered = a2a.TaskID(s.Task), s.Context, s.Asked
		return r.goOn(ctx, s)
	}
	m, why := r.begin(t)
	if why != "" {
		return r.failed(why)
	}
	return r.end(ctx, r.send(ctx, m))
}

// begin makes the first message of a task from the arguments of the call. It
// gives why it cannot, in words for a model.
func (r *run) begin(t *tool) (m *a2a.Message, why string) {
	raw, args := r.msg.Raw, r.msg.Arguments
	text, ok := wire.Unquote(wire.Get(raw, args, "message").Of(raw))
	if !ok || text == "" {
		return nil, "The argument message is missing: say in words what the agent is to do."
	}
	m = a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart(text))
	if data := wire.Get(raw, args, "data"); !data.IsZero() && string(data.Of(raw)) != "null" {
		if raw[data.Start] != '{' {
			return nil, "The argument data must be an object."
		}
		m.Parts = append(m.Parts, dataPart(data.Of(raw)))
	}
	if t.skill != "" {
		m.SetMeta(skillKey, t.skill)
	}
	return m, ""
}

// goOn takes up a task with what came back for what it wanted.
func (r *run) goOn(ctx context.Context, s state) (contract.Reply, error) {
	action, content := r.response()
	switch s.Want {
	case wantGrant:
		return r.connected(ctx, s)
	case wantPage:
		return r.await(ctx, s)
	case wantURL:
		if action == "accept" {
			return r.await(ctx, s)
		}
	}
	switch action {
	case "accept":
		return r.end(ctx, r.send(ctx, r.answer(s, content)))
	case "decline":
		return r.declined(ctx, s)
	case "cancel":
		r.cancelTask(ctx)
		return r.failed("The person was asked, and cancelled the call. Ask them before trying again.")
	}
	// A client that came back without an answer is told what the task wants
	// now.
	return r.end(ctx, r.poll(ctx, true))
}

// inputKey is under what the one question of a round is asked.
const inputKey = "answer"

// response reads what the client brings for the question that was asked.
func (r *run) response() (action string, content []byte) {
	raw := r.msg.Raw
	at := wire.Get(raw, r.msg.InputResponses, inputKey)
	action, _ = wire.Unquote(wire.Get(raw, at, "action").Of(raw))
	return action, wire.Get(raw, at, "content").Of(raw)
}

// answer makes the message that goes on with a task.
func (r *run) answer(s state, content []byte) *a2a.Message {
	if s.Want == wantText {
		if at, err := wire.Value(content); err == nil {
			text, _ := wire.Unquote(wire.Get(content, at, textField).Of(content))
			return r.messageFor(s, a2a.NewTextPart(text))
		}
	}
	if at, err := wire.Value(content); err != nil || content[at.Start] != '{' {
		content = []byte("{}")
	}
	return r.messageFor(s, dataPart(content))
}

// messageFor makes a message for the task of s.
func (r *run) messageFor(s state, parts ...*a2a.Part) *a2a.Message {
	m := a2a.NewMessage(a2a.MessageRoleUser, parts...)
	m.ID, m.TaskID, m.ContextID = s.Message, a2a.TaskID(s.Task), s.Context
	if r.card.forms {
		m.Extensions = []string{Forms}
	}
	return m
}

// declined tells the agent that the person said no, so that it can go on in
// another way. One that takes no message now is cancelled.
func (r *run) declined(ctx context.Context, s state) (contract.Reply, error) {
	err := r.send(ctx, r.messageFor(s, a2a.NewTextPart("The person declined to answer."), dataPart([]byte(`{"action":"decline"}`))))
	if refusalOf(err) != nil {
		r.cancelTask(ctx)
		return r.failed("The person was asked, and declined. Do not try again unless they ask for it.")
	}
	return r.end(ctx, err)
}

func dataPart(raw []byte) *a2a.Part { return a2a.NewDataPart(json.RawMessage(raw)) }
