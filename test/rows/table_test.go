package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	for _, c := range []struct {
		name, text, want string
	}{
		{"fine", "| id | state | tests |\n|---|---|---|\n| E1 | held | `internal/a.TestA`, internal/b.TestB/sub |\n| E2 | open | |", ""},
		{"missing", "| E1 | open | |", "row E2: missing"},
		{"twice", "| E1 | open | |\n| E1 | open | |\n| E2 | open | |", "line 2, row E1: stands there twice"},
		{"unknown", "| E1 | open | |\n| E2 | open | |\n| Z9 | open | |", "row Z9: is no known requirement"},
		{"state", "| E1 | done | |\n| E2 | open | |", `row E1: state is "done"`},
		{"held by nothing", "| E1 | held | |\n| E2 | open | |", "row E1: is held, but names no test"},
		{"cells", "| E1 | held |\n| E2 | open | |", "row E1: has 2 cells"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, problems := parse(c.text, []string{"E1", "E2"})
			got := strings.Join(problems, "\n")
			if c.want == "" && got != "" || !strings.Contains(got, c.want) {
				t.Errorf("got problems %q, want %q", got, c.want)
			}
		})
	}
}

func TestParseReadsTests(t *testing.T) {
	rows, _ := parse("| E1 | held | `internal/a.TestA`, internal/b.TestB/sub_one |", []string{"E1"})
	if len(rows) != 1 || strings.Join(rows[0].tests, " ") != "internal/a.TestA internal/b.TestB/sub_one" {
		t.Errorf("got %+v", rows)
	}
}

// TestRun has a module with one package, a log of what ran in it, and a
// table that names one test at a time.
func TestRun(t *testing.T) {
	root := t.TempDir()
	write := func(name, text string) string {
		t.Helper()
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	var src, log strings.Builder
	for _, e := range []string{"pass TestGood", "pass TestGood/sub", "skip TestSkipped", "fail TestBad", "pass TestHalf", "skip TestHalf/sub", "none TestIdle"} {
		action, test, _ := strings.Cut(e, " ")
		if !strings.Contains(test, "/") {
			src.WriteString("func " + test + "(t *testing.T) {}\n")
		}
		if action != "none" {
			log.WriteString(`{"Action":"` + action + `","Package":"` + module + `/internal/a","Test":"` + test + `"}` + "\n")
		}
	}
	write("internal/a/a_test.go", src.String())
	logFile := write("log.json", log.String())

	for test, want := range map[string]string{
		"internal/a.TestGood":      "",
		"internal/a.TestGood/sub":  "",
		"internal/a.TestGood/gone": "did not run",
		"internal/a.TestIdle":      "did not run",
		"internal/a.TestSkipped":   "was skipped",
		"internal/a.TestHalf":      "skipped a part of itself",
		"internal/a.TestBad":       "failed",
		"internal/a.TestGoo":       "does not exist",
		"internal/none.TestGood":   "does not exist",
		"a sentence":               "is not of the form",
	} {
		t.Run(test, func(t *testing.T) {
			var table strings.Builder
			for i, id := range strings.Fields(ids) {
				if i == 0 {
					table.WriteString("| " + id + " | held | " + test + " |\n")
				} else {
					table.WriteString("| " + id + " | open | |\n")
				}
			}
			var w strings.Builder
			code := run(&w, root, write("table.md", table.String()), []string{logFile})
			if (code == 0) != (want == "") || !strings.Contains(w.String(), want) {
				t.Errorf("got code %d and\n%s", code, w.String())
			}
			if want == "" && !strings.HasPrefix(w.String(), "rows: 1 held, ") {
				t.Errorf("got more than the summary line:\n%s", w.String())
			}
		})
	}
}

func TestRunWithoutItsFiles(t *testing.T) {
	var w strings.Builder
	if code := run(&w, ".", filepath.Join(t.TempDir(), "none.md"), nil); code != 1 {
		t.Errorf("got code %d without a table", code)
	}
}
