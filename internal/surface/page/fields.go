package page

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/answerback/answerback/form"
)

// How a field looks.
const (
	kindText     = "text" // one line
	kindArea     = "area"
	kindSecret   = "secret"
	kindNumber   = "number"
	kindDate     = "date"
	kindTime     = "time"
	kindDateTime = "datetime"
	kindCheck    = "check"  // one yes or no
	kindRadio    = "radio"  // one of a few
	kindSelect   = "select" // one of many
	kindChecks   = "checks" // some of them
	kindFile     = "file"
	kindFixed    = "fixed"  // to be read only
	kindHidden   = "hidden" // there for the conditions of others
)

const (
	fewOptions    = 7   // so many are all shown at once
	longText      = 200 // from here on a field gets several lines
	usualLines    = 5
	manyLines     = 20
	on            = "on"                  // what a checkbox posts
	off           = "off"                 // what the other radio button of a yes-or-no field posts
	localDateTime = "2006-01-02T15:04:05" // what a browser's date and time field holds
)

// row is a field as it stands on a page: with what was typed, and what is
// wrong with that.
type row struct {
	ID          string // its element's id and the name under which it is posted: never the server's text
	Kind        string
	Type        string // of its input element
	Style       string // the class of its choices
	Cell        string // the class of its place in the grid
	Break       bool   // the next field begins a new line
	Label       string
	Spoken      string // what a screen reader adds to the label
	Help        string // the server's words
	Hint        string // ours, of its limits
	When        string // ours, of when it is asked
	Placeholder string
	Mode        string // the keyboard to offer, "" for the usual one
	Auto        string // what the browser may offer to fill in
	Step        string
	Slider      *slider
	Lines       int
	Required    bool
	Announced   bool // it is said to be required, whether it is or not
	Flagged     bool // its server says that it is wrong as it is
	Secret      bool // what was typed is not shown again
	Again       bool // it has to be typed again for that reason
	Options     []option
	Several     bool   // a file field takes more than one
	Accept      string // what files the browser offers
	Drop        bool   // a large area to drop files on
	Files       []keptFile
	Value       string // what a field with one value holds
	On          bool   // a yes-or-no field says yes
	Format      string // in which a date is written below its field
	Written     string // the date in that format
	Test        bool   // a link opens the address
	Opens       address
	Problem     string
	Rule        string   // what the script needs to know, as JSON
	about       []string // ids of what describes it besides its own words
}

// option is one choice. It is posted as its place in the list, so that an
// empty value is no choice at all.
type option struct {
	Title   string
	Value   string
	Checked bool
}

// fieldID is the id and name of the field at a place in its form.
func fieldID(place int) string { return "f" + strconv.Itoa(place) }

// bound reports whether nobody can change the field.
func bound(f *form.Field) bool { return f.Hints.ReadOnly || f.Hints.Hidden }

// rows puts what was posted, and what is wrong with it, beside the fields of
// a form. Without anything posted, a field has its default.
func rows(f *form.Form, posted map[string][]string, errs form.Errors) []row {
	var all []row
	for i := range f.Fields() {
		fd := &f.Fields()[i]
		r := newRow(f, i)
		typed := byDefault(fd)
		if posted != nil && !bound(fd) {
			typed = posted[r.ID]
		}
		if fd.Sensitive {
			r.Again = len(typed) > 0 && typed[0] != ""
			typed = nil
		}
		r.fill(fd, typed)
		r.Problem = problem(fd, errs.For(fd.ID))
		if r.Flagged = fd.Access.Invalid && posted == nil && !bound(fd); r.Flagged {
			r.Problem = "The server says that this is not right. Check it."
		}
		all = append(all, r)
	}
	return all
}

// newRow is the field at a place in its form, before anything was typed.
func newRow(f *form.Form, place int) row {
	fd := &f.Fields()[place]
	r := row{
		ID: fieldID(place), Kind: kindOf(fd),
		Label: line(fd.Label, maxLabel), Help: line(fd.Help(), maxHelp), Hint: hint(fd), When: whenAsked(f, fd),
		Placeholder: line(fd.Hints.Placeholder, maxLabel), Mode: keyboard(fd),
		Type: nativeType(fd), Cell: cell(fd), Break: fd.Hints.BreakAfter,
		Lines:    usualLines,
		Required: fd.Required && !f.Definition().AllowPartial, Secret: fd.Sensitive,
	}
	r.Announced = r.Required || fd.Access.Required
	r.Style = styleOf(fd, r.Kind)
	if fd.Hints.Rows > 1 {
		r.Lines = min(fd.Hints.Rows, manyLines)
	}
	if r.Label == "" {
		r.Label = "A field without a name"
	}
	r.Spoken = spoken(r.Label, fd.Access.Label)
	r.Auto = autocomplete(fd, r.Mode)
	switch fd.Type {
	case form.File:
		r.Several, r.Accept, r.Hint = fd.Multiple(), line(fd.Accept(), maxHelp), hintFile(f, fd)
		r.Drop = fd.Hints.DragAndDrop
	case form.Number:
		r.Step, r.Slider = string(fd.Hints.Step), sliderOf(fd)
	case form.Date:
		r.Format = dateFormat(fd.Hints.DisplayFormat)
	case form.URL:
		r.Test = fd.Hints.TestButton && r.Kind == kindText
	}
	for i, o := range fd.Options {
		title := line(o.Text(), maxLabel)
		if title == "" {
			title = "(nothing)"
		}
		r.Options = append(r.Options, option{Title: title, Value: strconv.Itoa(i)})
	}
	if fd.Type == form.Boolean && r.Kind == kindRadio {
		r.Options = []option{{Title: "Yes", Value: on}, {Title: "No", Value: off}}
	}
	for _, at := range related(f, fd) {
		other := &f.Fields()[at]
		if line(other.Help(), maxHelp) != "" {
			r.about = append(r.about, fieldID(at)+"-help")
		} else {
			r.about = append(r.about, fieldID(at)+"-label")
		}
	}
	r.Rule = ruleOf(f, place, &r)
	return r
}

