package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestRequirementRows(t *testing.T) {
	const good = "| id | demand | from | what we do | state |\n|---|---|---|---|---|\n" +
		"| E1 | Truth. | `000#One` | It tells. | held |\n| E2 | More. | MCP | Nothing. | open |\n" +
		"| id | tests |\n|---|---|\n| E1 | `internal/a.TestA`, internal/b.TestB/sub |\n| E2 | |\n"
	for _, c := range []struct {
		name, old, new, want string
	}{
		{"fine", "", "", ""},
		{"missing", "| E2 | More.", "| - | More.", "row E2: missing"},
		{"missing tests", "| E2 | |", "", "table of tests: row E2: missing"},
		{"twice", "| E2 | More.", "| E1 | More.", "line 4, row E1: stands there twice"},
		{"tests twice", "| E2 | |", "| E1 | |", "table of tests: line 8, row E1: stands there twice"},
		{"unknown", "| E2 | More.", "| Z9 | More.", "row Z9: is none that is known"},
		{"state", "| held |", "| done |", `row E1: state is "done"`},
		{"held by nothing", "| E1 | `internal/a.TestA`, internal/b.TestB/sub |", "| E1 | |", "row E1: is held, but names no test"},
		{"cells", "| More. | MCP", "| More.", "row E2: has 4 cells"},
		{"no demand", "| Truth. |", "| |", "row E1: has no demand"},
		{"no source", "| MCP |", "| |", "row E2: has no source"},
		{"no account", "| Nothing. |", "| |", "row E2: has no account of what we do"},
		{"place", "`000#One`", "`000#Two`", `row E1: no seed has the place "000#Two"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, problems := requirementRows(strings.Replace(good, c.old, c.new, 1), []string{"E1", "E2"}, []string{"000#One"})
			got := strings.Join(problems, "\n")
			if c.want == "" && got != "" || !strings.Contains(got, c.want) {
				t.Errorf("got problems %q, want %q", got, c.want)
			}
		})
	}
	rows, _ := requirementRows(good, []string{"E1", "E2"}, nil)
	if len(rows) != 2 || strings.Join(rows[0].tests, " ") != "internal/a.TestA internal/b.TestB/sub" {
		t.Errorf("got %+v", rows)
	}
}

func TestGuaranteeRows(t *testing.T) {
	const good = "# Guarantees\n\nSee `test/crash.TestAll`.\n\n## P1 Kept: held\n\n- `internal/a.TestA`: kept.\n\n" +
		"Limits: `internal/b.TestB`.\n\n## P2 Bounded: not yet\n\nMissing: all.\n"
	for _, c := range []struct {
		name, old, new, want string
	}{
		{"fine", "", "", ""},
		{"missing", "## P2 Bounded: not yet", "", "row P2: missing"},
		{"twice", "## P2 B", "## P1 B", "line 11, row P1: stands there twice"},
		{"unknown", "## P2 B", "## P7 B", "row P7: is none that is known"},
		{"state", "Kept: held", "Kept: mostly", "line 5: "},
		{"held by nothing", "Bounded: not yet", "Bounded: held", "row P2: is held, but names no test"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, problems := guaranteeRows(strings.Replace(good, c.old, c.new, 1), []string{"P1", "P2"})
			got := strings.Join(problems, "\n")
			if c.want == "" && got != "" || !strings.Contains(got, c.want) {
				t.Errorf("got problems %q, want %q", got, c.want)
			}
		})
	}
	rows, _ := guaranteeRows(good, []string{"P1", "P2"})
	var got []string
	for _, r := range rows {
		got = append(got, r.id+" "+strings.Join(r.tests, " "))
	}
	if want := "text test/crash.TestAll; P1 internal/a.TestA internal/b.TestB; P2 "; strings.Join(got, "; ") != want {
		t.Errorf("got %q, want %q", got, want)
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
			requirements := write("requirements.md", "| E1 | Truth. | MCP | It tells. | held |\n| E1 | "+test+" |\n")
			rules := write("rules.md", "| 1 | Once. | `internal/a.TestGood` |\n")
			if strings.HasPrefix(test, "rule ") {
				rules, requirements = write("rules.md", "| 1 | Once. | `"+test[5:]+"` |\n"), write("requirements.md", "| E1 | Truth. | MCP | Nothing. | open |\n| E1 | |\n")
			}
			var w strings.Builder
			code := run(&w, root, []page{
				{requirements, func(text string) ([]row, []string) { return requirementRows(text, []string{"E1"}, nil) }},
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
