package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestRequirementRows(t *testing.T) {
	for _, c := range []struct {
		name, text, want string
	}{
		{"fine", "| id | state | tests |\n|---|---|---|\n| E1 | held | `internal/a.TestA`, internal/b.TestB/sub |\n| E2 | open | |", ""},
		{"missing", "| E1 | open | |", "row E2: missing"},
		{"twice", "| E1 | open | |\n| E1 | open | |\n| E2 | open | |", "line 2, row E1: stands there twice"},
		{"unknown", "| E1 | open | |\n| E2 | open | |\n| Z9 | open | |", "row Z9: is none that is known"},
		{"state", "| E1 | done | |\n| E2 | open | |", `row E1: state is "done"`},
		{"held by nothing", "| E1 | held | |\n| E2 | open | |", "row E1: is held, but names no test"},
		{"cells", "| E1 | held |\n| E2 | open | |", "row E1: has 2 cells"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, problems := requirementRows(c.text, []string{"E1", "E2"})
			got := strings.Join(problems, "\n")
			if c.want == "" && got != "" || !strings.Contains(got, c.want) {
				t.Errorf("got problems %q, want %q", got, c.want)
			}
		})
	}
}

func TestRequirementRowsHaveTests(t *testing.T) {
	rows, _ := requirementRows("| E1 | held | `internal/a.TestA`, internal/b.TestB/sub_one |", []string{"E1"})
	if len(rows) != 1 || strings.Join(rows[0].tests, " ") != "internal/a.TestA internal/b.TestB/sub_one" {
		t.Errorf("got %+v", rows)
	}
}

func TestRuleRows(t *testing.T) {
	const good = "See `test/e2e.TestChain`.\n\n| rule | what holds | tests |\n|---|---|---|\n" +
		"| 1 | Once. | `internal/a.TestA`, `internal/b.TestB/sub` |\n| 2 | Sealed. | `internal/a.TestA` |\n"
	for _, c := range []struct {
		name, text, want string
	}{
		{"fine", good, ""},
		{"missing", strings.Replace(good, "| 2 |", "| - |", 1), "row 2: missing"},
		{"twice", strings.Replace(good, "| 2 |", "| 1 |", 1), "row 1: stands there twice"},
		{"unknown", good + "| 3 | More. | `internal/a.TestA` |\n", "row 3: is none that is known"},
		{"held by nothing", strings.Replace(good, "| `internal/a.TestA` |", "| TestA |", 1), "row 2: names no test"},
		{"cells", good + "| 3 | More. |\n", "row 3: has 2 cells, want 3"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, problems := ruleRows(c.text, []string{"1", "2"})
			got := strings.Join(problems, "\n")
			if c.want == "" && got != "" || !strings.Contains(got, c.want) {
				t.Errorf("got problems %q, want %q", got, c.want)
			}
		})
	}
	rows, _ := ruleRows(good, []string{"1", "2"})
	var got []string
	for _, r := range rows {
		got = append(got, r.id+" "+strings.Join(r.tests, " "))
	}
	if want := "1 internal/a.TestA internal/b.TestB/sub; 2 internal/a.TestA; text test/e2e.TestChain"; strings.Join(got, "; ") != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestRuleTwelveIsNotInTheTable(t *testing.T) {
	if ids := ruleIDs(); len(ids) != 34 || slices.Contains(ids, "12") || ids[33] != "35" {
		t.Errorf("got %q", ids)
	}
}

// TestRun has a module with one package, a log of what ran in it, and pages
// that name one test at a time.
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

		"rule internal/a.TestBad":     "rules.md: row 1: internal/a.TestBad: failed",
		"rule internal/a.TestSkipped": "was skipped",
		"rule internal/a.TestIdle":    "did not run",
	} {
		t.Run(test, func(t *testing.T) {
			requirements := write("requirements.md", "| E1 | held | "+test+" |\n")
			rules := write("rules.md", "| 1 | Once. | `internal/a.TestGood` |\n")
			if strings.HasPrefix(test, "rule ") {
				rules, requirements = write("rules.md", "| 1 | Once. | `"+test[5:]+"` |\n"), write("requirements.md", "| E1 | open | |\n")
			}
			var w strings.Builder
			code := run(&w, root, []page{
				{requirements, func(text string) ([]row, []string) { return requirementRows(text, []string{"E1"}) }},
				{rules, func(text string) ([]row, []string) { return ruleRows(text, []string{"1"}) }},
			}, []string{logFile})
			if (code == 0) != (want == "") || !strings.Contains(w.String(), want) {
				t.Errorf("got code %d and\n%s", code, w.String())
			}
			if want == "" && !strings.HasPrefix(w.String(), "rows: 2 held, 0 open, 2 tests named, 0 problems") {
				t.Errorf("got more than the summary line:\n%s", w.String())
			}
		})
	}
}

func TestRunWithoutItsFiles(t *testing.T) {
	var w strings.Builder
	none := page{file: filepath.Join(t.TempDir(), "none.md")}
	if code := run(&w, ".", []page{none}, nil); code != 1 || !strings.Contains(w.String(), "none.md") {
		t.Errorf("got code %d without a page:\n%s", code, w.String())
	}
	if code := run(&w, ".", nil, []string{none.file}); code != 1 {
		t.Errorf("got code %d without a log", code)
	}
}
