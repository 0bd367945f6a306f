package journaltest

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/answerback/answerback/internal/journal"
)

func watch(t *testing.T, o Opened) {
	before := create(t, o.Journal, record("before"))
	wakes := make(chan journal.Wake, 1000)
	stop := must(o.Journal.Watch(t.Context(), home, func(w journal.Wake) { wakes <- w }))(t)
	defer stop()

	r := create(t, o.Journal, record("one"))
	other := record("other")
	other.Home = "fedcba9876543210"
	create(t, o.Journal, other)
	if _, err := o.Journal.Create(t.Context(), record("one")); err == nil {
		t.Fatal("the second create was stored")
	}
	winner := contend(t, journal.Conflict, func(i int) error {
		_, err := o.Journal.Update(t.Context(), settled(r, fmt.Sprint("answer ", i)))
		return err
	})
	before = settled(before, "the end")
	before.Rev = must(o.Journal.Update(t.Context(), before))(t)

	wantRecord(t, receive(t, wakes).Record, r)
	second := receive(t, wakes).Record
	if want := fmt.Sprint("answer ", winner); string(second.Body) != want || !second.Settled {
		t.Fatalf("the watch saw %q, stored was %q", second.Body, want)
	}
	wantRecord(t, second, must(o.Journal.Get(t.Context(), r.Key))(t))
	// The records of different asks can be in different places, which do not
	// wait for each other, so this one is asked for last.
	wantRecord(t, receive(t, wakes).Record, before)
	if len(wakes) != 0 {
		w := <-wakes
		t.Errorf("the watch also saw %s", show(w.Record))
	}
}

func watchOrder(t *testing.T, o Opened) {
	wakes := make(chan journal.Wake, 1000)
	stop := must(o.Journal.Watch(t.Context(), home, func(w journal.Wake) { wakes <- w }))(t)
	defer stop()
	var wg sync.WaitGroup
	const asks, versions = 8, 20
	for i := range asks {
		wg.Go(func() {
			r := record(fmt.Sprint("ask-", i))
			r.Shard = uint16(i)
			var err error
			for n := range versions {
				if n == 0 {
					r.Rev, err = o.Journal.Create(t.Context(), r)
				} else {
					r.Rev, err = o.Journal.Update(t.Context(), r)
				}
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	last := map[string]uint32{}
	for range asks * versions {
		r := receive(t, wakes).Record
		if r.Rev.Version != last[r.ID]+1 {
			t.Fatalf("version %d of %s came after version %d", r.Rev.Version, r.ID, last[r.ID])
		}
		last[r.ID] = r.Rev.Version
	}
}

func watchStopped(t *testing.T, o Opened) {
	calls := make(chan string, 10)
	first := must(o.Journal.Watch(t.Context(), home, func(journal.Wake) { calls <- "first" }))(t)
	second := must(o.Journal.Watch(t.Context(), home, func(journal.Wake) { calls <- "second" }))(t)
	first()
	create(t, o.Journal, record("one"))
	if who := receive(t, calls); who != "second" {
		t.Errorf("the %s watch was called, which had been stopped", who)
	}
	second()
	second() // again changes nothing
	create(t, o.Journal, record("two"))
	if len(calls) != 0 {
		t.Errorf("the %s watch was called, which had been stopped", <-calls)
	}
	_, err := o.Journal.Watch(t.Context(), "*", func(journal.Wake) {})
	wantErr(t, err, journal.Invalid)
}

func cancelled(t *testing.T, o Opened) {
	j, s := o.Journal, o.Journal.Shelf("test")
	r := create(t, j, record("one"))
	if err := j.Append(t.Context(), []byte("entry")); err != nil {
		t.Fatal(err)
	}
	rev := must(s.Put(t.Context(), "key", journal.Rev{}, []byte("value"), 0))(t)

	for name, call := range map[string]func(context.Context) error{
		"Create": func(ctx context.Context) error { _, err := j.Create(ctx, record("two")); return err },
		"Update": func(ctx context.Context) error { _, err := j.Update(ctx, settled(r, "end")); return err },
		"Get":    func(ctx context.Context) error { _, err := j.Get(ctx, r.Key); return err },
		"List":   func(ctx context.Context) error { _, err := j.List(ctx, r.Shard, r.Addressee, 1); return err },
		"Append": func(ctx context.Context) error { return j.Append(ctx, []byte("entry")) },
		"Put": func(ctx context.Context) error {
			_, err := s.Put(ctx, "other", journal.Rev{}, nil, 0)
			return err
		},
		"Shelf.Get": func(ctx context.Context) error { _, err := s.Get(ctx, "key"); return err },
		"Delete":    func(ctx context.Context) error { return s.Delete(ctx, "key", rev) },
		"Open":      func(ctx context.Context) error { return lastError(j.Open(ctx, home)) },
		"Settled":   func(ctx context.Context) error { return lastError(j.Settled(ctx, r.Shard, r.Addressee)) },
		"Scan":      func(ctx context.Context) error { return lastError(s.Scan(ctx, "")) },
		"ReadAudit": func(ctx context.Context) error { return lastError(j.ReadAudit(ctx, 0)) },
	} {
		began := time.Now()
		err := call(over())
		if e := wantErr(t, err, journal.Unavailable); e.Cause == nil {
			t.Errorf("%s does not say why", name)
		}
		if took := time.Since(began); took > patience/3 {
			t.Errorf("%s took %v though its context had ended", name, took)
		}
	}
	wantRecord(t, must(j.Get(t.Context(), r.Key))(t), r)
	// The store goes on as before.
	r = settled(r, "end")
	r.Rev = must(j.Update(t.Context(), r))(t)
	wantRecord(t, must(j.Get(t.Context(), r.Key))(t), r)
}

func lastError[V any](seq func(func(V, error) bool)) (last error) {
	seq(func(_ V, err error) bool {
		last = err
		return true
	})
	return last
}
