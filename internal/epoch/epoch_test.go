package epoch

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/answerback/answerback/internal/journal"
	"github.com/answerback/answerback/internal/journal/memjournal"
)

func newStore(t *testing.T) journal.Journal {
	t.Helper()
	store, err := memjournal.New(memjournal.Config{Now: time.Now, MaxBytes: 1 << 20, MaxAudit: 10})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close(context.Background()) })
	return store
}

func TestEveryStartRaisesItByOne(t *testing.T) {
	store := newStore(t)
	for want := uint64(1); want < 5; want++ {
		for _, home := range []string{"one", "two"} {
			if got, err := Raise(t.Context(), store.Shelf(Shelf), home); err != nil || got != want {
				t.Errorf("%s: %d, %v, want %d", home, got, err, want)
			}
		}
	}
}

func TestWhatElseTheRecordHoldsStays(t *testing.T) {
	shelf := newStore(t).Shelf(Shelf)
	if _, err := shelf.Put(t.Context(), "one", journal.Rev{}, []byte(`{"epoch":7,"owner":{"a":1.10}}`), 0); err != nil {
		t.Fatal(err)
	}
	if got, err := Raise(t.Context(), shelf, "one"); err != nil || got != 8 {
		t.Errorf("%d, %v", got, err)
	}
	item, err := shelf.Get(t.Context(), "one")
	if err != nil {
		t.Fatal(err)
	}
	var record map[string]json.RawMessage
	if err := json.Unmarshal(item.Value, &record); err != nil || string(record["owner"]) != `{"a":1.10}` {
		t.Errorf("%s, %v", item.Value, err)
	}
}

func TestARecordThatCannotBeReadIsNotReplaced(t *testing.T) {
	for _, bad := range []string{"garbage", `{}`, `{"epoch":"x"}`, `{"epoch":-1}`} {
		shelf := newStore(t).Shelf(Shelf)
		if _, err := shelf.Put(t.Context(), "one", journal.Rev{}, []byte(bad), 0); err != nil {
			t.Fatal(err)
		}
		if got, err := Raise(t.Context(), shelf, "one"); err == nil {
			t.Errorf("%s: %d", bad, got)
		}
		if item, err := shelf.Get(t.Context(), "one"); err != nil || string(item.Value) != bad {
			t.Errorf("%s became %s, %v", bad, item.Value, err)
		}
	}
}

// meeting is a shelf at which two processes read before either writes.
type meeting struct {
	journal.Shelf
	read *sync.WaitGroup
}

func (m meeting) Get(ctx context.Context, key string) (journal.Item, error) {
	it, err := m.Shelf.Get(ctx, key)
	m.read.Done()
	m.read.Wait()
	return it, err
}

// Of two that start with one home at once, one is refused: at the first start
// and at a later one.
func TestATwinIsRefused(t *testing.T) {
	shelf := newStore(t).Shelf(Shelf)
	for start := range uint64(2) {
		var read sync.WaitGroup
		read.Add(2)
		errs := make(chan error, 2)
		for range 2 {
			go func() {
				_, err := Raise(t.Context(), meeting{shelf, &read}, "one")
				errs <- err
			}()
		}
		first, second := <-errs, <-errs
		if first != nil {
			first, second = second, first
		}
		if first != nil || !errors.Is(second, ErrTwin) {
			t.Errorf("start %d: %v and %v", start, first, second)
		}
		if item, _ := shelf.Get(t.Context(), "one"); item.Rev.Version != uint32(start+1) {
			t.Errorf("start %d: written %d times", start, item.Rev.Version)
		}
	}
}

// doubtful is a shelf whose first writes are stored, or not, and say neither.
type doubtful struct {
	journal.Shelf
	left  int
	store bool
}

func (d *doubtful) Put(ctx context.Context, key string, rev journal.Rev, value []byte, ttl time.Duration) (journal.Rev, error) {
	if d.left == 0 {
		return d.Shelf.Put(ctx, key, rev, value, ttl)
	}
	d.left--
	if d.store {
		if _, err := d.Shelf.Put(ctx, key, rev, value, ttl); err != nil {
			return journal.Rev{}, err
		}
	}
	return journal.Rev{}, &journal.Error{Reason: journal.Unavailable, Message: "no answer"}
}

// A write whose end is not known is repeated, and counts once.
func TestAnAttemptInDoubtCountsOnce(t *testing.T) {
	for _, stored := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			shelf := newStore(t).Shelf(Shelf)
			for want := uint64(1); want < 3; want++ {
				if got, err := Raise(t.Context(), &doubtful{Shelf: shelf, left: 1, store: stored}, "one"); err != nil || got != want {
					t.Errorf("stored %t: %d, %v, want %d", stored, got, err, want)
				}
			}
			if _, err := Raise(t.Context(), &doubtful{Shelf: shelf, left: 1000}, "one"); !errors.Is(err, journal.Unavailable) {
				t.Errorf("a store that never answers: %v", err)
			}
		})
	}
}
