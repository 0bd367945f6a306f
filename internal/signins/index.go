package signins

import (
	"slices"
	"sync"
	"time"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/identity/signin"
)

// index knows of each sign-in whose it is and when it was used, so that people
// can be held to their number without a search of the shelf.
type index struct {
	max, perPerson int
	idle           time.Duration

	mu       sync.Mutex
	byKey    map[string]*known
	byPerson map[ask.Principal][]string // keys
}

// known is what the index knows of a sign-in.
type known struct {
	who     ask.Principal
	seen    time.Time
	noted   time.Time // the use that the shelf has
	expires time.Time
}

func newIndex(max, perPerson int, idle time.Duration) *index {
	return &index{max: max, perPerson: perPerson, idle: idle, byKey: map[string]*known{}, byPerson: map[ask.Principal][]string{}}
}

// restore adds a sign-in that is on the shelf. Those beyond the limits are
// good, and not counted: they end by themselves.
func (x *index) restore(key string, r signin.Record) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if len(x.byKey) < x.max {
		x.add(key, r)
	}
}

func (x *index) add(key string, r signin.Record) {
	x.byKey[key] = &known{who: r.Principal, seen: r.Seen, noted: r.Seen, expires: r.Expires}
	x.byPerson[r.Principal] = append(x.byPerson[r.Principal], key)
}

// reserve makes room for a sign-in and counts it in. It gives the sign-ins of
// the same person that have to end for it; nobody else's do.
func (x *index) reserve(key string, r signin.Record, now time.Time) (out []string, err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if len(x.byKey) >= x.max {
		for k, e := range x.byKey {
			if !now.Before(e.expires) || !now.Before(e.seen.Add(x.idle)) {
				x.drop(k)
			}
		}
	}
	own := slices.Clone(x.byPerson[r.Principal])
	if n := len(own) - x.perPerson + 1; n > 0 {
		slices.SortFunc(own, func(a, b string) int { return x.byKey[a].seen.Compare(x.byKey[b].seen) })
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

func (x *index) seen(key string) time.Time {
	x.mu.Lock()
	defer x.mu.Unlock()
	if e := x.byKey[key]; e != nil {
		return e.seen
	}
	return time.Time{}
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
	if seen.After(e.seen) {
		e.seen = seen
	}
	if seen.Sub(e.noted) < every {
		return false
	}
	e.noted = seen
	return true
}

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
	own := slices.DeleteFunc(x.byPerson[e.who], func(k string) bool { return k == key })
	if len(own) == 0 {
		delete(x.byPerson, e.who)
		return
	}
	x.byPerson[e.who] = own
}
