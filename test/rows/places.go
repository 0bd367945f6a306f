package main

import (
	"fmt"
	"io/fs"
	"regexp"
	"strings"
)

// A place is a part of a seed document that can demand something. It is named
// by the document's number and the heading above it: "004#2.2 Text Field" is
// the section itself; "004#2.2 Text Field, item 3", "004#2.2 Text Field,
// example 1" and "004#11. Performance Targets, row Memory per elicitation" are
// parts of a section. Items are list items, counted within their section;
// examples are JSON code blocks; rows are rows of a table, by their first cell.

var (
	seedFile   = regexp.MustCompile(`^([0-9]{3})_[0-9a-z]+\.txt$`)
	headingAt  = regexp.MustCompile(`^#{1,6} (.+)$`)
	itemAt     = regexp.MustCompile(`^\s*(?:[-*]|[0-9]+\.) `)
	itemInCode = regexp.MustCompile(`^(?:[0-9]+\. |[A-Z][A-Z_]+=)`) // 001 lists settings and errors inside code
	markup     = regexp.MustCompile("[*`]")
	notASCII   = regexp.MustCompile(`[^ -~]+`) // dashes, arrows and icons of headings
	spaces     = regexp.MustCompile(`\s+`)
)

// readSeeds gives the places of all seed documents in a directory.
func readSeeds(dir fs.FS) (places []string, examples map[string]string, err error) {
	entries, err := fs.ReadDir(dir, ".")
	if err != nil {
		return nil, nil, err
	}
	examples = make(map[string]string)
	for _, e := range entries {
		m := seedFile.FindStringSubmatch(e.Name())
		if m == nil {
			continue
		}
		text, err := fs.ReadFile(dir, e.Name())
		if err != nil {
			return nil, nil, err
		}
		places = append(places, placesOf(m[1], string(text), examples)...)
	}
	if len(places) == 0 {
		return nil, nil, fmt.Errorf("no seed document was found")
	}
	seen := make(map[string]bool)
	for _, p := range places {
		if seen[p] {
			return nil, nil, fmt.Errorf("the place %s has two headings: its name does not identify it", p)
		}
		seen[p] = true
	}
	return places, examples, nil
}

// placesOf gives the places of one document in their order, and adds the text
// of its examples to examples. Text above the first heading has no place.
func placesOf(seed, text string, examples map[string]string) (places []string) {
	var section, fence, example string
	var items, blocks int
	table := false
	part := func(format string, args ...any) string {
		p := section + ", " + fmt.Sprintf(format, args...)
		places = append(places, p)
		return p
	}
	lines := strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	for i, s := range lines {
		trimmed := strings.TrimSpace(s)
		inTable := table
		table = false
		switch {
		case fence != "" && trimmed == "```":
			fence, example = "", ""
		case fence != "" && section != "" && itemInCode.MatchString(s):
			items++
			part("item %d", items)
		case fence != "":
			if example != "" {
				examples[example] += s + "\n"
			}
		case strings.HasPrefix(trimmed, "```"):
			fence = trimmed
			if section != "" && trimmed == "```json" {
				blocks++
				example = part("example %d", blocks)
			}
		case headingAt.MatchString(s):
			section = seed + "#" + clean(headingAt.FindStringSubmatch(s)[1])
			items, blocks = 0, 0
			places = append(places, section)
		case section == "":
		case strings.HasPrefix(s, "|"):
			table = true
			header := i+1 < len(lines) && strings.HasPrefix(lines[i+1], "|--")
			if inTable && !header && !strings.HasPrefix(s, "|--") {
				part("row %s", clean(strings.Split(s, "|")[1]))
			}
		case itemAt.MatchString(s):
			items++
			part("item %d", items)
		}
	}
	return places
}

// clean gives the words of a heading or a cell without markup.
func clean(s string) string {
	s = notASCII.ReplaceAllString(markup.ReplaceAllString(s, ""), " ")
	return strings.TrimSpace(spaces.ReplaceAllString(s, " "))
}
