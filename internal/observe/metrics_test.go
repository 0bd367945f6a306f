package observe

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/desk"
	"github.com/answerback/answerback/internal/era"
)

// The page as it stands after one of everything (A12, F11).
func TestMetricsPage(t *testing.T) {
	m := newMetrics(t)
	m.Backends([]string{"files"})
	m.SessionsFrom(func() int { return 7 })
	for _, r := range story() {
		m.Record(r)
	}
	open := asked("open")
	open.At = when.Add(-90 * time.Second)
	m.Record(open)
	for i, code := range []ask.Code{ask.Timeout, ask.ClientGone, ask.FormInvalidated, ask.SessionExpired, ask.ClientCancelled} {
		how := ask.Abandoned
		if code == ask.Timeout {
			how = ask.Expired
		}
		id := fmt.Sprint("ended-", i)
		m.Record(asked(id))
		m.Record(settled(id, how, code))
	}
	m.Record(asked("refused"))
	m.Record(settled("refused", ask.Refused, ask.RateLimited))
	m.Record(asked("withdrawn"))
	m.Record(settled("withdrawn", ask.Withdrawn, ask.BackendWithdrew))
	m.Call(CallStats{Backend: "files", Client: era.Legacy, Server: era.Legacy, Work: 3 * time.Millisecond})
	m.Call(CallStats{Backend: "files", Client: era.Modern, Server: era.Legacy, Work: 20 * time.Millisecond, People: 45 * time.Second})
	m.Call(CallStats{Backend: "files", Client: era.Modern, Server: era.Modern, Failed: true})
	m.Call(CallStats{Backend: "files", Client: era.Legacy, Server: era.Modern, Code: ask.ClientCancelled})
	m.Call(CallStats{Backend: "gone", Code: ask.BackendUnreachable})
	m.Refused("made up")
	j := m.Timed(newJournal(t))
	if err := Reaches(j)(t.Context()); err != nil {
		t.Fatal(err)
	}
	var page strings.Builder
	for line := range strings.Lines(scrape(t, m)) {
		// How long the journal took is not the same twice.
		if !strings.HasPrefix(line, "answerback_journal_seconds_") || strings.Contains(line, "_count") {
			page.WriteString(goVersion.ReplaceAllString(line, `goversion="go"`))
		}
	}
	golden(t, "metrics.golden.txt", page.String())
}

// However many questions, people, backends and codes there are, the page
// stays as long as it is.
func TestNothingThatIsUnboundedIsALabel(t *testing.T) {
	m := newMetrics(t)
	m.Backends([]string{"b"})
	run := func(i int) {
		id := fmt.Sprint("id-", i)
		who := ask.Principal{Issuer: "https://" + id, Subject: id}
		for _, transition := range []string{"asked", "shown", "show_failed", "opened", "settled", "late", "not_yours", "delivered", id} {
			for _, ending := range []ask.Ending{ask.Answered, ask.Abandoned, ask.Refused} {
				m.Record(desk.Record{
					At: when, Transition: transition, Ask: id, Kind: ask.Form, Backend: id, Name: id, Rung: id,
					Addressee: ask.Addressee{Principal: who}, By: who, Surface: id, Code: ask.Code(id), Reason: ask.Abandonment(id), Ending: ending, Digest: id,
				})
			}
		}
		m.Call(CallStats{Backend: id, Client: era.Era(i % 256), Server: era.Era(i % 256), Code: ask.Code(id), People: 1})
		m.Refused(ask.Code(id))
	}
	run(0)
	for i := range 256 { // every era that can be
		m.Call(CallStats{Client: era.Era(i), Server: era.Era(i), Code: "a code"})
	}
	before := strings.Count(scrape(t, m), "\n")
	for i := 1; i <= 1000; i++ {
		run(i)
	}
	page := scrape(t, m)
	if after := strings.Count(page, "\n"); after != before {
		t.Errorf("%d lines became %d", before, after)
	}
	if strings.Contains(page, "id-") {
		t.Errorf("an id is on the page:\n%s", page)
	}
	// The same count must see a label that is not bounded.
	m.refusals.WithLabelValues("id-1").Inc()
	if page = scrape(t, m); strings.Count(page, "\n") == before || !strings.Contains(page, "id-") {
		t.Error("a series for an id was not noticed")
	}
}

