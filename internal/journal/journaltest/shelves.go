package journaltest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/answerback/answerback/internal/journal"
)

func wantItem(t *testing.T, s journal.Shelf, key string, rev journal.Rev, value string) {
	t.Helper()
	got := must(s.Get(t.Context(), key))(t)
	if got.Key != key || got.Rev != rev || string(got.Value) != value {
		t.Fatalf("%s is %+v, want %q at %+v", key, got, value, rev)
	}
}

func shelf(t *testing.T, o Opened) {
	ctx, s := t.Context(), o.Journal.Shelf("sessions")
	_, err := s.Get(ctx, "a.b")
	wantErr(t, err, journal.NotFound)

	first := must(s.Put(ctx, "a.b", journal.Rev{}, []byte("one"), 0))(t)
	wantItem(t, s, "a.b", first, "one")
	_, err = s.Put(ctx, "a.b", journal.Rev{}, []byte("again"), 0)
	if e := wantErr(t, err, journal.Exists); e.Item == nil || string(e.Item.Value) != "one" {
		t.Errorf("the error does not have the current item: %+v", e.Item)
	}
	second := must(s.Put(ctx, "a.b", first, []byte("two"), time.Hour))(t)
	wantItem(t, s, "a.b", second, "two")
	_, err = s.Put(ctx, "a.b", first, []byte("three"), 0)
	if e := wantErr(t, err, journal.Conflict); e.Item == nil || e.Item.Rev != second {
		t.Errorf("the error does not have the current item: %+v", e.Item)
	}

	wantErr(t, s.Delete(ctx, "a.b", first), journal.Conflict)
	wantItem(t, s, "a.b", second, "two")
	if err := s.Delete(ctx, "a.b", second); err != nil {
		t.Fatal(err)
	}
	_, err = s.Get(ctx, "a.b")
	wantErr(t, err, journal.NotFound)
	wantErr(t, s.Delete(ctx, "a.b", second), journal.NotFound)
	_, err = s.Put(ctx, "a.b", second, []byte("four"), 0)
	wantErr(t, err, journal.NotFound)
	if left := collect(t, s.Scan(ctx, "")); len(left) != 0 {
		t.Errorf("%d items are left", len(left))
	}

	again := must(s.Put(ctx, "a.b", journal.Rev{}, nil, 0))(t)
	wantItem(t, s, "a.b", again, "")
	_, err = s.Put(ctx, "a.b", first, []byte("five"), 0)
	wantErr(t, err, journal.Conflict)
}

func shelvesApart(t *testing.T, o Opened) {
	ctx := t.Context()
	a, b := o.Journal.Shelf("a"), o.Journal.Shelf("b")
	rev := must(a.Put(ctx, "key", journal.Rev{}, []byte("of a"), 0))(t)
	_, err := b.Get(ctx, "key")
	wantErr(t, err, journal.NotFound)
	must(b.Put(ctx, "key", journal.Rev{}, []byte("of b"), 0))(t)
	wantItem(t, a, "key", rev, "of a")
	wantItem(t, o.Journal.Shelf("a"), "key", rev, "of a")
}

func putAtOnce(t *testing.T, o Opened) {
	s := o.Journal.Shelf("homes")
	rev := must(s.Put(t.Context(), "gateway", journal.Rev{}, []byte("nobody"), 0))(t)
	winner := contend(t, journal.Conflict, func(i int) error {
		_, err := s.Put(t.Context(), "gateway", rev, fmt.Append(nil, i), time.Hour)
		return err
	})
	if got := must(s.Get(t.Context(), "gateway"))(t); string(got.Value) != fmt.Sprint(winner) {
		t.Errorf("stored is %q, but %d won", got.Value, winner)
	}
}

func gone(t *testing.T, s journal.Shelf, key string) {
	t.Helper()
	eventually(t, key+" is gone", func() bool {
		_, err := s.Get(t.Context(), key)
		return errors.Is(err, journal.NotFound)
	})
}

func shelfTTL(t *testing.T, o Opened) {
	ctx, s := t.Context(), o.Journal.Shelf("tasks")
	rev := must(s.Put(ctx, "updated", journal.Rev{}, []byte("one"), time.Hour))(t)
	rev = must(s.Put(ctx, "updated", rev, []byte("two"), time.Second))(t)
	must(s.Put(ctx, "updated", rev, []byte("three"), time.Second))(t)
	must(s.Put(ctx, "created", journal.Rev{}, []byte("one"), time.Second))(t)
	rev = must(s.Put(ctx, "unpinned", journal.Rev{}, []byte("one"), 0))(t)
	must(s.Put(ctx, "unpinned", rev, []byte("two"), time.Second))(t)
	for _, key := range []string{"updated", "created", "unpinned"} {
		gone(t, s, key)
	}
	must(s.Put(ctx, "created", journal.Rev{}, []byte("again"), 0))(t)
}

// shelfNoTTL checks that an item's time does not outlive the version that
// had it.
func shelfNoTTL(t *testing.T, o Opened) {
	ctx, s := t.Context(), o.Journal.Shelf("tasks")
	rev := must(s.Put(ctx, "kept", journal.Rev{}, []byte("one"), time.Second))(t)
	rev = must(s.Put(ctx, "kept", rev, []byte("two"), 0))(t)
	must(s.Put(ctx, "clock", journal.Rev{}, nil, 2*time.Second))(t)
	gone(t, s, "clock")
	wantItem(t, s, "kept", rev, "two")
}

