package natsjournal

import (
	"context"
	"encoding/binary"
	"errors"
	"iter"
	"strconv"

	"github.com/answerback/answerback/internal/journal"
)

// Append is journal.Audit.Append. The entries are one message.
func (j *Journal) Append(ctx context.Context, entries ...[]byte) error {
	if err := journal.CheckAppend(entries); err != nil {
		return err
	}
	f := frame{kind: kindAudit, nonce: nonce()}
	if j.cfg.embedded() {
		f.stamp = j.stamps()
	}
	f.payload = binary.AppendUvarint(nil, uint64(len(entries)))
	for _, e := range entries {
		f.payload = binary.AppendUvarint(f.payload, uint64(len(e)))
		f.payload = append(f.payload, e...)
	}
	ctx, cancel := j.link.limit(ctx)
	defer cancel()
	if err := context.Cause(ctx); err != nil {
		return unavailable("appending to the audit", err)
	}
	_, _, err := j.link.publish(ctx, &publication{
		subject: j.layout.auditSubject(),
		data:    f.encode(j.layout.auditSubject()),
		any:     true,
		id:      strconv.FormatUint(f.nonce, 36),
	})
	var refused *apiError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &refused):
		return fail(refused.reason(), "appending to the audit", refused)
	}
	return unavailable("appending to the audit", err)
}

// ReadAudit is journal.Audit.ReadAudit.
func (j *Journal) ReadAudit(ctx context.Context, from uint64) iter.Seq2[journal.Entry, error] {
	return func(yield func(journal.Entry, error) bool) {
		for m, err := range j.audit.scan(ctx, from, j.layout.auditSubject()) {
			if err != nil {
				yield(journal.Entry{}, err)
				return
			}
			for e, err := range entries(&m) {
				if !yield(e, err) || err != nil {
					return
				}
			}
		}
	}
}

// entries gives the entries of one message of the audit, up to the first error.
func entries(m *stored) iter.Seq2[journal.Entry, error] {
	return func(yield func(journal.Entry, error) bool) {
		p := reader{b: m.frame.payload}
		for range p.uvarint() {
			data := p.bytes(p.uvarint())
			if p.bad {
				yield(journal.Entry{}, corrupt("entry "+strconv.FormatUint(m.seq, 10)+" of the audit cannot be used", errShort))
				return
			}
			if !yield(journal.Entry{Pos: m.seq, At: m.at, Data: data}, nil) {
				return
			}
		}
	}
}
