package terminal

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// How much of what servers and clients wrote is shown, in characters.
const (
	maxName    = 60
	maxLabel   = 200
	maxHelp    = 1_000
	maxMessage = 20_000
)

// maxMarks is how many combining marks may follow each other: enough for
// every script, too few to paint over the lines around.
const maxMarks = 6

// clean makes foreign text safe to print: nothing in it moves the cursor,
// changes colours, titles or the clipboard, or reorders and hides what stands
// around it. Line breaks are "\n".
func clean(s string) string {
	s = strings.ReplaceAll(s, "\r\n", "\n")
	marks := 0
	return strings.Map(func(r rune) rune {
		if unicode.In(r, unicode.Mn, unicode.Me) {
			if marks++; marks > maxMarks {
				return -1
			}
			return r
		}
		marks = 0
		switch {
		case r == '\n' || r == '\r' || r == '\v' || r == '\f' || r == '\u0085' || r == '\u2028' || r == '\u2029':
			return '\n'
		case r == '\t':
			return ' '
		case hidden(r):
			return utf8.RuneError
		}
		return r
	}, strings.ToValidUTF8(s, string(utf8.RuneError)))
}

// hidden reports whether a character does something other than stand there,
// or might, because nobody here knows it. Joiners do not: scripts and emoji
// need them.
func hidden(r rune) bool { return !joins(r) && !unicode.IsGraphic(r) }

func joins(r rune) bool { return r == '\u200c' || r == '\u200d' }

// Line gives foreign text in one line that is safe to print, cut where it is
// longer than limit characters.
func Line(s string, limit int) string {
	return cut(strings.Join(strings.Fields(clean(s)), " "), limit)
}

// cut shortens s to limit characters, and shows that it did.
func cut(s string, limit int) string {
	for i := range s {
		if limit == 0 {
			return s[:i] + "…"
		}
		limit--
	}
	return s
}

// columns is how wide a line of foreign text gets. It is broken here, before
// a terminal breaks it: what stood at the beginning of a line then could be
// taken for one of ours.
const columns = 72

// block gives foreign text behind a mark of ours, on every line.
func block(mark, s string, limit int) string {
	s = strings.TrimSpace(cut(clean(s), limit))
	if s == "" {
		return ""
	}
	var b strings.Builder
	follow := strings.Repeat(" ", max(0, utf8.RuneCountInString(mark)-2)) + "| "
	for line := range strings.SplitSeq(s, "\n") {
		b.WriteString(mark)
		mark = follow
		at := 0
		for _, r := range line {
			if at += width(r); at > columns {
				b.WriteString("\n" + follow)
				at = width(r)
			}
			b.WriteRune(r)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// width is at least how many columns a character takes.
func width(r rune) int {
	switch {
	case unicode.In(r, unicode.Mn, unicode.Me) || joins(r):
		return 0
	case r >= 0x1100:
		return 2
	}
	return 1
}

// Marks before lines of foreign text.
const (
	bar  = "  | "
	fail = "  ! "
)

// JSON gives a JSON text that means the same and is safe to print: encoders
// leave characters in strings that terminals obey.
func JSON(raw []byte) []byte {
	var b strings.Builder
	for _, r := range string(raw) {
		switch {
		case r == '\n' || !hidden(r):
			b.WriteRune(r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return []byte(b.String())
}
