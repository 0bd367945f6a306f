// Package testlog reads what `go test -json` writes and tells how each test
// ended. It serves the programs that summarise a run and that check the
// requirements table; it runs no tests itself.
package testlog

import (
	"bufio"
	"encoding/json"
	"io"
	"slices"
	"strings"
)

// Result is how a test ended. Where a test ran more than once the worst
// counts, so the values are in order of badness.
type Result uint8

// The results, from good to bad.
const (
	Passed Result = iota + 1
	Skipped
	Failed
)

// ID names one test or subtest: an import path and a name such as
// "TestA/sub". An empty name stands for the package itself.
type ID struct {
	Package string
	Test    string
}

func (id ID) String() string {
	if id.Test == "" {
		return id.Package
	}
	return id.Package + "." + id.Test
}

// Failure is one failed run of a test with all that it printed.
type Failure struct {
	ID     ID
	Output string
}

// Log is what a run of tests came to. The zero Log is empty and ready to use.
// It is not safe for concurrent use.
type Log struct {
	Passed, Failed, Skipped int // runs, subtests included
	Failures                []Failure
	Results                 map[ID]Result

	running []ID // in the order in which they began
	output  map[ID]*strings.Builder
	failed  map[string]bool // packages in which a test failed
}

type event struct {
	Action      string
	Package     string
	ImportPath  string // of build events, which name no package
	Test        string
	Output      string
	FailedBuild string
}

// Read adds the events of r, those of a whole run, to the log. A test that has
// not ended when they end has failed. Lines that are no events, such as what
// a program under test prints by itself, go to stray.
func (l *Log) Read(r io.Reader, stray io.Writer) error {
	br := bufio.NewReader(r)
	for {
		line, err := br.ReadBytes('\n')
		if len(line) > 0 {
			var e event
			if line[0] != '{' || json.Unmarshal(line, &e) != nil {
				if _, err := stray.Write(line); err != nil {
					return err
				}
			} else {
				l.add(e)
			}
		}
		if err == io.EOF {
			for len(l.running) > 0 {
				id := l.running[0]
				l.keep(id, "it never ended\n")
				l.end(id, Failed)
			}
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (l *Log) add(e event) {
	id := ID{e.Package, e.Test}
	switch e.Action {
	case "run":
		l.running = append(l.running, id)
	case "output":
		l.keep(id, e.Output)
	case "build-output":
		l.keep(ID{Package: e.ImportPath}, e.Output)
	case "pass":
		l.end(id, Passed)
	case "skip":
		l.end(id, Skipped)
	case "fail":
		if e.FailedBuild != "" && e.FailedBuild != e.Package {
			l.keep(id, l.take(ID{Package: e.FailedBuild}))
		}
		l.end(id, Failed)
	}
}

func (l *Log) keep(id ID, text string) {
	for _, noise := range []string{"=== RUN", "=== PAUSE", "=== CONT", "=== NAME"} {
		if strings.HasPrefix(text, noise) {
			return
		}
	}
	if l.output == nil {
		l.output = map[ID]*strings.Builder{}
	}
	b := l.output[id]
	if b == nil {
		b = &strings.Builder{}
		l.output[id] = b
	}
	b.WriteString(text)
}

func (l *Log) take(id ID) string {
	b := l.output[id]
	if b == nil {
		return ""
	}
	delete(l.output, id)
	return b.String()
}

func (l *Log) end(id ID, res Result) {
	out := l.take(id)
	l.running = slices.DeleteFunc(l.running, func(r ID) bool { return r == id })
	if id.Test == "" {
		// A package fails with its tests, also with those that did not end.
		// Alone it fails when it cannot be built, or when it has no tests to
		// blame.
		hung := func(r ID) bool { return r.Package == id.Package }
		if res != Failed || l.failed[id.Package] || slices.ContainsFunc(l.running, hung) {
			return
		}
	}
	if l.Results == nil {
		l.Results = map[ID]Result{}
		l.failed = map[string]bool{}
	}
	l.Results[id] = max(l.Results[id], res)
	switch res {
	case Passed:
		l.Passed++
	case Skipped:
		l.Skipped++
	case Failed:
		l.Failed++
		l.failed[id.Package] = true
		l.Failures = append(l.Failures, Failure{id, out})
	}
}
