package desk

import (
	"hash/maphash"
	"sync"
	"time"

	"github.com/answerback/answerback/ask"
)

// limiter holds how often one backend may ask one principal: the generic cell
// rate algorithm, whose whole state per key is the time at which the key will
// have used up nothing. Keys are kept as seeded hashes, so a key costs 16
// bytes and a collision cannot be provoked. Safe for concurrent use.
type limiter struct {
	seed     maphash.Seed
	began    time.Time
	interval time.Duration // what one ask costs
	slack    time.Duration // how far ahead of now a key may be before its next ask
	perShard int
	shards   [shardCount]limiterShard
}

type limiterShard struct {
	mu sync.Mutex
	// free maps a key's hash to when it has used up nothing, since began.
	free map[uint64]time.Duration
}

// limiterKey is who asks whom.
type limiterKey struct {
	backend string
	who     ask.Addressee
}

// limiterKeys bounds how many keys are remembered. A key that was idle for
// long enough to have its whole burst again needs no memory.
const limiterKeys = 1 << 18

func newLimiter(now time.Time, perMinute, burst, keys int) *limiter {
	interval := time.Minute / time.Duration(perMinute)
	l := &limiter{
		seed:     maphash.MakeSeed(),
		began:    now,
		interval: interval,
		slack:    interval * time.Duration(burst-1),
		perShard: max(1, keys/shardCount),
	}
	for i := range l.shards {
		l.shards[i].free = map[uint64]time.Duration{}
	}
	return l
}

// take spends one ask of k. It returns zero where that is allowed, else how
// long to wait until it will be.
func (l *limiter) take(k limiterKey, now time.Time) time.Duration {
	// Measured from the limiter's own beginning on the monotonic clock, a
	// jump of the wall clock neither opens nor closes the gate.
	since := now.Sub(l.began)
	hash := maphash.Comparable(l.seed, k)
	s := &l.shards[hash%shardCount]
	s.mu.Lock()
	defer s.mu.Unlock()
	free, known := s.free[hash]
	free = max(free, since)
	if wait := free - l.slack - since; wait > 0 {
		return wait
	}
	if !known && len(s.free) >= l.perShard {
		s.evict(since)
	}
	s.free[hash] = free + l.interval
	return 0
}

// evict makes room by looking at a few keys in Go's random map order. Idle
// ones are dropped at no loss. Where none is idle, the one nearest to it goes,
// which gains it the least.
func (s *limiterShard) evict(since time.Duration) {
	const sample = 16
	var nearest uint64
	seen, dropped := 0, 0
	for hash, free := range s.free {
		if free <= since {
			delete(s.free, hash)
			dropped++
		}
		if seen == 0 || free < s.free[nearest] {
			nearest = hash
		}
		if seen++; seen == sample {
			break
		}
	}
	if dropped == 0 {
		delete(s.free, nearest)
	}
}

// keys counts the keys that are remembered.
func (l *limiter) keys() int {
	n := 0
	for i := range l.shards {
		s := &l.shards[i]
		s.mu.Lock()
		n += len(s.free)
		s.mu.Unlock()
	}
	return n
}
