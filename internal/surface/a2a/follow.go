package a2a

import (
	"context"
	"slices"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

const (
	// maxFollowers bounds how many streams can carry the events of one task.
	// The oldest goes first: it may be one that broke and does not know it yet.
	maxFollowers = 8
	// maxBehind is how many events a follower may be behind. One that is
	// slower is let go, and can subscribe again.
	maxBehind = 256
)

// follower is somebody who is told of the events of a task. The task's lock
// guards its channel's sending end.
type follower struct {
	events chan a2a.Event // closed when it is let go
}

// tell is false where the follower is too far behind.
func (f *follower) tell(e a2a.Event) bool {
	select {
	case f.events <- e:
		return true
	default:
		return false
	}
}

// join gives the task as it is and, unless it is over, a follower of all that
// comes after.
func (t *task) join() (*a2a.Task, *follower) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.rec.over() {
		return t.rec.Task, nil
	}
	if len(t.follow) == maxFollowers {
		t.leave(t.follow[0])
	}
	f := &follower{make(chan a2a.Event, maxBehind)}
	t.follow = append(t.follow, f)
	return t.rec.Task, f
}

// leave lets a follower go. The caller has the lock.
func (t *task) leave(f *follower) {
	if i := slices.Index(t.follow, f); i >= 0 {
		t.follow = slices.Delete(t.follow, i, i+1)
		close(f.events)
	}
}

func (t *task) part(f *follower) {
	if f == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.leave(f)
}

// settles reports whether an event is one after which a client has to do
// something, or nothing any more.
func settles(state a2a.TaskState) bool {
	return state.Terminal() || state == a2a.TaskStateInputRequired || state == a2a.TaskStateAuthRequired
}

// settled waits until the task needs its client or has ended, and gives it as
// it is then.
func (t *task) settled(ctx context.Context) (*a2a.Task, error) {
	now, f := t.join()
	defer t.part(f)
	for !settles(now.Status.State) {
		select {
		case _, ok := <-f.events:
			r := t.now()
			now = r.Task
			if !ok && !settles(now.Status.State) {
				return nil, errGoesOn
			}
		case <-t.surface.closed:
			return nil, shuttingDown
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	return now, nil
}

// stream yields the task and then the events of one who joined it: to its end
// or, where until says so, to the first event after which the client has to do
// something.
func (t *task) stream(ctx context.Context, now *a2a.Task, f *follower, until func(a2a.TaskState) bool, yield func(a2a.Event, error) bool) {
	defer t.part(f)
	if !yield(now, nil) || f == nil || until(now.Status.State) {
		return
	}
	for {
		select {
		case e, ok := <-f.events:
			if !ok {
				return
			}
			if !yield(e, nil) {
				return
			}
			if s, ok := e.(*a2a.TaskStatusUpdateEvent); ok && until(s.Status.State) {
				return
			}
		case <-t.surface.closed:
			return
		case <-ctx.Done():
			return
		}
	}
}
