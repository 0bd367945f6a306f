package journaltest

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/answerback/answerback/internal/journal"
)

// fill creates records with all the hands it has, because one write to disk
// takes its time.
func fill(t *testing.T, j journal.Journal, n int, ask func(i int) journal.Record) {
	t.Helper()
	var wg sync.WaitGroup
	next := numbers(n)
	errs := make(chan error, 16)
	for range 16 {
		wg.Go(func() {
			for i := range next {
				if _, err := j.Create(t.Context(), ask(i)); err != nil {
					select {
					case errs <- err:
					default:
					}
					return
				}
			}
		})
	}
	wg.Wait()
	select {
	case err := <-errs:
		t.Fatal(err)
	default:
	}
}

func openHome(t *testing.T, o Opened) {
	const n = 500
	fill(t, o.Journal, n, func(i int) journal.Record {
		r := record(fmt.Sprint("ask-", i))
		r.Shard = uint16(i * 7919)
		return r
	})
	other := record("other")
	other.Home = "fedcba9876543210"
	create(t, o.Journal, other)
	end := settled(create(t, o.Journal, record("settled")), "answered")
	end.Rev = must(o.Journal.Update(t.Context(), end))(t)

	seen := map[string]journal.Record{}
	for _, r := range collect(t, o.Journal.Open(t.Context(), home)) {
		if _, twice := seen[r.ID]; twice {
			t.Errorf("%s came twice, though nothing changed", r.ID)
		}
		seen[r.ID] = r
	}
	if len(seen) != n+1 {
		t.Fatalf("the home has %d records, want %d", len(seen), n+1)
	}
	wantRecord(t, seen["settled"], end)
	for i := range n {
		r := seen[fmt.Sprint("ask-", i)]
		if string(r.Body) != "body of "+r.ID || r.Shard != uint16(i*7919) || r.Home != home || r.Rev.IsZero() {
			t.Fatalf("ask %d was read as %s", i, show(r))
		}
	}
	if none := collect(t, o.Journal.Open(t.Context(), "nobody")); len(none) != 0 {
		t.Errorf("a home without records has %d", len(none))
	}
	for _, err := range o.Journal.Open(t.Context(), "*") {
		wantErr(t, err, journal.Invalid)
	}
}

// openWhileChanging updates records all the time: each must still come, in
// the version that it had at the beginning or a newer one.
func openWhileChanging(t *testing.T, o Opened) {
	const n = 300
	fill(t, o.Journal, n, func(i int) journal.Record { return record(fmt.Sprint("ask-", i)) })
	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	defer wg.Wait()
	defer stop()
	all := collect(t, o.Journal.Open(t.Context(), home))
	wg.Go(func() {
		for i := 0; ctx.Err() == nil; i = (i + 1) % len(all) {
			if rev, err := o.Journal.Update(ctx, all[i]); err == nil {
				all[i].Rev = rev
			}
		}
	})
	for range 5 {
		seen := map[string]uint64{}
		for r, err := range o.Journal.Open(t.Context(), home) {
			if err != nil {
				t.Fatal(err)
			}
			if r.Rev.Seq <= seen[r.ID] {
				t.Fatalf("an older version of %s came after a newer one", r.ID)
			}
			seen[r.ID] = r.Rev.Seq
		}
		if len(seen) != n {
			t.Fatalf("%d of %d records came", len(seen), n)
		}
	}
}

