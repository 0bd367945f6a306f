package journal

import (
	"context"
	"iter"
	"time"
)

// Journal is a store. Safe for concurrent use.
//
// Errors are *Error, and tell with errors.Is what happened. Every method that
// takes a context returns soon after it ends. A write whose error is
// Unavailable is not known to be stored, nor known not to be: the same call
// can be repeated. A Get that finds the write proves that it was stored. A Get
// that does not find it proves nothing, because the write may still be under
// way in the engine.
//
// Every record has a moment at which it expires, Never included. From then on
// no method finds it. The end of a record is written as a version of its own
// and is never a mere removal, so that no older version can come back; the
// contract of Rev.Until says how.
type Journal interface {
	Asks
	Audit
	// Shelf gives the shelf of this name: 1 to 32 of a-z, 0-9 and '-'. It does
	// no I/O; a bad name is refused by the shelf's methods.
	Shelf(name string) Shelf
	// Close ends everything that the journal runs and waits for it. No method
	// may be running or be called after it.
	Close(ctx context.Context) error
}

// Asks keeps one record for each ask.
type Asks interface {
	// Create stores a new record. Its Rev is zero. Errors: Exists with the
	// current record, Unavailable, Full, Invalid, TooLarge.
	Create(ctx context.Context, r Record) (Rev, error)
	// Update replaces the version r.Rev of a record by r. Errors: Conflict
	// with the current record, NotFound, Unavailable, Full, Invalid, TooLarge.
	// What was settled is not opened again: Invalid.
	Update(ctx context.Context, r Record) (Rev, error)
	// Get reads a record, as new as every write that has returned. Errors:
	// NotFound, Unavailable, Corrupt.
	Get(ctx context.Context, k Key) (Record, error)
	// Open reads all records of one home, settled ones included, in no order
	// and one at a time. A record that changes meanwhile may come twice, the
	// newer version last; none that was stored before is left out. The
	// sequence ends after its first error: Unavailable, Corrupt.
	Open(ctx context.Context, home string) iter.Seq2[Record, error]
	// List gives the open records for one addressee, those asked first first,
	// at most limit. It reads one shard, the addressee's.
	List(ctx context.Context, shard uint16, addressee string, limit int) ([]Record, error)
	// Settled reads the settled records for one addressee that are still kept,
	// as Open reads those of a home, whatever their homes. It reads one shard,
	// the addressee's.
	Settled(ctx context.Context, shard uint16, addressee string) iter.Seq2[Record, error]
	// Watch calls wake for every version of a record of this home that is
	// stored from now on, by whomever, and for no attempt that was refused.
	// Calls come one after another, those for one record in the order of its
	// versions. stop ends it and waits for a running call, so wake must not
	// call it.
	Watch(ctx context.Context, home string, wake func(Wake)) (stop func(), err error)
}

// Wake is one call of a watch. Where Missed is true, there is no Record:
// wake-ups may have been lost, and what they were is read with Open.
type Wake struct {
	Record Record
	Missed bool
}

// Audit is a log that is only ever appended to. Its oldest entries go when
// the store's age or size is reached.
type Audit interface {
	// Append stores entries, all of them or none, with one write to disk.
	// Errors: Unavailable (then they may be stored, also twice when the call
	// is repeated), Full, Invalid, TooLarge.
	Append(ctx context.Context, entries ...[]byte) error
	// ReadAudit reads the entries from a position on, oldest first, up to
	// those that were there when it began. Zero is the beginning.
	ReadAudit(ctx context.Context, from uint64) iter.Seq2[Entry, error]
}

// Entry is one entry of the audit.
type Entry struct {
	Pos  uint64 // of its Append; entries appended together share it
	At   time.Time
	Data []byte
}

// Shelf is a set of small records by key, for everything that is neither an
// ask nor the audit. A key is 1 to 8 words joined by dots, each of letters,
// digits, '-' and '_', 200 characters in all. Safe for concurrent use.
type Shelf interface {
	// Put stores a value: a new one where rev is zero, else in place of that
	// version. After ttl it is gone, unless it was put again; zero means
	// never. The ttl may be shorter than that of the version it replaces.
	// Errors: Exists, Conflict, NotFound, Unavailable, Full, Invalid,
	// TooLarge.
	Put(ctx context.Context, key string, rev Rev, value []byte, ttl time.Duration) (Rev, error)
	// Get reads a value, as new as every write that has returned. Errors:
	// NotFound, Unavailable, Corrupt.
	Get(ctx context.Context, key string) (Item, error)
	// Delete ends the version rev: the key is free again. What remains in the
	// store is a small record, for as long as the item could have stayed; for
	// an item without a ttl it stays for ever. Errors: Conflict, NotFound,
	// Unavailable.
	Delete(ctx context.Context, key string, rev Rev) error
	// Scan reads the items whose key is prefix or begins with its words, all
	// of them where it is empty. It promises what Asks.Open promises.
	Scan(ctx context.Context, prefix string) iter.Seq2[Item, error]
	// Watch calls changed for every item below prefix that is put or deleted
	// from now on. The end of a ttl is not reported. It is stopped like
	// Asks.Watch.
	Watch(ctx context.Context, prefix string, changed func(Change)) (stop func(), err error)
}

// Item is one record of a shelf.
type Item struct {
	Key   string
	Rev   Rev
	Value []byte
}

// Change is one call of a shelf's watch. A deleted item has no value. Where
// Missed is true, there is no Item: changes may have been lost, and Scan tells
// how things stand.
type Change struct {
	Item    Item
	Deleted bool
	Missed  bool
}
