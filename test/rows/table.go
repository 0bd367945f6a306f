package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/answerback/answerback/test/internal/testlog"
)

// row is one requirement or rule: its id, whether it is held, and the tests
// that hold it, each as package/path.TestName or package/path.TestName/subtest.
type row struct {
	id    string
	held  bool
	tests []string
}

// elsewhere is the id of a row that is not in a table.
const elsewhere = "text"

var (
	requirementID = regexp.MustCompile(`^[A-Z]+[0-9]+$`)
	ruleID        = regexp.MustCompile(`^[0-9]+$`)
	testName      = regexp.MustCompile(`^([a-z0-9/_-]+)\.((?:Test|Fuzz|Example)[^/\s]*)(/\S+)?$`)
	quotedTest    = regexp.MustCompile("`([a-z0-9/_-]+\\.(?:Test|Fuzz|Example)[^`\\s]*)`")
)

// requirementRows reads the table of requirements, id, state and tests, and
// says what is wrong with it as such.
func requirementRows(text string, want []string) (rows []row, problems []string) {
	table, problems := tableRows(text, requirementID, "id, state, tests")
	for _, l := range table {
		r := row{id: l.id}
		switch state := strings.TrimSpace(l.cells[1]); state {
		case "held":
			r.held = true
		case "open":
		default:
			problems = append(problems, l.problem("state is %q, want held or open", state))
		}
		for t := range strings.SplitSeq(l.cells[2], ",") {
			if t = strings.Trim(strings.TrimSpace(t), "`"); t != "" {
				r.tests = append(r.tests, t)
			}
		}
		if r.held && len(r.tests) == 0 {
			problems = append(problems, l.problem("is held, but names no test"))
		}
		rows = append(rows, r)
	}
	return rows, append(problems, complete(table, want)...)
}

// ruleRows reads the tables of rules, number, what holds and tests, and says
// what is wrong with them as such. The tests that the page names elsewhere are
// a row of their own.
func ruleRows(text string, want []string) (rows []row, problems []string) {
	table, problems := tableRows(text, ruleID, "rule, what holds, tests")
	rest := text
	for _, l := range table {
		r := row{id: l.id, held: true, tests: quoted(l.cells[2])}
		if len(r.tests) == 0 {
			problems = append(problems, l.problem("names no test"))
		}
		rows = append(rows, r)
		rest = strings.Replace(rest, l.text, "", 1)
	}
	if tests := quoted(rest); len(tests) > 0 {
		rows = append(rows, row{id: elsewhere, tests: tests})
	}
	return rows, append(problems, complete(table, want)...)
}

// ruleIDs are the numbers of the rules. One of them waits for a store that
// gateways share, and is not in the table.
func ruleIDs() []string {
	const last, absent = 35, 12
	var ids []string
	for n := 1; n <= last; n++ {
		if n != absent {
			ids = append(ids, strconv.Itoa(n))
		}
	}
	return ids
}

func quoted(text string) (tests []string) {
	for _, m := range quotedTest.FindAllStringSubmatch(text, -1) {
		tests = append(tests, m[1])
	}
	return tests
}

// line is a row of a table as it stands on the page.
type line struct {
	number int
	id     string
	cells  []string
	text   string
}

func (l line) problem(format string, args ...any) string {
	return fmt.Sprintf("line %d, row %s: ", l.number, l.id) + fmt.Sprintf(format, args...)
}

// tableRows gives the rows whose first cell is an id. Each must have the
// columns named.
func tableRows(text string, id *regexp.Regexp, columns string) (table []line, problems []string) {
	for n, s := range strings.Split(text, "\n") {
		cells := strings.Split(strings.Trim(strings.TrimSpace(s), "|"), "|")
		l := line{number: n + 1, id: strings.TrimSpace(cells[0]), cells: cells, text: s}
		if !strings.HasPrefix(s, "|") || !id.MatchString(l.id) {
			continue
		}
		if want := strings.Count(columns, ",") + 1; len(cells) != want {
			problems = append(problems, l.problem("has %d cells, want %d: %s", len(cells), want, columns))
			continue
		}
		table = append(table, l)
	}
	return table, problems
}

// complete says which of the ids wanted are missing, and which rows are too
// many.
func complete(table []line, want []string) (problems []string) {
	seen := make(map[string]bool)
	for _, l := range table {
		if !slices.Contains(want, l.id) {
			problems = append(problems, l.problem("is none that is known"))
		}
		if seen[l.id] {
			problems = append(problems, l.problem("stands there twice"))
		}
		seen[l.id] = true
	}
	for _, id := range want {
		if !seen[id] {
			problems = append(problems, "row "+id+": missing from the table")
		}
	}
	return problems
}

// check says what is wrong with the row's tests.
func (r row) check(root string, log *testlog.Log) (problems []string) {
	for _, t := range r.tests {
		if why := checkTest(root, t, log); why != "" {
			problems = append(problems, fmt.Sprintf("row %s: %s: %s", r.id, t, why))
		}
	}
	return problems
}

func checkTest(root, name string, log *testlog.Log) string {
	m := testName.FindStringSubmatch(name)
	if m == nil {
		return "is not of the form package/path.TestName"
	}
	pkg, test, sub := m[1], m[2], m[3]
	if !exists(filepath.Join(root, pkg), test) {
		return "does not exist"
	}
	id := testlog.ID{Package: module + "/" + pkg, Test: test + sub}
	result, ran := log.Results[id]
	switch {
	case !ran:
		return "did not run; run make, make conformance, make e2e and make matrix first"
	case result == testlog.Failed:
		return "failed"
	case result == testlog.Skipped:
		return "was skipped"
	}
	for other, result := range log.Results {
		if other.Package == id.Package && strings.HasPrefix(other.Test, id.Test+"/") && result == testlog.Skipped {
			return "skipped a part of itself, " + other.Test
		}
	}
	return ""
}

// exists reports whether a test file in dir declares the function.
func exists(dir, function string) bool {
	files, _ := filepath.Glob(filepath.Join(dir, "*_test.go"))
	decl := regexp.MustCompile(`(?m)^func ` + regexp.QuoteMeta(function) + `\(`)
	return slices.ContainsFunc(files, func(name string) bool {
		text, err := os.ReadFile(name)
		return err == nil && decl.Match(text)
	})
}
