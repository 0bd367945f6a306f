package a2a

import (
	"slices"
	"sync"
	"time"

	"github.com/answerback/answerback/ask"
)

// registry knows the tasks of this gateway: those under way, and which of those
// that have ended are still kept. A principal can only ever find its own.
type registry struct {
	max, maxEach, maxPast int
	keep                  time.Duration // how long one that has ended is kept
	drop                  func(key string)

	mu     sync.Mutex
	live   map[string]*task // by key
	people map[ask.Principal]*person
	closed bool // nothing new is taken
}

// person is what there is of one principal.
type person struct {
	live int
	past []*past // oldest first
}

// past is a task that has ended.
type past struct {
	key    string
	expiry *time.Timer
}

// add registers a task that is about to start. One of before a restart has its
// place already.
func (r *registry) add(t *task, again bool) *ask.Error {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.people[t.owner]
	switch {
	case r.closed:
		return shuttingDown
	case again:
	case len(r.live) >= r.max:
		return ask.Errorf(ask.TooManyOpen, "This gateway has as many tasks under way as it may have. Try again later.")
	case p != nil && p.live >= r.maxEach:
		return ask.Errorf(ask.TooManyOpen, "You have as many tasks under way as you may have. Let one end first.")
	}
	r.person(t.owner).live++
	r.live[t.key] = t
	return nil
}

// person finds or makes somebody's entry. The caller has the lock.
func (r *registry) person(who ask.Principal) *person {
	p := r.people[who]
	if p == nil {
		p = &person{}
		r.people[who] = p
	}
	return p
}

// find gives the task under a key, nil where it is not under way.
func (r *registry) find(key string) *task {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.live[key]
}

// retire remembers that a task has ended. The oldest of its principal's go
// when there are too many.
func (r *registry) retire(t *task) { r.remember(t.owner, t.key, r.keep) }

func (r *registry) remember(who ask.Principal, key string, ttl time.Duration) {
	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		return
	}
	p := r.person(who)
	old := &past{key: key}
	old.expiry = time.AfterFunc(ttl, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.forget(who, old)
	})
	p.past = append(p.past, old)
	var gone []*past
	for len(p.past) > r.maxPast {
		gone = append(gone, p.past[0])
		r.forget(who, p.past[0])
	}
	r.mu.Unlock()
	for _, g := range gone {
		r.drop(g.key)
	}
}

// forget takes an ended task off the list. The caller has the lock.
func (r *registry) forget(who ask.Principal, old *past) {
	p := r.people[who]
	if p == nil {
		return
	}
	if i := slices.Index(p.past, old); i >= 0 {
		old.expiry.Stop()
		p.past = slices.Delete(p.past, i, i+1)
	}
	r.tidy(who, p)
}

func (r *registry) tidy(who ask.Principal, p *person) {
	if p.live == 0 && len(p.past) == 0 {
		delete(r.people, who)
	}
}

// left says that the goroutine of a task has ended.
func (r *registry) left(t *task) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.live[t.key] != t {
		return
	}
	delete(r.live, t.key)
	p := r.person(t.owner)
	p.live--
	r.tidy(t.owner, p)
}

// close refuses further tasks, and gives those under way.
func (r *registry) close() []*task {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	all := make([]*task, 0, len(r.live))
	for _, t := range r.live {
		all = append(all, t)
	}
	for _, p := range r.people {
		for _, old := range p.past {
			old.expiry.Stop()
		}
	}
	return all
}
