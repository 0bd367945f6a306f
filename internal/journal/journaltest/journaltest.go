// Package journaltest says whether a store keeps the contract of package
// journal. Every store passes Run; what else one promises, it tests itself.
package journaltest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"testing"
	"time"

	"github.com/answerback/answerback/internal/journal"
)

// Opened is an empty store that was opened for one test and is closed when
// the test ends.
type Opened struct {
	Journal journal.Journal
	// Reopen closes the journal and opens the same store again. It is nil for
	// a store that does not outlive its process.
	Reopen func(t *testing.T) journal.Journal
}

// patience is how long something that must happen may take on a busy machine.
const patience = 30 * time.Second

// Run tests the store that open opens, each time an empty one, from several
// goroutines.
func Run(t *testing.T, open func(t *testing.T) Opened) {
	for _, c := range []struct {
		name string
		test func(*testing.T, Opened)
	}{
		{"a new record is read back whole", createAndGet},
		{"an id is used once", createTwice},
		{"an update replaces the version it names", update},
		{"an update of another version changes nothing", updateConflict},
		{"an update of nothing is refused", updateMissing},
		{"what is settled stays settled", reopenSettled},
		{"of 200 who settle at once one wins", settleAtOnce},
		{"of 200 who create at once one wins", createAtOnce},
		{"records that cannot be stored are refused", badRecords},
		{"the largest body fits", largestBody},
		{"a settled record is forgotten in time, an open one is not", forget},
		{"a home is read whole", openHome},
		{"a home is read while it changes", openWhileChanging},
		{"reading a home can be given up", openGivenUp},
		{"a list has the open records of one addressee", list},
		{"a list among many records", listMany},
		{"what is settled is read by addressee", settledOf},
		{"a watch sees what was stored and nothing else", watch},
		{"a watch sees the versions of a record in order", watchOrder},
		{"a stopped watch is quiet", watchStopped},
		{"a context that has ended stops every method", cancelled},
		{"the audit keeps its entries in order", audit},
		{"the audit refuses what is too much", auditLimits},
		{"an item is put, replaced and deleted", shelf},
		{"shelves are apart", shelvesApart},
		{"of 200 who put at once one wins", putAtOnce},
		{"an item's time holds after an update", shelfTTL},
		{"an item without time stays", shelfNoTTL},
		{"items that cannot be stored are refused", badItems},
		{"a shelf is scanned by words", scan},
		{"a shelf's watch sees puts and deletes", shelfWatch},
		{"a version stays as long as those it replaced", monotone},
		{"an item can expire before the one it replaced would have", expireEarly},
		{"a key is free again when its item was deleted", endAndBegin},
		{"everything is there after a restart", restart},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel() // much of it waits for time to pass
			c.test(t, open(t))
		})
	}
}

const home = "0123456789abcdef"

// record makes a record that is open.
func record(id string) journal.Record {
	asked := time.Unix(1_800_000_000, 123).UTC()
	return journal.Record{
		Key:       journal.Key{Shard: 0xbeef, Home: home, ID: id},
		Addressee: "https://id.example.com|anna",
		Asked:     asked,
		Deadline:  asked.Add(time.Hour),
		Body:      []byte("body of " + id),
	}
}

// settled gives r as it is once it has ended.
func settled(r journal.Record, body string) journal.Record {
	r.Settled, r.Keep, r.Body = true, time.Hour, []byte(body)
	return r
}

func must[T any](v T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// create stores r and gives it as it is stored.
func create(t *testing.T, j journal.Journal, r journal.Record) journal.Record {
	t.Helper()
	r.Rev = must(j.Create(t.Context(), r))(t)
	return r
}

func wantErr(t *testing.T, err error, want journal.Reason) *journal.Error {
	t.Helper()
	e, ok := errors.AsType[*journal.Error](err)
	if !ok || !errors.Is(err, want) {
		t.Fatalf("got error %v, want %q", err, want)
	}
	return e
}

func wantRecord(t *testing.T, got, want journal.Record) {
	t.Helper()
	if !sameRecord(got, want) {
		t.Fatalf("got record %s\nwant %s", show(got), show(want))
	}
}

func sameRecord(a, b journal.Record) bool {
	return a.Key == b.Key && a.Rev == b.Rev && a.Addressee == b.Addressee &&
		a.Asked.Equal(b.Asked) && a.Deadline.Equal(b.Deadline) &&
		a.Settled == b.Settled && a.Keep == b.Keep && bytes.Equal(a.Body, b.Body)
}

func show(r journal.Record) string {
	if len(r.Body) > 64 {
		r.Body = fmt.Appendf(nil, "%d bytes", len(r.Body))
	}
	return fmt.Sprintf("%+v with body %q", r.Key, r.Body) + fmt.Sprintf(" %+v", r)
}

// collect reads a sequence that must not fail.
func collect[V any](t *testing.T, seq iter.Seq2[V, error]) []V {
	t.Helper()
	var all []V
	for v, err := range seq {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, v)
	}
	return all
}

// eventually waits until ok.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	end := time.After(patience)
	for !ok() {
		select {
		case <-tick.C:
		case <-end:
			t.Fatalf("not within %v: %s", patience, what)
		}
	}
}

// receive takes the next value off a channel.
func receive[V any](t *testing.T, from <-chan V) V {
	t.Helper()
	select {
	case v := <-from:
		return v
	case <-time.After(patience):
		t.Fatalf("nothing came within %v", patience)
		panic("unreachable")
	}
}

func over() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}
