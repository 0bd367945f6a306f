package terminal

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/answerback/answerback/form"
)

// maxAttempts is how many lines one thing is asked for. Whoever needs more is
// not reading.
const maxAttempts = 20

// nothing is what somebody types to leave a field without a value that would
// have one otherwise.
const nothing = "-"

// fill asks for each field of the form that is to be asked, and gives what
// was typed, as an HTML form would send it. What was typed the time before is
// offered again.
func (t *Terminal) fill(ctx context.Context, q *Question, last map[string][]string, files map[string][]form.Upload) (map[string][]string, error) {
	f, typed := q.Form, map[string][]string{}
	fields := f.Fields()
	for i := range fields {
		state := f.States(typed, files)[i]
		if !state.Shown || !state.Enabled || fields[i].Hints.ReadOnly || fields[i].Hints.Hidden {
			delete(files, fields[i].ID)
			continue
		}
		t.say("\nField %d of %d (%s)\n", i+1, len(fields), kind(&fields[i]))
		if fields[i].Type == form.File {
			given, err := t.files(ctx, q, &fields[i], files[fields[i].ID])
			if err != nil {
				return nil, err
			}
			files[fields[i].ID] = given
			continue
		}
		offer := fields[i].DefaultStrings()
		if before := last[fields[i].ID]; len(before) > 0 {
			offer = before
		}
		values, err := t.field(ctx, f, &fields[i], offer, typed)
		if err != nil {
			return nil, err
		}
		typed[fields[i].ID] = values
	}
	return typed, nil
}

// field asks for one field until what is typed can be used. An empty line
// takes what is offered.
func (t *Terminal) field(ctx context.Context, f *form.Form, fd *form.Field, offer []string, before map[string][]string) ([]string, error) {
	t.describe(fd, offer)
	for range maxAttempts {
		line, err := t.prompt(ctx, fd)
		if err != nil && err != errLong {
			return nil, err
		}
		values, problem := read(fd, offer, line)
		switch {
		case err == errLong:
			problem = "This line is too long for a terminal. Answer on the page, or with --json."
		case !readable(line):
			problem = "This has characters that cannot be read: type it again."
		}
		if problem == "" {
			before[fd.ID] = values
			_, errs := f.Read(before, nil)
			delete(before, fd.ID)
			if errs = errs.For(fd.ID); len(errs) == 0 {
				return values, nil
			}
			for _, e := range errs {
				t.say("%s", block(fail, e.Message, maxHelp))
			}
			continue
		}
		t.say("%s%s\n", fail, problem)
	}
	return nil, errAttempts
}

// prompt reads one line, unseen where it is a secret.
func (t *Terminal) prompt(ctx context.Context, fd *form.Field) (line string, err error) {
	if !fd.Sensitive {
		t.say("  > ")
		return t.read(ctx)
	}
	show, err := t.cfg.Hide()
	if err != nil {
		return "", errSecret
	}
	t.say("  (not shown) > ")
	line, err = t.read(ctx)
	t.say("\n")
	if show() != nil {
		return "", errSecret
	}
	return line, err
}

// describe says what a field asks for.
func (t *Terminal) describe(fd *form.Field, offer []string) {
	t.say("%s%s", block(bar, fd.Label, maxLabel), block(bar, fd.Help(), maxHelp))
	for i, o := range fd.Options {
		t.say("%s", block(fmt.Sprintf("%6d ", i+1), cmp.Or(Line(o.Text(), maxLabel), "(nothing)"), maxLabel))
	}
	if len(offer) == 0 {
		return
	}
	t.say("Enter takes:\n%s", block(bar, shown(fd, offer), maxLabel))
	if !fd.Required {
		t.say("%s takes nothing.\n", nothing)
	}
}

// kind says in words what a field takes.
func kind(fd *form.Field) string {
	if fd.Required {
		return takes(fd) + ", required"
	}
	return takes(fd) + ", optional"
}

