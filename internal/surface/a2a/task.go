package a2a

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/contract"
)

// task is one that has not ended. Its goroutine makes the call, round by round;
// messages change what it waits for.
type task struct {
	surface *Surface
	key     string // under which it is kept
	owner   ask.Principal
	life    context.Context // the task's own
	end     context.CancelCauseFunc
	wake    chan struct{} // has room for one: there is an answer, or the surface closes
	turn    chan struct{} // has room for one: who changes it
	done    chan struct{} // closed when its goroutine has ended
	hand    string        // its goroutine's: the state of a call that the relay holds and nobody is in

	mu     sync.Mutex
	rec    record
	caller contract.Caller // as they came last
	follow []*follower     // oldest first
}

// newTask makes a task of a record, without starting it.
func (s *Surface) newTask(rec record, who contract.Caller) *task {
	t := &task{
		surface: s, key: keyOf(s.home, rec.Owner, string(rec.Task.ID)), owner: rec.Owner, rec: rec, caller: who,
		wake: make(chan struct{}, 1), turn: make(chan struct{}, 1), done: make(chan struct{}),
	}
	life, stop := context.WithTimeoutCause(context.Background(), s.cfg.Cap, overCap)
	t.life, t.end = context.WithCancelCause(life)
	context.AfterFunc(t.life, stop)
	return t
}

// poke lets the task look whether it can go on.
func (t *task) poke() {
	select {
	case t.wake <- struct{}{}:
	default:
	}
}

// now gives the task as it is.
func (t *task) now() record {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.rec
}

// change changes the task, one change after the other. What f makes of the
// draft is kept first and told then. It is errOver for a task that has ended.
// Where f gives no events and false, nothing is changed.
func (t *task) change(f func(d *record) ([]a2a.Event, bool)) error {
	t.turn <- struct{}{}
	defer func() { <-t.turn }()
	now := t.now()
	if now.over() {
		return errOver
	}
	d := now.draft()
	events, ok := f(&d)
	if !ok {
		return nil
	}
	if err := t.surface.keep(t.key, &d); err != nil {
		t.surface.cfg.Log.Warn("a task would not outlive the gateway", "surface", surfaceName, "principal", t.owner, "err", err)
		if !d.over() {
			return err
		}
	}
	t.publish(d, events)
	return nil
}

// publish makes a draft the task as it is, and tells of it.
func (t *task) publish(d record, events []a2a.Event) {
	t.mu.Lock()
	t.rec = d
	for _, e := range events {
		for _, f := range slices.Clone(t.follow) {
			if !f.tell(e) {
				t.leave(f)
			}
		}
	}
	if d.over() {
		for _, f := range slices.Clone(t.follow) {
			t.leave(f)
		}
	}
	t.mu.Unlock()
	for _, e := range events {
		t.surface.pusher.tell(t.key, d.Push, e)
	}
	if d.over() {
		t.surface.tasks.retire(t)
	}
}

// progress tells how the call gets on, to who follows it now.
func (t *task) progress(words string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if state := t.rec.Task.Status.State; state != a2a.TaskStateWorking && state != a2a.TaskStateSubmitted {
		return
	}
	d := t.rec.draft()
	d.Task.Status.Message = nil // progress is no part of the history
	var parts []*a2a.Part
	if words != "" {
		parts = append(parts, a2a.NewTextPart(words))
	}
	e := d.status(t.surface.cfg.Now(), a2a.TaskStateWorking, parts...)
	t.rec = d
	for _, f := range t.follow {
		f.tell(e) // without room it is told later how far things are
	}
}

// finish ends the task with what its call came to.
func (t *task) finish(out outcome) {
	_ = t.change(func(d *record) (events []a2a.Event, _ bool) { // the first end counts
		if len(out.parts) > 0 && d.Call != nil {
			events = append(events, d.artifact(out.parts))
		}
		var words []*a2a.Part
		if out.words != "" {
			words = append(words, a2a.NewTextPart(out.words))
		}
		d.Asked, d.State, d.Held = nil, "", false
		return append(events, d.status(t.surface.cfg.Now(), out.state, words...)), true
	})
}

// stop ends the task because its client, or the gateway, wants no more of it.
func (t *task) stop(state a2a.TaskState, why *ask.Error) error {
	err := t.change(func(d *record) ([]a2a.Event, bool) {
		d.Asked = nil
		return []a2a.Event{d.status(t.surface.cfg.Now(), state, a2a.NewTextPart(why.Message))}, true
	})
	if err == nil {
		t.end(why)
	}
	return err
}

// keepTime bounds how long a task may take to be kept.
const keepTime = 5 * time.Second

// keep stores a task: one that has ended for as long as it is remembered. What
// is too large is kept without its history, and one that has ended without its
// result, which whoever follows it has got.
func (s *Surface) keep(key string, d *record) error {
	ttl := s.cfg.Keep
	if !d.over() {
		ttl += s.cfg.Cap
	}
	raw, err := d.write()
	if err == nil && len(raw) > s.cfg.MaxTask {
		small := d.draft()
		small.Task.History = nil
		if raw, err = small.write(); err == nil && len(raw) > s.cfg.MaxTask && d.over() {
			small.Task.Artifacts = nil
			small.status(s.cfg.Now(), d.Task.Status.State, a2a.NewTextPart("The result is too large to be kept. Whoever followed the task has got it."))
			small.Task.History = nil
			raw, err = small.write()
		}
	}
	if err != nil {
		return ask.Wrap(ask.Internal, "The task cannot be written.", err)
	}
	if len(raw) > s.cfg.MaxTask {
		return ask.Errorf(ask.TooLarge, "The task is larger than this gateway keeps.")
	}
	ctx, cancel := context.WithTimeout(context.Background(), keepTime)
	defer cancel()
	return s.cfg.Shelf.Keep(ctx, key, raw, ttl)
}
