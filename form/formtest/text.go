package formtest

import (
	"fmt"
	"regexp/syntax"
	"strings"
	"unicode/utf8"

	"github.com/answerback/answerback/form"
)

// text makes a text for a format, a pattern or a length. Later attempts make
// longer ones.
func (g generator) text(c *form.Constraints, attempt int) string {
	n := g.between(1, 99)
	switch c.Format {
	case "email":
		return fmt.Sprintf("%sperson%d@example.com", strings.Repeat("a", g.padding(c, 19)), n)
	case "uri":
		return fmt.Sprintf("https://example.com/%s%d", strings.Repeat("a", g.padding(c, 21)), n)
	case "uuid":
		return fmt.Sprintf("123e4567-e89b-12d3-a456-4266141740%02d", n)
	case "date":
		return fmt.Sprintf("20%02d-02-03", n)
	case "date-time":
		return fmt.Sprintf("20%02d-02-03T04:05:06Z", n)
	case "time":
		return fmt.Sprintf("04:05:%02dZ", n%60)
	case "hostname":
		return fmt.Sprintf("host%d.example.com", n)
	case "ipv4":
		return fmt.Sprintf("198.51.100.%d", n)
	case "ipv6":
		return fmt.Sprintf("2001:db8::%d", n)
	}
	if c.Pattern != "" {
		re, err := syntax.Parse(c.Pattern, syntax.Perl)
		if err != nil {
			return ""
		}
		var b strings.Builder
		g.match(re.Simplify(), attempt, &b)
		s := b.String()
		if short := c.MinLength - utf8.RuneCountInString(s); short > 0 && !strings.HasSuffix(c.Pattern, "$") {
			s += strings.Repeat("a", short)
		}
		return s
	}
	least := max(1, c.MinLength)
	most := least + 10
	if c.MaxLength > 0 {
		most = min(most, c.MaxLength)
	}
	const letters = "abcdefghijklmnopqrstuvwxyz ABCÄÖÜ漢字🙂\"\\<&\n"
	runes := []rune(letters)
	var b strings.Builder
	for range g.between(least, most) {
		b.WriteRune(runes[g.between(0, len(runes)-1)])
	}
	return b.String()
}

// padding is how many letters a text of the given length lacks.
func (g generator) padding(c *form.Constraints, has int) int { return min(max(0, c.MinLength-has), 40) }

// match writes a text that a regular expression matches. Repetitions grow with
// the attempts, so that a least length is met in the end.
func (g generator) match(re *syntax.Regexp, attempt int, b *strings.Builder) {
	if b.Len() > 4000 {
		return
	}
	repeat := func(least, most int) {
		if most < 0 || most > least+attempt {
			most = least + attempt
		}
		n := g.between(least, most)
		if g.random == nil {
			n = most
		}
		for range n {
			g.match(re.Sub[0], attempt, b)
		}
	}
	switch re.Op {
	case syntax.OpLiteral:
		for _, r := range re.Rune {
			b.WriteRune(r)
		}
	case syntax.OpCharClass:
		pair := g.between(0, len(re.Rune)/2-1) * 2
		low, high := re.Rune[pair], re.Rune[pair+1]
		b.WriteRune(rune(g.between(int(low), int(min(high, low+200)))))
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		b.WriteRune(rune(g.between('a', 'z')))
	case syntax.OpStar:
		repeat(0, -1)
	case syntax.OpPlus:
		repeat(1, -1)
	case syntax.OpQuest:
		repeat(0, 1)
	case syntax.OpRepeat:
		repeat(re.Min, re.Max)
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			g.match(sub, attempt, b)
		}
	case syntax.OpAlternate:
		g.match(re.Sub[g.between(0, len(re.Sub)-1)], attempt, b)
	case syntax.OpCapture:
		g.match(re.Sub[0], attempt, b)
	}
}
