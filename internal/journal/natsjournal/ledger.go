package natsjournal

import (
	"encoding/binary"
	"hash/fnv"
	"sync"
)

// ledger is what a stream must hold at one moment: its last sequence, and the
// number and the sum of its pinned records that still count. Pinned are the
// records that the engine does not remove by itself: open asks, items without
// a time to live, and the ends of such items. They go only by a write that
// replaces them, or when their time is over, so both figures are known after
// every write.
//
// Every frame of an embedded store carries the ledgers of all streams, as they
// were just before it was written; of its own stream that is exact, because
// there is one write at a time. When the store is opened, all frames are read
// and compared with the newest ledgers among the last frames. That finds, with
// the stream's name:
//
//   - a pinned record that is gone, or is there in an older version, whatever
//     the engine or the file system did to it;
//   - the end of a stream that is cut off or put back, as long as any other
//     stream, the audit included, was written to after it;
//   - a frame that was changed, or stands where it does not belong.
//
// It does not find that all streams were put back to one earlier moment, that
// records with a time to live went too early, or that the last write of all is
// gone after a crash. Where the last frame of a stream has had its time and no
// other stream's frame is newer, the stream cannot be compared; that is
// logged.
//
// A record that was replaced long ago can be in the engine's files again after
// a crash, once the engine has removed the version that replaced it. Its time
// was over by then, so it is not counted.
//
// Several gateways that share an external store write at once, so it has no
// ledgers. It has its own replicas and their quorum.
type ledger struct {
	last uint64
	tally
	asof int64 // on the clock of the store; records whose time is later are counted
}

// tally is the number and the sum of some pinned records.
type tally struct {
	pins uint64
	sum  uint64
}

func (t *tally) add(o tally) {
	t.pins += o.pins
	t.sum += o.sum
}

func (t *tally) pin(subject string, seq uint64) {
	t.pins++
	t.sum += weight(subject, seq)
}

func (t *tally) unpin(subject string, seq uint64) {
	t.pins--
	t.sum -= weight(subject, seq)
}

// book keeps the ledger of one stream up to date. Safe for concurrent use.
type book struct {
	mu   sync.Mutex // guards what follows
	last uint64
	asof int64 // of the last ledger
	// pinned has the pinned records by the end of their time. The ends of open
	// asks are rounded, so there are few.
	pinned map[int64]tally
}

// ledger gives what the stream must hold now.
func (b *book) ledger(now int64) ledger {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.asof = max(b.asof, now)
	l := ledger{last: b.last, asof: b.asof}
	for until, t := range b.pinned {
		if until <= b.asof {
			delete(b.pinned, until)
			continue
		}
		l.add(t)
	}
	return l
}

// count notes the write at seq that took the place of w.old.
func (b *book) count(w *write, seq uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if w.old.Pinned {
		if t, ok := b.pinned[w.old.Until]; ok { // else its time is over
			t.unpin(w.subject, w.old.Seq)
			if b.pinned[w.old.Until] = t; t.pins == 0 {
				delete(b.pinned, w.old.Until)
			}
		}
	}
	if w.pinned {
		t := b.pinned[w.until]
		t.pin(w.subject, seq)
		b.pinned[w.until] = t
	}
	b.last = max(b.last, seq)
}

// begin sets what was found when the store was opened.
func (b *book) begin(last uint64, pinned map[int64]tally) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.last, b.pinned = last, pinned
}

// weight is what one version of a record adds to the sum.
func weight(subject string, seq uint64) uint64 {
	h := fnv.New64a()
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], seq)
	h.Write([]byte(subject))
	h.Write(b[:])
	// FNV leaves the last bytes in few of its bits; this spreads them.
	x := h.Sum64()
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	return x
}
