package page

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/answerback/answerback/form"
)

// problem puts everything that is wrong with a field into words: for each
// thing, one sentence that says what to do.
func problem(fd *form.Field, errs form.Errors) string {
	var all []string
	for i := range errs {
		if s := sentence(fd, &errs[i]); !slices.Contains(all, s) {
			all = append(all, s)
		}
	}
	return strings.Join(all, " ")
}

// sentence says what to do about one error.
func sentence(fd *form.Field, e *form.Error) string {
	if words := fileSentence(fd, e); words != "" {
		return words
	}
	limit := figure(e.Expected)
	switch e.Constraint {
	case form.ConstraintRequired:
		return missing(fd)
	case form.ConstraintType:
		return misread(fd)
	case "minLength":
		return "Use at least " + characters(limit) + there(e.Actual) + "."
	case "maxLength":
		return "Use at most " + characters(limit) + there(e.Actual) + "."
	case "pattern":
		return "This is not written the way it has to be. " + manner(fd)
	case "format":
		return "Enter " + formatWords(e.Expected) + "."
	case "minimum":
		return "Enter " + limit + " or " + pick(fd.Type == form.Date, "later", "more") + "."
	case "maximum":
		return "Enter " + limit + " or " + pick(fd.Type == form.Date, "earlier", "less") + "."
	case "exclusiveMinimum":
		return "Enter more than " + limit + "."
	case "exclusiveMaximum":
		return "Enter less than " + limit + "."
	case "multipleOf":
		if whole(fd) {
			return "Enter a whole number, without a fraction."
		}
		return "Enter a multiple of " + limit + "."
	case "minItems":
		return "Choose at least " + limit + there(e.Actual) + "."
	case "maxItems":
		return "Choose at most " + limit + there(e.Actual) + "."
	case "allowedSchemes":
		return "Enter an address that begins with " + schemes(fd) + "."
	case "blockPrivateIPs", "blockLocalhost":
		return "Enter an address that can be reached from the internet."
	}
	return line(e.Message, maxHelp) + "."
}

// manner says how a text has to be written: in its server's words where there
// are any, since a pattern says nothing to most people.
func manner(fd *form.Field) string {
	if help := line(fd.Help(), maxLabel); help != "" {
		return help
	}
	return "The rule is: " + line(fd.Constraints.Pattern, maxLabel)
}

func missing(fd *form.Field) string {
	switch fd.Type {
	case form.Select:
		return "Choose one: this is needed."
	case form.MultiSelect:
		return fmt.Sprintf("Choose at least %d: this is needed.", max(1, fd.Constraints.MinItems))
	case form.Number:
		return "Enter a number: this is needed."
	case form.Date:
		return "Enter a date: this is needed."
	case form.File:
		return "Choose a file: this is needed."
	case form.Boolean:
		return "Choose Yes or No: this is needed."
	}
	return "Fill this in: it is needed."
}

// misread is said of what is no value of the field at all.
func misread(fd *form.Field) string {
	switch fd.Type {
	case form.Number:
		if whole(fd) {
			return "Enter a whole number in digits, such as 42."
		}
		return "Enter a number in digits, such as 12.5."
	case form.Select:
		return "Choose one from the list."
	case form.MultiSelect:
		return "Choose from the list."
	case form.File:
		return "Choose a file."
	case form.Date:
		return "Enter " + formatWords(fd.Constraints.Format) + "."
	}
	return "This could not be read: type it again."
}

func formatWords(format any) string {
	switch format {
	case "email":
		return "an e-mail address, such as name@example.org"
	case "uri":
		return "a full address, such as https://example.org/page"
	case "uuid":
		return "an identifier, such as 123e4567-e89b-12d3-a456-426614174000"
	case "date-time":
		return "a date and a time in UTC, such as 2026-12-01T14:30"
	case "time":
		return "a time with its offset, such as 14:30:00Z"
	case "hostname":
		return "the name of a host, such as www.example.org"
	case "ipv4":
		return "an IPv4 address, such as 192.0.2.1"
	case "ipv6":
		return "an IPv6 address, such as 2001:db8::1"
	}
	return "a date as year-month-day, such as 2026-12-01"
}

