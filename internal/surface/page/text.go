package page

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// How much of what servers and clients wrote is shown, in characters.
const (
	maxName    = 80     // names of backends, tools, groups and people
	maxHeading = 140    // a message that can stand as the heading
	maxTeaser  = 120    // a message in the list
	maxOpening = 600    // a message before it has to be unfolded
	maxMessage = 20_000 // a message in full
	maxHelp    = 1_000  // descriptions of fields
	maxLabel   = 200    // titles of fields and options
)

// maxMarks is how many combining marks may follow each other: enough for
// every script, too few to paint over the lines around.
const maxMarks = 6

// plain makes foreign text safe to look at: it has no controls that reorder
// or hide what stands around them, and no line breaks but "\n". Joiners stay,
// for scripts and emoji need them.
func plain(s string) string {
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
		case r == '\n' || r == '\r' || r == '\u0085' || r == '\u2028' || r == '\u2029':
			return '\n'
		case r == '\t':
			return ' '
		case r == '\u200c' || r == '\u200d':
			return r
		case unicode.Is(unicode.Cf, r):
			return -1
		case unicode.IsControl(r):
			return utf8.RuneError
		}
		return r
	}, strings.ToValidUTF8(s, string(utf8.RuneError)))
}

// line gives foreign text in one line, cut where it is longer than limit.
func line(s string, limit int) string {
	s, cut := clip(strings.Join(strings.Fields(plain(s)), " "), limit)
	if cut {
		s += "…"
	}
	return s
}

// clip cuts s after limit characters and reports whether it had to.
func clip(s string, limit int) (string, bool) {
	for i := range s {
		if limit == 0 {
			return s[:i], true
		}
		limit--
	}
	return s, false
}

// message is a server's words as a page shows them.
type message struct {
	Heading string // its title, or its first line where that is short; else empty
	Opening string // what is shown at once below the heading
	Rest    string // what is unfolded
	Chars   int    // how long it was
	Cut     bool   // not even Rest has all of it
}

func readMessage(s string) message {
	s = strings.TrimSpace(plain(s))
	m := message{Chars: utf8.RuneCountInString(s)}
	if first, rest, _ := strings.Cut(s, "\n"); utf8.RuneCountInString(first) <= maxHeading {
		m.Heading, s = first, strings.TrimSpace(rest)
	}
	all, cut := clip(s, maxMessage)
	m.Cut = cut
	m.Opening, cut = clip(all, maxOpening)
	if cut {
		m.Opening = m.Opening[:wordEnd(m.Opening)]
		m.Rest = all[len(m.Opening):]
	}
	return m
}

// wordEnd is where the last whole word of a text ends that was cut off, or the
// text's end where that is far.
func wordEnd(s string) int {
	const far = 80
	if i := strings.LastIndexAny(s, " \n"); i > len(s)-far && i > 0 {
		return i
	}
	return len(s)
}

// titled is a message with a heading of its own.
func titled(title, words string) message {
	m := readMessage(words)
	if m.Heading != "" {
		m.Opening = strings.TrimSpace(m.Heading + "\n" + m.Opening)
	}
	m.Heading = line(title, maxHeading)
	return m
}
