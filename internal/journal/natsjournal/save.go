package natsjournal

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"strings"
	"sync"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/answerback/answerback/internal/journal"
)

var _ journal.Loader = (*Journal)(nil)

// Info is journal.Saver.Info.
func (j *Journal) Info(ctx context.Context) (journal.StoreInfo, error) {
	js, err := jetstream.New(j.link.conn)
	if err != nil {
		return journal.StoreInfo{}, unavailable("talking to NATS", err)
	}
	ctx, cancel := j.link.limit(ctx)
	defer cancel()
	s, err := js.Stream(ctx, j.layout.shelfStream())
	if err != nil {
		return journal.StoreInfo{}, unavailable("looking for stream "+j.layout.shelfStream(), err)
	}
	return journal.StoreInfo{ID: s.CachedInfo().Config.Metadata[metaStore], Now: j.clock.now()}, nil
}

// recordsOf is the filter for what a table keeps, without marks and the time,
// whose subjects are shorter.
func (j *Journal) recordsOf(t *table) string {
	base := t.mark[:len(t.mark)-len("mark")]
	if t == j.shelf {
		return base + "*.>"
	}
	return base + "*.*.*"
}

// Save is journal.Saver.Save. A scan reads on until it has reached the end of
// its stream. A record that is replaced during the scan moves to the end, so it
// is found there.
func (j *Journal) Save(ctx context.Context, audit bool) iter.Seq2[journal.Saved, error] {
	return func(yield func(journal.Saved, error) bool) {
		for _, t := range j.tables() {
			for m, err := range t.scan(ctx, 0, j.recordsOf(t)) {
				if err != nil {
					yield(journal.Saved{}, err)
					return
				}
				s, ok, err := j.saved(t, &m)
				if err != nil {
					yield(journal.Saved{}, err)
					return
				}
				if ok && !yield(s, nil) {
					return
				}
			}
		}
		if !audit {
			return
		}
		for e, err := range j.ReadAudit(ctx, 0) {
			if !yield(journal.Saved{Kind: journal.SavedAudit, At: e.At, Value: e.Data}, err) || err != nil {
				return
			}
		}
	}
}

// saved gives a message as a backup has it; false for what no backup needs.
func (j *Journal) saved(t *table, m *stored) (s journal.Saved, ok bool, err error) {
	s = journal.Saved{Expires: m.frame.expires, Until: m.frame.until}
	switch {
	case m.frame.kind == kindDeleted && m.frame.until > j.clock.now():
		s.Kind = journal.SavedEnd
	case !t.counts(m):
		return s, false, nil
	case m.frame.kind == kindAsk:
		s.Kind = journal.SavedAsk
		s.Ask, err = j.record(m)
		s.Ask.Rev = journal.Rev{}
		return s, true, err
	default:
		s.Kind, s.Value = journal.SavedItem, m.frame.payload
	}
	name := strings.TrimPrefix(m.subject, j.layout.shelfSubjects())
	s.Shelf, s.Key, ok = strings.Cut(name, ".")
	if !ok || t != j.shelf {
		return s, false, corrupt(m.subject+" is not an item of a shelf", nil)
	}
	return s, true, nil
}

// Empty is journal.Loader.Empty.
func (j *Journal) Empty(ctx context.Context) (bool, error) {
	for _, t := range j.tables() {
		for m, err := range t.scan(ctx, 0, j.recordsOf(t)) {
			switch {
			case err != nil:
				return false, err
			case m.frame.kind != kindMark:
				return false, nil
			}
		}
	}
	return true, nil
}

// loadAhead is how many records wait for each table while a backup is loaded.
const loadAhead = 16

// Load is journal.Loader.Load. The tables are written at the same time, each
// in the order of its records.
func (j *Journal) Load(ctx context.Context, now int64, all iter.Seq2[journal.Saved, error]) error {
	j.clock.raise(now) // it is noted at the next beat, and when the store is closed
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	lanes := make(map[*table]chan journal.Saved)
	var wg sync.WaitGroup
	for _, t := range append(j.tables(), j.audit) {
		in := make(chan journal.Saved, loadAhead)
		lanes[t] = in
		store := func(s *journal.Saved) error { return j.load(ctx, t, s) }
		done := func() error { return nil }
		if t == j.audit {
			var b batch
			store = func(s *journal.Saved) error { return b.add(ctx, j, s.Value) }
			done = func() error { return b.flush(ctx, j) }
		}
		wg.Go(func() {
			for s := range in {
				if ctx.Err() != nil {
					continue // the rest is only taken off the queue
				}
				if err := store(&s); err != nil {
					cancel(err)
				}
			}
			if ctx.Err() == nil {
				if err := done(); err != nil {
					cancel(err)
				}
			}
		})
	}
	err := j.spread(ctx, all, lanes)
	for _, in := range lanes {
		close(in)
	}
	wg.Wait()
	if err == nil {
		err = context.Cause(ctx)
	}
	return err
}

func (j *Journal) spread(ctx context.Context, all iter.Seq2[journal.Saved, error], lanes map[*table]chan journal.Saved) error {
	for s, err := range all {
		if err != nil {
			return err
		}
		t := j.shelf
		switch s.Kind {
		case journal.SavedAsk:
			t = j.asks[j.layout.shard(s.Ask.Shard)]
		case journal.SavedAudit:
			t = j.audit
		}
		select {
		case lanes[t] <- s:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// batch collects entries of the audit, to be appended with one write.
type batch struct {
	entries [][]byte
	size    int
}

func (b *batch) add(ctx context.Context, j *Journal, entry []byte) error {
	const most = journal.MaxBody / 2
	if len(b.entries) == journal.MaxAppend || b.size > 0 && b.size+len(entry) > most {
		if err := b.flush(ctx, j); err != nil {
			return err
		}
	}
	b.entries, b.size = append(b.entries, entry), b.size+len(entry)
	return nil
}

func (b *batch) flush(ctx context.Context, j *Journal) error {
	if len(b.entries) == 0 {
		return nil
	}
	err := j.Append(ctx, b.entries...)
	b.entries, b.size = nil, 0
	return err
}

// load stores one record in place of what is there.
func (j *Journal) load(ctx context.Context, t *table, s *journal.Saved) error {
	w := write{expires: s.Expires, least: s.Until}
	switch s.Kind {
	case journal.SavedAsk:
		if err := s.Ask.Check(); err != nil {
			return err
		}
		w.kind, w.subject, w.open, w.payload = kindAsk, j.layout.ask(s.Ask.Key), !s.Ask.Settled, encodeAsk(&s.Ask)
	case journal.SavedItem, journal.SavedEnd:
		if err := journal.CheckItem(s.Shelf, s.Key, len(s.Value), 0); err != nil {
			return err
		}
		w.kind, w.subject, w.payload = kindItem, j.layout.shelfSubjects()+s.Shelf+"."+s.Key, bytes.Clone(s.Value)
		if s.Kind == journal.SavedEnd {
			w.kind, w.expires, w.payload = kindDeleted, 0, nil
		}
	default:
		return fail(journal.Invalid, "a record of an unknown kind", nil)
	}
	_, err := t.put(ctx, w)
	if !errors.Is(err, errLost) {
		return err
	}
	m, err := t.last(ctx, w.subject)
	if err != nil {
		return err
	}
	w.old = m.rev()
	if _, err = t.put(ctx, w); errors.Is(err, errLost) {
		return unavailable("storing "+w.subject+" while another process writes to the same store", err)
	}
	return err
}
