package observe

import (
	"context"
	"errors"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/answerback/answerback/internal/journal"
	"github.com/answerback/answerback/internal/journal/journaltest"
)

// A measured journal keeps the contract of the one that it measures.
func TestATimedJournalKeepsTheContract(t *testing.T) {
	t.Parallel()
	journaltest.Run(t, func(t *testing.T) journaltest.Opened {
		return journaltest.Opened{Journal: newMetrics(t).Timed(newJournal(t))}
	})
}

// broken is a journal that fails in the same way each time.
type broken struct {
	journal.Journal
	err error
}

func (b broken) Create(context.Context, journal.Record) (journal.Rev, error) {
	return journal.Rev{}, b.err
}
func (b broken) Update(context.Context, journal.Record) (journal.Rev, error) {
	return journal.Rev{}, b.err
}
func (b broken) Get(context.Context, journal.Key) (journal.Record, error) {
	return journal.Record{}, b.err
}
func (b broken) List(context.Context, uint16, string, int) ([]journal.Record, error) {
	return nil, b.err
}
func (b broken) Append(context.Context, ...[]byte) error { return b.err }
func (b broken) Open(context.Context, string) iter.Seq2[journal.Record, error] {
	return func(yield func(journal.Record, error) bool) { yield(journal.Record{}, b.err) }
}
func (b broken) Settled(context.Context, uint16, string) iter.Seq2[journal.Record, error] {
	return b.Open(context.Background(), "")
}
func (b broken) ReadAudit(context.Context, uint64) iter.Seq2[journal.Entry, error] {
	return func(yield func(journal.Entry, error) bool) { yield(journal.Entry{}, b.err) }
}
func (b broken) Watch(context.Context, string, func(journal.Wake)) (func(), error) {
	return nil, b.err
}
func (b broken) Shelf(string) journal.Shelf { return brokenShelf{err: b.err} }

type brokenShelf struct {
	journal.Shelf
	err error
}

func (b brokenShelf) Put(context.Context, string, journal.Rev, []byte, time.Duration) (journal.Rev, error) {
	return journal.Rev{}, b.err
}
func (b brokenShelf) Get(context.Context, string) (journal.Item, error) { return journal.Item{}, b.err }
func (b brokenShelf) Delete(context.Context, string, journal.Rev) error { return b.err }
func (b brokenShelf) Scan(context.Context, string) iter.Seq2[journal.Item, error] {
	return func(yield func(journal.Item, error) bool) { yield(journal.Item{}, b.err) }
}
func (b brokenShelf) Watch(context.Context, string, func(journal.Change)) (func(), error) {
	return nil, b.err
}

func TestFailuresOfTheJournalAreCounted(t *testing.T) {
	for _, test := range []struct {
		err    error
		reason string // "" where it is an answer and not a failure
	}{
		{&journal.Error{Reason: journal.Unavailable}, "unavailable"},
		{&journal.Error{Reason: journal.Full}, "full"},
		{&journal.Error{Reason: journal.Corrupt}, "corrupt"},
		{&journal.Error{Reason: journal.Invalid}, "invalid"},
		{&journal.Error{Reason: journal.TooLarge}, "too_large"},
		{&journal.Error{Reason: "made up"}, "other"},
		{errors.New("of another kind"), "other"},
		{&journal.Error{Reason: journal.NotFound}, ""},
		{&journal.Error{Reason: journal.Conflict}, ""},
		{&journal.Error{Reason: journal.Exists}, ""},
	} {
		m := newMetrics(t)
		j := m.Timed(broken{err: test.err})
		for _, name := range useAll(t, j, test.err) {
			series := `answerback_journal_errors_total{operation="` + name + `",reason="` + test.reason + `"}`
			if test.reason != "" {
				if got := value(t, m, series); got != 1 {
					t.Errorf("%s is %v", series, got)
				}
			}
		}
		if page := scrape(t, m); test.reason == "" && strings.Contains(page, "answerback_journal_errors_total{") {
			t.Errorf("%v counts as a failure:\n%s", test.err, page)
		}
		for _, name := range []string{"create", "update", "get", "list", "append", "shelf_put", "shelf_get", "shelf_delete"} {
			if got := value(t, m, `answerback_journal_seconds_count{operation="`+name+`"}`); got != 1 {
				t.Errorf("%s was measured %v times", name, got)
			}
		}
	}
}

// useAll calls every method once, checks that its error is the journal's, and
// gives the names of the operations.
func useAll(t *testing.T, j journal.Journal, want error) []string {
	t.Helper()
	ctx, s := t.Context(), j.Shelf("s")
	errs := map[string]error{}
	_, errs["create"] = j.Create(ctx, journal.Record{})
	_, errs["update"] = j.Update(ctx, journal.Record{})
	_, errs["get"] = j.Get(ctx, journal.Key{})
	_, errs["list"] = j.List(ctx, 0, "", 1)
	errs["append"] = j.Append(ctx)
	_, errs["watch"] = j.Watch(ctx, "", nil)
	for _, errs["open"] = range j.Open(ctx, "") {
	}
	for _, errs["settled"] = range j.Settled(ctx, 0, "") {
	}
	for _, errs["read_audit"] = range j.ReadAudit(ctx, 0) {
	}
	_, errs["shelf_put"] = s.Put(ctx, "", journal.Rev{}, nil, 0)
	_, errs["shelf_get"] = s.Get(ctx, "")
	errs["shelf_delete"] = s.Delete(ctx, "", journal.Rev{})
	_, errs["shelf_watch"] = s.Watch(ctx, "", nil)
	for _, errs["shelf_scan"] = range s.Scan(ctx, "") {
	}
	var names []string
	for name, err := range errs {
		names = append(names, name)
		if err != want {
			t.Errorf("%s gave %v, want %v", name, err, want)
		}
	}
	return names
}
