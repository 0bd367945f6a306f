package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/answerback/answerback/test/internal/testlog"
)

// row is one requirement: its id, whether it is held, and the tests that hold
// it, each as package/path.TestName or package/path.TestName/subtest.
type row struct {
	id    string
	held  bool
	tests []string
}

var (
	rowID    = regexp.MustCompile(`^[A-Z]+[0-9]+$`)
	testName = regexp.MustCompile(`^([a-z0-9/_-]+)\.((?:Test|Fuzz|Example)[^/\s]*)(/\S+)?$`)
)

// parse reads the rows of the table and says what is wrong with it as such.
func parse(text string, want []string) (rows []row, problems []string) {
	for n, line := range strings.Split(text, "\n") {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		id := strings.TrimSpace(cells[0])
		if !strings.HasPrefix(line, "|") || !rowID.MatchString(id) {
			continue
		}
		bad := func(format string, args ...any) {
			problems = append(problems, fmt.Sprintf("line %d, row %s: ", n+1, id)+fmt.Sprintf(format, args...))
		}
		if len(cells) != 3 {
			bad("has %d cells, want 3: id, state, tests", len(cells))
			continue
		}
		r := row{id: id}
		switch state := strings.TrimSpace(cells[1]); state {
		case "held":
			r.held = true
		case "open":
		default:
			bad("state is %q, want held or open", state)
		}
		for t := range strings.SplitSeq(cells[2], ",") {
			if t = strings.Trim(strings.TrimSpace(t), "`"); t != "" {
				r.tests = append(r.tests, t)
			}
		}
		if r.held && len(r.tests) == 0 {
			bad("is held, but names no test")
		}
		if !slices.Contains(want, id) {
			bad("is no known requirement")
		}
		if slices.ContainsFunc(rows, func(o row) bool { return o.id == id }) {
			bad("stands there twice")
		}
		rows = append(rows, r)
	}
	for _, id := range want {
		if !slices.ContainsFunc(rows, func(r row) bool { return r.id == id }) {
			problems = append(problems, "row "+id+": missing from the table")
		}
	}
	return rows, problems
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
		return "did not run; run make, make conformance and make e2e first"
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
