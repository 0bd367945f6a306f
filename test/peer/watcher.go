package peer

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// watcher records what reaches a Go client beside the results of its calls,
// and answers questions as the job says.
type watcher struct {
	visits sync.WaitGroup // to addresses, after an answer

	mu       sync.Mutex
	job      Job
	open     int           // questions of the job
	back     chan struct{} // closed when the job's questions are taken back
	asked    []string
	notes    []string
	progress map[string][]float64 // by token
	moved    map[string]func()    // called at progress, by token
	changed  chan struct{}        // replaced at each change
	roots    []Root
}

func newWatcher() *watcher {
	return &watcher{
		back: make(chan struct{}), progress: make(map[string][]float64), moved: make(map[string]func()), changed: make(chan struct{}),
		roots: []Root{{"file:///project", "project"}},
	}
}

// leave waits for what goes on after answers.
func (w *watcher) leave() { w.visits.Wait() }

func (w *watcher) begin(j Job) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.job, w.open, w.back = j, 0, make(chan struct{})
}

// takeBack is for SDKs that tell of a withdrawal, but not of which question.
func (w *watcher) takeBack() {
	w.mu.Lock()
	defer w.mu.Unlock()
	select {
	case <-w.back:
	default:
		close(w.back)
	}
}

// end gives the questions of the job that is over. The question that a change
// of roots brings belongs to the await that follows.
func (w *watcher) end(j Job) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	asked := w.asked
	if j.Roots == nil {
		w.asked = nil
	}
	return asked
}

func (w *watcher) record(list *[]string, format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	*list = append(*list, fmt.Sprintf(format, args...))
	close(w.changed)
	w.changed = make(chan struct{})
}

func (w *watcher) note(format string, args ...any) { w.record(&w.notes, format, args...) }

// elicit records a form or a URL and gives the answer to it.
func (w *watcher) elicit(ctx context.Context, mode, message, url string, schema any) Reply {
	w.mu.Lock()
	given := w.job.Form
	if mode == "url" {
		given = w.job.URL
	}
	w.mu.Unlock()
	if mode == "url" {
		w.record(&w.asked, "url %s %s", message, url)
	} else {
		w.record(&w.asked, "form %s %s", message, strings.Join(fields(schema), ","))
	}
	answer, ok := given.(Reply)
	if !ok {
		answer = Reply{Action: "accept"}
	}
	answer.Content = maps.Clone(answer.Content) // SDKs write their defaults into it
	return w.think(ctx, answer, message, url)
}

// think does what comes before an answer, and has done what comes after it.
func (w *watcher) think(ctx context.Context, answer Reply, message, url string) Reply {
	if answer.Echo {
		answer.Content = map[string]any{"name": message}
	}
	switch answer.Visit {
	case "before":
		if err := open(ctx, url); err != nil {
			w.note("visit: %v", err)
		}
	case "after":
		w.visits.Go(func() {
			<-time.After(50 * time.Millisecond)
			if err := open(context.WithoutCancel(ctx), url); err != nil {
				w.note("visit: %v", err)
			}
		})
	}
	w.pause(ctx, answer.After, message)
	w.meet(ctx, answer.Together)
	return answer
}

// pause waits as somebody thinks, unless the question is withdrawn.
func (w *watcher) pause(ctx context.Context, ms int, message string) {
	if ms == 0 {
		return
	}
	w.mu.Lock()
	back := w.back
	w.mu.Unlock()
	late := time.NewTimer(time.Duration(ms) * time.Millisecond)
	defer late.Stop()
	select {
	case <-late.C:
		return
	case <-back:
	case <-ctx.Done():
	}
	w.note("withdrawn %s", message)
}

// meet waits until so many questions of the job are open.
func (w *watcher) meet(ctx context.Context, n int) {
	w.mu.Lock()
	w.open++
	close(w.changed)
	w.changed = make(chan struct{})
	w.mu.Unlock()
	w.until(ctx, func() bool { return w.open >= n })
}

// fields gives the names of a form's fields, sorted.
func fields(schema any) []string {
	keys := make([]string, 0)
	props, _ := Pick(schema, "properties").(map[string]any)
	for k := range props {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

func (w *watcher) sample(ctx context.Context, prompt string, maxTokens int64) {
	w.record(&w.asked, "sampling %s %d", prompt, maxTokens)
	w.mu.Lock()
	ms := w.job.Sample
	w.mu.Unlock()
	w.pause(ctx, ms, prompt)
}

func (w *watcher) listRoots() []Root {
	w.record(&w.asked, "roots")
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.roots
}

func (w *watcher) setRoots(roots []Root) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.roots = roots
}

func (w *watcher) advance(token string, progress float64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.progress[token] = append(w.progress[token], progress)
	if f := w.moved[token]; f != nil {
		f()
	}
}

func (w *watcher) onProgress(token string, f func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.moved[token] = f
}

func (w *watcher) await(ctx context.Context, text string) error {
	has := func(s string) bool { return strings.Contains(s, text) }
	if !w.until(ctx, func() bool { return slices.ContainsFunc(w.notes, has) || slices.ContainsFunc(w.asked, has) }) {
		return fmt.Errorf("%q did not come: %w", text, ctx.Err())
	}
	return nil
}

// until waits for a change after which what is looked for, under the lock, is
// there.
func (w *watcher) until(ctx context.Context, is func() bool) bool {
	for {
		w.mu.Lock()
		ok, changed := is(), w.changed
		w.mu.Unlock()
		if ok {
			return true
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return false
		}
	}
}

// fill adds what may come a little later than the result of its call.
func (w *watcher) fill(rep *Report) {
	w.mu.Lock()
	defer w.mu.Unlock()
	rep.Notes = w.notes
	for i := range rep.Results {
		rep.Results[i].Progress = w.progress[fmt.Sprint("token-", i)]
	}
}
