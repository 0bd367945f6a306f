package journaltest

import (
	"fmt"
	"testing"
	"time"

	"github.com/answerback/answerback/internal/journal"
)

// until checks that a version stays for as long as those before it.
func until(t *testing.T, before, now journal.Rev) journal.Rev {
	t.Helper()
	if now.Until < before.Until || now.Expires > now.Until {
		t.Errorf("version %d stays until %d, expires at %d, and replaced one that stays until %d", now.Version, now.Until, now.Expires, before.Until)
	}
	return now
}

// monotone writes versions whose times go up and down.
func monotone(t *testing.T, o Opened) {
	ctx, s := t.Context(), o.Journal.Shelf("tasks")
	var rev journal.Rev
	for i, ttl := range []time.Duration{2 * time.Minute, time.Hour, time.Minute, 0, 2 * time.Minute} {
		rev = until(t, rev, must(s.Put(ctx, "item", rev, fmt.Append(nil, i), ttl))(t))
		if (ttl == 0) != (rev.Expires == journal.Never) {
			t.Errorf("with a ttl of %v it expires at %d", ttl, rev.Expires)
		}
	}
	if rev.Until != journal.Never {
		t.Errorf("what replaced an item without a time stays until %d", rev.Until)
	}

	r := record("one")
	r.Deadline = time.Now().Add(48 * time.Hour)
	r.Rev = until(t, journal.Rev{}, must(o.Journal.Create(ctx, r))(t))
	if last := r.Deadline.Add(time.Minute).UnixNano(); r.Rev.Expires < last {
		t.Errorf("an open record expires at %d, and its deadline is at %d", r.Rev.Expires, last)
	}
	r.Deadline = r.Deadline.Add(24 * time.Hour) // extended
	extended := until(t, r.Rev, must(o.Journal.Update(ctx, r))(t))
	if extended.Expires <= r.Rev.Expires {
		t.Error("a later deadline changes nothing")
	}
	r.Rev = extended
	r.Deadline = time.Now().Add(time.Hour)
	r.Rev = until(t, r.Rev, must(o.Journal.Update(ctx, r))(t))
	r = settled(r, "answered")
	r.Rev = until(t, r.Rev, must(o.Journal.Update(ctx, r))(t))
	r.Keep = time.Second
	until(t, r.Rev, must(o.Journal.Update(ctx, r))(t))
}

// expireEarly puts an item that expires before the one that it replaced.
func expireEarly(t *testing.T, o Opened) {
	ctx, s := t.Context(), o.Journal.Shelf("tasks")
	for _, long := range []time.Duration{time.Hour, 0} {
		key := fmt.Sprint("long-", int(long.Hours()))
		rev := must(s.Put(ctx, key, journal.Rev{}, []byte("long"), long))(t)
		rev = must(s.Put(ctx, key, rev, []byte("short"), time.Second))(t)
		gone(t, s, key)
		_, err := s.Put(ctx, key, rev, []byte("late"), 0)
		wantErr(t, err, journal.NotFound)
		wantErr(t, s.Delete(ctx, key, rev), journal.NotFound)
		if left := collect(t, s.Scan(ctx, key)); len(left) != 0 {
			t.Errorf("%d items are scanned", len(left))
		}
		again := must(s.Put(ctx, key, journal.Rev{}, []byte("again"), time.Hour))(t)
		wantItem(t, s, key, again, "again")
		_, err = s.Put(ctx, key, rev, []byte("late"), 0)
		if e := wantErr(t, err, journal.Conflict); e.Item == nil || e.Item.Rev != again {
			t.Errorf("the error does not have the current item: %+v", e.Item)
		}
		_, err = s.Put(ctx, key, journal.Rev{}, nil, 0)
		wantErr(t, err, journal.Exists)
	}
}

// endAndBegin ends an item and creates it again, several times, before the
// eyes of a watch.
func endAndBegin(t *testing.T, o Opened) {
	ctx, s := t.Context(), o.Journal.Shelf("tasks")
	changes := make(chan journal.Change, 100)
	stop := must(s.Watch(ctx, "", func(c journal.Change) { changes <- c }))(t)
	defer stop()
	for i, ttl := range []time.Duration{time.Hour, 0, time.Minute, 0} {
		value := fmt.Sprint("value ", i)
		rev := must(s.Put(ctx, "key", journal.Rev{}, []byte(value), ttl))(t)
		wantItem(t, s, "key", rev, value)
		if err := s.Delete(ctx, "key", rev); err != nil {
			t.Fatal(err)
		}
		wantErr(t, s.Delete(ctx, "key", rev), journal.NotFound)
		if c := receive(t, changes); c.Deleted || string(c.Item.Value) != value || c.Item.Rev != rev {
			t.Fatalf("the watch saw %+v, want %q", c, value)
		}
		if c := receive(t, changes); !c.Deleted || c.Item.Key != "key" || len(c.Item.Value) != 0 {
			t.Fatalf("the watch saw %+v, want the end", c)
		}
	}
	winner := contend(t, journal.Exists, func(i int) error {
		_, err := s.Put(ctx, "key", journal.Rev{}, fmt.Append(nil, i), 0)
		return err
	})
	if got := must(s.Get(ctx, "key"))(t); string(got.Value) != fmt.Sprint(winner) {
		t.Errorf("stored is %q, but %d won", got.Value, winner)
	}
}
