package observe

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/journal"
)

type auditKit struct {
	*Auditor
	journal *fakeAudit
	ledger  *Ledger
	metrics *Metrics
	notes   *notes
}

func newAuditKit(t *testing.T, maxPending int, before func(ctx context.Context, n int) error) *auditKit {
	t.Helper()
	k := &auditKit{journal: &fakeAudit{before: before}, ledger: NewLedger(), metrics: newMetrics(t), notes: &notes{}}
	a, err := NewAuditor(AuditConfig{Journal: k.journal, Ledger: k.ledger, Metrics: k.metrics, Log: k.notes.logger(), MaxPending: maxPending})
	if err != nil {
		t.Fatal(err)
	}
	k.Auditor = a
	return k
}

func (k *auditKit) counted(t *testing.T, written, dropped int) {
	t.Helper()
	if w, d := value(t, k.metrics, "answerback_audit_written_total"), value(t, k.metrics, "answerback_audit_dropped_total"); w != float64(written) || d != float64(dropped) {
		t.Errorf("%v written and %v dropped, want %d and %d", w, d, written, dropped)
	}
}

func (k *auditKit) close(t *testing.T) {
	t.Helper()
	if err := k.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestRecordsAreStoredTogetherSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newAuditKit(t, 10_000, nil)
		for i := range 3 {
			k.Record(asked(fmt.Sprint("ask-", i)))
		}
		time.Sleep(flushEvery - time.Millisecond)
		synctest.Wait()
		if got := k.journal.sizes(); got != nil {
			t.Errorf("stored before its time: %v", got)
		}
		time.Sleep(time.Millisecond)
		synctest.Wait()
		if got := k.journal.sizes(); !slices.Equal(got, []int{3}) {
			t.Errorf("batches of %v, want one of 3", got)
		}
		if got := k.ledger.Asks(); len(got) != 1 || got[0].Asked != 3 {
			t.Errorf("the ledger has %v", got)
		}
		if page := scrape(t, k.metrics); !strings.Contains(page, `answerback_asks_open{kind="form"} 3`) {
			t.Errorf("not counted:\n%s", page)
		}
		k.Record(asked("last"))
		k.close(t) // does not wait for the time to be over
		if got := k.journal.sizes(); !slices.Equal(got, []int{3, 1}) {
			t.Errorf("batches of %v", got)
		}
		k.counted(t, 4, 0)
	})
}

// A whole batch is stored at once, and in the order in which records came.
func TestManyRecordsAreStoredInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newAuditKit(t, 10_000, nil)
		var want []string
		for i := range 2*batchRecords + 1 {
			r := asked(fmt.Sprint("ask-", i))
			want = append(want, string(appendLine(nil, &r)))
			k.Record(r)
		}
		synctest.Wait() // no time passes
		if got := k.journal.lines(); len(got) < batchRecords {
			t.Errorf("%d lines at once, want a whole batch", len(got))
		}
		k.close(t)
		if got := k.journal.lines(); !slices.Equal(got, want) {
			t.Errorf("%d of %d lines, or in another order", len(got), len(want))
		}
		for _, n := range k.journal.sizes() {
			if n > batchRecords {
				t.Errorf("a batch of %d", n)
			}
		}
		k.counted(t, len(want), 0)
	})
}

func TestAJournalThatFailsIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newAuditKit(t, 10_000, func(_ context.Context, n int) error {
			if n <= 20 {
				return errAway
			}
			return nil
		})
		k.Record(asked("first"))
		for i := range 30 {
			time.Sleep(2 * time.Second)
			k.Record(asked(fmt.Sprint("later-", i)))
		}
		synctest.Wait()
		if n := k.journal.attempts(); n < 5 || n > 20 {
			t.Errorf("%d attempts in a minute, want them to become rarer", n)
		}
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if got := k.journal.lines(); len(got) != 31 || !strings.Contains(got[0], `"first"`) {
			t.Errorf("%d lines after the outage: %v", len(got), got)
		}
		k.counted(t, 31, 0)
		if n, m := k.notes.count("is not being stored"), k.notes.count("being stored again"); n != 1 || m != 1 {
			t.Errorf("the outage is in the log %d times, its end %d times", n, m)
		}
		k.close(t)
	})
}

