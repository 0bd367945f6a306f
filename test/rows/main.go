// Command rows checks the pages that say what holds against what was really
// tested. docs/evidence/requirements.md has the requirements,
// docs/evidence/seeds.md the places of the documents that they come from,
// docs/bridging.md the rules of bridging and docs/guarantees.md the guarantees.
// The command fails when a requirement, a place, a rule or a guarantee has no
// row, when a row names one that does not exist, and when a test that a page
// names does not exist, did not run, was skipped or failed.
//
//	rows [-seeds DIR] .out/*.json
//	rows [-seeds DIR] -index >test/rows/places.txt
//
// The seed documents are not part of the repository. Where they lie beside the
// checkout, the committed index of their places is compared with them.
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
	seeds := flag.String("seeds", "../shared/seeds", "the directory of the seed documents")
	write := flag.Bool("index", false, "print the places of the seed documents and check nothing")
	flag.Parse()
	if *write {
		places, _, err := readSeeds(os.DirFS(*seeds))
		if err != nil {
			fmt.Fprintf(os.Stderr, "rows: reading the seeds in %s: %v\n", *seeds, err)
			os.Exit(1)
		}
		fmt.Println(strings.Join(places, "\n"))
		return
	}
	ids, places := strings.Fields(ids), indexed()
	code := run(os.Stdout, ".", []page{
		{"docs/evidence/requirements.md", func(text string) ([]row, []string) { return requirementRows(text, ids, places) }},
		{"docs/evidence/seeds.md", func(text string) ([]row, []string) { return seedRows(text, places, ids) }},
		{"docs/bridging.md", func(text string) ([]row, []string) { return ruleRows(text, ruleIDs()) }},
		{"docs/guarantees.md", func(text string) ([]row, []string) { return guaranteeRows(text, guaranteeIDs()) }},
	}, flag.Args())
	said, problems := compareIndex(".", *seeds, places)
	for _, p := range problems {
		fmt.Println("seeds:", p)
	}
	if said != "" {
		fmt.Println(said)
	}
	os.Exit(max(code, min(len(problems), 1)))
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
			case r.place || r.id == elsewhere:
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
