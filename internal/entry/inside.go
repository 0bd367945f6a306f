package entry

import (
	"context"
	"iter"
	"sync"
)

// Inside counts the work that a surface has under way, for its end to wait
// for. The zero value is open. Safe for concurrent use.
type Inside struct {
	mu     sync.RWMutex // orders entering with closing
	closed bool
	work   sync.WaitGroup
}

// Enter counts a piece of work in, which Leave counts out. It is false once
// the surface closes.
func (in *Inside) Enter() bool {
	in.mu.RLock()
	defer in.mu.RUnlock()
	if in.closed {
		return false
	}
	in.work.Add(1)
	return true
}

// Leave ends what Enter let in.
func (in *Inside) Leave() { in.work.Done() }

// Go runs further work of somebody who is inside.
func (in *Inside) Go(work func()) { in.work.Go(work) }

// Close lets nobody in any more.
func (in *Inside) Close() {
	in.mu.Lock()
	in.closed = true
	in.mu.Unlock()
}

// endAtOnce is how many things are ended at the same time.
const endAtOnce = 32

// End ends all there is, and waits until nobody is inside. Where ctx ends
// first it gives the cause of that, and what is left goes on ending. Close
// comes before it.
func End[T any](ctx context.Context, in *Inside, all iter.Seq[T], end func(T)) error {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		var wg sync.WaitGroup
		room := make(chan struct{}, endAtOnce)
		for one := range all {
			room <- struct{}{}
			wg.Go(func() {
				defer func() { <-room }()
				end(one)
			})
		}
		wg.Wait()
		in.work.Wait()
	}()
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