// Reloads without end do not make series without end either.
func TestBackendsAreBounded(t *testing.T) {
	m := newMetrics(t)
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			for j := range maxLabelled / 2 {
				name := fmt.Sprintf("backend-%d-%d", i, j)
				m.Backends([]string{name})
				m.Call(CallStats{Backend: name})
			}
		})
	}
	wg.Wait()
	if n := strings.Count(scrape(t, m), "answerback_calls_total{"); n != maxLabelled+1 {
		t.Errorf("%d backends are counted apart, want %d and other", n, maxLabelled)
	}
}

// The census stands after whatever order records come in.
func TestOpenQuestionsAreCounted(t *testing.T) {
	m := newMetrics(t)
	open := func(want float64) {
		t.Helper()
		if got := value(t, m, `answerback_asks_open{kind="form"}`); got != want {
			t.Errorf("%v are open, want %v", got, want)
		}
	}
	oldest := func(want time.Duration) {
		t.Helper()
		if got := value(t, m, "answerback_ask_oldest_seconds"); got != want.Seconds() {
			t.Errorf("the oldest is %v s, want %v", got, want)
		}
	}
	oldest(0)
	begin := func(transition, id string, ago time.Duration) {
		r := asked(id)
		r.Transition = transition
		r.At = when.Add(-time.Second)
		r.Since = ago - time.Second
		m.Record(r)
	}
	begin("asked", "a", time.Minute)
	begin("restarted", "b", time.Hour)
	open(2)
	oldest(time.Hour)
	begin("restarted", "b", time.Hour)
	open(2)
	m.Record(settled("b", ask.Answered, ""))
	open(1)
	oldest(time.Minute)

	m.Record(settled("overtaken", ask.Answered, ""))
	begin("asked", "overtaken", time.Hour)
	open(1)
	m.Record(settled("answered before it was taken up after a restart", ask.Answered, ""))
	open(1)
	m.Record(settled("a", ask.Answered, ""))
	open(0)
	oldest(0)
	begin("asked", "from the future", -time.Hour)
	oldest(0)
}

func TestEveryCodeHasItsLabel(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "../../ask/error.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || spec.Type == nil || spec.Type.(*ast.Ident).Name != "Code" {
			return true
		}
		for _, v := range spec.Values {
			code, err := strconv.Unquote(v.(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			found++
			if codeLabel(ask.Code(code)) != code {
				t.Errorf("%s is counted as %s", code, codeLabel(ask.Code(code)))
			}
		}
		return true
	})
	if found != len(codes) || found < 30 {
		t.Errorf("%d codes in package ask, %d with a label", found, len(codes))
	}
}

func TestMetricsNeedTheirConfiguration(t *testing.T) {
	if _, err := NewMetrics(MetricsConfig{Version: "v1"}); err == nil {
		t.Error("metrics without a log were made")
	}
}

// A scrape while everybody counts is safe.
func TestScrapeWhileCounting(t *testing.T) {
	m := newMetrics(t)
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			for j := range 200 {
				id := fmt.Sprintf("%d-%d", i, j)
				m.Record(asked(id))
				m.Record(settled(id, ask.Answered, ""))
				m.Call(CallStats{Backend: "b"})
			}
		})
	}
	for range 5 {
		scrape(t, m)
	}
	wg.Wait()
	if got := value(t, m, `answerback_asks_total{ending="answered",kind="form"}`); got != 800 {
		t.Errorf("%v answered", got)
	}
	if got := value(t, m, `answerback_asks_open{kind="form"}`); got != 0 {
		t.Errorf("%v open", got)
	}
}
