package desk

import (
	"hash/maphash"
	"slices"
	"strings"
	"sync"

	"github.com/answerback/answerback/ask"
)

// inbox finds the open asks of an addressee. Safe for concurrent use.
type inbox struct {
	seed   maphash.Seed
	shards [shardCount]inboxShard
}

type inboxShard struct {
	mu   sync.Mutex
	open map[ask.Addressee]map[*entry]struct{}
}

func newInbox() *inbox {
	x := &inbox{seed: maphash.MakeSeed()}
	for i := range x.shards {
		x.shards[i].open = map[ask.Addressee]map[*entry]struct{}{}
	}
	return x
}

func (x *inbox) shard(a ask.Addressee) *inboxShard {
	return &x.shards[maphash.Comparable(x.seed, a)%shardCount]
}

func (x *inbox) add(e *entry) {
	if !e.ask.Kind.ForPeople() {
		return
	}
	s := x.shard(e.ask.Addressee)
	s.mu.Lock()
	defer s.mu.Unlock()
	of := s.open[e.ask.Addressee]
	if of == nil {
		of = map[*entry]struct{}{}
		s.open[e.ask.Addressee] = of
	}
	of[e] = struct{}{}
}

func (x *inbox) remove(e *entry) {
	if !e.ask.Kind.ForPeople() {
		return
	}
	s := x.shard(e.ask.Addressee)
	s.mu.Lock()
	defer s.mu.Unlock()
	of := s.open[e.ask.Addressee]
	delete(of, e)
	if len(of) == 0 {
		delete(s.open, e.ask.Addressee)
	}
}

// of gives the open asks of one addressee, oldest first.
func (x *inbox) of(a ask.Addressee) []*entry {
	s := x.shard(a)
	s.mu.Lock()
	found := make([]*entry, 0, len(s.open[a]))
	for e := range s.open[a] {
		found = append(found, e)
	}
	s.mu.Unlock()
	slices.SortFunc(found, older)
	return found
}

func older(a, b *entry) int {
	if c := a.ask.Asked.Compare(b.ask.Asked); c != 0 {
		return c
	}
	return strings.Compare(a.ask.ID, b.ask.ID)
}
