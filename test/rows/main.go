// Command rows checks the pages that say what holds against what was really
// tested: docs/requirements.md and docs/bridging.md. It fails when a
// requirement or a rule is missing from its table, and when a test that a page
// names does not exist, did not run, was skipped or failed.
//
//	rows [-requirements FILE] [-rules FILE] .out/*.json
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
	requirements := flag.String("requirements", "docs/requirements.md", "the table of requirements")
	rules := flag.String("rules", "docs/bridging.md", "the tables of rules")
	flag.Parse()
	os.Exit(run(os.Stdout, ".", []page{
		{*requirements, func(text string) ([]row, []string) { return requirementRows(text, strings.Fields(ids)) }},
		{*rules, func(text string) ([]row, []string) { return ruleRows(text, ruleIDs()) }},
	}, flag.Args()))
}

// page is a page with rows, and how they are read.
type page struct {
	file  string
	parse func(text string) (rows []row, problems []string)
}

func run(w io.Writer, root string, pages []page, logs []string) int {
	log, err := readLogs(logs)
	if err != nil {
		fmt.Fprintln(w, "rows:", err)
		return 1
	}
	held, open, tests, problems := 0, 0, 0, 0
	for _, p := range pages {
		text, err := os.ReadFile(p.file)
		if err != nil {
			fmt.Fprintln(w, "rows:", err)
			return 1
		}
		rows, wrong := p.parse(string(text))
		for _, r := range rows {
			switch {
			case r.id == elsewhere:
			case r.held:
				held++
			default:
				open++
			}
			tests += len(r.tests)
			wrong = append(wrong, r.check(root, log)...)
		}
		for _, s := range wrong {
			fmt.Fprintf(w, "%s: %s\n", p.file, s)
		}
		problems += len(wrong)
	}
	fmt.Fprintf(w, "rows: %d held, %d open, %d tests named, %d problems\n", held, open, tests, problems)
	return min(problems, 1)
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
