package grant

import (
	"sync"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/journal"
)

// maxCached is how many grants are kept ready.
const maxCached = 10_000

// cache holds grants that were read, until they change. It lets calls go on
// while the store is away.
type cache struct {
	mu    sync.Mutex
	byKey map[string]versioned
	round uint64 // counts drops, so that what was read before one is not kept after it
}

func (c *cache) get(key string) (versioned, uint64, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	v, ok := c.byKey[key]
	return v, c.round, ok
}

// keep keeps what was read in a round, if nothing changed since.
func (c *cache) keep(key string, v versioned, round uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.round != round {
		return
	}
	if c.byKey == nil {
		c.byKey = map[string]versioned{}
	}
	if len(c.byKey) >= maxCached {
		for k := range c.byKey { // any one makes room
			delete(c.byKey, k)
			break
		}
	}
	c.byKey[key] = v
}

func (c *cache) drop(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.round++
	delete(c.byKey, key)
}

func (c *cache) clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.round++
	c.byKey = nil
}

// waiting are those who want to know of changes.
type waiting struct {
	mu    sync.Mutex
	byKey map[string]map[chan struct{}]bool
	// wanted are closed when the grant under the key is there.
	wanted map[string]chan struct{}
}

// changes tells of changes to somebody's grant for a backend, wherever they
// were made: the channel then has a value. Register first, then ask For, so
// that nothing is missed between. A value may also come where nothing changed.
// stop must be called. There is one for each call that waits, so whoever
// bounds those bounds these.
func (g *Grants) changes(who ask.Principal, backend string) (changed <-chan struct{}, stop func()) {
	key, c, w := keyOf(who, backend), make(chan struct{}, 1), &g.waiting
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.byKey == nil {
		w.byKey = map[string]map[chan struct{}]bool{}
	}
	if w.byKey[key] == nil {
		w.byKey[key] = map[chan struct{}]bool{}
	}
	w.byKey[key][c] = true
	return c, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.byKey[key], c)
		if len(w.byKey[key]) == 0 {
			delete(w.byKey, key)
		}
	}
}

// changed is called for every change on the shelf of grants.
func (g *Grants) changed(c journal.Change) {
	w := &g.waiting
	if c.Missed {
		g.cache.clear()
		w.mu.Lock()
		defer w.mu.Unlock()
		for _, all := range w.byKey {
			wake(all)
		}
		for key, c := range w.wanted {
			close(c)
			delete(w.wanted, key)
		}
		return
	}
	g.cache.drop(c.Item.Key)
	if !c.Deleted {
		g.checkWanted(c.Item.Key)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	wake(w.byKey[c.Item.Key])
}

func wake(all map[chan struct{}]bool) {
	for c := range all {
		select {
		case c <- struct{}{}:
		default: // it will look anyway
		}
	}
}
