package events

import (
	"slices"
	"sync"
	"time"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/contract"
)

// registry finds calls by principal and id, or by principal and the key that
// their start came with. A principal can only ever find its own: that a call
// belongs to somebody else and that there is none are the same thing here.
type registry struct {
	max, maxEach int
	maxPast      int // bytes of finished calls that are kept for one principal

	mu     sync.Mutex
	people map[ask.Principal]*person
	total  int
	closed bool // nothing new is taken
}

// person is what there is of one principal.
type person struct {
	calls map[string]*call
	keys  map[string]*call
	past  []*call // finished ones, oldest first
}

func newRegistry(limit, perPrincipal, pastBytes int) *registry {
	return &registry{max: limit, maxEach: perPrincipal, maxPast: pastBytes, people: make(map[ask.Principal]*person)}
}

// find gives the call with this id. A call is found with the access that it
// was started with: a caller whose access has changed starts another.
func (r *registry) find(who contract.Caller, id string) *call {
	r.mu.Lock()
	defer r.mu.Unlock()
	if p := r.people[who.Principal]; p != nil {
		if c := p.calls[id]; c != nil && c.access == accessKey(who) {
			return c
		}
	}
	return nil
}

// add registers a call. Where its key is known already it gives the call that
// was started with it instead.
func (r *registry) add(c *call) (known *call, err *ask.Error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.people[c.who.Principal]
	if p != nil && c.key != "" && p.keys[c.key] != nil {
		return p.keys[c.key], nil
	}
	if r.closed {
		return nil, shuttingDown
	}
	if p != nil && len(p.past) > 0 && (len(p.calls) >= r.maxEach || r.total >= r.max) {
		r.forget(p, p.past[0])
	}
	switch {
	case r.total >= r.max:
		return nil, ask.Errorf(ask.TooManyOpen, "This gateway has as many calls of event streams as it may have. Try again later.")
	case p != nil && len(p.calls) >= r.maxEach:
		return nil, ask.Errorf(ask.TooManyOpen, "You have as many calls under way as you may have. Let one end first.")
	case p == nil:
		p = &person{calls: make(map[string]*call), keys: make(map[string]*call)}
	}
	r.people[c.who.Principal] = p // again, where the last call was forgotten above
	p.calls[c.id] = c
	if c.key != "" {
		p.keys[c.key] = c
	}
	r.total++
	return nil, nil
}

// restore registers a call of before a restart, whatever the limits are.
func (r *registry) restore(c *call) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.people[c.who.Principal]
	if p == nil {
		p = &person{calls: make(map[string]*call), keys: make(map[string]*call)}
	} else if len(p.past) > 0 && len(p.calls) >= r.maxEach {
		r.forget(p, p.past[0])
	}
	r.people[c.who.Principal] = p // again, where the last call was forgotten above
	p.calls[c.id] = c
	if c.key != "" {
		p.keys[c.key] = c
	}
	r.total++
}

// drop takes out a call that did not come to start.
func (r *registry) drop(c *call) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if p := r.people[c.who.Principal]; p != nil && p.calls[c.id] == c {
		r.removeLocked(p, c)
	}
}

func (r *registry) removeLocked(p *person, c *call) {
	delete(p.calls, c.id)
	if c.key != "" && p.keys[c.key] == c {
		delete(p.keys, c.key)
	}
	r.total--
	if len(p.calls) == 0 && r.people[c.who.Principal] == p {
		delete(r.people, c.who.Principal)
	}
}

// retire keeps a finished call for a while, and lets the events of older ones
// go where they are too large together.
func (r *registry) retire(c *call, keep time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.people[c.who.Principal]
	if p == nil || p.calls[c.id] != c || r.closed {
		return
	}
	p.past = append(p.past, c)
	size := 0
	for _, old := range slices.Backward(p.past) {
		size += old.log.size()
		if size > r.maxPast && old != c {
			old.log.purge()
		}
	}
	c.expiry = time.AfterFunc(keep, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.forget(p, c)
	})
}

// forget drops a finished call. The caller has the lock.
func (r *registry) forget(p *person, c *call) {
	i := slices.Index(p.past, c)
	if i < 0 {
		return
	}
	c.expiry.Stop()
	p.past = slices.Delete(p.past, i, i+1)
	r.removeLocked(p, c)
}

// close refuses further calls, and gives those that there are.
func (r *registry) close() []*call {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	var all []*call
	for _, p := range r.people {
		for _, c := range p.past {
			c.expiry.Stop()
		}
		for _, c := range p.calls {
			all = append(all, c)
		}
	}
	return all
}

// accessKey names what a caller may use, for comparing.
func accessKey(who contract.Caller) string {
	if who.Access == nil {
		return ""
	}
	return "=" + who.Access.Key()
}
