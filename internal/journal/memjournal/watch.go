package memjournal

import (
	"slices"
	"sync"

	"github.com/answerback/answerback/internal/journal"
)

// maxQueue is how many events may wait for a slow watcher before they are
// dropped and it is told so.
const maxQueue = 1 << 16

type event struct {
	record  journal.Record
	item    journal.Item
	deleted bool
	missed  bool
}

// watcher calls one function, on a goroutine of its own, for what it watches.
type watcher struct {
	home          string // of asks
	shelf, prefix string // of items
	call          func(event)
	stop          func() // ends it and waits

	mu    sync.Mutex
	queue []event
	ready chan struct{} // holds one token where there may be something to do
	quit  chan struct{}
	done  chan struct{}
}

// watch makes a watcher that has not begun.
func (j *Journal) watch(call func(event)) *watcher {
	w := &watcher{
		call:  call,
		ready: make(chan struct{}, 1),
		quit:  make(chan struct{}),
		done:  make(chan struct{}),
	}
	w.stop = sync.OnceFunc(func() {
		j.mu.Lock()
		delete(j.watchers, w)
		j.mu.Unlock()
		close(w.quit)
		<-w.done
	})
	return w
}

func (j *Journal) start(w *watcher) {
	j.mu.Lock()
	j.watchers[w] = struct{}{}
	j.mu.Unlock()
	go w.run()
}

// tell gives an event to the watchers that want it. The lock is held, so that
// they get events in the order of the writes.
func (j *Journal) tell(wants func(*watcher) bool, e event) {
	for w := range j.watchers {
		if wants(w) {
			e.record.Body, e.item.Value = slices.Clone(e.record.Body), slices.Clone(e.item.Value)
			w.push(e)
		}
	}
}

func (w *watcher) push(e event) {
	w.mu.Lock()
	if len(w.queue) >= maxQueue {
		w.queue = append(w.queue[:0], event{missed: true})
	} else {
		w.queue = append(w.queue, e)
	}
	w.mu.Unlock()
	select {
	case w.ready <- struct{}{}:
	default:
	}
}

func (w *watcher) run() {
	defer close(w.done)
	for {
		select {
		case <-w.quit:
			return
		case <-w.ready:
		}
		w.mu.Lock()
		queue := w.queue
		w.queue = nil
		w.mu.Unlock()
		for _, e := range queue {
			select {
			case <-w.quit:
				return
			default:
				w.call(e)
			}
		}
	}
}