// While the journal is away as many records wait as there is room for. The
// rest is counted, and in the log once a second; nobody who reports waits.
func TestAFullQueueDropsLoudly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		back := make(chan struct{})
		k := newAuditKit(t, 10, func(ctx context.Context, _ int) error {
			select {
			case <-back:
				return nil
			case <-ctx.Done():
				return errAway
			}
		})
		began := time.Now()
		for i := range 110 {
			k.Record(asked(fmt.Sprint("ask-", i)))
		}
		if time.Since(began) != 0 {
			t.Error("whoever reported had to wait")
		}
		k.counted(t, 0, 100)
		if n := k.notes.count("records were lost"); n != 1 {
			t.Errorf("%d complaints at once, want 1", n)
		}
		for range 30 {
			time.Sleep(complain / 10)
			k.Record(asked("more"))
		}
		if n := k.notes.count("records were lost"); n != 4 {
			t.Errorf("%d complaints after 3 seconds, want 4", n)
		}
		close(back)
		time.Sleep(2 * retryMax)
		synctest.Wait()
		k.counted(t, 10, 130)
		k.Record(asked("there is room again"))
		k.close(t)
		k.counted(t, 11, 130)
		said := 0
		for line := range strings.Lines(k.notes.text.String()) {
			if _, n, ok := strings.Cut(line, `msg="audit records were lost" records=`); ok {
				var lost int
				if _, err := fmt.Sscan(n, &lost); err != nil {
					t.Fatal(err)
				}
				said += lost
			}
		}
		if said != 130 {
			t.Errorf("the log speaks of %d lost records, want all 130", said)
		}
	})
}

// Room is also a matter of bytes: names of others can be long.
func TestLongRecordsFillTheQueueSooner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newAuditKit(t, 10, nil)
		for range 10 {
			r := asked(strings.Repeat("i", 300))
			r.By = ask.Principal{Issuer: strings.Repeat("x", 2000), Subject: strings.Repeat("y", 2000)}
			k.Record(r)
		}
		k.close(t)
		if n := value(t, k.metrics, "answerback_audit_dropped_total"); n == 0 || n == 10 {
			t.Errorf("%v of 10 long records dropped", n)
		}
	})
}

// A journal that is slow gets fewer, larger batches.
func TestASlowJournalGetsLargerBatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newAuditKit(t, 10_000, func(ctx context.Context, _ int) error {
			select {
			case <-time.After(2 * time.Second):
				return nil
			case <-ctx.Done():
				return errAway
			}
		})
		for i := range 100 {
			k.Record(asked(fmt.Sprint("ask-", i)))
			time.Sleep(50 * time.Millisecond)
		}
		k.close(t)
		if n := len(k.journal.sizes()); n > 5 {
			t.Errorf("%d batches in 5 seconds", n)
		}
		k.counted(t, 100, 0)
	})
}

func TestWhatCannotBeStoredIsNotTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newAuditKit(t, 10_000, func(_ context.Context, n int) error {
			if n == 1 {
				return &journal.Error{Reason: journal.TooLarge, Message: "appending"}
			}
			return nil
		})
		k.Record(asked("bad"))
		time.Sleep(time.Second)
		k.Record(asked("good"))
		k.close(t)
		k.counted(t, 1, 1)
		if k.notes.count("cannot be stored") != 1 || k.notes.count("records were lost") != 1 {
			t.Errorf("the log says %s", &k.notes.text)
		}
	})
}

// Closing waits for a journal that hangs as long as its context lasts, and
// then says how much is lost.
func TestClosingIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newAuditKit(t, 10_000, func(ctx context.Context, _ int) error {
			<-ctx.Done()
			return errAway
		})
		for i := range 700 {
			k.Record(asked(fmt.Sprint("ask-", i)))
		}
		began := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 12*time.Second)
		defer cancel()
		err := k.Close(ctx)
		if err == nil || !strings.Contains(err.Error(), "700 records") || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("it says %v", err)
		}
		if took := time.Since(began); took != 12*time.Second {
			t.Errorf("it took %v", took)
		}
		k.counted(t, 0, 700)
		k.Record(asked("after the end"))
		k.counted(t, 0, 701)
		if err := k.Close(t.Context()); err != nil {
			t.Errorf("closed twice: %v", err)
		}
	})
}

// Closing makes a batch that waits for its next attempt be tried at once.
func TestClosingDoesNotSitOutABackoff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		away := true
		var mu sync.Mutex
		k := newAuditKit(t, 10_000, func(context.Context, int) error {
			mu.Lock()
			defer mu.Unlock()
			if away {
				return errAway
			}
			return nil
		})
		k.Record(asked("one"))
		time.Sleep(time.Minute + time.Second)
		synctest.Wait()
		mu.Lock()
		away = false
		mu.Unlock()
		began := time.Now()
		k.close(t)
		if took := time.Since(began); took != 0 {
			t.Errorf("it took %v", took)
		}
		k.counted(t, 1, 0)
	})
}

// Nothing is lost or stored twice where many report at once.
func TestManyReportAtOnce(t *testing.T) {
	k := newAuditKit(t, 100_000, nil)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for j := range 1000 {
				k.Record(asked(fmt.Sprintf("ask-%d-%d", i, j)))
			}
		})
	}
	wg.Wait()
	k.close(t)
	lines := k.journal.lines()
	slices.Sort(lines)
	if n := len(slices.Compact(lines)); n != 8000 {
		t.Errorf("%d lines of 8000", n)
	}
	k.counted(t, 8000, 0)
}

func TestAnAuditorNeedsItsConfiguration(t *testing.T) {
	if _, err := NewAuditor(AuditConfig{MaxPending: 1}); err == nil {
		t.Error("an auditor without anything was made")
	}
}