// hint says a field's limits before anybody runs into them.
func hint(fd *form.Field) string {
	c := &fd.Constraints
	switch {
	case fd.Hints.ReadOnly:
		return "This cannot be changed."
	case fd.Type == form.Number:
		return hintNumber(fd)
	case fd.Type == form.Date:
		return hintDate(fd)
	case fd.Type == form.URL:
		return "A full address that begins with " + schemes(fd) + pick(c.AllowPrivate, ".", " and can be reached from the internet.")
	case fd.Type == form.MultiSelect:
		return hintChoices(fd)
	case fd.Type == form.Text && completed(fd):
		return pick(c.Format == "time", "A time in UTC.", "Date and time in UTC.")
	case fd.Type == form.Text && c.Format != "":
		return sentenceCase(formatWords(c.Format)) + "."
	case fd.Type == form.Text:
		return hintLength(c.MinLength, c.MaxLength)
	}
	return ""
}

func hintLength(least, most int) string {
	switch {
	case least <= 1 && most == 0:
		return ""
	case least == most:
		return count(least, "character") + "."
	case least <= 1:
		return "At most " + count(most, "character") + "."
	case most == 0:
		return "At least " + count(least, "character") + "."
	}
	return fmt.Sprintf("%d to %d characters.", least, most)
}

func hintChoices(fd *form.Field) string {
	least, most := fd.Constraints.MinItems, fd.Constraints.MaxItems
	if most == 0 || most > len(fd.Options) {
		most = len(fd.Options)
	}
	if least == 0 && fd.Required {
		least = 1
	}
	switch {
	case least == 0 && most == len(fd.Options):
		return "Choose as many as you like."
	case least == most:
		return fmt.Sprintf("Choose %d.", least)
	case least == 0:
		return fmt.Sprintf("Choose up to %d.", most)
	case most == len(fd.Options):
		return fmt.Sprintf("Choose at least %d.", least)
	}
	return fmt.Sprintf("Choose %d to %d.", least, most)
}

func hintDate(fd *form.Field) string {
	what, least, most := "", fd.Constraints.Earliest, fd.Constraints.Latest
	if fd.WithTime() {
		what = "Date and time in UTC. "
	}
	shown := hintFormat(dateFormat(fd.Hints.DisplayFormat))
	switch {
	case least != "" && most != "":
		what += "From " + least + " to " + most + "."
	case least != "":
		what += least + " or later."
	case most != "":
		what += most + " or earlier."
	}
	return strings.TrimSpace(what + shown)
}

func hintNumber(fd *form.Field) string {
	c := &fd.Constraints
	what := pick(whole(fd), "A whole number", "A number")
	low, high := sensible(c.Minimum), sensible(c.Maximum)
	switch {
	case low && high:
		what += " from " + figure(c.Minimum) + " to " + figure(c.Maximum)
	case low:
		what += ", " + figure(c.Minimum) + " or more"
	case high:
		what += ", " + figure(c.Maximum) + " or less"
	}
	if c.ExclusiveMinimum != "" {
		what += ", more than " + figure(c.ExclusiveMinimum)
	}
	if c.ExclusiveMaximum != "" {
		what += ", less than " + figure(c.ExclusiveMaximum)
	}
	if c.MultipleOf != "" && !whole(fd) {
		what += ", in steps of " + figure(c.MultipleOf)
	}
	return what + "."
}

// sensible reports whether a limit is one that somebody meant. Tools that make
// schemas write the largest whole number that every JSON reader keeps where
// there is no limit.
func sensible(limit json.Number) bool {
	f, err := limit.Float64()
	return err == nil && math.Abs(f) < 1<<53-1
}

func whole(fd *form.Field) bool { return fd.Constraints.MultipleOf == "1" }

func schemes(fd *form.Field) string {
	if len(fd.Constraints.Schemes) == 0 {
		return "https://"
	}
	return strings.Join(fd.Constraints.Schemes, ":// or ") + "://"
}

// figure writes a limit.
func figure(v any) string { return line(fmt.Sprint(v), maxName) }

func characters(limit string) string { return limit + pick(limit == "1", " character", " characters") }

// there says how much there is of what there should be more or less of. It
// says nothing where that is withheld.
func there(actual any) string {
	n, ok := actual.(int)
	switch {
	case !ok:
		return ""
	case n == 0:
		return ": there is none"
	case n == 1:
		return ": there is 1"
	}
	return ": there are " + strconv.Itoa(n)
}

func sentenceCase(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

func pick(first bool, a, b string) string {
	if first {
		return a
	}
	return b
}
