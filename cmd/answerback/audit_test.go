package main

import (
	"context"
	"fmt"
	"iter"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/answerback/answerback/internal/journal"
	"github.com/answerback/answerback/internal/journal/memjournal"
	"github.com/answerback/answerback/internal/observe"
)

// auditSocket serves an audit as a running gateway does, and gives its data
// directory.
func auditSocket(t *testing.T, j journal.Audit) string {
	t.Helper()
	dir := t.TempDir()
	ln, err := listenStatus(statusSocket(dir))
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("GET "+auditPath, observe.Export(j, slog.New(slog.DiscardHandler)))
	server := &http.Server{Handler: mux}
	done := make(chan struct{})
	go func() { defer close(done); _ = server.Serve(ln) }()
	t.Cleanup(func() { _ = server.Close(); <-done })
	return dir
}

// The command prints everything, however many parts it comes in, or what was
// asked for.
func TestAuditIsPrintedWhole(t *testing.T) {
	j, err := memjournal.New(memjournal.Config{Now: time.Now, MaxBytes: 1 << 30, MaxAudit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	var want strings.Builder
	for range 150 {
		var batch [][]byte
		for range 500 {
			line := fmt.Sprintf(`{"at":"2026-07-28T09:00:00.000000Z","ask":"ask-%d","backend":"b"}`, n)
			batch = append(batch, []byte(line))
			want.WriteString(line + "\n")
			n++
		}
		if err := j.Append(t.Context(), batch...); err != nil {
			t.Fatal(err)
		}
	}
	dir := auditSocket(t, j)
	var got strings.Builder
	if err := printAudit(t.Context(), dir, observe.Filter{}, &got); err != nil || got.String() != want.String() {
		t.Errorf("%v, %d bytes of %d", err, got.Len(), want.Len())
	}
	got.Reset()
	if err := printAudit(t.Context(), dir, observe.Filter{Ask: "ask-70000"}, &got); err != nil || strings.Count(got.String(), "\n") != 1 {
		t.Errorf("one ask: %v, %s", err, got.String())
	}
}

// brokenAudit breaks off after its first entry.
type brokenAudit struct{ journal.Audit }

func (brokenAudit) ReadAudit(context.Context, uint64) iter.Seq2[journal.Entry, error] {
	return func(yield func(journal.Entry, error) bool) {
		if yield(journal.Entry{Data: []byte(`{}`)}, nil) {
			yield(journal.Entry{}, &journal.Error{Reason: journal.Corrupt, Message: "reading"})
		}
	}
}

func TestAuditThatCannotBeReadIsAnError(t *testing.T) {
	var got strings.Builder
	err := printAudit(t.Context(), t.TempDir(), observe.Filter{}, &got)
	if err == nil || !strings.Contains(err.Error(), "answerback serve") {
		t.Errorf("without a gateway: %v", err)
	}
	err = printAudit(t.Context(), auditSocket(t, brokenAudit{}), observe.Filter{}, &got)
	if err == nil || !strings.Contains(err.Error(), "broke it off") {
		t.Errorf("broken off: %v", err)
	}
}

func TestTimesOfTheAudit(t *testing.T) {
	now := time.Date(2026, 7, 28, 9, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Time{
		"": {}, "2026-07-01T00:00:00+02:00": time.Date(2026, 6, 30, 22, 0, 0, 0, time.UTC),
		"7d": now.AddDate(0, 0, -7), "90m": now.Add(-90 * time.Minute),
	} {
		if got, err := pointInTime("since", text, now); err != nil || !got.Equal(want) {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
	if _, err := pointInTime("since", "yesterday", now); err == nil || !strings.Contains(err.Error(), "--since yesterday") {
		t.Errorf("yesterday: %v", err)
	}
}
