package main

import (
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// index is the committed list of all places, one to a line. The documents
// themselves are not part of the repository.
//
//go:embed places.txt
var index string

func indexed() []string { return strings.Split(strings.TrimSpace(index), "\n") }

const (
	doesNotBind = "Does not bind: "
	headingOnly = "Heading only."
)

var (
	seedRow    = regexp.MustCompile("^`([0-9]{3}#[^`]+)`(?: (with ))?(.*)$")
	countedRow = regexp.MustCompile(`^(item|example)s? ([0-9]+)(?:-([0-9]+))?$`)
	placeInRow = regexp.MustCompile("`([0-9]{3}#[^`]+)`")
)

// seedRows reads the tables of the seeds' places: place, what is done about
// it, requirement ids, and tests or a reason. It reports places without a row,
// rows that name no place, and rows with neither a test nor a reason.
func seedRows(text string, places, ids []string) (rows []row, problems []string) {
	seen := make(map[string]bool)
	for _, l := range tableLines(text) {
		if !seedRow.MatchString(l.id) {
			continue
		}
		if len(l.cells) != 4 {
			problems = append(problems, l.problem("has %d cells, want 4: place, what we do, requirements, tests or reason", len(l.cells)))
			continue
		}
		named, err := expand(l.id)
		if err != nil {
			problems = append(problems, l.problem("%v", err))
		}
		for _, p := range named {
			switch {
			case !slices.Contains(places, p):
				problems = append(problems, l.problem("no seed has the place %q", p))
			case seen[p]:
				problems = append(problems, l.problem("the place %q has a row already", p))
			}
			seen[p] = true
		}
		reason := strings.TrimSpace(l.cells[3])
		requirements := strings.FieldsFunc(l.cells[2], func(r rune) bool { return r == ',' || r == ' ' })
		for _, id := range requirements {
			if !slices.Contains(ids, id) {
				problems = append(problems, l.problem("there is no requirement %s", id))
			}
		}
		r := row{id: l.id, place: true, tests: quoted(l.cells[1] + l.cells[3])}
		free := reason == headingOnly || len(reason) > len(doesNotBind) && strings.HasPrefix(reason, doesNotBind)
		switch {
		case strings.TrimSpace(l.cells[1]) == "":
			problems = append(problems, l.problem("does not say what we do"))
		case !free && len(r.tests) == 0:
			problems = append(problems, l.problem("names no test; without one its last cell begins with %q, or is %q", doesNotBind, headingOnly))
		case !free && len(requirements) == 0:
			problems = append(problems, l.problem("names no requirement"))
		}
		rows = append(rows, r)
	}
	for _, p := range places {
		if !seen[p] {
			problems = append(problems, fmt.Sprintf("the place %q has no row", p))
		}
	}
	return rows, problems
}

// expand gives the places that the first cell of a row names. "`P`" is the
// section P, "`P` items 2-4, example 1" are parts of it, and "`P` with items
// 2-4" is both.
func expand(cell string) (places []string, err error) {
	m := seedRow.FindStringSubmatch(cell)
	section, with, parts := m[1], m[2] != "", strings.TrimSpace(m[3])
	if with || parts == "" {
		places = append(places, section)
	}
	if name, ok := strings.CutPrefix(parts, "row "); ok {
		return append(places, section+", row "+name), nil
	}
	for part := range strings.SplitSeq(parts, ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		c := countedRow.FindStringSubmatch(part)
		if c == nil {
			return places, fmt.Errorf("%q is neither items, examples nor a row", part)
		}
		first, _ := strconv.Atoi(c[2])
		last, _ := strconv.Atoi(c[3])
		const most = 100
		if last = max(first, last); last-first > most {
			return places, fmt.Errorf("%q names more than %d places", part, most)
		}
		for n := first; n <= last; n++ {
			places = append(places, fmt.Sprintf("%s, %s %d", section, c[1], n))
		}
	}
	return places, nil
}

// compareIndex compares the committed index of places, and the examples kept
// as test data, with the seed documents where these are at hand.
func compareIndex(root, seeds string, index []string) (said string, problems []string) {
	places, examples, err := readSeeds(os.DirFS(seeds))
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Sprintf("seeds: %s is absent, so the rows were compared with the committed index of %d places only", seeds, len(index)), nil
	}
	if err != nil {
		return "", []string{fmt.Sprintf("reading the seeds in %s: %v", seeds, err)}
	}
	for _, p := range places {
		if !slices.Contains(index, p) {
			problems = append(problems, fmt.Sprintf("places.txt lacks %q; write it again with go run ./test/rows -index", p))
		}
	}
	for _, p := range index {
		if !slices.Contains(places, p) {
			problems = append(problems, fmt.Sprintf("places.txt has %q, which no seed has", p))
		}
	}
	kept, wrong := compareExamples(root, places, examples)
	return fmt.Sprintf("seeds: %d places in %s are those of the committed index; %d examples kept as test data are the seeds' own", len(places), seeds, kept), append(problems, wrong...)
}

// exampleFile is the name of an example kept as test data: the seed, the number
// of its section and of the example in it.
var exampleFile = regexp.MustCompile(`^([0-9]{3})-([0-9.]+)-([0-9]+)\.json$`)

// compareExamples compares every example kept as test data with its seed, byte
// for byte but for the white space at its end.
func compareExamples(root string, places []string, examples map[string]string) (kept int, problems []string) {
	files, _ := filepath.Glob(filepath.Join(root, "*", "testdata", "seed", "*"))
	more, _ := filepath.Glob(filepath.Join(root, "internal", "*", "testdata", "seed", "*"))
	for _, file := range append(files, more...) {
		m := exampleFile.FindStringSubmatch(filepath.Base(file))
		if m == nil {
			problems = append(problems, file+": the name is not seed-section-number.json")
			continue
		}
		at := slices.IndexFunc(places, func(p string) bool {
			return strings.HasPrefix(p, m[1]+"#"+m[2]+" ") && strings.HasSuffix(p, ", example "+m[3])
		})
		if at < 0 {
			problems = append(problems, file+": no seed has such an example")
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			problems = append(problems, err.Error())
		} else if strings.TrimSpace(string(text)) != strings.TrimSpace(examples[places[at]]) {
			problems = append(problems, fmt.Sprintf("%s: is not what %s has", file, places[at]))
		}
		kept++
	}
	return kept, problems
}
