package office

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/desk"
)

// MaxWatched is how many forms can be watched at once by one watcher.
const MaxWatched = 100

// watchers are those who wait for forms to end, by the form's id.
type watchers struct {
	mu sync.Mutex
	by map[string][]chan<- string
}

// add has a channel told, once, that a form has ended. It must have room.
func (w *watchers) add(id string, to chan<- string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.by == nil {
		w.by = map[string][]chan<- string{}
	}
	w.by[id] = append(w.by[id], to)
}

func (w *watchers) remove(id string, to chan<- string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if rest := slices.DeleteFunc(w.by[id], func(c chan<- string) bool { return c == to }); len(rest) > 0 {
		w.by[id] = rest
	} else {
		delete(w.by, id)
	}
}

// ended tells all who watch a form.
func (w *watchers) ended(id string) {
	w.mu.Lock()
	told := w.by[id]
	delete(w.by, id)
	w.mu.Unlock()
	for _, to := range told {
		to <- id
	}
}

// watched is a form that is open.
type watched struct {
	view   desk.View // when it was last looked at
	warned time.Time // the deadline that its watcher was warned of
}

// warns says when a watcher is to be warned of its end; zero for never.
func (w *watched) warns() time.Time {
	if w.view.Ask.Terms.Warn <= 0 || w.warned.Equal(w.view.Ask.Deadline) {
		return time.Time{}
	}
	return w.view.Ask.Deadline.Add(-w.view.Ask.Terms.Warn)
}

// Watch tells a watcher what becomes of its forms until all of them have
// ended, also of those that ended before, or until ctx ends. Begun is called
// first, with those of the ids that are its forms; the rest is passed over.
// Everything is told from the caller's goroutine. by.Tell is who is told.
func (o *Office) Watch(ctx context.Context, by Creator, ids []string, begun func(ids []string)) error {
	who := desk.Viewer{Principal: by.Principal}
	// Of each form it may be told twice: by whoever settles it, and below.
	ended := make(chan string, 2*len(ids))
	open := map[string]*watched{}
	mine := []string{}
	for _, id := range ids {
		if open[id] != nil {
			continue // it is named twice
		}
		o.watchers.add(id, ended) // before it is looked at, so that its end is not missed
		defer o.watchers.remove(id, ended)
		v, err := o.peek(ctx, who, id)
		switch {
		case ask.CodeOf(err) == ask.Unknown:
			continue
		case err != nil:
			return err
		}
		mine, open[id] = append(mine, id), &watched{view: v}
		if v.Outcome != nil {
			ended <- id
		}
	}
	begun(mine)
	for len(open) > 0 {
		alarm, stop := nextWarning(open)
		select {
		case <-ctx.Done():
			stop()
			return context.Cause(ctx)
		case id := <-ended:
			if open[id] != nil && ctx.Err() == nil { // secrets are not for somebody who has gone
				delete(open, id)
				o.tellEnd(ctx, by, id)
			}
		case <-alarm:
			o.tellWarnings(ctx, by, open)
		}
		stop()
	}
	return nil
}

// nextWarning is when the first of some forms has to be looked at, because its
// time may be nearly up.
func nextWarning(open map[string]*watched) (<-chan time.Time, func()) {
	var first time.Time
	for _, w := range open {
		if at := w.warns(); !at.IsZero() && (first.IsZero() || at.Before(first)) {
			first = at
		}
	}
	if first.IsZero() {
		return nil, func() {}
	}
	t := time.NewTimer(time.Until(first))
	return t.C, func() { t.Stop() }
}

// tellWarnings warns a watcher of the forms whose time is nearly up, as they
// stand now: they may have been given more.
func (o *Office) tellWarnings(ctx context.Context, by Creator, open map[string]*watched) {
	for id, w := range open {
		if at := w.warns(); at.IsZero() || time.Now().Before(at) {
			continue
		}
		v, err := o.peek(ctx, desk.Viewer{Principal: by.Principal}, id)
		if err != nil || v.Outcome != nil {
			w.warned = w.view.Ask.Deadline // its end is told
			continue
		}
		if w.view = v; !time.Now().Before(w.warns()) {
			w.warned = v.Ask.Deadline
			by.Tell.Warn(id, time.Until(v.Ask.Deadline), v.Ask.Terms.Extension, v.Extendable())
		}
	}
}

// tellEnd tells a watcher that a form has ended.
func (o *Office) tellEnd(ctx context.Context, by Creator, id string) {
	v, err := o.peek(ctx, desk.Viewer{Principal: by.Principal}, id)
	if err != nil || v.Outcome == nil {
		return // it is forgotten, or the store is away: whoever looks finds out
	}
	f, err := o.form(&v.Ask)
	if err != nil {
		return
	}
	by.Tell.Complete(o.ended(by, id, f, *v.Outcome))
}
