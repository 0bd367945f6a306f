package page

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/big"
	"net/mail"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// readPost reads posted strings into the content of an answer: a JSON object
// of what the form declares and nothing else. Problems are by field id, all of
// them at once; with any, there is no content.
func readPost(f *form, posted url.Values) (content []byte, problems map[string]string) {
	var b bytes.Buffer
	b.WriteByte('{')
	problems = map[string]string{}
	for _, fd := range f.Fields {
		v, given, problem := fd.read(posted[fd.ID])
		if problem != "" {
			problems[fd.ID] = problem
			continue
		}
		if !given {
			continue
		}
		if b.Len() > 1 {
			b.WriteByte(',')
		}
		b.Write(quote(fd.Key))
		b.WriteByte(':')
		b.Write(v)
	}
	b.WriteByte('}')
	if len(problems) > 0 {
		return nil, problems
	}
	return b.Bytes(), nil
}

// quote gives a string as JSON.
func quote(s string) []byte {
	q, _ := json.Marshal(s) // a string always can be
	return q
}

// read turns what was posted for the field into a JSON value. given is false
// where nothing was, and nothing had to be. A problem is a sentence that says
// what is wrong and what to do.
func (f *field) read(values []string) (v []byte, given bool, problem string) {
	switch f.Kind {
	case kindCheck:
		return strconv.AppendBool(nil, len(values) == 1 && values[0] == on), true, ""
	case kindChecks:
		return f.readChosen(values)
	}
	if len(values) > 1 {
		return nil, false, "There are several values here: give one."
	}
	s := ""
	if len(values) == 1 {
		s = values[0]
	}
	if !utf8.ValidString(s) {
		return nil, false, "This has characters that cannot be read: type it again."
	}
	if f.Kind != kindText && f.Kind != kindArea || f.Format != "" {
		s = strings.TrimSpace(s)
	}
	if s == "" {
		if f.Required {
			return nil, false, f.missing()
		}
		return nil, false, ""
	}
	switch f.Kind {
	case kindRadio, kindSelect:
		o, ok := f.option(s)
		if !ok {
			return nil, false, "Choose one from the list."
		}
		return quote(o.Value), true, ""
	case kindNumber:
		v, problem = f.readNumeral(s)
	case kindDate:
		if _, err := time.Parse(time.DateOnly, s); err != nil {
			return nil, false, "Enter a date as year-month-day, such as 2026-12-01."
		}
		v = quote(s)
	case kindDateTime:
		v, problem = readDateTime(s)
	default:
		v, problem = f.readText(s)
	}
	return v, problem == "", problem
}

func (f *field) missing() string {
	switch f.Kind {
	case kindRadio, kindSelect:
		return "Choose one: this is needed."
	case kindNumber:
		return "Enter a number: this is needed."
	case kindDate, kindDateTime:
		return "Enter a date: this is needed."
	}
	return "Fill this in: it is needed."
}

// option finds the choice that was posted as its place in the list.
func (f *field) option(place string) (option, bool) {
	i, err := strconv.Atoi(place)
	if err != nil || i < 0 || i >= len(f.Options) {
		return option{}, false
	}
	return f.Options[i], true
}

// readChosen gives the chosen options in the order of the list. To choose
// nothing is an answer where nothing may be chosen, so that a default which
// somebody took away does not come back.
func (f *field) readChosen(values []string) ([]byte, bool, string) {
	chosen := map[string]bool{}
	for _, v := range values {
		if _, ok := f.option(v); !ok {
			return nil, false, "Choose from the list."
		}
		chosen[v] = true
	}
	n := len(chosen)
	switch {
	case n == 0 && f.least > 0 && !f.Required:
		return nil, false, ""
	case n < f.least:
		return nil, false, fmt.Sprintf("Choose at least %d: there %s.", f.least, are(n))
	case n > f.most:
		return nil, false, fmt.Sprintf("Choose at most %d: there %s.", f.most, are(n))
	}
	list := []string{}
	for i, o := range f.Options {
		if chosen[strconv.Itoa(i)] {
			list = append(list, o.Value)
		}
	}
	v, _ := json.Marshal(list) // strings always can be
	return v, true, ""
}

func (f *field) readText(s string) ([]byte, string) {
	s = strings.ReplaceAll(s, "\r\n", "\n") // as browsers post line ends
	switch n := utf8.RuneCountInString(s); {
	case n < f.least:
		return nil, fmt.Sprintf("Use at least %s: there %s.", count(f.least, "character"), are(n))
	case n > f.most:
		return nil, fmt.Sprintf("Use at most %s: there %s.", count(f.most, "character"), are(n))
	}
	switch f.Format {
	case "email":
		if a, err := mail.ParseAddress(s); err != nil || a.Address != s {
			return nil, "Enter an e-mail address, such as name@example.org."
		}
	case "uri":
		if u, err := url.Parse(s); err != nil || u.Scheme == "" || u.Host == "" && u.Opaque == "" {
			return nil, "Enter a full address, such as https://example.org/page."
		}
	}
	if f.pattern != nil && !f.pattern.MatchString(s) {
		return nil, "This is not written the way it has to be. The rule is: " + line(f.pattern.String(), maxLabel)
	}
	return quote(s), ""
}

