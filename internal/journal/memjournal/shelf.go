package memjournal

import (
	"context"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/answerback/answerback/internal/journal"
)

type shelf struct {
	j    *Journal
	name string
}

// Shelf is journal.Journal.Shelf.
func (j *Journal) Shelf(name string) journal.Shelf { return shelf{j, name} }

// table gives the shelf's items. The lock is held.
func (s shelf) table() *table[string, []byte] {
	t := s.j.shelves[s.name]
	if t == nil {
		t = &table[string, []byte]{store: s.j, rows: map[string]row[[]byte]{}}
		s.j.shelves[s.name] = t
	}
	return t
}

func (s shelf) Put(ctx context.Context, key string, rev journal.Rev, value []byte, ttl time.Duration) (journal.Rev, error) {
	if err := journal.CheckItem(s.name, key, len(value), ttl); err != nil {
		return journal.Rev{}, err
	}
	if err := alive(ctx, "storing "+key); err != nil {
		return journal.Rev{}, err
	}
	s.j.mu.Lock()
	defer s.j.mu.Unlock()
	expires := int64(journal.Never)
	if ttl != 0 {
		expires = journal.After(s.j.now().UnixNano(), journal.Seconds(ttl))
	}
	now, why := s.table().put(key, rev, slices.Clone(value), len(value)+len(key), expires, ttl == 0)
	if why != "" {
		return journal.Rev{}, s.refuse(why, key)
	}
	item, _ := s.item(key)
	s.tell(key, event{item: item})
	return now, nil
}

func (s shelf) Get(ctx context.Context, key string) (journal.Item, error) {
	if err := journal.CheckItem(s.name, key, 0, 0); err != nil {
		return journal.Item{}, err
	}
	if err := alive(ctx, "reading "+key); err != nil {
		return journal.Item{}, err
	}
	item, ok := s.read(key)
	if !ok {
		return journal.Item{}, &journal.Error{Reason: journal.NotFound, Message: "reading " + key + " on shelf " + s.name}
	}
	return item, nil
}

func (s shelf) Delete(ctx context.Context, key string, rev journal.Rev) error {
	if err := journal.CheckItem(s.name, key, 0, 0); err != nil {
		return err
	}
	if err := alive(ctx, "deleting "+key); err != nil {
		return err
	}
	s.j.mu.Lock()
	defer s.j.mu.Unlock()
	old, ok := s.table().get(key)
	switch {
	case !ok:
		return s.refuse(journal.NotFound, key)
	case old.rev != rev:
		return s.refuse(journal.Conflict, key)
	}
	s.table().remove(key)
	s.tell(key, event{item: journal.Item{Key: key}, deleted: true})
	return nil
}

func (s shelf) Scan(ctx context.Context, prefix string) iter.Seq2[journal.Item, error] {
	if err := journal.CheckPrefix(s.name, prefix); err != nil {
		return failed[journal.Item](err)
	}
	return func(yield func(journal.Item, error) bool) {
		s.j.mu.Lock()
		keys := s.table().keys(func(k string) bool { return below(k, prefix) })
		s.j.mu.Unlock()
		each(ctx, "reading shelf "+s.name, keys, s.read)(yield)
	}
}

func (s shelf) Watch(_ context.Context, prefix string, changed func(journal.Change)) (func(), error) {
	if err := journal.CheckPrefix(s.name, prefix); err != nil {
		return nil, err
	}
	w := s.j.watch(func(e event) {
		changed(journal.Change{Item: e.item, Deleted: e.deleted, Missed: e.missed})
	})
	w.shelf, w.prefix = s.name, prefix
	s.j.start(w)
	return w.stop, nil
}

func (s shelf) tell(key string, e event) {
	s.j.tell(func(w *watcher) bool { return w.shelf == s.name && below(key, w.prefix) }, e)
}

// item gives a copy. The lock is held.
func (s shelf) item(key string) (journal.Item, bool) {
	row, ok := s.table().get(key)
	return journal.Item{Key: key, Rev: row.rev, Value: slices.Clone(row.value)}, ok
}

func (s shelf) read(key string) (journal.Item, bool) {
	s.j.mu.Lock()
	defer s.j.mu.Unlock()
	return s.item(key)
}

func (s shelf) refuse(why journal.Reason, key string) error {
	err := &journal.Error{Reason: why, Message: key + " on shelf " + s.name}
	if now, ok := s.item(key); ok && why != journal.Full {
		err.Item = &now
	}
	return err
}

func below(key, prefix string) bool {
	return prefix == "" || key == prefix || strings.HasPrefix(key, prefix+".")
}
