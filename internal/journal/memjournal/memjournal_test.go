package memjournal_test

import (
	"errors"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/answerback/answerback/internal/journal"
	"github.com/answerback/answerback/internal/journal/journaltest"
	"github.com/answerback/answerback/internal/journal/memjournal"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t *testing.T, cfg memjournal.Config) *memjournal.Journal {
	t.Helper()
	j, err := memjournal.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { j.Close(t.Context()) })
	return j
}

func TestKeepsTheContract(t *testing.T) {
	t.Parallel()
	journaltest.Run(t, func(t *testing.T) journaltest.Opened {
		return journaltest.Opened{Journal: open(t, memjournal.Config{Now: time.Now, MaxBytes: 1 << 30, MaxAudit: 1000})}
	})
}

func TestHasLimits(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	j := open(t, memjournal.Config{Now: func() time.Time { return now }, MaxBytes: 100, MaxAudit: 3})
	s := j.Shelf("test")
	rev, err := s.Put(t.Context(), "a", journal.Rev{}, make([]byte, 90), time.Second)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Put(t.Context(), "b", journal.Rev{}, make([]byte, 90), 0); !errors.Is(err, journal.Full) {
		t.Errorf("a store that is full says %v", err)
	}
	if _, err := s.Put(t.Context(), "a", rev, make([]byte, 99), time.Second); err != nil {
		t.Errorf("replacing what is there: %v", err)
	}
	now = now.Add(time.Second)
	if _, err := s.Get(t.Context(), "a"); !errors.Is(err, journal.NotFound) {
		t.Errorf("what has expired is still there: %v", err)
	}
	if _, err := s.Put(t.Context(), "b", journal.Rev{}, make([]byte, 90), 0); err != nil {
		t.Errorf("there is room again, but: %v", err)
	}

	for i := range byte(5) {
		if err := j.Append(t.Context(), []byte{i}); err != nil {
			t.Fatal(err)
		}
	}
	var got []byte
	for e := range j.ReadAudit(t.Context(), 0) {
		got = append(got, e.Data...)
	}
	if string(got) != "\x02\x03\x04" {
		t.Errorf("the audit has %v, want the last three", got)
	}
}

func TestNeedsItsConfiguration(t *testing.T) {
	for _, cfg := range []memjournal.Config{{}, {Now: time.Now, MaxBytes: 1}, {Now: time.Now, MaxAudit: 1}, {MaxBytes: 1, MaxAudit: 1}} {
		if _, err := memjournal.New(cfg); err == nil {
			t.Errorf("%+v was taken", cfg)
		}
	}
}