// readDateTime takes what a browser's field holds, which stands for UTC here,
// and a full RFC 3339 time as it stands.
func readDateTime(s string) ([]byte, string) {
	if _, err := time.Parse(time.RFC3339, s); err == nil {
		return quote(s), ""
	}
	for _, layout := range []string{localDateTime, "2006-01-02T15:04"} {
		if t, err := time.Parse(layout, s); err == nil {
			return quote(t.Format(time.RFC3339Nano)), ""
		}
	}
	return nil, "Enter a date and a time in UTC, such as 2026-12-01T14:30."
}

// numeral is a number as people write it. Exponents are kept short, for they
// decide how much memory the number takes.
var numeral = regexp.MustCompile(`^([+-]?)0*([0-9]{1,100}(?:\.[0-9]{1,100})?(?:[eE][+-]?[0-9]{1,3})?)$`)

// rational reads a number exactly.
func rational(s string) (*big.Rat, bool) {
	if !numeral.MatchString(s) {
		return nil, false
	}
	return new(big.Rat).SetString(s)
}

// readNumeral gives a number with the digits that were typed: none is lost.
func (f *field) readNumeral(s string) ([]byte, string) {
	s = strings.ReplaceAll(s, "\u2212", "-") // a typographic minus
	r, ok := rational(s)
	switch {
	case !ok && f.whole:
		return nil, "Enter a whole number in digits, such as 42."
	case !ok:
		return nil, "Enter a number in digits, such as 12.5."
	case f.whole && !r.IsInt():
		return nil, "Enter a whole number, without a fraction."
	case f.min != nil && r.Cmp(f.min) < 0:
		return nil, "Enter " + spell(f.min) + " or more."
	case f.max != nil && r.Cmp(f.max) > 0:
		return nil, "Enter " + spell(f.max) + " or less."
	}
	if f.whole {
		return []byte(r.Num().String()), ""
	}
	m := numeral.FindStringSubmatch(s)
	return []byte(strings.TrimPrefix(m[1], "+") + m[2]), ""
}

// spell writes a limit for people.
func spell(r *big.Rat) string {
	if r.IsInt() && len(r.Num().String()) <= 20 {
		return r.Num().String()
	}
	f, _ := r.Float64()
	return strconv.FormatFloat(f, 'g', -1, 64)
}

// are counts things in a sentence.
func are(n int) string {
	switch n {
	case 0:
		return "is none"
	case 1:
		return "is 1"
	}
	return "are " + strconv.Itoa(n)
}

// safeWhole is the largest whole number that every JSON reader keeps. Tools
// that make schemas write it where there is no limit.
var safeWhole = big.NewRat(1<<53-1, 1)

// hint says a field's limits before anybody runs into them.
func (f *field) hint() string {
	switch f.Kind {
	case kindNumber:
		return f.hintNumber()
	case kindDateTime:
		return "Date and time in UTC."
	case kindChecks:
		switch {
		case f.least == 0 && f.most == len(f.Options):
			return "Choose as many as you like."
		case f.least == f.most:
			return fmt.Sprintf("Choose %d.", f.least)
		case f.least == 0:
			return fmt.Sprintf("Choose up to %d.", f.most)
		case f.most == len(f.Options):
			return fmt.Sprintf("Choose at least %d.", f.least)
		}
		return fmt.Sprintf("Choose %d to %d.", f.least, f.most)
	case kindText, kindArea:
		switch {
		case f.Format == "email":
			return "An e-mail address, such as name@example.org."
		case f.Format == "uri":
			return "A full address, such as https://example.org/page."
		case f.least <= 1 && f.most == maxTyped:
			return ""
		case f.least == f.most:
			return count(f.least, "character") + "."
		case f.least <= 1:
			return "At most " + count(f.most, "character") + "."
		case f.most == maxTyped:
			return "At least " + count(f.least, "character") + "."
		}
		return fmt.Sprintf("%d to %d characters.", f.least, f.most)
	}
	return ""
}

func (f *field) hintNumber() string {
	what := "A number"
	if f.whole {
		what = "A whole number"
	}
	low := f.min != nil && new(big.Rat).Abs(f.min).Cmp(safeWhole) < 0
	high := f.max != nil && new(big.Rat).Abs(f.max).Cmp(safeWhole) < 0
	switch {
	case low && high:
		return what + " from " + spell(f.min) + " to " + spell(f.max) + "."
	case low:
		return what + ", " + spell(f.min) + " or more."
	case high:
		return what + ", " + spell(f.max) + " or less."
	}
	return what + "."
}