func takes(fd *form.Field) string {
	switch fd.Type {
	case form.Number:
		if fd.Constraints.MultipleOf == "1" {
			return "a whole number"
		}
		return "a number"
	case form.Boolean:
		return "yes or no"
	case form.Select:
		return "one of these, by its number"
	case form.MultiSelect:
		return "any of these, by their numbers"
	case form.Date:
		if fd.WithTime() {
			return "a date and time, such as 2026-01-31T14:30:00Z"
		}
		return "a date, such as 2026-01-31"
	case form.URL:
		return "a web address"
	case form.File:
		if fd.Multiple() {
			return "the paths of files, one in a line"
		}
		return "the path of a file"
	}
	if fd.Constraints.Format == "email" {
		return "an e-mail address"
	}
	return "text"
}

// read turns a line into what an HTML form would send for the field. A
// problem is a sentence that says what is wrong.
func read(fd *form.Field, offer []string, line string) (values []string, problem string) {
	switch text := strings.TrimSpace(line); {
	case text == "" && fd.Type != form.Text || line == "":
		return offer, ""
	case text == nothing && len(offer) > 0 && !fd.Required:
		return []string{""}, ""
	}
	switch fd.Type {
	case form.Select:
		return choose(fd, []string{line}, "Type the number of one of the choices.")
	case form.MultiSelect:
		return choose(fd, strings.FieldsFunc(line, func(r rune) bool { return r == ',' || r == ' ' || r == '\t' }), "Type the numbers of the choices, with spaces between them.")
	}
	if fd.Type == form.Boolean {
		switch text := strings.TrimSpace(line); {
		case strings.EqualFold(text, "y"):
			line = "yes"
		case strings.EqualFold(text, "n"):
			line = "no"
		}
	}
	return []string{line}, ""
}

// choose turns places in the list of choices into their values.
func choose(fd *form.Field, places []string, otherwise string) ([]string, string) {
	var values []string
	for _, p := range places {
		i, err := strconv.Atoi(strings.TrimSpace(p))
		if err != nil || i < 1 || i > len(fd.Options) {
			return nil, otherwise
		}
		if v := fd.Options[i-1].Value; !slices.Contains(values, v) {
			values = append(values, v)
		}
	}
	return values, ""
}

// summarize shows what would be sent.
func (t *Terminal) summarize(f *form.Form, values form.Values) {
	fields := f.Fields()
	if len(fields) == 0 {
		t.say("\nIt asks for nothing but your consent.\n")
		return
	}
	t.say("\nYour answer:\n")
	for i := range fields {
		fd := &fields[i]
		if fd.Hints.Hidden {
			continue
		}
		value := ""
		switch _, has := values[fd.ID]; {
		case !has:
			value = "(nothing)"
		default:
			value = shown(fd, values.Strings(fd.ID))
		}
		t.say("%s%s", block("  - ", fd.Label, maxLabel), block("    = ", value, maxHelp))
	}
}

// shown is a value for the eye.
func shown(fd *form.Field, values []string) string {
	if fd.Sensitive {
		return "(not shown)"
	}
	words := make([]string, len(values))
	for i, v := range values {
		words[i] = v
		switch fd.Type {
		case form.Select, form.MultiSelect:
			words[i] = fd.OptionText(v)
		case form.Boolean:
			words[i] = cmp.Or(map[string]string{"true": "yes", "false": "no"}[v], v)
		}
		words[i] = Line(words[i], maxLabel)
	}
	return cmp.Or(strings.Join(words, ", "), "(nothing)")
}

// Span is a duration in its largest unit, rounded down so that it never
// promises more than there is.
func Span(d time.Duration) string {
	for _, u := range []struct {
		unit time.Duration
		from time.Duration
		name string
	}{{24 * time.Hour, 48 * time.Hour, "day"}, {time.Hour, 2 * time.Hour, "hour"}, {time.Minute, time.Minute, "minute"}, {time.Second, time.Second, "second"}} {
		if d >= u.from {
			n := int(d / u.unit)
			if n == 1 {
				return "1 " + u.name
			}
			return fmt.Sprintf("%d %ss", n, u.name)
		}
	}
	return "none"
}
