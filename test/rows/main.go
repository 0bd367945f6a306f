// Command rows checks docs/requirements.md against what was really tested. It
// fails when a requirement is missing from the table, and when a test that
// the table names does not exist, did not run, was skipped or failed.
//
//	rows [-table docs/requirements.md] .out/*.json
//
// It is run from the root of the module.
package main

import (
	_ "embed"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/answerback/answerback/test/internal/testlog"
)

const module = "github.com/answerback/answerback"

//go:embed ids.txt
var ids string

func main() {
	table := flag.String("table", "docs/requirements.md", "the table of requirements")
	flag.Parse()
	os.Exit(run(os.Stdout, ".", *table, flag.Args()))
}

func run(w io.Writer, root, table string, logs []string) int {
	text, err := os.ReadFile(table)
	if err != nil {
		fmt.Fprintln(w, "rows:", err)
		return 1
	}
	rows, problems := parse(string(text), strings.Fields(ids))
	log, err := readLogs(logs)
	if err != nil {
		fmt.Fprintln(w, "rows:", err)
		return 1
	}
	held, tests := 0, 0
	for _, r := range rows {
		if r.held {
			held++
		}
		tests += len(r.tests)
		problems = append(problems, r.check(root, log)...)
	}
	for _, p := range problems {
		fmt.Fprintln(w, p)
	}
	fmt.Fprintf(w, "rows: %d held, %d open, %d tests named, %d problems\n", held, len(rows)-held, tests, len(problems))
	return min(len(problems), 1)
}

func readLogs(names []string) (*testlog.Log, error) {
	var log testlog.Log
	for _, name := range names {
		f, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		err = log.Read(f, io.Discard)
		f.Close()
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", name, err)
		}
	}
	return &log, nil
}
