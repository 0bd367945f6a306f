package a2a

import (
	"encoding/json"
	"errors"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/form"
	"github.com/answerback/answerback/internal/contract"
	"github.com/answerback/answerback/internal/wire"
)

// take takes a message for the questions of a task. One that does not fit is
// answered by the same questions, with what is wrong; the error is for one that
// the task cannot be sent at all. The task goes on when it is poked.
func (t *task) take(who contract.Caller, msg *a2a.Message) error {
	idle, tooMany := false, false
	err := t.change(func(d *record) ([]a2a.Event, bool) {
		open := d.open()
		if idle = len(open) == 0; idle {
			return nil, false
		}
		given, err := answers(msg.Parts, open)
		d.hear(msg)
		if m, ok := errors.AsType[*misfit](err); ok {
			if q := find(d.Asked, m.id); q != nil {
				q.Tries++
				tooMany = q.Tries > t.surface.cfg.Attempts
			}
			if tooMany {
				d.Asked = nil
				return []a2a.Event{d.status(t.surface.cfg.Now(), a2a.TaskStateFailed, a2a.NewTextPart(misfits.Message))}, true
			}
			return []a2a.Event{t.show(d, m)}, true
		}
		for i := range d.Asked {
			if a := given[d.Asked[i].ID]; a != nil {
				d.Asked[i].Answer = a
			}
		}
		if len(d.open()) > 0 {
			return []a2a.Event{t.show(d, nil)}, true
		}
		return []a2a.Event{d.status(t.surface.cfg.Now(), a2a.TaskStateWorking)}, true
	})
	switch {
	case err != nil:
		return err
	case idle:
		return errNotAsked
	case tooMany:
		t.end(misfits)
	}
	t.mu.Lock()
	t.caller = who
	t.mu.Unlock()
	return nil
}

var misfits = ask.Errorf(ask.FormInvalidated, "The answer does not fit the question, and there were too many of these.")

// show asks what is open, again where an answer did not fit.
func (t *task) show(d *record, wrong *misfit) a2a.Event {
	open := d.open()
	errs := map[string]form.Errors{}
	var parts []*a2a.Part
	if wrong != nil {
		errs[wrong.id] = wrong.wrong
		parts = append(parts, a2a.NewTextPart(wrong.words))
	}
	return d.status(t.surface.cfg.Now(), stateOf(open), append(parts, d.asker().parts(open, errs, t.surface.cfg.Attempts)...)...)
}

// answer gives the content of the answer to the one question of the gateway's
// own. It is false where it was declined or cancelled.
func (r *record) answer() (content []byte, accepted bool) {
	if len(r.Asked) == 0 {
		return nil, false
	}
	raw := r.Asked[0].Answer
	at, err := wire.Value(raw)
	if err != nil || string(wire.Get(raw, at, "action").Of(raw)) != `"accept"` {
		return nil, false
	}
	return wire.Get(raw, at, "content").Of(raw), true
}

// chosen makes the call from the answer to a question of the gateway's own, or
// gives the next one.
func chosen(tools []tool, r *record, content []byte) (*call, *question, error) {
	q := r.Asked[0]
	if q.Key == keyArguments {
		for _, t := range tools {
			if t.name == q.Tool {
				return &call{t.name, json.RawMessage(content)}, nil, nil
			}
		}
		return nil, nil, ask.Errorf(ask.UnknownName, "The tool "+q.Tool+" is not there any more.")
	}
	at, err := wire.Value(content)
	if err != nil {
		return nil, nil, err
	}
	name, _ := wire.Unquote(wire.Get(content, at, keyTool).Of(content))
	for _, t := range tools {
		if t.name == name {
			c, q := t.complete(nil, r.Text)
			return c, q, nil
		}
	}
	return nil, nil, ask.Errorf(ask.UnknownName, "There is no tool named "+name+" here.")
}
