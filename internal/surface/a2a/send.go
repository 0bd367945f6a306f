package a2a

import (
	"context"
	"iter"
	"slices"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/answerback/answerback/internal/budget"
	"github.com/answerback/answerback/internal/seal"
)

func (h handler) SendMessage(ctx context.Context, req *a2a.SendMessageRequest) (a2a.SendMessageResult, error) {
	t, goOn, err := h.s.send(ctx, req)
	if err != nil {
		return nil, told(err)
	}
	goOn()
	var history *int
	now := t.now().Task
	if c := req.Config; c != nil {
		history = c.HistoryLength
	}
	if req.Config == nil || !req.Config.ReturnImmediately {
		if now, err = t.settled(ctx); err != nil {
			return nil, told(err)
		}
	}
	return trimmed(now, history), nil
}

func (h handler) SendStreamingMessage(ctx context.Context, req *a2a.SendMessageRequest) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		t, goOn, err := h.s.send(ctx, req)
		if err != nil {
			yield(nil, told(err))
			return
		}
		now, f := t.join() // before anything happens that is to be told
		goOn()
		// A task that needs an address opened goes on by itself.
		t.stream(ctx, now, f, func(s a2a.TaskState) bool { return s.Terminal() || s == a2a.TaskStateInputRequired }, yield)
	}
}

// maxName bounds the ids that a client makes up.
const maxName = 200

// send takes a message: for a task of its sender's, or to begin one. The task
// goes on when goOn is called, which must be.
func (s *Surface) send(ctx context.Context, req *a2a.SendMessageRequest) (t *task, goOn func(), err error) {
	msg := req.Message
	switch {
	case msg == nil || msg.ID == "" || len(msg.Parts) == 0 || slices.ContainsFunc(msg.Parts, func(p *a2a.Part) bool { return p == nil || p.Content == nil }):
		return nil, nil, unfit("A message must have a messageId and parts, each with content.")
	case msg.Role != a2a.MessageRoleUser:
		return nil, nil, unfit("A message to an agent has the role ROLE_USER.")
	case len(msg.ID) > maxName || len(msg.ContextID) > maxName:
		return nil, nil, unfit("messageId and contextId are too long.")
	}
	v := visitOf(ctx)
	if err := v.exactly(msg); err != nil {
		return nil, nil, err
	}
	if msg.TaskID == "" {
		if no := s.cfg.Budget.Admit(budget.Of(v.who.Principal)); no != nil {
			return nil, nil, no
		}
		return s.begin(&v, req)
	}
	if t, err = s.underway(ctx, msg.TaskID); err != nil {
		return nil, nil, err
	}
	if now := t.now(); msg.ContextID != "" && msg.ContextID != now.Task.ContextID {
		return nil, nil, unfit("The task has another contextId.")
	}
	if c := req.Config; c != nil && c.PushConfig != nil {
		if _, err := s.setPush(t, c.PushConfig); err != nil {
			return nil, nil, err
		}
	}
	return t, t.poke, t.take(v.who, msg)
}

// begin makes a task of a message.
func (s *Surface) begin(v *visit, req *a2a.SendMessageRequest) (t *task, goOn func(), err error) {
	msg := req.Message
	c, err := named(msg)
	if err != nil {
		return nil, nil, err
	}
	text := textOf(msg.Parts)
	if c == nil && text == "" {
		return nil, nil, unfit(`The message says nothing that can be understood here. Send text, or a data part {"tool": …, "arguments": {…}}.`)
	}
	first := *msg
	first.TaskID = a2a.TaskID(s.cfg.Ring.Mint(seal.Agent, s.cfg.Home, 0))
	if first.ContextID == "" {
		first.ContextID = a2a.NewContextID()
	}
	now := s.cfg.Now().UTC()
	rec := record{
		Owner: v.who.Principal, At: v.at, Call: c,
		Task: &a2a.Task{
			ID: first.TaskID, ContextID: first.ContextID, History: []*a2a.Message{&first},
			Status: a2a.TaskStatus{State: a2a.TaskStateSubmitted, Timestamp: &now},
		},
	}
	if c == nil {
		rec.Text = text
	} else if c.Arguments == nil {
		rec.Call, rec.Tool, rec.Text = nil, c.Tool, text
	}
	if cfg := req.Config; cfg != nil && cfg.PushConfig != nil {
		p, err := s.newPush(cfg.PushConfig)
		if err != nil {
			return nil, nil, err
		}
		rec.Push = []push{p}
	}
	t = s.newTask(rec, v.who)
	if fault := s.tasks.add(t, false); fault != nil {
		s.cfg.Log.Warn("task refused", "surface", surfaceName, "principal", v.who.String(), "code", fault.Code)
		t.end(fault)
		return nil, nil, fault
	}
	if err := s.keep(t.key, &rec); err != nil {
		s.tasks.left(t)
		t.end(err)
		return nil, nil, err
	}
	if !s.inside.Enter() {
		s.tasks.left(t)
		t.end(shuttingDown)
		return nil, nil, shuttingDown
	}
	return t, func() { s.run(t) }, nil
}
