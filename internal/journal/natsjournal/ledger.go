package natsjournal

import (
	"encoding/binary"
	"hash/fnv"

	"github.com/answerback/answerback/internal/journal"
)

// ledger is what a stream must hold: its last sequence, and the number and
// the sum of its pinned records, which are the open asks and the items without
// a time to live. Pinned records go only by a write that replaces them, so
// both are known after every write.
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
// Several gateways that share an external store write at once, so it has no
// ledgers. It has its own replicas and their quorum.
type ledger struct {
	last uint64
	pins uint64
	sum  uint64
}

// replace counts the write at seq that took the place of old.
func (l *ledger) replace(subject string, old journal.Rev, seq uint64, pinned bool) {
	if old.Pinned {
		l.unpin(subject, old.Seq)
	}
	if pinned {
		l.pin(subject, seq)
	}
	l.last = max(l.last, seq)
}

func (l *ledger) pin(subject string, seq uint64) {
	l.pins++
	l.sum += weight(subject, seq)
}

func (l *ledger) unpin(subject string, seq uint64) {
	l.pins--
	l.sum -= weight(subject, seq)
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
