package era_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/era"
)

var writeDocs = flag.Bool("write-docs", false, "write the table of docs/errors.md anew")

const errorsPage = "../../docs/errors.md"

// The table of errors in the docs is the one in the code.
func TestErrorsPageShowsTheTable(t *testing.T) {
	page, err := os.ReadFile(errorsPage)
	if err != nil {
		t.Fatal(err)
	}
	const begin, end = "<!-- the table: begin -->\n", "<!-- the table: end -->"
	before, rest, ok := strings.Cut(string(page), begin)
	table, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s has no marks around its table", errorsPage)
	}
	var want strings.Builder
	want.WriteString("| `data.reason` | up to 2025-11-25 | 2026-07-28 | HTTP status in 2026-07-28 |\n|---|---|---|---|\n")
	for _, r := range era.Codes() {
		fmt.Fprintf(&want, "| `%s` | %d | %d | %d |\n", r.Code, r.Legacy, r.Modern, era.StatusOf(ask.Errorf(r.Code, "")))
	}
	if table == want.String() {
		return
	}
	if *writeDocs {
		if err := os.WriteFile(errorsPage, []byte(before+begin+want.String()+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Errorf("the table of %s is not the one in the code; run: go test ./internal/era -run TestErrorsPage -write-docs", errorsPage)
}
