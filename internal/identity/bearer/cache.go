package bearer

import (
	"crypto/sha512"
	"sync"
	"time"

	"github.com/answerback/answerback/internal/identity"
)

// looked is how many entries a put looks at to make room: enough that what
// has expired is found in time, few enough that no put is slow.
const looked = 8

// digest is what a credential is known by.
type digest = [sha512.Size256]byte

// cache remembers who the bearers of verified tokens are, by the tokens'
// digests. Safe for concurrent use.
type cache struct {
	limit   int
	mu      sync.RWMutex
	entries map[digest]entry
}

type entry struct {
	person identity.Person
	until  time.Time
}

func newCache(limit int) *cache {
	return &cache{limit: limit, entries: make(map[digest]entry)}
}

func (c *cache) get(sum digest, now time.Time) (identity.Person, bool) {
	c.mu.RLock()
	e, ok := c.entries[sum]
	c.mu.RUnlock()
	if !ok || !now.Before(e.until) {
		return identity.Person{}, false
	}
	return e.person, true
}

// put remembers a person until then. It looks at a few entries, which ones is
// chance, forgets those that have expired and, if there is still no room, the
// one of them that would expire first.
func (c *cache) put(sum digest, person identity.Person, until, now time.Time) {
	if !now.Before(until) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	n := 0
	var first digest
	var soonest time.Time
	for key, e := range c.entries {
		if !now.Before(e.until) {
			delete(c.entries, key)
		} else if soonest.IsZero() || e.until.Before(soonest) {
			first, soonest = key, e.until
		}
		if n++; n == looked {
			break
		}
	}
	if _, again := c.entries[sum]; !again && len(c.entries) >= c.limit {
		delete(c.entries, first)
	}
	c.entries[sum] = entry{person: person, until: until}
}
