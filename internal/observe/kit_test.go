package observe

import (
	"context"
	"flag"
	"iter"
	"log/slog"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/desk"
	"github.com/answerback/answerback/internal/journal"
	"github.com/answerback/answerback/internal/journal/memjournal"
)

// goVersion is what differs between builds of one commit.
var goVersion = regexp.MustCompile(`goversion="[^"]*"`)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var rewrite = flag.Bool("rewrite", false, "rewrite the golden files; read the difference before keeping it")

var (
	ada  = ask.Principal{Issuer: "https://issuer.example", Subject: "ada"}
	when = time.Date(2026, 7, 28, 9, 0, 0, 123456789, time.UTC)
	mute = slog.New(slog.DiscardHandler)
)

func newMetrics(t testing.TB) *Metrics {
	t.Helper()
	m, err := NewMetrics(MetricsConfig{Version: "v1.2.3", Commit: "abc", Now: func() time.Time { return when }, Log: mute})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func newJournal(t testing.TB) *memjournal.Journal {
	t.Helper()
	j, err := memjournal.New(memjournal.Config{Now: time.Now, MaxBytes: 1 << 30, MaxAudit: 100_000})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { j.Close(context.Background()) })
	return j
}

// scrape gives the lines of the metrics page that are the gateway's own.
func scrape(t testing.TB, m *Metrics) string {
	t.Helper()
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	if w.Code != 200 {
		t.Fatalf("the metrics page: %d %s", w.Code, w.Body)
	}
	var own strings.Builder
	for line := range strings.Lines(w.Body.String()) {
		if strings.Contains(line, "answerback_") {
			own.WriteString(line)
		}
	}
	return own.String()
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *rewrite {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs (-rewrite makes it anew); got:\n%s", path, got)
	}
}

// fakeAudit is a journal's audit that behaves as a test wants.
type fakeAudit struct {
	mu      sync.Mutex
	calls   int
	batches [][]string
	// before is called at each Append, with the how manieth it is; its error
	// is that of the Append.
	before func(ctx context.Context, n int) error
}

func (f *fakeAudit) Append(ctx context.Context, entries ...[]byte) error {
	if err := journal.CheckAppend(entries); err != nil {
		return err
	}
	f.mu.Lock()
	f.calls++
	n := f.calls
	f.mu.Unlock()
	if f.before != nil {
		if err := f.before(ctx, n); err != nil {
			return err
		}
	}
	var batch []string
	for _, e := range entries {
		batch = append(batch, string(e))
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.batches = append(f.batches, batch)
	return nil
}

func (f *fakeAudit) ReadAudit(context.Context, uint64) iter.Seq2[journal.Entry, error] {
	return func(func(journal.Entry, error) bool) {}
}

func (f *fakeAudit) sizes() (sizes []int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, b := range f.batches {
		sizes = append(sizes, len(b))
	}
	return sizes
}

func (f *fakeAudit) attempts() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls
}

func (f *fakeAudit) lines() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Concat(f.batches...)
}

var errAway = &journal.Error{Reason: journal.Unavailable, Message: "appending to the audit"}

// notes is a log that is looked at.
type notes struct {
	mu   sync.Mutex
	text strings.Builder
}

func (n *notes) Write(p []byte) (int, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.text.Write(p)
}

func (n *notes) count(what string) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return strings.Count(n.text.String(), what)
}

func (n *notes) logger() *slog.Logger { return slog.New(slog.NewTextHandler(n, nil)) }

// asked is a record of a question that was asked.
func asked(id string) desk.Record {
	return desk.Record{At: when, Transition: "asked", Ask: id, Kind: ask.Form, Backend: "b", Addressee: ask.Addressee{Principal: ada}}
}

// settled is the record of how it ended, after a minute.
func settled(id string, how ask.Ending, code ask.Code) desk.Record {
	r := asked(id)
	out := ask.Outcome{Ending: how, Err: ask.Errorf(code, "Because.")}
	r.Transition, r.Ending, r.Code, r.Reason = "settled", how, code, out.Abandonment()
	r.At, r.Since = when.Add(time.Minute), time.Minute
	return r
}

// value gives the value of one series, or fails.
func value(t testing.TB, m *Metrics, series string) float64 {
	t.Helper()
	for line := range strings.Lines(scrape(t, m)) {
		if rest, ok := strings.CutPrefix(line, series+" "); ok {
			v, err := strconv.ParseFloat(strings.TrimSpace(rest), 64)
			if err != nil {
				t.Fatal(err)
			}
			return v
		}
	}
	t.Errorf("there is no %s", series)
	return -1
}
