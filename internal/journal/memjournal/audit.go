package memjournal

import (
	"context"
	"iter"
	"slices"
	"time"

	"github.com/answerback/answerback/internal/journal"
)

// batch is what one Append stored.
type batch struct {
	pos     uint64
	at      time.Time
	entries [][]byte
}

// Append is journal.Audit.Append.
func (j *Journal) Append(ctx context.Context, entries ...[]byte) error {
	if err := journal.CheckAppend(entries); err != nil {
		return err
	}
	if err := alive(ctx, "appending to the audit"); err != nil {
		return err
	}
	b := batch{at: j.now()}
	for _, e := range entries {
		b.entries = append(b.entries, slices.Clone(e))
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.seq++
	b.pos = j.seq
	j.audit = append(j.audit, b)
	if len(j.audit) > j.maxAudit {
		j.audit = slices.Delete(j.audit, 0, len(j.audit)-j.maxAudit)
	}
	return nil
}

// ReadAudit is journal.Audit.ReadAudit.
func (j *Journal) ReadAudit(ctx context.Context, from uint64) iter.Seq2[journal.Entry, error] {
	return func(yield func(journal.Entry, error) bool) {
		j.mu.Lock()
		log := slices.Clone(j.audit)
		j.mu.Unlock()
		for _, b := range log {
			for _, data := range b.entries {
				if err := alive(ctx, "reading the audit"); err != nil {
					yield(journal.Entry{}, err)
					return
				}
				if b.pos >= from && !yield(journal.Entry{Pos: b.pos, At: b.at, Data: slices.Clone(data)}, nil) {
					return
				}
			}
		}
	}
}
