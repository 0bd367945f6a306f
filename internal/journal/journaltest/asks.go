package journaltest

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/answerback/answerback/internal/journal"
)

func createAndGet(t *testing.T, o Opened) {
	want := create(t, o.Journal, record("one"))
	if want.Rev.IsZero() || want.Rev.Version != 1 {
		t.Fatalf("a new record has revision %+v", want.Rev)
	}
	got := must(o.Journal.Get(t.Context(), want.Key))(t)
	wantRecord(t, got, want)

	got.Body[0] ^= 1
	wantRecord(t, must(o.Journal.Get(t.Context(), want.Key))(t), want)

	for _, other := range []journal.Key{
		{Shard: want.Shard, Home: home, ID: "two"},
		{Shard: want.Shard, Home: "elsewhere", ID: "one"},
		{Shard: want.Shard + 1, Home: home, ID: "one"},
	} {
		_, err := o.Journal.Get(t.Context(), other)
		wantErr(t, err, journal.NotFound)
	}
}

func createTwice(t *testing.T, o Opened) {
	first := create(t, o.Journal, record("one"))
	second := record("one")
	second.Body = []byte("another")
	_, err := o.Journal.Create(t.Context(), second)
	e := wantErr(t, err, journal.Exists)
	if e.Current == nil {
		t.Fatal("the error does not have the current record")
	}
	wantRecord(t, *e.Current, first)
	wantRecord(t, must(o.Journal.Get(t.Context(), first.Key))(t), first)
}

func update(t *testing.T, o Opened) {
	r := create(t, o.Journal, record("one"))
	r.Body = []byte("shown")
	r.Rev = must(o.Journal.Update(t.Context(), r))(t)
	wantRecord(t, must(o.Journal.Get(t.Context(), r.Key))(t), r)
	r = settled(r, "answered")
	r.Rev = must(o.Journal.Update(t.Context(), r))(t)
	wantRecord(t, must(o.Journal.Get(t.Context(), r.Key))(t), r)
	r.Body = []byte("delivered")
	r.Rev = must(o.Journal.Update(t.Context(), r))(t)
	wantRecord(t, must(o.Journal.Get(t.Context(), r.Key))(t), r)
	if r.Rev.Version != 4 {
		t.Errorf("the fourth version is numbered %d", r.Rev.Version)
	}
}

func updateConflict(t *testing.T, o Opened) {
	r := create(t, o.Journal, record("one"))
	winner := settled(r, "first")
	winner.Rev = must(o.Journal.Update(t.Context(), winner))(t)

	_, err := o.Journal.Update(t.Context(), settled(r, "second"))
	e := wantErr(t, err, journal.Conflict)
	if e.Current == nil {
		t.Fatal("the error does not have the current record")
	}
	wantRecord(t, *e.Current, winner)
	wantRecord(t, must(o.Journal.Get(t.Context(), r.Key))(t), winner)
}

func updateMissing(t *testing.T, o Opened) {
	other := create(t, o.Journal, record("one"))
	r := record("two")
	r.Rev = other.Rev
	_, err := o.Journal.Update(t.Context(), r)
	wantErr(t, err, journal.NotFound)
	r.Rev = journal.Rev{}
	_, err = o.Journal.Update(t.Context(), r)
	wantErr(t, err, journal.Invalid)
}

func reopenSettled(t *testing.T, o Opened) {
	r := create(t, o.Journal, record("one"))
	end := settled(r, "answered")
	end.Rev = must(o.Journal.Update(t.Context(), end))(t)
	again := r
	again.Rev = end.Rev
	_, err := o.Journal.Update(t.Context(), again)
	wantErr(t, err, journal.Invalid)
	wantRecord(t, must(o.Journal.Get(t.Context(), r.Key))(t), end)
}

// contend runs 200 attempts at once, and checks that one won and that the
// others were told why.
func contend(t *testing.T, lost journal.Reason, attempt func(i int) error) (winner int) {
	t.Helper()
	const n = 200
	var won atomic.Int64
	errs := make([]error, n)
	start := make(chan struct{})
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			<-start
			if errs[i] = attempt(i); errs[i] == nil {
				won.Add(1)
				winner = i
			}
		})
	}
	close(start)
	wg.Wait()
	if won.Load() != 1 {
		t.Fatalf("%d of %d won", won.Load(), n)
	}
	for _, err := range errs {
		if err != nil && !errors.Is(err, lost) {
			t.Fatalf("a loser was told %v, want %q", err, lost)
		}
	}
	return winner
}

func settleAtOnce(t *testing.T, o Opened) {
	r := create(t, o.Journal, record("one"))
	winner := contend(t, journal.Conflict, func(i int) error {
		_, err := o.Journal.Update(t.Context(), settled(r, fmt.Sprint("answer ", i)))
		return err
	})
	got := must(o.Journal.Get(t.Context(), r.Key))(t)
	if want := fmt.Sprint("answer ", winner); string(got.Body) != want || !got.Settled {
		t.Errorf("stored is %q, want %q", got.Body, want)
	}
}

