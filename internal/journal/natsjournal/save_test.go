package natsjournal

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/answerback/answerback/internal/journal"
)

// saves runs a test with an embedded store and with an external one, each with
// a second one of its kind that is empty.
func saves(t *testing.T, test func(t *testing.T, from, to *Journal)) {
	t.Run("embedded", func(t *testing.T) { test(t, open(t, config(t)), open(t, config(t))) })
	t.Run("external", func(t *testing.T) {
		_, one := external(t, nil)
		_, two := external(t, nil)
		test(t, open(t, one), open(t, two))
	})
}

func saved(t *testing.T, j *Journal, audit bool) []journal.Saved {
	t.Helper()
	var all []journal.Saved
	for s, err := range j.Save(t.Context(), audit) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, s)
	}
	return all
}

func each(all []journal.Saved) iter.Seq2[journal.Saved, error] {
	return func(yield func(journal.Saved, error) bool) {
		for _, s := range all {
			if !yield(s, nil) {
				return
			}
		}
	}
}

// What a store saves makes another one like it, with the same moments, also
// the ends of items that stay for ever.
func TestSavedIsLoaded(t *testing.T) {
	t.Parallel()
	saves(t, func(t *testing.T, from, to *Journal) {
		ctx := t.Context()
		if empty, err := to.Empty(ctx); err != nil || !empty {
			t.Fatal("a new store is not empty:", err)
		}
		opened := create(t, from, ask("open"))
		settled := create(t, from, ask("settled"))
		settle(t, from, settled, time.Hour)
		shelf := from.Shelf("grants")
		for _, key := range []string{"kept", "ended", "again", "passing"} {
			ttl := time.Duration(0)
			if key == "passing" {
				ttl = time.Hour
			}
			rev, err := shelf.Put(ctx, key, journal.Rev{}, []byte("value of "+key), ttl)
			if err == nil && (key == "ended" || key == "again") {
				err = shelf.Delete(ctx, key, rev)
			}
			if err == nil && key == "again" {
				_, err = shelf.Put(ctx, key, journal.Rev{}, []byte("newer"), 0)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		for i := range 3 {
			if err := from.Append(ctx, fmt.Append(nil, "entry ", i)); err != nil {
				t.Fatal(err)
			}
		}
		if all := saved(t, from, false); len(all) != 6 {
			t.Errorf("%d records without the audit, want 6", len(all))
		}
		info, err := from.Info(ctx)
		if err != nil || info.ID == "" || info.Now == 0 {
			t.Fatal(info, err)
		}
		if err := to.Load(ctx, info.Now, from.Save(ctx, true)); err != nil {
			t.Fatal(err)
		}
		if empty, err := to.Empty(ctx); err != nil || empty {
			t.Error("a loaded store is empty:", err)
		}
		got, err := to.Get(ctx, opened.Key)
		if err != nil || got.Settled || string(got.Body) != string(opened.Body) || got.Rev.Until != opened.Rev.Until || got.Rev.Expires != opened.Rev.Expires {
			t.Errorf("%+v %v, want %+v", got, err, opened)
		}
		was, err := from.Get(ctx, settled.Key)
		if err != nil {
			t.Fatal(err)
		}
		got, err = to.Get(ctx, settled.Key)
		if err != nil || !got.Settled || got.Rev.Until != was.Rev.Until || got.Rev.Expires != was.Rev.Expires {
			t.Errorf("%+v %v, want %+v", got, err, was)
		}
		for key, want := range map[string]string{"kept": "value of kept", "again": "newer", "passing": "value of passing"} {
			if it, err := to.Shelf("grants").Get(ctx, key); err != nil || string(it.Value) != want {
				t.Errorf("%s: %q %v", key, it.Value, err)
			}
		}
		if _, err := to.Shelf("grants").Get(ctx, "ended"); !errors.Is(err, journal.NotFound) {
			t.Errorf("what was ended is there: %v", err)
		}
		ends := func(j *Journal) int {
			return len(slices.DeleteFunc(saved(t, j, false), func(s journal.Saved) bool { return s.Kind != journal.SavedEnd || s.Until != journal.Never }))
		}
		if ends(from) != 1 || ends(to) != 1 {
			t.Errorf("%d ends that stay, and %d in the copy", ends(from), ends(to))
		}
		n := 0
		for e, err := range to.ReadAudit(ctx, 0) {
			if err != nil || string(e.Data) != fmt.Sprint("entry ", n) {
				t.Errorf("entry %d of the audit: %q %v", n, e.Data, err)
			}
			n++
		}
		if n != 3 {
			t.Errorf("%d entries of the audit", n)
		}
	})
}

// While others write, everything that was stored before is saved, and of a
// record that comes twice the last version is loaded.
func TestSaveUnderLoad(t *testing.T) {
	t.Parallel()
	saves(t, func(t *testing.T, from, to *Journal) {
		const writers, before = 8, 40
		ctx, stop := context.WithCancel(t.Context())
		var mu sync.Mutex
		acked := map[string]int{}
		ready := make(chan struct{}, writers)
		var wg sync.WaitGroup
		for w := range writers {
			wg.Go(func() {
				shelf := from.Shelf("load")
				key := fmt.Sprint("counter-", w)
				var rev journal.Rev
				for n := 1; ctx.Err() == nil; n++ {
					next, err := shelf.Put(context.WithoutCancel(ctx), key, rev, fmt.Append(nil, n), 0)
					if err != nil {
						t.Error(err)
						return
					}
					rev = next
					mu.Lock()
					acked[key] = n
					mu.Unlock()
					if n == before {
						ready <- struct{}{}
					}
				}
			})
		}
		for range writers {
			<-ready
		}
		mu.Lock()
		want := map[string]int{}
		for k, n := range acked {
			want[k] = n
		}
		mu.Unlock()
		var all []journal.Saved
		for s, err := range from.Save(t.Context(), false) {
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, s)
			if len(all) > 100_000 {
				t.Fatal("a save that does not end")
			}
		}
		stop()
		wg.Wait()
		if err := to.Load(t.Context(), 0, each(all)); err != nil {
			t.Fatal(err)
		}
		for key, n := range want {
			var got int
			it, err := to.Shelf("load").Get(t.Context(), key)
			if err == nil {
				_, err = fmt.Sscan(string(it.Value), &got)
			}
			if err != nil || got < n {
				t.Errorf("%s: %d was stored before, %d is restored: %v", key, n, got, err)
			}
		}
	})
}

// Of a damaged store everything is salvaged but what is damaged, which is
// named.
func TestSalvage(t *testing.T) {
	t.Parallel()
	cfg := config(t)
	j := open(t, cfg)
	for i := range 8 {
		r := ask(fmt.Sprint("ask-", i))
		r.Shard = uint16(i)
		create(t, j, r)
	}
	rev, err := j.Shelf("grants").Put(t.Context(), "whole", journal.Rev{}, []byte("value"), 0)
	if err != nil || rev.IsZero() {
		t.Fatal(err)
	}
	if _, err := j.link.conn.Request(j.layout.shelfSubjects()+"grants.foreign", []byte("foreign"), 10*time.Second); err != nil {
		t.Fatal(err)
	}
	streams := j.engine.streams()
	crash(t, j)
	flip(t, filepath.Join(streams, "answerback-ask-1", "meta.inf"), 10)
	if _, err := Open(t.Context(), cfg); !errors.Is(err, journal.Corrupt) {
		t.Fatalf("a damaged store is opened: %v", err)
	}
	var lost []string
	fresh := open(t, config(t))
	err = fresh.Load(t.Context(), 0, Salvage(t.Context(), cfg, func(f Finding) { lost = append(lost, f.String()) }))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"grants.foreign", "answerback-ask-1: it is damaged"} {
		if !strings.Contains(strings.Join(lost, "\n"), want) {
			t.Errorf("%s is not named: %q", want, lost)
		}
	}
	if it, err := fresh.Shelf("grants").Get(t.Context(), "whole"); err != nil || string(it.Value) != "value" {
		t.Errorf("%q %v", it.Value, err)
	}
	n := 0
	for _, err := range fresh.Open(t.Context(), home) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	if n != 6 { // one stream of four held two
		t.Errorf("%d asks are salvaged, want 6", n)
	}
}

