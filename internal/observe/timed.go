package observe

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/answerback/answerback/internal/journal"
)

// Timed gives a journal that does what j does and measures it: how long
// operations take that give one answer, and which fail. What is read one by
// one takes as long as its reader likes, so of that only failures count.
func (m *Metrics) Timed(j journal.Journal) journal.Journal {
	failures := func(name string) meter { return meter{name: name, errors: m.journalErrors} }
	times := func(name string) meter {
		return meter{name: name, errors: m.journalErrors, took: m.journal.WithLabelValues(name)}
	}
	return &timed{
		Journal: j,
		shelf: timedShelf{
			put: times("shelf_put"), get: times("shelf_get"), delete: times("shelf_delete"),
			scan: failures("shelf_scan"), watch: failures("shelf_watch"),
		},
		create: times("create"), update: times("update"), get: times("get"), list: times("list"), append: times("append"),
		open: failures("open"), settled: failures("settled"), watch: failures("watch"), readAudit: failures("read_audit"),
	}
}

// meter measures one operation.
type meter struct {
	name   string
	took   prometheus.Observer // nil where only failures count
	errors *prometheus.CounterVec
}

// done takes down what began at that time.
func (m *meter) done(began time.Time, err error) {
	if m.took != nil {
		m.took.Observe(time.Since(began).Seconds())
	}
	if err != nil {
		m.failed(err)
	}
}

// failed counts a failure. That something is there, is not there or is there
// in another version is an answer.
func (m *meter) failed(err error) {
	reason := other
	if e, ok := errors.AsType[*journal.Error](err); ok {
		switch e.Reason {
		case journal.Exists, journal.Conflict, journal.NotFound:
			return
		case journal.Unavailable, journal.Full, journal.Corrupt, journal.Invalid:
			reason = string(e.Reason)
		case journal.TooLarge:
			reason = "too_large"
		}
	}
	m.errors.WithLabelValues(m.name, reason).Inc()
}

// timed is a journal with its meters.
type timed struct {
	journal.Journal
	shelf                             timedShelf
	create, update, get, list, append meter
	open, settled, watch, readAudit   meter
}

func (t *timed) Create(ctx context.Context, r journal.Record) (journal.Rev, error) {
	began := time.Now()
	rev, err := t.Journal.Create(ctx, r)
	t.create.done(began, err)
	return rev, err
}

func (t *timed) Update(ctx context.Context, r journal.Record) (journal.Rev, error) {
	began := time.Now()
	rev, err := t.Journal.Update(ctx, r)
	t.update.done(began, err)
	return rev, err
}

func (t *timed) Get(ctx context.Context, k journal.Key) (journal.Record, error) {
	began := time.Now()
	r, err := t.Journal.Get(ctx, k)
	t.get.done(began, err)
	return r, err
}

func (t *timed) List(ctx context.Context, shard uint16, addressee string, limit int) ([]journal.Record, error) {
	began := time.Now()
	list, err := t.Journal.List(ctx, shard, addressee, limit)
	t.list.done(began, err)
	return list, err
}

func (t *timed) Append(ctx context.Context, entries ...[]byte) error {
	began := time.Now()
	err := t.Journal.Append(ctx, entries...)
	t.append.done(began, err)
	return err
}

func (t *timed) Open(ctx context.Context, home string) iter.Seq2[journal.Record, error] {
	return watched(t.Journal.Open(ctx, home), &t.open)
}

func (t *timed) Settled(ctx context.Context, shard uint16, addressee string) iter.Seq2[journal.Record, error] {
	return watched(t.Journal.Settled(ctx, shard, addressee), &t.settled)
}

func (t *timed) ReadAudit(ctx context.Context, from uint64) iter.Seq2[journal.Entry, error] {
	return watched(t.Journal.ReadAudit(ctx, from), &t.readAudit)
}

func (t *timed) Watch(ctx context.Context, home string, wake func(journal.Wake)) (func(), error) {
	stop, err := t.Journal.Watch(ctx, home, wake)
	if err != nil {
		t.watch.failed(err)
	}
	return stop, err
}

// Unwrap gives the journal that is measured.
func (t *timed) Unwrap() journal.Journal { return t.Journal }

func (t *timed) Shelf(name string) journal.Shelf {
	s := t.shelf
	s.Shelf = t.Journal.Shelf(name)
	return &s
}

// watched passes a sequence on and counts the failure that ends it.
func watched[V any](all iter.Seq2[V, error], m *meter) iter.Seq2[V, error] {
	return func(yield func(V, error) bool) {
		for v, err := range all {
			if err != nil {
				m.failed(err)
			}
			if !yield(v, err) {
				return
			}
		}
	}
}

// timedShelf is a shelf with its meters.
type timedShelf struct {
	journal.Shelf
	put, get, delete, scan, watch meter
}

func (s *timedShelf) Put(ctx context.Context, key string, rev journal.Rev, value []byte, ttl time.Duration) (journal.Rev, error) {
	began := time.Now()
	now, err := s.Shelf.Put(ctx, key, rev, value, ttl)
	s.put.done(began, err)
	return now, err
}

func (s *timedShelf) Get(ctx context.Context, key string) (journal.Item, error) {
	began := time.Now()
	item, err := s.Shelf.Get(ctx, key)
	s.get.done(began, err)
	return item, err
}

func (s *timedShelf) Delete(ctx context.Context, key string, rev journal.Rev) error {
	began := time.Now()
	err := s.Shelf.Delete(ctx, key, rev)
	s.delete.done(began, err)
	return err
}

func (s *timedShelf) Scan(ctx context.Context, prefix string) iter.Seq2[journal.Item, error] {
	return watched(s.Shelf.Scan(ctx, prefix), &s.scan)
}

func (s *timedShelf) Watch(ctx context.Context, prefix string, changed func(journal.Change)) (func(), error) {
	stop, err := s.Shelf.Watch(ctx, prefix, changed)
	if err != nil {
		s.watch.failed(err)
	}
	return stop, err
}
