package signins

import (
	"slices"
	"sync"
	"time"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/identity/signin"
)

// staleTime is how long a sign-in that was read from the shelf is taken while
// the shelf cannot be read: pages should say that the store is down, and not
// that nobody is signed in.
const staleTime = 15 * time.Minute

// index knows of each sign-in whose it is and when it was used, so that people
// can be held to their number without a search of the shelf, and are known for
// a while without it.
type index struct {
	max, perPerson int
	idle           time.Duration

	mu       sync.Mutex
	byKey    map[string]*known
	byPerson map[ask.Principal][]string // keys
	// ended has when a sign-in ended, for staleTime: a read that was under way
	// then must not bring it back. When it is full, nothing is taken without
	// the shelf.
	ended map[string]time.Time
	blind time.Time // until when that is so
}

// known is what the index knows of a sign-in.
type known struct {
	record signin.Record // its Seen is that of the last use
	noted  time.Time     // the use that the shelf has
	read   time.Time     // when it was last on the shelf
}

func newIndex(max, perPerson int, idle time.Duration) *index {
	return &index{
		max: max, perPerson: perPerson, idle: idle,
		byKey: map[string]*known{}, byPerson: map[ask.Principal][]string{}, ended: map[string]time.Time{},
	}
}

// confirm notes a sign-in that is on the shelf. Those beyond the limit are
// good, and not counted: they end by themselves.
func (x *index) confirm(key string, r signin.Record, now time.Time) (seen time.Time) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if _, over := x.ended[key]; over {
		return r.Seen
	}
	e := x.byKey[key]
	if e == nil {
		if len(x.byKey) >= x.max {
			return r.Seen
		}
		e = x.add(key, r)
	}
	e.read = now
	return e.record.Seen
}

// stale gives a sign-in that was on the shelf not long ago.
func (x *index) stale(key string, now time.Time) (signin.Record, bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	e := x.byKey[key]
	if e == nil || now.Before(x.blind) || !now.Before(e.read.Add(staleTime)) {
		return signin.Record{}, false
	}
	return e.record, true
}

func (x *index) add(key string, r signin.Record) *known {
	e := &known{record: r, noted: r.Seen}
	x.byKey[key] = e
	x.byPerson[r.Principal] = append(x.byPerson[r.Principal], key)
	return e
}

// reserve makes room for a sign-in and counts it in. It gives the sign-ins of
// the same person that have to end for it; nobody else's do.
func (x *index) reserve(key string, r signin.Record, now time.Time) (out []string, err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if len(x.byKey) >= x.max {
		for k, e := range x.byKey {
			if !now.Before(e.record.Expires) || !now.Before(e.record.Seen.Add(x.idle)) {
				x.drop(k)
			}
		}
	}
	own := slices.Clone(x.byPerson[r.Principal])
	if n := len(own) - x.perPerson + 1; n > 0 {
		slices.SortFunc(own, func(a, b string) int { return x.byKey[a].record.Seen.Compare(x.byKey[b].record.Seen) })
		out = own[:n]
		for _, k := range out {
			x.drop(k)
		}
	}
	if len(x.byKey) >= x.max {
		return nil, ask.Errorf(ask.TooManyOpen, "Too many people are signed in. Try again later.")
	}
	x.add(key, r)
	return out, nil
}

// touch notes a use, and reports whether the shelf should hear of it: it has
// not for that long. A sign-in that another gateway took is not known here,
// and its use goes to the shelf.
func (x *index) touch(key string, seen time.Time, every time.Duration) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	e := x.byKey[key]
	if e == nil {
		return true
	}
	if seen.After(e.record.Seen) {
		e.record.Seen = seen
	}
	if seen.Sub(e.noted) < every {
		return false
	}
	e.noted = seen
	return true
}

// end notes that a sign-in is over.
func (x *index) end(key string, now time.Time) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.drop(key)
	if len(x.ended) >= x.max {
		for k, at := range x.ended {
			if !now.Before(at.Add(staleTime)) {
				delete(x.ended, k)
			}
		}
	}
	if len(x.ended) >= x.max {
		x.blind = now.Add(staleTime)
		return
	}
	x.ended[key] = now
}

// remove takes back what was reserved.
func (x *index) remove(key string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.drop(key)
}

func (x *index) drop(key string) {
	e := x.byKey[key]
	if e == nil {
		return
	}
	delete(x.byKey, key)
	own := slices.DeleteFunc(x.byPerson[e.record.Principal], func(k string) bool { return k == key })
	if len(own) == 0 {
		delete(x.byPerson, e.record.Principal)
		return
	}
	x.byPerson[e.record.Principal] = own
}
