package journal

import (
	"context"
	"iter"
	"time"
)

// SavedKind says what a Saved is. The set is closed.
type SavedKind byte

// Every kind.
const (
	SavedAsk   SavedKind = 'a' // an ask that counts, open or settled
	SavedItem  SavedKind = 'i' // an item of a shelf that counts
	SavedEnd   SavedKind = 'd' // the end of an item, which must stay for a while or for ever
	SavedAudit SavedKind = 'e' // an entry of the audit
)

// Saved is one record in the form in which a backup has it. It names no
// version of the store that it comes from, but keeps the two moments of its
// version.
type Saved struct {
	Kind    SavedKind
	Expires int64     // from when on readers find nothing; 0 for an end
	Until   int64     // until when it must stay in the store
	Ask     Record    // of an ask, with a zero Rev
	Shelf   string    // of an item and of an end
	Key     string    // the same
	At      time.Time // of an entry of the audit
	Value   []byte    // of an item and of an entry of the audit
}

// StoreInfo describes a store.
type StoreInfo struct {
	ID  string // made with the store, and never the same in another
	Now int64  // the time of the store, in nanoseconds since 1970
}

// Saver is a journal that can be backed up while it is in use.
type Saver interface {
	// Info describes the store.
	Info(ctx context.Context) (StoreInfo, error)
	// Save reads everything that a backup needs, of all homes, one record at a
	// time: records that count, ends that must stay, and the audit where it is
	// wanted. Every write that returned before Save was called is in it, or a
	// later version of the same record. A record that changes meanwhile may come
	// twice, the newer version last. The sequence ends after its first error:
	// Unavailable, Corrupt.
	Save(ctx context.Context, audit bool) iter.Seq2[Saved, error]
}

// Loader is a journal that a backup can be written to.
type Loader interface {
	Saver
	// Empty reports whether nothing was ever written to the store, but for what
	// the store needs itself.
	Empty(ctx context.Context) (bool, error)
	// Load stores what Save gave of a store with this time, and goes on from that
	// time where its own is earlier. A record that comes again replaces the one
	// before. After an error a part of it may be stored.
	Load(ctx context.Context, now int64, all iter.Seq2[Saved, error]) error
}

// SaverOf gives the store behind j that can be backed up; false where there is
// none, because nothing is kept.
func SaverOf(j Journal) (Saver, bool) {
	for {
		if s, ok := j.(Saver); ok {
			return s, true
		}
		w, ok := j.(interface{ Unwrap() Journal })
		if !ok {
			return nil, false
		}
		j = w.Unwrap()
	}
}
