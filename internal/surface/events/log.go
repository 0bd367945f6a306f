package events

import (
	"slices"
	"sync"
)

// eventLog keeps the events of one call for whoever follows it, within limits
// of number and bytes. What is said on the way, progress and log messages, goes
// first; the newest event is kept whatever its size. Safe for concurrent use.
type eventLog struct {
	maxEvents, maxBytes int

	mu     sync.Mutex
	kept   []kept
	bytes  int
	first  uint64        // the number of the first event; 1 but for a call from before a restart
	next   uint64        // the number of the next event
	ended  bool          // there will be no further one
	purged bool          // nothing is kept any more
	news   chan struct{} // closed and replaced when something changes
}

type kept struct {
	n     uint64
	frame []byte
	idle  bool // it may be lost before others are
}

func newLog(maxEvents, maxBytes int) *eventLog {
	return &eventLog{maxEvents: maxEvents, maxBytes: maxBytes, first: 1, next: 1, news: make(chan struct{})}
}

// startAt lets the numbers begin at n. It comes before the first event.
func (l *eventLog) startAt(n uint64) { l.first, l.next = n, n }

// cut ends the log without a last event.
func (l *eventLog) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.ended {
		l.ended = true
		close(l.news)
		l.news = make(chan struct{})
	}
}

// add appends an event. After the last one it does nothing.
func (l *eventLog) add(kind string, event any, idle, last bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		return
	}
	e := kept{l.next, frame(l.next, kind, event), idle}
	l.next++
	l.kept = append(l.kept, e)
	l.bytes += len(e.frame)
	l.ended = last
	for len(l.kept) > 1 && (len(l.kept) > l.maxEvents || l.bytes > l.maxBytes) {
		l.drop()
	}
	close(l.news)
	l.news = make(chan struct{})
}

// drop forgets one event, never the newest.
func (l *eventLog) drop() {
	at := slices.IndexFunc(l.kept[:len(l.kept)-1], func(e kept) bool { return e.idle })
	at = max(at, 0)
	l.bytes -= len(l.kept[at].frame)
	l.kept = slices.Delete(l.kept, at, at+1)
}

// batch is what a follower has to send next.
type batch struct {
	frames [][]byte
	after  uint64          // the number of the last of them
	lost   bool            // some before or among them are not kept
	ended  bool            // nothing comes after them
	news   <-chan struct{} // closed when there is more
}

// since gives what came after the event numbered n.
func (l *eventLog) since(n uint64) batch {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := batch{after: n, ended: l.ended, news: l.news}
	if n < l.first-1 {
		// Those of before a restart are lost to a consumer that has some of them.
		b.after, b.lost = l.first-1, n > 0
	}
	for _, e := range l.kept {
		if e.n <= n {
			continue
		}
		b.lost = b.lost || e.n != b.after+1
		b.frames, b.after = append(b.frames, e.frame), e.n
	}
	b.lost = b.lost || b.after+1 != l.next
	return b
}

// issued reports whether n is the number of an event so far, or 0, before all
// of them.
func (l *eventLog) issued(n uint64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return n < l.next
}

// purge forgets the events of a call that has ended.
func (l *eventLog) purge() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.kept, l.bytes, l.purged = nil, 0, true
}

func (l *eventLog) size() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.bytes
}

func (l *eventLog) isPurged() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.purged
}
