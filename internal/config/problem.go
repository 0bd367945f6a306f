package config

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// Problem is one thing that is wrong with a configuration, and what to do.
// File is "" and Line 0 where they are not known.
type Problem struct {
	File string
	Line int
	Key  string
	What string
	Fix  string
}

// String gives the problem as `file:line: key: what is wrong; what to do`.
func (p Problem) String() string {
	s := place(p.File, p.Line, p.Key) + p.What
	if p.Fix != "" {
		s += "; " + p.Fix
	}
	return s
}

// Note is something that the operator should know and that is not wrong.
type Note struct {
	File string
	Line int
	Key  string
	Text string
}

// String gives the note as `file:line: key: text`.
func (n Note) String() string { return place(n.File, n.Line, n.Key) + n.Text }

// Error is what Load, Parse and Validate fail with: all problems, in the order
// of the file. It is for the operator, never for a client.
type Error struct {
	Problems []Problem
}

// maxShown bounds the report on a file that is wrong from end to end.
const maxShown = 50

// Error gives one line for each problem.
func (e *Error) Error() string {
	var b strings.Builder
	for i, p := range e.Problems {
		if i > 0 {
			b.WriteByte('\n')
		}
		if i == maxShown {
			fmt.Fprintf(&b, "and %d more", len(e.Problems)-maxShown)
			break
		}
		b.WriteString(p.String())
	}
	return b.String()
}

func asError(problems []Problem) error {
	if len(problems) == 0 {
		return nil
	}
	slices.SortStableFunc(problems, func(a, b Problem) int { return cmp.Compare(a.Line, b.Line) })
	return &Error{Problems: problems}
}

func place(file string, line int, key string) string {
	var b strings.Builder
	if file != "" {
		b.WriteString(file)
		if line > 0 {
			b.WriteString(":" + strconv.Itoa(line))
		}
		b.WriteString(": ")
	}
	if key != "" {
		b.WriteString(shown(key) + ": ")
	}
	return b.String()
}

// shown makes text from the file fit for a terminal: no control characters,
// no endless lines.
func shown(s string) string {
	const most = 80
	if r := []rune(s); len(r) > most {
		s = string(r[:most]) + "…"
	}
	if strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return strconv.Quote(s)
	}
	return s
}

// quoted is shown in quotation marks, for values.
func quoted(s string) string {
	if s = shown(s); strings.HasPrefix(s, `"`) {
		return s
	}
	return `"` + s + `"`
}

// nearest gives the known key that unknown was probably meant to be, or "".
func nearest(unknown string, known []string) string {
	if len(unknown) > 40 {
		return ""
	}
	best, bestAt := "", max(1, min(3, len(unknown)/3))+1
	for _, k := range known {
		if d := editDistance(strings.ToLower(unknown), strings.ToLower(k)); d < bestAt {
			best, bestAt = k, d
		}
	}
	return best
}

// editDistance counts the insertions, deletions and replacements that lead
// from a to b.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replace := diagonal
			if a[i] != b[j] {
				replace++
			}
			diagonal = row[j+1]
			row[j+1] = min(replace, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