func createAtOnce(t *testing.T, o Opened) {
	winner := contend(t, journal.Exists, func(i int) error {
		r := record("one")
		r.Body = fmt.Append(nil, "ask ", i)
		_, err := o.Journal.Create(t.Context(), r)
		return err
	})
	got := must(o.Journal.Get(t.Context(), record("one").Key))(t)
	if want := fmt.Sprint("ask ", winner); string(got.Body) != want {
		t.Errorf("stored is %q, want %q", got.Body, want)
	}
}

func badRecords(t *testing.T, o Opened) {
	for name, c := range map[string]struct {
		change func(*journal.Record)
		want   journal.Reason
	}{
		"no id":             {func(r *journal.Record) { r.ID = "" }, journal.Invalid},
		"a wildcard":        {func(r *journal.Record) { r.ID = "*" }, journal.Invalid},
		"a dot in the id":   {func(r *journal.Record) { r.ID = "a.b" }, journal.Invalid},
		"a space":           {func(r *journal.Record) { r.ID = "a b" }, journal.Invalid},
		"a line break":      {func(r *journal.Record) { r.ID = "a\r\nb" }, journal.Invalid},
		"a long id":         {func(r *journal.Record) { r.ID = strings.Repeat("a", 129) }, journal.Invalid},
		"no home":           {func(r *journal.Record) { r.Home = "" }, journal.Invalid},
		"a wildcard home":   {func(r *journal.Record) { r.Home = ">" }, journal.Invalid},
		"a revision":        {func(r *journal.Record) { r.Rev = journal.Rev{Seq: 1, Version: 1} }, journal.Invalid},
		"open and kept":     {func(r *journal.Record) { r.Keep = time.Hour }, journal.Invalid},
		"settled, not kept": {func(r *journal.Record) { r.Settled = true }, journal.Invalid},
		"a long addressee":  {func(r *journal.Record) { r.Addressee = strings.Repeat("a", journal.MaxAddressee+1) }, journal.TooLarge},
		"a long body":       {func(r *journal.Record) { r.Body = make([]byte, journal.MaxBody+1) }, journal.TooLarge},
	} {
		r := record("one")
		c.change(&r)
		if _, err := o.Journal.Create(t.Context(), r); !errors.Is(err, c.want) {
			t.Errorf("%s: got error %v, want %q", name, err, c.want)
		}
	}
	if all := collect(t, o.Journal.Open(t.Context(), home)); len(all) != 0 {
		t.Errorf("%d records were stored", len(all))
	}
	_, err := o.Journal.Get(t.Context(), journal.Key{Home: home, ID: "*"})
	wantErr(t, err, journal.Invalid)
}

func largestBody(t *testing.T, o Opened) {
	r := record(strings.Repeat("i", 128))
	r.Home = strings.Repeat("h", 128)
	r.Addressee = strings.Repeat("a", journal.MaxAddressee)
	r.Body = make([]byte, journal.MaxBody)
	for i := range r.Body {
		r.Body[i] = byte(i * 31)
	}
	r = create(t, o.Journal, r)
	wantRecord(t, must(o.Journal.Get(t.Context(), r.Key))(t), r)
	all := collect(t, o.Journal.Open(t.Context(), r.Home))
	if len(all) != 1 {
		t.Fatalf("the home has %d records", len(all))
	}
	wantRecord(t, all[0], r)
	r.Settled, r.Keep = true, time.Hour
	r.Rev = must(o.Journal.Update(t.Context(), r))(t)
	wantRecord(t, must(o.Journal.Get(t.Context(), r.Key))(t), r)
}

func forget(t *testing.T, o Opened) {
	open := create(t, o.Journal, record("open"))
	long := settled(create(t, o.Journal, record("long")), "answered")
	long.Rev = must(o.Journal.Update(t.Context(), long))(t)
	short := settled(create(t, o.Journal, record("short")), "answered")
	short.Keep = time.Second
	short.Rev = must(o.Journal.Update(t.Context(), short))(t)
	// The time counts from the last version, and holds for it too.
	short.Body = []byte("delivered")
	short.Rev = must(o.Journal.Update(t.Context(), short))(t)

	eventually(t, "the settled record is forgotten", func() bool {
		_, err := o.Journal.Get(t.Context(), short.Key)
		return errors.Is(err, journal.NotFound)
	})
	_, err := o.Journal.Update(t.Context(), short)
	wantErr(t, err, journal.NotFound)
	wantRecord(t, must(o.Journal.Get(t.Context(), open.Key))(t), open)
	wantRecord(t, must(o.Journal.Get(t.Context(), long.Key))(t), long)
}
