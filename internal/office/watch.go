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

// watchers are the channels of watched forms, by the form's id.
type watchers struct {
	mu sync.Mutex
	by map[string][]chan<- string
}

// add registers a channel for the end of a form. It gets the id once, and must
// have room for it.
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

// ended sends the id of a form to its watchers.
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

// Watch reports warnings and completions of a principal's forms to by.Tell,
// until all of them have ended or ctx ends. Forms that have ended before are
// reported as well. Begun is called first, with the ids that are forms of the
// principal; other ids are ignored. All calls are made by the caller's
// goroutine.
func (o *Office) Watch(ctx context.Context, by Creator, ids []string, begun func(ids []string)) error {
	who := desk.Viewer{Principal: by.Principal}
	// Two signals per form at most: from its asker, and from the check below.
	ended := make(chan string, 2*len(ids))
	open := map[string]*watched{}
	mine := []string{}
	for _, id := range ids {
		if open[id] != nil {
			continue // it is named twice
		}
		o.watchers.add(id, ended) // before the check of its state, so that no end is missed
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
			if open[id] != nil && ctx.Err() == nil { // a client that has gone gets no secrets
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

// nextWarning gives a timer for the first warning of the open forms.
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

// tellWarnings reports the forms whose warning is due, after a check of their
// current deadlines: they may have been extended.
func (o *Office) tellWarnings(ctx context.Context, by Creator, open map[string]*watched) {
	for id, w := range open {
		if at := w.warns(); at.IsZero() || time.Now().Before(at) {
			continue
		}
		v, err := o.peek(ctx, desk.Viewer{Principal: by.Principal}, id)
		if err != nil || v.Outcome != nil {
			w.warned = w.view.Ask.Deadline // its end is reported instead
			continue
		}
		if w.view = v; !time.Now().Before(w.warns()) {
			w.warned = v.Ask.Deadline
			by.Tell.Warn(id, time.Until(v.Ask.Deadline), v.Ask.Terms.Extension, v.Extendable())
		}
	}
}

// tellEnd reports the end of a form.
func (o *Office) tellEnd(ctx context.Context, by Creator, id string) {
	v, err := o.peek(ctx, desk.Viewer{Principal: by.Principal}, id)
	if err != nil || v.Outcome == nil {
		return // deleted, or the store is unavailable; the client can look at the form later
	}
	f, err := o.form(&v.Ask)
	if err != nil {
		return
	}
	by.Tell.Complete(o.ended(by, id, f, *v.Outcome))
}
