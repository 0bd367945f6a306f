package upload

import (
	"context"
	"sync"
	"time"

	"github.com/answerback/answerback/ask"
)

// room counts the bytes that are kept, so that files cannot fill the store
// that questions need. What other gateways took since this one first counted
// is not in it. Safe for concurrent use.
type room struct {
	max   int64
	now   func() time.Time
	count func(ctx context.Context, add func(id string, o occupied)) error

	mu      sync.Mutex
	counted bool
	used    int64
	files   map[string]occupied
	asks    map[string]int // how many files there are for a question
}

// occupied is what one file takes, for which question, and until when.
type occupied struct {
	ask  string
	size int64
	gone time.Time
}

// take makes room for more of a file, or refuses.
func (r *room) take(ctx context.Context, id string, more occupied) error {
	if err := r.begin(ctx); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.used+more.size > r.max {
		r.sweep()
	}
	if r.used+more.size > r.max {
		return ask.Errorf(ask.StoreFull, "There is no room for more files at the moment. Try again later.")
	}
	r.add(id, more)
	return nil
}

// free gives back what a file took.
func (r *room) free(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.remove(id)
}

// has reports whether there are files for a question.
func (r *room) has(ctx context.Context, ask string) (bool, error) {
	if err := r.begin(ctx); err != nil {
		return false, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.asks[ask] > 0, nil
}

// begin counts what was there before this process, once, and not at its start:
// most gateways take no files. The lock is not held meanwhile, so several may
// count at once; the first of them is heard.
func (r *room) begin(ctx context.Context) error {
	r.mu.Lock()
	counted := r.counted
	r.mu.Unlock()
	if counted {
		return nil
	}
	found := map[string]occupied{}
	err := r.count(ctx, func(id string, o occupied) { found[id] = o })
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.counted {
		return nil
	}
	r.counted, r.files, r.asks = true, map[string]occupied{}, map[string]int{}
	for id, o := range found {
		r.add(id, o)
	}
	return nil
}

func (r *room) add(id string, more occupied) {
	o, there := r.files[id]
	if !there {
		r.asks[more.ask]++
	}
	r.used += more.size
	more.size += o.size
	r.files[id] = more
}

func (r *room) remove(id string) {
	o, there := r.files[id]
	if !there {
		return
	}
	r.used -= o.size
	delete(r.files, id)
	if r.asks[o.ask]--; r.asks[o.ask] == 0 {
		delete(r.asks, o.ask)
	}
}

// sweep forgets what is gone.
func (r *room) sweep() {
	now := r.now()
	for id, o := range r.files {
		if !now.Before(o.gone) {
			r.remove(id)
		}
	}
}

// busy lets a limited number of files in at once, and those for one question
// one after the other, so that what it may have is counted right.
type busy struct {
	slots chan struct{}

	mu   sync.Mutex
	asks map[string]*turn
}

// turn is the queue before one question.
type turn struct {
	free    chan struct{} // has one token while nobody is at it
	waiting int
}

func newBusy(limit int) *busy {
	return &busy{slots: make(chan struct{}, limit), asks: map[string]*turn{}}
}

// enter waits for the turn of one more file. Leave must be called after it.
func (b *busy) enter(ctx context.Context, askID string) (leave func(), err error) {
	select {
	case b.slots <- struct{}{}:
	default:
		return nil, ask.Errorf(ask.RateLimited, "Too many files are being sent at the moment. Try again in a minute.")
	}
	b.mu.Lock()
	t := b.asks[askID]
	if t == nil {
		t = &turn{free: make(chan struct{}, 1)}
		t.free <- struct{}{}
		b.asks[askID] = t
	}
	t.waiting++
	b.mu.Unlock()
	done := func() {
		b.mu.Lock()
		if t.waiting--; t.waiting == 0 {
			delete(b.asks, askID)
		}
		b.mu.Unlock()
		<-b.slots
	}
	select {
	case <-t.free:
	case <-ctx.Done():
		done()
		return nil, ask.Wrap(ask.Internal, "The file was not taken: its sender went away.", ctx.Err())
	}
	return func() {
		t.free <- struct{}{}
		done()
	}, nil
}
