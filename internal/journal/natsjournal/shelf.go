package natsjournal

import (
	"context"
	"errors"
	"iter"
	"strings"
	"time"

	"github.com/answerback/answerback/internal/journal"
)

// shelf is a part of the stream of shelves.
type shelf struct {
	j    *Journal
	name string
}

// Shelf is journal.Journal.Shelf.
func (j *Journal) Shelf(name string) journal.Shelf { return shelf{j, name} }

func (s shelf) base() string { return s.j.layout.shelfSubjects() + s.name + "." }

func (s shelf) Put(ctx context.Context, key string, rev journal.Rev, value []byte, ttl time.Duration) (journal.Rev, error) {
	if err := journal.CheckItem(s.name, key, len(value), ttl); err != nil {
		return journal.Rev{}, err
	}
	expires := int64(journal.Never)
	if ttl != 0 {
		expires = journal.After(s.j.clock.now(), journal.Seconds(ttl))
	}
	return s.put(ctx, key, rev, write{
		subject: s.base() + key,
		old:     rev,
		kind:    kindItem,
		expires: expires,
		payload: value,
	})
}

func (s shelf) Delete(ctx context.Context, key string, rev journal.Rev) error {
	if err := journal.CheckItem(s.name, key, 0, 0); err != nil {
		return err
	}
	if rev.IsZero() {
		return fail(journal.Invalid, "deleting "+key+" on shelf "+s.name+" needs its revision", nil)
	}
	_, err := s.put(ctx, key, rev, write{
		subject: s.base() + key,
		old:     rev,
		kind:    kindDeleted,
	})
	return err
}

func (s shelf) put(ctx context.Context, key string, rev journal.Rev, w write) (journal.Rev, error) {
	now, err := s.j.shelf.replace(ctx, w)
	if !errors.Is(err, errLost) {
		return now, err
	}
	m, err := s.j.shelf.last(ctx, w.subject)
	switch {
	case errors.Is(err, journal.NotFound) && rev.IsZero():
		return s.again(ctx, key, w, journal.Rev{})
	case err != nil:
		return journal.Rev{}, err
	case s.j.shelf.counts(&m):
		return journal.Rev{}, s.lost(key, rev, &m)
	case rev.IsZero():
		return s.again(ctx, key, w, m.rev())
	}
	return journal.Rev{}, fail(journal.NotFound, key+" on shelf "+s.name, nil)
}

// again creates an item in the place of one that is over, or that the engine
// has removed meanwhile.
func (s shelf) again(ctx context.Context, key string, w write, old journal.Rev) (journal.Rev, error) {
	w.old = old
	now, err := s.j.shelf.put(ctx, w)
	if !errors.Is(err, errLost) {
		return now, err
	}
	m, err := s.j.shelf.get(ctx, w.subject)
	if err != nil {
		return journal.Rev{}, unavailable(key+" on shelf "+s.name+" changes too fast", err)
	}
	return journal.Rev{}, s.lost(key, journal.Rev{}, &m)
}

// lost is the error for a compare-and-set that was lost to m.
func (s shelf) lost(key string, rev journal.Rev, m *stored) error {
	item := s.item(m)
	err := &journal.Error{Reason: journal.Conflict, Message: key + " on shelf " + s.name, Item: &item}
	if rev.IsZero() {
		err.Reason = journal.Exists
	}
	return err
}

func (s shelf) item(m *stored) journal.Item {
	return journal.Item{Key: strings.TrimPrefix(m.subject, s.base()), Rev: m.rev(), Value: m.frame.payload}
}

func (s shelf) Get(ctx context.Context, key string) (journal.Item, error) {
	if err := journal.CheckItem(s.name, key, 0, 0); err != nil {
		return journal.Item{}, err
	}
	m, err := s.j.shelf.get(ctx, s.base()+key)
	switch {
	case err != nil:
		return journal.Item{}, err
	case m.frame.kind != kindItem:
		return journal.Item{}, corrupt(m.subject+" is not an item", nil)
	}
	return s.item(&m), nil
}

// filters are the subjects of prefix itself and of what is below it.
func (s shelf) filters(prefix string) []string {
	if prefix == "" {
		return []string{s.base() + ">"}
	}
	return []string{s.base() + prefix, s.base() + prefix + ".>"}
}

func (s shelf) Scan(ctx context.Context, prefix string) iter.Seq2[journal.Item, error] {
	return func(yield func(journal.Item, error) bool) {
		if err := journal.CheckPrefix(s.name, prefix); err != nil {
			yield(journal.Item{}, err)
			return
		}
		for m, err := range s.j.shelf.records(ctx, s.filters(prefix)...) {
			if err != nil {
				yield(journal.Item{}, err)
				return
			}
			if !yield(s.item(&m), nil) {
				return
			}
		}
	}
}
