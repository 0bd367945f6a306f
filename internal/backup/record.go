package backup

import (
	"encoding/binary"
	"math"
	"time"

	"github.com/answerback/answerback/internal/journal"
)

// noTime stands for the zero time, which has no nanoseconds.
const noTime = math.MinInt64

// encode appends a record to b.
func encode(b []byte, s *journal.Saved) []byte {
	b = append(b, byte(s.Kind))
	b = binary.AppendVarint(b, s.Expires)
	b = binary.AppendVarint(b, s.Until)
	switch s.Kind {
	case journal.SavedAsk:
		a := &s.Ask
		b = binary.AppendUvarint(b, uint64(a.Shard))
		b = text(text(text(b, a.Home), a.ID), a.Addressee)
		b = binary.AppendVarint(binary.AppendVarint(b, moment(a.Asked)), moment(a.Deadline))
		settled := uint64(0)
		if a.Settled {
			settled = 1
		}
		b = binary.AppendUvarint(binary.AppendUvarint(b, settled), uint64(a.Keep))
		return append(b, a.Body...)
	case journal.SavedAudit:
		b = binary.AppendVarint(b, moment(s.At))
	default:
		b = text(text(b, s.Shelf), s.Key)
	}
	return append(b, s.Value...)
}

// decode is its reverse. The record shares b.
func decode(b []byte) (journal.Saved, error) {
	if len(b) == 0 {
		return journal.Saved{}, errMeaning
	}
	s := journal.Saved{Kind: journal.SavedKind(b[0])}
	r := reader{b: b[1:]}
	s.Expires, s.Until = r.varint(), r.varint()
	switch s.Kind {
	case journal.SavedAsk:
		a := &s.Ask
		shard := r.uvarint()
		a.Shard, r.bad = uint16(shard), r.bad || shard > math.MaxUint16
		a.Home, a.ID, a.Addressee = r.text(), r.text(), r.text()
		a.Asked, a.Deadline = instant(r.varint()), instant(r.varint())
		settled := r.uvarint()
		a.Settled, r.bad = settled == 1, r.bad || settled > 1
		a.Keep = time.Duration(r.uvarint())
		a.Body = r.b
	case journal.SavedAudit:
		s.At = instant(r.varint())
		s.Value = r.b
	case journal.SavedItem, journal.SavedEnd:
		s.Shelf, s.Key = r.text(), r.text()
		s.Value = r.b
	default:
		r.bad = true
	}
	if r.bad {
		return journal.Saved{}, errMeaning
	}
	return s, nil
}

func text(b []byte, s string) []byte { return append(binary.AppendUvarint(b, uint64(len(s))), s...) }

func moment(t time.Time) int64 {
	if t.IsZero() {
		return noTime
	}
	return t.UnixNano()
}

func instant(n int64) time.Time {
	if n == noTime {
		return time.Time{}
	}
	return time.Unix(0, n).UTC()
}

// reader takes values off the front of its bytes. Where there are too few it
// is bad from then on, and gives zeros.
type reader struct {
	b   []byte
	bad bool
}

func (r *reader) varint() int64 {
	v, n := binary.Varint(r.b)
	r.skip(n)
	return v
}

func (r *reader) uvarint() uint64 {
	v, n := binary.Uvarint(r.b)
	r.skip(n)
	return v
}

func (r *reader) skip(n int) {
	if n <= 0 {
		r.bad, r.b = true, nil
		return
	}
	r.b = r.b[n:]
}

func (r *reader) text() string {
	n := r.uvarint()
	if n > uint64(len(r.b)) {
		r.bad, r.b = true, nil
		return ""
	}
	s := string(r.b[:n])
	r.b = r.b[n:]
	return s
}