func badItems(t *testing.T, o Opened) {
	ctx := t.Context()
	for _, key := range []string{"", ".", "a.", ".a", "a..b", "*", "a.>", "a b", "a\nb", "ä", strings.Repeat("a.", 8) + "a", strings.Repeat("a", 201)} {
		if _, err := o.Journal.Shelf("test").Put(ctx, key, journal.Rev{}, nil, 0); !errors.Is(err, journal.Invalid) {
			t.Errorf("key %q: got error %v", key, err)
		}
		if _, err := o.Journal.Shelf("test").Get(ctx, key); !errors.Is(err, journal.Invalid) {
			t.Errorf("key %q: got error %v", key, err)
		}
	}
	for _, name := range []string{"", "A", "a.b", "*", "a_b", strings.Repeat("a", 33)} {
		s := o.Journal.Shelf(name)
		if _, err := s.Put(ctx, "key", journal.Rev{}, nil, 0); !errors.Is(err, journal.Invalid) {
			t.Errorf("shelf %q: got error %v", name, err)
		}
		if err := lastError(s.Scan(ctx, "")); !errors.Is(err, journal.Invalid) {
			t.Errorf("shelf %q: got error %v", name, err)
		}
		if _, err := s.Watch(ctx, "", func(journal.Change) {}); !errors.Is(err, journal.Invalid) {
			t.Errorf("shelf %q: got error %v", name, err)
		}
	}
	s := o.Journal.Shelf("test")
	_, err := s.Put(ctx, "key", journal.Rev{}, nil, time.Millisecond)
	wantErr(t, err, journal.Invalid)
	_, err = s.Put(ctx, "key", journal.Rev{}, make([]byte, journal.MaxBody+1), 0)
	wantErr(t, err, journal.TooLarge)
	must(s.Put(ctx, "key", journal.Rev{}, make([]byte, journal.MaxBody), 0))(t)
}

func scan(t *testing.T, o Opened) {
	ctx, s := t.Context(), o.Journal.Shelf("grants")
	for _, key := range []string{"a", "a.b", "a.b.c", "a.bc", "ab", "b"} {
		must(s.Put(ctx, key, journal.Rev{}, []byte("value of "+key), time.Hour))(t)
	}
	must(o.Journal.Shelf("other").Put(ctx, "a.b", journal.Rev{}, nil, 0))(t)
	for prefix, want := range map[string][]string{
		"":        {"a", "a.b", "a.b.c", "a.bc", "ab", "b"},
		"a":       {"a", "a.b", "a.b.c", "a.bc"},
		"a.b":     {"a.b", "a.b.c"},
		"a.b.c":   {"a.b.c"},
		"nothing": nil,
	} {
		var got []string
		for _, i := range collect(t, s.Scan(ctx, prefix)) {
			if string(i.Value) != "value of "+i.Key || i.Rev.IsZero() {
				t.Errorf("%s was read as %+v", i.Key, i)
			}
			got = append(got, i.Key)
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("below %q are %v, want %v", prefix, got, want)
		}
	}
	for range s.Scan(ctx, "") {
		break // giving up must not hang
	}
}

func shelfWatch(t *testing.T, o Opened) {
	ctx, s := t.Context(), o.Journal.Shelf("homes")
	changes := make(chan journal.Change, 100)
	stop := must(s.Watch(ctx, "a", func(c journal.Change) { changes <- c }))(t)
	defer stop()

	must(s.Put(ctx, "ab", journal.Rev{}, []byte("not below"), 0))(t)
	must(o.Journal.Shelf("other").Put(ctx, "a", journal.Rev{}, []byte("elsewhere"), 0))(t)
	rev := must(s.Put(ctx, "a", journal.Rev{}, []byte("one"), 0))(t)
	if _, err := s.Put(ctx, "a", journal.Rev{}, []byte("lost"), 0); err == nil {
		t.Fatal("the second put was stored")
	}
	below := must(s.Put(ctx, "a.b", journal.Rev{}, []byte("two"), time.Hour))(t)
	if err := s.Delete(ctx, "a", rev); err != nil {
		t.Fatal(err)
	}

	var of []journal.Change // changes of different items can overtake each other
	for range 3 {
		c := receive(t, changes)
		if c.Item.Key == "a.b" {
			if string(c.Item.Value) != "two" || c.Item.Rev != below || c.Deleted {
				t.Errorf("the watch saw %+v", c)
			}
			continue
		}
		of = append(of, c)
	}
	if len(of) != 2 || of[0].Item.Key != "a" || string(of[0].Item.Value) != "one" || of[0].Item.Rev != rev || of[0].Deleted {
		t.Fatalf("the watch saw %+v", of)
	}
	if of[1].Item.Key != "a" || !of[1].Deleted || len(of[1].Item.Value) != 0 {
		t.Errorf("the watch saw %+v", of[1])
	}
	if len(changes) != 0 {
		t.Errorf("more came: %+v", <-changes)
	}
}
