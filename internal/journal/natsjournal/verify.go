package natsjournal

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"

	"github.com/answerback/answerback/internal/journal"
)

// witness is the newest that the last frames say about one stream.
type witness struct {
	ledger
	by string // the stream whose frame says so
}

// content is what a table holds.
type content struct {
	last   uint64
	pinned map[int64]tally // by the end of their time
	newest stored          // the message with the highest sequence
}

// between gives the tally of the pinned records that are over after the one
// moment, and not after the other.
func (c *content) between(after, to int64) (t tally) {
	for until, some := range c.pinned {
		if until > after && until <= to {
			t.add(some)
		}
	}
	return t
}

// verify reads the whole store and compares it with its ledgers. What it
// finds is what the ledgers begin with.
func (j *Journal) verify(ctx context.Context, ends map[string]uint64) error {
	tables := j.tables()
	witnesses := make([]witness, len(tables))
	hear := func(stream string, stamp []ledger) error {
		if len(stamp) != len(tables) {
			return corrupt("the last message of stream "+stream+" is not of this store", nil)
		}
		for i, l := range stamp {
			j.clock.raise(l.asof)
			if l.last > witnesses[i].last || l.last == witnesses[i].last && l.asof >= witnesses[i].asof {
				witnesses[i] = witness{l, stream}
			}
		}
		return nil
	}
	found, err := j.examine(ctx, tables)
	if err != nil {
		return err
	}
	for i, t := range tables {
		found[i].last = ends[t.stream]
		if last := found[i].newest; last.seq > 0 {
			if err := hear(t.stream, last.frame.stamp); err != nil {
				return err
			}
		}
	}
	if ends[j.audit.stream] > 0 {
		m, err := j.audit.message(ctx, "the end of the audit", map[string]any{"last_by_subj": j.layout.auditSubject()})
		switch {
		case errors.Is(err, journal.NotFound): // all of it was too old
		case err != nil:
			return err
		default:
			if err := hear(j.audit.stream, m.frame.stamp); err != nil {
				return err
			}
		}
	}
	for i, t := range tables {
		if err := j.compare(t, &found[i], witnesses[i]); err != nil {
			return err
		}
		t.book.begin(found[i].last, found[i].pinned)
		t.doubt = nil
	}
	return nil
}

// examine reads all messages of the tables, all tables at once.
func (j *Journal) examine(ctx context.Context, tables []*table) ([]content, error) {
	found := make([]content, len(tables))
	errs := make([]error, len(tables))
	var wg sync.WaitGroup
	for i, t := range tables {
		wg.Go(func() {
			c := &found[i]
			c.pinned = map[int64]tally{}
			for m, err := range t.scan(ctx, 0, j.everything(t)) {
				if err != nil {
					errs[i] = err
					return
				}
				if m.frame.pinned {
					n := c.pinned[m.frame.until]
					n.pin(m.subject, m.seq)
					c.pinned[m.frame.until] = n
				}
				m.frame.payload = nil
				c.newest = m
			}
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return found, nil
}

// everything is the filter for all of a table's messages.
func (j *Journal) everything(t *table) string {
	return t.mark[:len(t.mark)-len("mark")] + ">"
}

// compare checks what was found in a table against what must be there.
func (j *Journal) compare(t *table, found *content, w witness) error {
	must, own := w.ledger, &found.newest
	switch {
	case found.last < w.last:
		return corrupt(fmt.Sprintf("stream %s ends at %d, but %s knows that it had got to %d: its end is missing", t.stream, found.last, w.by, w.last), nil)
	case found.last == w.last:
	case found.last == own.seq:
		must = own.frame.stamp[t.index]
		if own.frame.oldPinned {
			must.unpin(own.subject, own.frame.oldSeq)
		}
		if own.frame.pinned && own.frame.until > must.asof {
			must.pin(own.subject, own.seq)
		}
	default:
		j.cfg.Log.Warn("journal: the last message of a stream has had its time, so it cannot be told whether the stream is whole", "stream", t.stream)
		return nil
	}
	// What was over when the ledger was written is not in it. What is over since
	// then is in it, unless it was replaced before and came back in a crash.
	now := max(j.clock.now(), must.asof)
	since, live := found.between(must.asof, now), found.between(now, journal.Never)
	all := live
	all.add(since)
	switch {
	case must.tally == all, must.tally == live:
		return nil
	case live.pins < must.pins && must.pins < all.pins:
		j.cfg.Log.Warn("journal: open questions were over when the store was opened, and some came back after a crash, so it cannot be told whether the stream is whole", "stream", t.stream)
		return nil
	}
	return corrupt(fmt.Sprintf("stream %s holds %d records that must stay, and %d were stored there, or others than these: restore it from a backup", t.stream, live.pins, must.pins), nil)
}

// locate adds to an error about an embedded store where that is.
func (j *Journal) locate(err error) error {
	e, ok := errors.AsType[*journal.Error](err)
	if !ok || j.engine == nil || e.Reason != journal.Corrupt {
		return err
	}
	return fail(e.Reason, "the store in "+filepath.Clean(j.cfg.Dir)+": "+e.Message, e.Cause)
}
