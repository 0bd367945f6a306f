package observe

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/answerback/answerback/internal/journal"
)

// get reads one response to its end.
func get(t *testing.T, j journal.Audit, query string) (status int, body, next string, err error) {
	t.Helper()
	server := httptest.NewServer(Export(j, mute))
	defer server.Close()
	resp, err := server.Client().Get(server.URL + "/audit?" + query)
	if err != nil {
		return 0, "", "", err
	}
	defer resp.Body.Close()
	all, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(all), resp.Trailer.Get(NextHeader), err
}

func appendAll(t *testing.T, j journal.Audit, entries ...string) {
	t.Helper()
	var all [][]byte
	for _, e := range entries {
		all = append(all, []byte(e))
	}
	if err := j.Append(t.Context(), all...); err != nil {
		t.Fatal(err)
	}
}

func TestExportFilters(t *testing.T) {
	j := newJournal(t)
	var lines []string
	for i, r := range story() {
		if i == 3 {
			r.Backend = "mail"
		}
		lines = append(lines, string(appendLine(nil, &r)))
	}
	appendAll(t, j, lines[:5]...)
	appendAll(t, j, lines[5:]...)
	appendAll(t, j, "what is no record")
	for name, test := range map[string]struct {
		filter Filter
		want   int
	}{
		"everything": {Filter{}, len(lines) + 1},
		"since":      {Filter{Since: when.Add(5 * time.Minute).Truncate(time.Microsecond)}, 8},
		"until":      {Filter{Until: when.Add(time.Second).Truncate(time.Microsecond)}, 4},
		"between":    {Filter{Since: when.Truncate(time.Microsecond), Until: when}, 2},
		"ask":        {Filter{Ask: "ask-2"}, 1},
		"backend":    {Filter{Backend: "mail"}, 1},
		"both":       {Filter{Backend: "mail", Ask: "ask-2"}, 0},
	} {
		status, body, next, err := get(t, j, test.filter.Query().Encode())
		if status != 200 || next != "" || err != nil || strings.Count(body, "\n") != test.want {
			t.Errorf("%s: %d, %v, %d lines, want %d:\n%s", name, status, err, strings.Count(body, "\n"), test.want, body)
		}
	}
	_, body, _, err := get(t, j, "")
	if want := strings.Join(lines, "\n") + "\nwhat is no record\n"; body != want || err != nil {
		t.Errorf("the whole is\n%s", body)
	}
	for _, bad := range []string{"since=yesterday", "until=1", "from=x"} {
		if status, _, _, _ := get(t, j, bad); status != http.StatusBadRequest {
			t.Errorf("%s: %d", bad, status)
		}
	}
}

// A long audit comes in parts that leave nothing out and have nothing twice.
func TestExportIsPaged(t *testing.T) {
	j := newJournal(t)
	n := 0
	for range 2*exportPage/700 + 3 {
		var batch []string
		for range 700 {
			batch = append(batch, fmt.Sprintf(`{"n":%d}`, n))
			n++
		}
		appendAll(t, j, batch...)
	}
	var all strings.Builder
	query, parts := url.Values{}, 0
	for {
		status, body, next, err := get(t, j, query.Encode())
		if status != 200 || err != nil {
			t.Fatal(status, err)
		}
		all.WriteString(body)
		parts++
		if next == "" {
			break
		}
		query.Set("from", next)
	}
	if parts != 3 {
		t.Errorf("%d parts", parts)
	}
	at := 0
	for line := range strings.Lines(all.String()) {
		if line != fmt.Sprintf("{\"n\":%d}\n", at) {
			t.Fatalf("line %d is %s", at, line)
		}
		at++
	}
	if at != n {
		t.Errorf("%d lines of %d", at, n)
	}
}

// failing gives some entries and then an error.
type failing struct {
	journal.Audit
	entries int
}

func (f failing) ReadAudit(context.Context, uint64) iter.Seq2[journal.Entry, error] {
	return func(yield func(journal.Entry, error) bool) {
		for i := range f.entries {
			if !yield(journal.Entry{Pos: uint64(i), Data: []byte(`{}`)}, nil) {
				return
			}
		}
		yield(journal.Entry{}, errAway)
	}
}

// Nobody takes a part of the audit for the whole.
func TestAnExportThatFailsSaysSo(t *testing.T) {
	status, body, _, err := get(t, failing{}, "")
	if status != http.StatusServiceUnavailable || err != nil || !strings.Contains(body, "store") {
		t.Errorf("at once: %d %s %v", status, body, err)
	}
	for _, n := range []int{1, 40_000} {
		if _, _, _, err := get(t, failing{entries: n}, ""); err == nil || !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("after %d entries: %v", n, err)
		}
	}
}
