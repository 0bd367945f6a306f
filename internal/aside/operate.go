package aside

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/answerback/answerback/internal/journal"
)

// ErrUnknown means that nothing with this key was set aside.
var ErrUnknown = errors.New("nothing with this key was set aside")

// All gives what was set aside, what failed last first.
func (l *List) All() []Item {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := make([]Item, 0, len(l.items))
	for _, e := range l.items {
		if e.item.Key != "" {
			all = append(all, e.item)
		}
	}
	slices.SortFunc(all, func(a, b Item) int { return cmp.Or(b.Last.Compare(a.Last), cmp.Compare(a.Key, b.Key)) })
	return all
}

// Get gives one thing that was set aside.
func (l *List) Get(key string) (Item, error) {
	for _, it := range l.All() {
		if it.Key == key {
			return it, nil
		}
	}
	return Item{}, ErrUnknown
}

// Retry has a thing tried again at the next start.
func (l *List) Retry(key string) (Item, error) {
	it, err := l.Get(key)
	if err != nil {
		return Item{}, err
	}
	it.Retry = true
	return it, l.put(it)
}

// Forget takes a thing off the list. What it names stays where it is stored,
// and comes back to the list where it fails again.
func (l *List) Forget(key string) (Item, error) {
	it, err := l.Get(key)
	if err != nil {
		return Item{}, err
	}
	return it, l.remove(key)
}

// remove takes an item off the list.
func (l *List) remove(key string) error {
	l.mu.Lock()
	var rev journal.Rev
	for name, e := range l.items {
		if e.item.Key == key {
			rev = e.rev
			delete(l.items, name)
		}
	}
	l.mu.Unlock()
	if rev.IsZero() {
		return nil // it was never stored
	}
	ctx, cancel := context.WithTimeout(context.Background(), storeTime)
	defer cancel()
	err := l.cfg.Shelf.Delete(ctx, l.cfg.Home+"."+key, rev)
	if errors.Is(err, journal.NotFound) {
		return nil
	}
	return err
}
