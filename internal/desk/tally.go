package desk

import (
	"hash/maphash"
	"sync"
)

// shardCount spreads locks: a power of two well above the number of cores.
const shardCount = 64

// tally counts what is open under each key and refuses to go beyond a limit.
// A key without anything open costs nothing. Safe for concurrent use.
type tally[K comparable] struct {
	limit  int
	seed   maphash.Seed
	shards [shardCount]tallyShard[K]
}

type tallyShard[K comparable] struct {
	mu   sync.Mutex
	open map[K]int
}

func newTally[K comparable](limit int) *tally[K] {
	t := &tally[K]{limit: limit, seed: maphash.MakeSeed()}
	for i := range t.shards {
		t.shards[i].open = map[K]int{}
	}
	return t
}

func (t *tally[K]) shard(k K) *tallyShard[K] {
	return &t.shards[maphash.Comparable(t.seed, k)%shardCount]
}

// take counts one more under k, or reports false where k is at its limit.
func (t *tally[K]) take(k K) bool {
	s := t.shard(k)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open[k] >= t.limit {
		return false
	}
	s.open[k]++
	return true
}

// release takes back one take.
func (t *tally[K]) release(k K) {
	s := t.shard(k)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open[k]--; s.open[k] == 0 {
		delete(s.open, k)
	}
}

// add counts one more under k beyond any limit.
func (t *tally[K]) add(k K) {
	s := t.shard(k)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open[k]++
}
