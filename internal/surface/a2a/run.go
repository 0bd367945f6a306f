package a2a

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/wire"
)

// run carries the task to its end, or to that of the surface. It is the task's
// own goroutine.
func (t *task) run() {
	defer close(t.done)
	for t.step() {
	}
	if r := t.now(); t.hand != "" && r.over() {
		t.release()
	}
	t.end(nil)
	t.surface.tasks.left(t)
}

// step does the next thing there is to do for the task. It is false when there
// is none any more.
func (t *task) step() bool {
	r := t.now()
	switch {
	case r.over():
		return false
	case r.waits() && t.surface.leaving():
		return false // and the next gateway has it
	case r.waits() && !r.Held:
		return t.wait(&r)
	case r.Call == nil:
		return t.prepare(&r)
	}
	return t.round(&r)
}

// wait waits for an answer to questions for which nothing of the gateway waits.
func (t *task) wait(r *record) bool {
	first := slices.MinFunc(r.open(), func(a, b question) int { return a.Deadline.Compare(b.Deadline) })
	timer := time.NewTimer(first.Deadline.Sub(t.surface.cfg.Now()))
	defer timer.Stop()
	select {
	case <-t.wake:
	case <-timer.C:
		if again := t.now(); again.waits() && again.Round == r.Round {
			t.finish(outcome{state: a2a.TaskStateFailed, words: "The question was not answered in time."})
		}
	case <-t.life.Done():
		t.fail(context.Cause(t.life))
	}
	return true
}

// fail ends the task for a reason of the gateway's own.
func (t *task) fail(why error) {
	if t.surface.leaving() {
		t.finish(outcome{state: a2a.TaskStateFailed, words: interrupted})
		return
	}
	t.finish(outcome{state: a2a.TaskStateFailed, words: ask.From(why).Message})
}

// interrupted is why a task fails whose call was under way when the gateway
// stopped.
const interrupted = "The gateway was stopped while the tool was running. It is not known whether the tool did its work."

// prepare finds out what the task calls.
func (t *task) prepare(r *record) bool {
	t.mu.Lock()
	who := t.caller
	t.mu.Unlock()
	tools, err := t.surface.tools(t.life, r.At, who)
	if r.Tool != "" {
		tools = slices.DeleteFunc(tools, func(t tool) bool { return t.name != r.Tool })
	}
	if err == nil && len(tools) == 0 {
		err = ask.Errorf(ask.UnknownName, "There is no such tool here that you may use.")
	}
	if err != nil {
		t.finish(outcome{state: a2a.TaskStateRejected, words: ask.From(err).Message})
		return false
	}
	var c *call
	var q *question
	switch answered, given := r.answer(); {
	case len(r.Asked) == 0:
		c, q = choose(tools, r.Text)
	case !given:
		t.finish(outcome{state: a2a.TaskStateCanceled, words: "No tool was chosen."})
		return false
	default:
		c, q, err = chosen(tools, r, answered)
	}
	if err == nil {
		err = t.change(func(d *record) ([]a2a.Event, bool) {
			if d.Call = c; c != nil {
				d.Asked, d.Text = nil, ""
				return nil, true
			}
			t.ask(d, []question{*q})
			return []a2a.Event{t.show(d, nil)}, true
		})
	}
	if err != nil && !errors.Is(err, errOver) {
		t.finish(outcome{state: a2a.TaskStateRejected, words: ask.From(err).Message})
	}
	return true
}

// round makes one round of the call.
func (t *task) round(r *record) bool {
	var answered []question
	peer := &round{task: t}
	if open := r.open(); len(open) == 0 {
		answered = r.Asked
	} else {
		for _, q := range r.Asked {
			peer.asked = append(peer.asked, q.Key)
		}
	}
	msg, err := wire.Scan(r.Call.request(r.State, answered), t.surface.scan())
	if err != nil {
		t.finish(outcome{state: a2a.TaskStateRejected, words: ask.From(err).Message})
		return false
	}
	if !r.waits() {
		t.progress("")
	}
	t.mu.Lock()
	who := t.caller
	t.mu.Unlock()
	out := readOutcome(t.surface.cfg.Gateway.Call(t.life, r.At, who, &msg, nil, peer), t.surface.scan())
	t.hand = ""
	if out.held {
		t.hand = out.requestState
	}
	switch {
	case out.state == "":
		return t.asked(out, answered)
	case t.life.Err() != nil:
		t.fail(context.Cause(t.life))
	default:
		t.finish(out)
	}
	return false
}

// pause is how long a server is left alone that asks nothing, and wants to be
// called again all the same.
const pause = time.Second

// asked takes in what a round of the call wants to know.
func (t *task) asked(out outcome, answered []question) bool {
	err := t.change(func(d *record) ([]a2a.Event, bool) {
		before := d.Asked
		if len(answered) > 0 {
			before = nil // they were the last round's
		}
		d.State, d.Held = out.requestState, out.held
		t.ask(d, out.asked)
		same := len(before) == len(d.Asked)
		for i, q := range d.Asked {
			at := slices.IndexFunc(before, func(old question) bool { return old.Key == q.Key })
			if at < 0 || !out.held {
				same = false
				continue
			}
			d.Asked[i] = before[at] // with its answer, where there is one already
		}
		switch {
		case same:
			return nil, true
		case len(d.open()) > 0:
			return []a2a.Event{t.show(d, nil)}, true
		case d.Task.Status.State != a2a.TaskStateWorking:
			return []a2a.Event{d.status(t.surface.cfg.Now(), a2a.TaskStateWorking)}, true
		}
		return nil, true
	})
	if err != nil {
		t.finish(outcome{state: a2a.TaskStateFailed, words: ask.From(err).Message})
		return false
	}
	if len(out.asked) == 0 && !out.held {
		select {
		case <-time.After(pause):
		case <-t.life.Done():
		}
	}
	return true
}

// ask puts the questions of a new round into a draft.
func (t *task) ask(d *record, asked []question) {
	d.Round++
	d.Asked = asked
	for i := range asked {
		q := &asked[i]
		kind := ask.Form
		if q.Mode == modeURL {
			kind = ask.URL
		}
		q.ID, q.Deadline = d.name(q.Key), t.surface.cfg.Now().Add(t.surface.cfg.Patience(kind)).UTC().Truncate(time.Millisecond)
	}
}

// release tells the relay that nobody waits for a call any more that it holds.
func (t *task) release() {
	why := context.Cause(t.life)
	if why == nil {
		why = ask.Errorf(ask.ClientGone, "The task has ended.")
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(why)
	t.mu.Lock()
	who, r := t.caller, t.rec
	t.mu.Unlock()
	if msg, err := wire.Scan(r.Call.request(t.hand, nil), t.surface.scan()); err == nil {
		t.surface.cfg.Gateway.Call(ctx, r.At, who, &msg, nil, quiet{})
	}
}
