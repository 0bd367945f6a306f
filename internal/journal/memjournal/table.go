package memjournal

import (
	"cmp"
	"slices"

	"github.com/answerback/answerback/internal/journal"
)

// row is one version of what is stored under a key.
type row[V any] struct {
	rev   journal.Rev
	value V
	size  int
}

// table is a set of rows with compare-and-set. Its owner's lock guards it.
type table[K comparable, V any] struct {
	store *Journal
	rows  map[K]row[V]
}

// get gives a row that has not expired.
func (t *table[K, V]) get(k K) (row[V], bool) {
	r, ok := t.rows[k]
	if ok && t.store.now().UnixNano() >= r.rev.Expires {
		t.remove(k)
		return row[V]{}, false
	}
	return r, ok
}

// put stores a version in place of rev, or nothing where rev is not current.
func (t *table[K, V]) put(k K, rev journal.Rev, v V, size int, expires int64, pinned bool) (journal.Rev, journal.Reason) {
	old, ok := t.get(k)
	switch {
	case rev.IsZero() && ok:
		return journal.Rev{}, journal.Exists
	case !rev.IsZero() && !ok:
		return journal.Rev{}, journal.NotFound
	case rev != old.rev:
		return journal.Rev{}, journal.Conflict
	case t.store.size+size-old.size > t.store.max:
		return journal.Rev{}, journal.Full
	}
	t.store.seq++
	r := row[V]{
		rev: journal.Rev{
			Seq: t.store.seq, Version: old.rev.Version + 1, Pinned: pinned,
			Expires: expires, Until: journal.Until(old.rev, expires),
		},
		value: v,
		size:  size,
	}
	t.rows[k] = r
	t.store.size += size - old.size
	return r.rev, ""
}

func (t *table[K, V]) remove(k K) {
	t.store.size -= t.rows[k].size
	delete(t.rows, k)
}

// keys gives those of the keys that match, in the order of their last writes.
func (t *table[K, V]) keys(match func(K) bool) []K {
	var keys []K
	for k := range t.rows {
		if match(k) {
			keys = append(keys, k)
		}
	}
	slices.SortFunc(keys, func(a, b K) int { return cmp.Compare(t.rows[a].rev.Seq, t.rows[b].rev.Seq) })
	return keys
}
