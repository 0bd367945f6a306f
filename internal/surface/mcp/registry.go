package mcp

import (
	"hash/maphash"
	"sync"
	"sync/atomic"

	"github.com/answerback/answerback/ask"
)

// registry finds sessions by principal and id. A principal can only ever find
// its own: that a session belongs to somebody else and that there is none are
// the same thing here.
type registry struct {
	max, maxEach int
	seed         maphash.Seed
	total        atomic.Int64
	shards       [64]shard
}

type shard struct {
	mu     sync.Mutex
	people map[ask.Principal]map[string]*session
}

func newRegistry(limit, perPrincipal int) *registry {
	r := &registry{max: limit, maxEach: perPrincipal, seed: maphash.MakeSeed()}
	for i := range r.shards {
		r.shards[i].people = make(map[ask.Principal]map[string]*session)
	}
	return r
}

func (r *registry) shard(who ask.Principal) *shard {
	return &r.shards[maphash.Comparable(r.seed, who)%uint64(len(r.shards))]
}

func (r *registry) find(who ask.Principal, id string) *session {
	sh := r.shard(who)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	return sh.people[who][id]
}

// reserve makes room for a session of a principal before it is opened. Where
// the principal has too many it names the one to end instead, which has been
// idle longest: clients that never say goodbye must not lock their person
// out. It fails where none is idle, or where there are too many in all.
func (r *registry) reserve(ss *session) (instead *session, err *ask.Error) {
	if r.total.Add(1) > int64(r.max) {
		r.total.Add(-1)
		return nil, ask.Errorf(ask.TooManyOpen, "This gateway has as many sessions as it may have. Try again later.")
	}
	sh := r.shard(ss.who)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	mine := sh.people[ss.who]
	if len(mine) >= r.maxEach {
		if instead = longestIdle(mine); instead == nil {
			r.total.Add(-1)
			return nil, ask.Errorf(ask.TooManyOpen, "You have as many sessions in use as you may have. End one first.")
		}
		delete(mine, instead.id)
		r.total.Add(-1)
	}
	if mine == nil {
		mine = make(map[string]*session)
		sh.people[ss.who] = mine
	}
	mine[ss.id] = ss
	return instead, nil
}

// restore counts a session in that was let in before a restart, whatever the
// limits say now.
func (r *registry) restore(ss *session) {
	r.total.Add(1)
	sh := r.shard(ss.who)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	mine := sh.people[ss.who]
	if mine == nil {
		mine = make(map[string]*session)
		sh.people[ss.who] = mine
	}
	mine[ss.id] = ss
}

// longestIdle looks through one principal's sessions, whose number is bounded.
func longestIdle(of map[string]*session) *session {
	var found *session
	for _, ss := range of {
		since, idle := ss.idleSince()
		if !idle {
			continue
		}
		if found == nil {
			found = ss
			continue
		}
		if best, _ := found.idleSince(); since.Before(best) {
			found = ss
		}
	}
	return found
}

func (r *registry) remove(ss *session) {
	sh := r.shard(ss.who)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	mine := sh.people[ss.who]
	if mine[ss.id] != ss {
		return
	}
	delete(mine, ss.id)
	r.total.Add(-1)
	if len(mine) == 0 {
		delete(sh.people, ss.who)
	}
}

// all gives every session there is, for the end of the program.
func (r *registry) all() []*session {
	var all []*session
	for i := range r.shards {
		sh := &r.shards[i]
		sh.mu.Lock()
		for _, mine := range sh.people {
			for _, ss := range mine {
				all = append(all, ss)
			}
		}
		sh.mu.Unlock()
	}
	return all
}