// fill puts what was typed into the row.
func (r *row) fill(fd *form.Field, typed []string) {
	r.Value, r.On = "", false
	if len(typed) > 0 {
		r.Value = strings.ToValidUTF8(typed[0], "\ufffd")
	}
	switch r.Kind {
	case kindCheck:
		r.On = slices.Contains(typed, on)
	case kindDate:
		r.Type = "date"
	case kindTime:
		r.Value = strings.TrimSuffix(r.Value, "Z")
	case kindDateTime:
		r.Type = "datetime-local"
		if t, err := time.Parse(time.RFC3339, r.Value); err == nil {
			r.Value = t.UTC().Format(localDateTime)
		}
		if completed(fd) {
			r.Step = "1"
		}
	case kindFixed:
		r.Value = fixedText(fd)
	}
	if keep := keeps[r.Type]; keep != nil && r.Value != "" && !keep.MatchString(r.Value) {
		r.Type, r.Step = "text", ""
	}
	if r.Kind != kindFixed {
		r.Written = writeDate(r.Format, r.Value)
	}
	if r.Test {
		r.Opens = readAddress(r.Value)
	}
	for i := range r.Options {
		r.Options[i].Checked = slices.Contains(typed, r.Options[i].Value)
	}
}

// byDefault is a field's default as a person would post it.
func byDefault(fd *form.Field) []string {
	values := fd.DefaultStrings()
	switch fd.Type {
	case form.Boolean:
		switch fd.Default {
		case true:
			return []string{on}
		case false:
			return []string{off}
		}
		return nil
	case form.Select, form.MultiSelect:
		for i, v := range values {
			values[i] = place(fd, v)
		}
	}
	return values
}

// place is where an option stands in its list.
func place(fd *form.Field, value string) string {
	return strconv.Itoa(slices.IndexFunc(fd.Options, func(o form.Option) bool { return o.Value == value }))
}

// fixedText is what people see of a field that they cannot change.
func fixedText(fd *form.Field) string {
	values := fd.DefaultStrings()
	for i, v := range values {
		switch written := writeDate(dateFormat(fd.Hints.DisplayFormat), v); {
		case fd.Type == form.Boolean:
			values[i] = map[string]string{"true": "Yes", "false": "No"}[v]
		case fd.Type == form.Date && written != "":
			values[i] = written
		default:
			values[i] = fd.OptionText(v)
		}
	}
	if len(values) == 0 {
		return "Nothing"
	}
	return line(strings.Join(values, ", "), maxHelp)
}

// keyboard is the one that a phone offers for a field.
func keyboard(fd *form.Field) string {
	c := &fd.Constraints
	switch {
	case fd.Type == form.Number:
		if c.Minimum == "" || strings.HasPrefix(string(c.Minimum), "-") {
			return "" // keyboards of digits have no minus
		}
		if whole(fd) {
			return "numeric"
		}
		return "decimal"
	case fd.Type == form.URL || c.Format == "uri" || fd.Hints.InputType == "url":
		return "url"
	case c.Format == "email" || fd.Hints.InputType == "email" || fd.Hints.DisplayStyle == "email":
		return "email"
	case fd.Hints.InputType == "tel" || fd.Hints.DisplayStyle == "tel":
		return "tel"
	case fd.Hints.InputType == "number":
		return "decimal"
	}
	return ""
}

// Nothing reports whether no option is chosen.
func (r row) Nothing() bool {
	return !slices.ContainsFunc(r.Options, func(o option) bool { return o.Checked })
}

// Grouped reports whether the field is several elements under one legend.
func (r row) Grouped() bool { return r.Kind == kindRadio || r.Kind == kindChecks }

// First is the id of the element that a link to the field leads to.
func (r row) First() string {
	switch {
	case r.Kind == kindRadio && !r.Required:
		return r.ID + "-none"
	case r.Grouped() && len(r.Options) > 0:
		return r.ID + "-" + r.Options[0].Value
	}
	return r.ID
}

// Describes is the list of ids of what describes the field.
func (r row) Describes() string {
	var ids []string
	for _, d := range []struct{ text, suffix string }{
		{r.When, "-when"}, {r.Help, "-help"}, {r.Hint, "-hint"}, {r.Problem, "-problem"},
	} {
		if d.text != "" {
			ids = append(ids, r.ID+d.suffix)
		}
	}
	if r.Again {
		ids = append(ids, r.ID+"-again")
	}
	if r.Format != "" {
		ids = append(ids, r.ID+"-written")
	}
	return strings.Join(append(ids, r.about...), " ")
}
