package mcp

import (
	"context"
	"sync"
)

// crew is a set of goroutines that somebody waits for. Unlike a bare
// WaitGroup it takes nobody on once it is being dismissed.
type crew struct {
	mu     sync.Mutex
	closed bool
	wg     sync.WaitGroup
}

// join adds the calling goroutine; it must leave. It is false after dismiss.
func (c *crew) join() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false
	}
	c.wg.Add(1)
	return true
}

func (c *crew) leave() { c.wg.Done() }

// spawn runs f on a goroutine of the crew. It is false after dismiss, and f
// does not run.
func (c *crew) spawn(f func()) bool {
	if !c.join() {
		return false
	}
	go func() {
		defer c.leave()
		f()
	}()
	return true
}

// dismiss takes nobody on any more and waits until all have left. It is
// false when ctx ended first.
func (c *crew) dismiss(ctx context.Context) bool {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	gone := make(chan struct{})
	go func() {
		c.wg.Wait()
		close(gone)
	}()
	select {
	case <-gone:
		return true
	case <-ctx.Done():
		return false
	}
}
