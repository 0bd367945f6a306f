package a2a

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"iter"
	"slices"
	"strconv"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/answerback/answerback/internal/seal"
)

// handler is the surface as the bindings of the protocol see it. Each method
// finds out from its context who asks, and finds only what is theirs.
type handler struct{ s *Surface }

var _ a2asrv.RequestHandler = handler{}

// lookup gives a task of who asks: as it is under way, or as it was kept.
func (s *Surface) lookup(ctx context.Context, id a2a.TaskID) (*task, *record, error) {
	v := visitOf(ctx)
	of, err := s.cfg.Ring.Verify(seal.Agent, string(id))
	if err != nil {
		return nil, nil, errNoTask
	}
	key := keyOf(of.Home.String(), v.who.Principal, string(id))
	if t := s.tasks.find(key); t != nil {
		if r := t.now(); r.At == v.at {
			return t, &r, nil
		}
		return nil, nil, errNoTask
	}
	raw, err := s.cfg.Shelf.Kept(ctx, key)
	if err != nil {
		return nil, nil, err
	}
	if raw == nil {
		return nil, nil, errNoTask
	}
	r, err := readRecord(raw)
	if err != nil {
		return nil, nil, err
	}
	if r.Owner != v.who.Principal || r.At != v.at {
		return nil, nil, errNoTask
	}
	return nil, r, nil
}

// underway is lookup for what only a task that has not ended can do.
func (s *Surface) underway(ctx context.Context, id a2a.TaskID) (*task, error) {
	t, r, err := s.lookup(ctx, id)
	switch {
	case err != nil:
		return nil, err
	case t != nil:
		return t, nil
	case r.over():
		return nil, errOver
	}
	return nil, errAway
}

// trimmed gives a task with as much of its history as was asked for.
func trimmed(t *a2a.Task, history *int) *a2a.Task {
	if history == nil || *history < 0 || *history >= len(t.History) {
		return t
	}
	short := *t
	short.History = t.History[len(t.History)-*history:]
	return &short
}

func (h handler) GetTask(ctx context.Context, req *a2a.GetTaskRequest) (*a2a.Task, error) {
	_, r, err := h.s.lookup(ctx, req.ID)
	if err != nil {
		return nil, told(err)
	}
	return trimmed(r.Task, req.HistoryLength), nil
}

func (h handler) CancelTask(ctx context.Context, req *a2a.CancelTaskRequest) (*a2a.Task, error) {
	t, err := h.s.underway(ctx, req.ID)
	if err == nil {
		err = t.stop(a2a.TaskStateCanceled, cancelled)
	}
	if errors.Is(err, errOver) {
		return nil, a2a.NewError(a2a.ErrTaskNotCancelable, "The task has ended already.")
	}
	if err != nil {
		return nil, told(err)
	}
	r := t.now()
	return r.Task, nil
}

func (h handler) SubscribeToTask(ctx context.Context, req *a2a.SubscribeToTaskRequest) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		t, err := h.s.underway(ctx, req.ID)
		if err != nil {
			yield(nil, told(err))
			return
		}
		now, f := t.join()
		t.stream(ctx, now, f, a2a.TaskState.Terminal, yield)
	}
}

func (h handler) GetExtendedAgentCard(ctx context.Context, _ *a2a.GetExtendedAgentCardRequest) (*a2a.AgentCard, error) {
	v := visitOf(ctx)
	tools, err := h.s.tools(ctx, v.at, v.who)
	if err != nil {
		return nil, told(err)
	}
	return h.s.card(v.at, tools), nil
}

// The size of a page of tasks.
const (
	usualPage = 50
	maxPage   = 100
)

func (h handler) ListTasks(ctx context.Context, req *a2a.ListTasksRequest) (*a2a.ListTasksResponse, error) {
	size := cmp.Or(req.PageSize, usualPage)
	if size < 1 || size > maxPage {
		return nil, told(unfit("pageSize must be from 1 to " + strconv.Itoa(maxPage) + "."))
	}
	all, err := h.s.list(ctx, req)
	if err != nil {
		return nil, told(err)
	}
	resp := &a2a.ListTasksResponse{Tasks: []*a2a.Task{}, TotalSize: len(all), PageSize: size}
	from := 0
	if req.PageToken != "" {
		last, err := base64.RawURLEncoding.DecodeString(req.PageToken)
		from = 1 + slices.IndexFunc(all, func(t *a2a.Task) bool { return string(t.ID) == string(last) })
		if err != nil || from == 0 {
			return nil, told(unfit("pageToken is not one that was given out, or its task is gone. Begin anew without it."))
		}
	}
	for _, t := range all[from:min(len(all), from+size)] {
		t = trimmed(t, req.HistoryLength)
		if !req.IncludeArtifacts {
			bare := *t
			bare.Artifacts = nil
			t = &bare
		}
		resp.Tasks = append(resp.Tasks, t)
	}
	if next := from + size; next < len(all) {
		resp.NextPageToken = base64.RawURLEncoding.EncodeToString([]byte(all[next-1].ID))
	}
	return resp, nil
}

// list gives the tasks of who asks, the one that changed last first.
func (s *Surface) list(ctx context.Context, req *a2a.ListTasksRequest) ([]*a2a.Task, error) {
	v := visitOf(ctx)
	var all []*a2a.Task
	for raw, err := range s.cfg.Shelf.Below(ctx, ownerKey(s.home, v.who.Principal)) {
		if err != nil {
			return nil, err
		}
		r, err := readRecord(raw)
		if err != nil || r.check() != nil {
			continue // it was set aside
		}
		if r.Owner != v.who.Principal || r.At != v.at {
			continue
		}
		if t := s.tasks.find(keyOf(s.home, r.Owner, string(r.Task.ID))); t != nil {
			now := t.now()
			r = &now
		}
		t := r.Task
		if req.ContextID != "" && t.ContextID != req.ContextID || req.Status != "" && t.Status.State != req.Status ||
			req.StatusTimestampAfter != nil && !t.Status.Timestamp.After(*req.StatusTimestampAfter) {
			continue
		}
		all = append(all, t)
	}
	slices.SortFunc(all, func(a, b *a2a.Task) int {
		return cmp.Or(b.Status.Timestamp.Compare(*a.Status.Timestamp), cmp.Compare(b.ID, a.ID))
	})
	return slices.CompactFunc(all, func(a, b *a2a.Task) bool { return a.ID == b.ID }), nil
}
