package a2a

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"strconv"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/contract"
	"github.com/answerback/answerback/internal/wire"
)

const (
	// The wait before a task is looked at again.
	firstLook = 100 * time.Millisecond
	lastLook  = 5 * time.Second
	// maxMissed is how often in a row a look at a task may fail.
	maxMissed = 5
	// cancelTime is how long an agent has to take that a task is cancelled.
	cancelTime = 2 * time.Second
)

// noHistory keeps agents from sending the messages of a task with it.
func noHistory() *int { return new(int) }

// refusal is an agent's error: it did not take a request.
type refusal struct{ err *a2a.Error }

func (e *refusal) Error() string { return e.err.Error() }

func refusalOf(err error) *refusal {
	r, _ := errors.AsType[*refusal](err)
	return r
}

// send sends a message, once, and follows its task until that rests. The error
// is an *ask.Error or a *refusal.
func (r *run) send(ctx context.Context, m *a2a.Message) error {
	r.since = time.Now()
	req := &a2a.SendMessageRequest{Message: m, Config: &a2a.SendMessageConfig{HistoryLength: noHistory()}}
	if r.card.Capabilities.Streaming {
		return r.follow(ctx, r.agent.SendStreamingMessage(ctx, req))
	}
	// Only a task whose id is known can be cancelled.
	req.Config.ReturnImmediately = true
	ev, err := r.agent.SendMessage(ctx, req)
	if err != nil {
		return r.fault(ctx, err, r.agent.tap.sent.Load())
	}
	if err := r.take(ev); err != nil || r.rests() {
		return err
	}
	return r.poll(ctx, false)
}

// follow takes the events of a stream that a message began. One that breaks
// off is not the end of the task.
func (r *run) follow(ctx context.Context, events iter.Seq2[a2a.Event, error]) error {
	for ev, err := range events {
		if err != nil {
			if err = r.fault(ctx, err, r.agent.tap.sent.Load()); r.task.events == 0 || refusalOf(err) != nil || ask.CodeOf(err) != ask.OutcomeUnknown {
				return err
			}
			break
		}
		if err := r.take(ev); err != nil || r.rests() {
			return err
		}
	}
	if r.task.events == 0 || r.task.id == "" {
		return r.b.lost("its stream ended without an answer", nil)
	}
	return r.poll(ctx, true)
}

// poll looks at the task until it rests.
func (r *run) poll(ctx context.Context, now bool) error {
	wait, missed := firstLook, 0
	for {
		if !now {
			if err := pause(ctx, wait); err != nil {
				return err
			}
			wait = min(wait*3/2, lastLook)
		}
		now = false
		t, err := r.agent.GetTask(ctx, &a2a.GetTaskRequest{ID: r.task.id, HistoryLength: noHistory()})
		if err == nil {
			missed = 0
			if err := r.take(t); err != nil || r.rests() {
				return err
			}
			continue
		}
		err = r.fault(ctx, err, false)
		if missed++; missed < maxMissed && ask.CodeOf(err) == ask.BackendUnreachable && refusalOf(err) == nil {
			continue
		}
		if ask.CodeOf(err) == ask.BackendUnreachable {
			return r.b.lost("the task that it began cannot be looked at", err)
		}
		return err
	}
}

// fault makes the error of a request one of ours.
func (r *run) fault(ctx context.Context, err error, sent bool) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if said, ok := errors.AsType[*a2a.Error](err); ok {
		if errors.Is(said, a2a.ErrUnauthenticated) && r.b.cfg.Credentials != nil {
			why := contract.Challenge{Status: http.StatusUnauthorized}
			r.b.cfg.Credentials.Refused(ctx, r.who, r.agent.tap.authorization(), why)
			return r.agent.tap.by.Refusal(why)
		}
		return &refusal{said}
	}
	return r.b.fault(err, sent)
}

// take enters an event, and tells of it.
func (r *run) take(ev a2a.Event) error {
	if err := r.task.take(ev); err != nil {
		return err
	}
	if _, ok := ev.(*a2a.TaskArtifactUpdateEvent); !ok && !r.rests() && r.task.message == nil {
		r.progress()
	}
	return nil
}

// rests reports whether the turn is over: the task has ended, or wants
// something.
func (r *run) rests() bool {
	t := &r.task
	if t.message != nil || t.status.State.Terminal() {
		return true
	}
	if t.status.State != a2a.TaskStateInputRequired && t.status.State != a2a.TaskStateAuthRequired {
		return false
	}
	// For a moment an agent may still tell the status that was answered.
	if r.passed || t.events == 1 || time.Since(r.since) < r.b.cfg.Limits.Settle {
		return t.digest() != r.answered
	}
	return true
}

// progress tells the client what the task is doing, where it wants to know.
func (r *run) progress() {
	token := r.msg.Field(r.msg.MetaToken)
	said := string(r.task.status.State) + r.task.words()
	if token == nil || said == r.said {
		return
	}
	r.said = said
	r.steps++
	raw := append([]byte(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":`), token...)
	raw = strconv.AppendInt(append(raw, `,"progress":`...), int64(r.steps), 10)
	if words := r.task.words(); words != "" {
		raw = wire.AppendString(append(raw, `,"message":`...), words)
	}
	if m, err := wire.Scan(append(raw, "}}"...), wire.Limits{}); err == nil {
		r.sink.Notify(&m)
	}
}

// cancelTask tells the agent that nobody waits for the task any more.
func (r *run) cancelTask(ctx context.Context) {
	if r.task.id == "" || r.task.status.State.Terminal() {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cancelTime)
	defer cancel()
	if _, err := r.agent.CancelTask(ctx, &a2a.CancelTaskRequest{ID: r.task.id}); err != nil {
		r.b.log.Info("a task was not cancelled", "err", err)
	}
}

func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
