// Package memjournal is a journal in memory, for tests and for gateways that
// are told to keep nothing: it holds every promise of the contract but that of
// outliving its process. Lists look at every record; it is not for many.
package memjournal

import (
	"context"
	"errors"
	"iter"
	"sync"
	"time"

	"github.com/answerback/answerback/internal/journal"
)

// Config is what a Journal is made of. Every field is required.
type Config struct {
	Now      func() time.Time
	MaxBytes int // how much of bodies, values and entries it holds
	MaxAudit int // how many calls of Append it remembers
}

// Journal is a journal in memory. It runs one goroutine for each watch.
type Journal struct {
	now      func() time.Time
	max      int
	maxAudit int

	mu       sync.Mutex
	seq      uint64
	size     int
	asks     table[journal.Key, journal.Record]
	shelves  map[string]*table[string, []byte]
	audit    []batch
	watchers map[*watcher]struct{}
}

var _ journal.Journal = (*Journal)(nil)

// New makes an empty journal.
func New(cfg Config) (*Journal, error) {
	if cfg.Now == nil || cfg.MaxBytes < 1 || cfg.MaxAudit < 1 {
		return nil, errors.New("memjournal: Config needs Now, MaxBytes and MaxAudit")
	}
	j := &Journal{
		now: cfg.Now, max: cfg.MaxBytes, maxAudit: cfg.MaxAudit,
		shelves:  map[string]*table[string, []byte]{},
		watchers: map[*watcher]struct{}{},
	}
	j.asks = table[journal.Key, journal.Record]{store: j, rows: map[journal.Key]row[journal.Record]{}}
	return j, nil
}

// Close ends every watch. It does not wait for ctx.
func (j *Journal) Close(context.Context) error {
	j.mu.Lock()
	var all []*watcher
	for w := range j.watchers {
		all = append(all, w)
	}
	j.mu.Unlock()
	for _, w := range all {
		w.stop()
	}
	return nil
}

// alive gives the error for a context that has ended.
func alive(ctx context.Context, what string) error {
	if ctx.Err() == nil {
		return nil
	}
	return &journal.Error{Reason: journal.Unavailable, Message: what + " was given up", Cause: context.Cause(ctx)}
}

// each reads keys one at a time, those that are gone meanwhile left out.
func each[K comparable, V any](ctx context.Context, what string, keys []K, read func(K) (V, bool)) iter.Seq2[V, error] {
	return func(yield func(V, error) bool) {
		for _, k := range keys {
			if err := alive(ctx, what); err != nil {
				var none V
				yield(none, err)
				return
			}
			if v, ok := read(k); ok && !yield(v, nil) {
				return
			}
		}
	}
}

func failed[V any](err error) iter.Seq2[V, error] {
	return func(yield func(V, error) bool) {
		var none V
		yield(none, err)
	}
}
