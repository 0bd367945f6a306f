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
	ledger
	newest stored // the message with the highest sequence
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
			if l.last >= witnesses[i].last {
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
		if err := j.compare(t, &found[i], witnesses[i], i); err != nil {
			return err
		}
		t.current.Store(&found[i].ledger)
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
			for m, err := range t.scan(ctx, 0, j.everything(t)) {
				if err != nil {
					errs[i] = err
					return
				}
				if m.frame.pinned {
					c.pin(m.subject, m.seq)
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
func (j *Journal) compare(t *table, found *content, w witness, index int) error {
	must, own := w.ledger, &found.newest
	switch {
	case found.last < w.last:
		return corrupt(fmt.Sprintf("stream %s ends at %d, but %s knows that it had got to %d: its end is missing", t.stream, found.last, w.by, w.last), nil)
	case found.last == w.last:
	case found.last == own.seq:
		must = own.frame.stamp[index]
		must.replace(own.subject, journal.Rev{Seq: own.frame.oldSeq, Pinned: own.frame.oldPinned}, own.seq, own.frame.pinned)
	default:
		j.cfg.Log.Warn("journal: the last message of a stream has had its time, so it cannot be told whether the stream is whole", "stream", t.stream)
		return nil
	}
	if must.pins != found.pins || must.sum != found.sum {
		return corrupt(fmt.Sprintf("stream %s holds %d records that must stay, and %d were stored there, or others than these: restore it from a backup", t.stream, found.pins, must.pins), nil)
	}
	return nil
}

// locate adds to an error about an embedded store where that is.
func (j *Journal) locate(err error) error {
	e, ok := errors.AsType[*journal.Error](err)
	if !ok || j.engine == nil || e.Reason != journal.Corrupt {
		return err
	}
	return fail(e.Reason, "the store in "+filepath.Clean(j.cfg.Dir)+": "+e.Message, e.Cause)
}