func openGivenUp(t *testing.T, o Opened) {
	fill(t, o.Journal, 50, func(i int) journal.Record { return record(fmt.Sprint("ask-", i)) })
	n := 0
	for _, err := range o.Journal.Open(t.Context(), home) {
		if err != nil {
			t.Fatal(err)
		}
		if n++; n == 3 {
			break
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	n = 0
	var last error
	for _, err := range o.Journal.Open(ctx, home) {
		cancel()
		if last = err; err == nil {
			n++
		}
	}
	wantErr(t, last, journal.Unavailable)
	if n == 50 {
		t.Error("all records came after the context had ended")
	}
}

func list(t *testing.T, o Opened) {
	base := record("x").Asked
	for i := range 10 {
		r := record(fmt.Sprint("mine-", i))
		r.Asked = base.Add(-time.Duration(i) * time.Minute) // the last one is the oldest
		create(t, o.Journal, r)
	}
	neighbour := record("neighbour") // another addressee with the same hash
	neighbour.Addressee = "https://id.example.com|bert"
	create(t, o.Journal, neighbour)
	far := record("far")
	far.Shard++
	create(t, o.Journal, far)
	elsewhere := record("elsewhere") // asked through another gateway
	elsewhere.Home, elsewhere.Asked = "fedcba9876543210", base.Add(time.Hour)
	create(t, o.Journal, elsewhere)
	end := settled(create(t, o.Journal, record("settled")), "answered")
	end.Rev = must(o.Journal.Update(t.Context(), end))(t)

	mine := record("x")
	got := must(o.Journal.List(t.Context(), mine.Shard, mine.Addressee, 100))(t)
	if len(got) != 11 {
		t.Fatalf("the list has %d records, want 11", len(got))
	}
	if got[0].ID != "mine-9" || got[9].ID != "mine-0" || got[10].ID != "elsewhere" {
		t.Errorf("the list is not in the order of asking: %s, %s, %s", got[0].ID, got[9].ID, got[10].ID)
	}
	got = must(o.Journal.List(t.Context(), mine.Shard, mine.Addressee, 3))(t)
	if len(got) != 3 || got[0].ID != "mine-9" || got[2].ID != "mine-7" {
		t.Errorf("the short list has %d records from %s", len(got), got[0].ID)
	}
	if none := must(o.Journal.List(t.Context(), mine.Shard, "nobody", 100))(t); len(none) != 0 {
		t.Errorf("the list of nobody has %d records", len(none))
	}
	_, err := o.Journal.List(t.Context(), mine.Shard, mine.Addressee, 0)
	wantErr(t, err, journal.Invalid)
}

func settledOf(t *testing.T, o Opened) {
	end := func(id string, change func(*journal.Record)) journal.Record {
		r := record(id)
		change(&r)
		r = settled(create(t, o.Journal, r), "end of "+id)
		r.Rev = must(o.Journal.Update(t.Context(), r))(t)
		return r
	}
	mine := end("mine", func(*journal.Record) {})
	elsewhere := end("elsewhere", func(r *journal.Record) { r.Home = "fedcba9876543210" })
	end("neighbour", func(r *journal.Record) { r.Addressee = "https://id.example.com|bert" }) // with the same hash
	end("far", func(r *journal.Record) { r.Shard++ })
	create(t, o.Journal, record("open"))

	seen := map[string]journal.Record{}
	for _, r := range collect(t, o.Journal.Settled(t.Context(), mine.Shard, mine.Addressee)) {
		seen[r.ID] = r
	}
	if len(seen) != 2 {
		t.Fatalf("%d records were read, want 2", len(seen))
	}
	wantRecord(t, seen["mine"], mine)
	wantRecord(t, seen["elsewhere"], elsewhere)
	if none := collect(t, o.Journal.Settled(t.Context(), mine.Shard, "nobody")); len(none) != 0 {
		t.Errorf("of nobody there are %d", len(none))
	}
	for range o.Journal.Settled(t.Context(), mine.Shard, mine.Addressee) {
		break // whoever reads may have had enough
	}
}

func listMany(t *testing.T, o Opened) {
	n, others := 400, 1_600
	base := record("x").Asked
	fill(t, o.Journal, n+others, func(i int) journal.Record {
		r := record(fmt.Sprint("ask-", i))
		r.Asked = base.Add(time.Duration(i) * time.Second)
		if i >= n {
			r.Shard, r.Addressee = uint16(i), fmt.Sprint("other-", i)
		}
		return r
	})
	mine := record("x")
	got := must(o.Journal.List(t.Context(), mine.Shard, mine.Addressee, 100))(t)
	if len(got) != 100 || got[0].ID != "ask-0" || got[99].ID != "ask-99" {
		t.Fatalf("the first 100 of %d are %d from %s", n, len(got), got[0].ID)
	}
	if all := must(o.Journal.List(t.Context(), mine.Shard, mine.Addressee, n+others))(t); len(all) != n {
		t.Fatalf("the whole list has %d records, want %d", len(all), n)
	}
	count := 0
	for _, err := range o.Journal.Open(t.Context(), home) {
		if err != nil {
			t.Fatal(err)
		}
		count++
	}
	if count != n+others {
		t.Fatalf("the home has %d records, want %d", count, n+others)
	}
}

// numbers gives a channel of 0 to n-1.
func numbers(n int) <-chan int {
	c := make(chan int, n)
	for i := range n {
		c <- i
	}
	close(c)
	return c
}