// Ten thousand records are saved while a reader takes them one at a time: what
// is in memory does not grow with the store.
func TestTenThousandRecordsAreSavedInLittleMemory(t *testing.T) {
	const records, size = 10_000, 8 << 10
	j := open(t, config(t))
	err := j.Load(t.Context(), 0, func(yield func(journal.Saved, error) bool) {
		for i := range records {
			r := ask(fmt.Sprint("ask-", i))
			r.Shard, r.Body = uint16(i), make([]byte, size)
			if !yield(journal.Saved{Kind: journal.SavedAsk, Expires: journal.Never, Until: journal.Never, Ask: r}, nil) {
				return
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	n, before, most := 0, heap(), uint64(0)
	for s, err := range j.Save(t.Context(), false) {
		if err != nil || len(s.Ask.Body) != size {
			t.Fatal(len(s.Ask.Body), err)
		}
		if n++; n%1000 == 0 {
			most = max(most, heap())
		}
	}
	// The engine keeps blocks of its files in memory for a while, some MB of each
	// of its streams.
	if grown := int64(most) - int64(before); n != records || grown > records*size/2 {
		t.Errorf("%d records were saved with %d bytes more in memory", n, grown)
	} else {
		t.Logf("%d records were saved with %d bytes more in memory", n, grown)
	}
}
