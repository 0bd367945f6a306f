package catalog

import (
	"container/list"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/answerback/answerback/ask"
)

// Key says for whom a view holds. Two callers share a view where all of it is
// equal, so Principal, Caps and Version are left empty where the backend's
// list is known not to differ by them.
type Key struct {
	Backend   string
	Principal ask.Principal
	Caps      string // the client's capabilities that the backend is told, in one spelling
	Version   string
	List      List
}

// Fetch gets a view from its backend. Its context ends at the cache's timeout
// and when the cache is closed, not when a caller goes away, and what it fetches
// is given to other callers too: it must lean on nothing that is one caller's.
type Fetch func(ctx context.Context, key Key) (*View, error)

// Config is what a Cache is made from. All fields are required.
type Config struct {
	Max     int           // most views kept, and most fetched at a time
	Bytes   int           // most bytes of all views kept
	Age     time.Duration // how long a view is good for
	Timeout time.Duration // how long a fetch may take
	Now     func() time.Time
}

// cooling is how long a failure is remembered, so that a dead backend is not
// asked again for every request.
const cooling = time.Second

// Cache keeps views, the least recently used of them leaving first. Safe for
// concurrent use.
type Cache struct {
	cfg  Config
	life context.Context // ends at Close; the life of all fetches
	end  context.CancelCauseFunc
	work sync.WaitGroup

	mu      sync.Mutex
	closed  bool
	flights int                        // fetches that run, forgotten ones included
	bytes   int                        // of the views in used
	used    list.List                  // of *cached that are done, most recently used first
	byName  map[string]map[Key]*cached // by backend, so that Forget looks at no other
}

// cached is a view, or the failure to get one, from the start of its fetch on.
type cached struct {
	key  Key
	done chan struct{} // closed when view, err and good are set for good

	view *View
	err  error
	good time.Time     // until when it can be given out
	elem *list.Element // its place in used; guarded by the cache
}

// NewCache makes a Cache. Close must be called in the end.
func NewCache(cfg Config) (*Cache, error) {
	if cfg.Max <= 0 || cfg.Bytes <= 0 || cfg.Age <= 0 || cfg.Timeout <= 0 || cfg.Now == nil {
		return nil, errors.New("catalog: Max, Bytes, Age, Timeout and Now of a cache's Config are all required")
	}
	c := &Cache{cfg: cfg, byName: make(map[string]map[Key]*cached)}
	c.life, c.end = context.WithCancelCause(context.Background())
	return c, nil
}

// Get gives the view for a key, calling fetch where there is none: once for all
// callers that want it at the same time. A caller whose ctx ends gets its cause,
// while the fetch goes on for the others and for the cache. A failure is given
// to all callers for a second.
//
// An error is that of fetch or an *ask.Error: BackendTimeout, ShuttingDown after
// Close, RateLimited when too many fetches run.
func (c *Cache) Get(ctx context.Context, key Key, fetch Fetch) (*View, error) {
	e, err := c.join(key, fetch)
	if err != nil {
		return nil, err
	}
	select {
	case <-e.done:
		return e.view, e.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// join finds the entry for a key or starts its fetch.
func (c *Cache) join(key Key, fetch Fetch) (*cached, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, errClosed()
	}
	now := c.cfg.Now()
	if e := c.byName[key.Backend][key]; e != nil {
		if e.elem == nil { // still fetched
			return e, nil
		}
		if now.Before(e.good) {
			c.used.MoveToFront(e.elem)
			return e, nil
		}
		c.remove(e)
	}
	if c.flights >= c.cfg.Max {
		return nil, ask.Errorf(ask.RateLimited, "Too many lists of backends are being fetched at once. Try again later.")
	}
	e := &cached{key: key, done: make(chan struct{})}
	views := c.byName[key.Backend]
	if views == nil {
		views = make(map[Key]*cached)
		c.byName[key.Backend] = views
	}
	views[key] = e
	c.flights++
	c.work.Go(func() { c.fetch(e, now, fetch) })
	return e, nil
}

// fetch fills an entry. The view's age counts from before it was asked for.
func (c *Cache) fetch(e *cached, started time.Time, fetch Fetch) {
	ctx, cancel := context.WithTimeoutCause(c.life, c.cfg.Timeout, ask.Errorf(ask.BackendTimeout,
		"Backend "+e.key.Backend+" took too long to list its "+e.key.List.String()+"."))
	defer cancel()
	view, err := fetch(ctx, e.key)
	switch {
	case err != nil:
		view = nil
		// Whatever an ended context made fetch say, why it ended comes first.
		if cause := context.Cause(ctx); cause != nil {
			err = errors.Join(cause, err)
		}
	case view == nil:
		err = ask.Errorf(ask.Internal, "The list of backend "+e.key.Backend+" was fetched and is not there.")
	}

	c.mu.Lock()
	defer c.mu.Unlock()
	e.view, e.err, e.good = view, err, started.Add(c.cfg.Age)
	if err != nil {
		e.good = c.cfg.Now().Add(cooling)
	}
	c.flights--
	// One that was forgotten in the meantime is for those who wait, and no others.
	if c.byName[e.key.Backend][e.key] == e {
		c.keep(e)
	}
	close(e.done)
}

// keep gives a finished entry its place, at the cost of others. c.mu is held.
func (c *Cache) keep(e *cached) {
	e.elem = c.used.PushFront(e)
	c.bytes += e.size()
	for c.used.Len() > c.cfg.Max || c.bytes > c.cfg.Bytes {
		c.remove(c.used.Back().Value.(*cached))
	}
}

// remove takes an entry out, fetched or still on its way. c.mu is held.
func (c *Cache) remove(e *cached) {
	if e.elem != nil {
		c.used.Remove(e.elem)
		c.bytes -= e.size()
	}
	views := c.byName[e.key.Backend]
	delete(views, e.key)
	if len(views) == 0 {
		delete(c.byName, e.key.Backend)
	}
}

// size is 0 for a failure.
func (e *cached) size() int {
	if e.view == nil {
		return 0
	}
	return e.view.Size()
}

// Forget drops a backend's views of a list, or of all lists for 0, because the
// list changed or the backend was connected again. Resources and Templates
// change together. A fetch that is on its way still serves those who wait for
// it, and nobody who comes later.
func (c *Cache) Forget(backend string, l List) {
	if l == Templates {
		l = Resources
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for key, e := range c.byName[backend] {
		if l == 0 || key.List == l || l == Resources && key.List == Templates {
			c.remove(e)
		}
	}
}

// Close ends all fetches and waits for them. It must not be called by a fetch.
func (c *Cache) Close() {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.end(errClosed())
	c.work.Wait()
}

func errClosed() *ask.Error {
	return ask.Errorf(ask.ShuttingDown, "The gateway is shutting down.")
}
