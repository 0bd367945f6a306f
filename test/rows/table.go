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

// row is one requirement, rule, guarantee or place: its id, whether it is held,
// and the tests that hold it, each as package/path.TestName or
// package/path.TestName/subtest.
type row struct {
	id    string
	held  bool
	place bool // a place of a seed, which is neither held nor open
	tests []string
}

// elsewhere is the id of a row that is not in a table.
const elsewhere = "text"

var (
	requirementID = regexp.MustCompile(`^[A-Z]+[0-9]+$`)
	ruleID        = regexp.MustCompile(`^[0-9]+$`)
	guaranteeAt   = regexp.MustCompile(`^## (P[0-9]+) [^:]+: (held|not yet)$`)
	testName      = regexp.MustCompile(`^([a-z0-9/_-]+)\.((?:Test|Fuzz|Example)[^/\s]*)(/\S+)?$`)
	quotedTest    = regexp.MustCompile("`([a-z0-9/_-]+\\.(?:Test|Fuzz|Example)[^`\\s]*)`")
)

// requirementRows reads the two tables of each group of requirements: id,
// demand, source, what is done and state; and id and tests. It reports what is
// wrong with the tables as such. A source may name places of the seeds.
func requirementRows(text string, want, places []string) (rows []row, problems []string) {
	var demands, tests []line
	for _, l := range tableLines(text) {
		switch {
		case !requirementID.MatchString(l.id):
		case len(l.cells) == 5:
			demands = append(demands, l)
		case len(l.cells) == 2:
			tests = append(tests, l)
		default:
			problems = append(problems, l.problem("has %d cells, want 5 (id, demand, source, what we do, state) or 2 (id, tests)", len(l.cells)))
		}
	}
	for _, l := range demands {
		r := row{id: l.id}
		for i, what := range []string{"demand", "source", "account of what we do"} {
			if strings.TrimSpace(l.cells[i+1]) == "" {
				problems = append(problems, l.problem("has no %s", what))
			}
		}
		for _, m := range placeInRow.FindAllStringSubmatch(l.cells[2], -1) {
			if !slices.Contains(places, m[1]) {
				problems = append(problems, l.problem("no seed has the place %q", m[1]))
			}
		}
		switch state := strings.TrimSpace(l.cells[4]); state {
		case "held":
			r.held = true
		case "open":
		default:
			problems = append(problems, l.problem("state is %q, want held or open", state))
		}
		if at := slices.IndexFunc(tests, func(t line) bool { return t.id == l.id }); at >= 0 {
			for t := range strings.SplitSeq(tests[at].cells[1], ",") {
				if t = strings.Trim(strings.TrimSpace(t), "`"); t != "" {
					r.tests = append(r.tests, t)
				}
			}
		}
		if r.held && len(r.tests) == 0 {
			problems = append(problems, l.problem("is held, but names no test"))
		}
		rows = append(rows, r)
	}
	problems = append(problems, complete(demands, want)...)
	for _, p := range complete(tests, want) {
		problems = append(problems, "table of tests: "+p)
	}
	return rows, problems
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

// guaranteeRows reads the guarantees: a section for each, whose heading says
// whether it holds, and the tests that its text names. The tests named above
// the first section are a row of their own.
func guaranteeRows(text string, want []string) (rows []row, problems []string) {
	var headings []line
	current := row{id: elsewhere}
	for n, s := range strings.Split(text, "\n") {
		if m := guaranteeAt.FindStringSubmatch(s); m != nil {
			rows = append(rows, current)
			current = row{id: m[1], held: m[2] == "held"}
			headings = append(headings, line{number: n + 1, id: m[1]})
		} else if strings.HasPrefix(s, "## ") {
			problems = append(problems, fmt.Sprintf("line %d: %q is not of the form: P1 Name: held, or P1 Name: not yet", n+1, s))
		}
		current.tests = append(current.tests, quoted(s)...)
	}
	rows = append(rows, current)
	for _, r := range rows {
		if r.held && len(r.tests) == 0 {
			problems = append(problems, "row "+r.id+": is held, but names no test")
		}
	}
	return rows, append(problems, complete(headings, want)...)
}

// guaranteeIDs are the names of the guarantees.
func guaranteeIDs() []string { return strings.Fields("P1 P2 P3 P4 P5 P6 P7 P8 P9") }

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

// tableLines gives the lines of all tables.
func tableLines(text string) (table []line) {
	for n, s := range strings.Split(text, "\n") {
		if !strings.HasPrefix(s, "|") {
			continue
		}
		cells := strings.Split(strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(s), "|"), "|"), "|")
		table = append(table, line{number: n + 1, id: strings.TrimSpace(cells[0]), cells: cells, text: s})
	}
	return table
}

// tableRows gives the rows whose first cell is an id. Each must have the
// columns named.
func tableRows(text string, id *regexp.Regexp, columns string) (table []line, problems []string) {
	for _, l := range tableLines(text) {
		if !id.MatchString(l.id) {
			continue
		}
		if want := strings.Count(columns, ",") + 1; len(l.cells) != want {
			problems = append(problems, l.problem("has %d cells, want %d: %s", len(l.cells), want, columns))
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
		return "did not run; run make and the door of its package (conformance, e2e, matrix, browser, crash) first"
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
