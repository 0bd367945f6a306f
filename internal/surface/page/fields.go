package page

import (
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"time"
)

// How a field looks, and with that what it takes.
const (
	kindText     = "text"
	kindArea     = "area"
	kindNumber   = "number"
	kindDate     = "date"
	kindDateTime = "datetime"
	kindCheck    = "check"  // one yes or no
	kindRadio    = "radio"  // one of a few
	kindSelect   = "select" // one of many
	kindChecks   = "checks" // some of them
)

// form is what a question wants to know, in the order in which it asks.
type form struct {
	Fields []*field
}

// field is one thing that a question wants to know. It is not modified after
// its schema was read.
type field struct {
	Key      string // the property's name
	ID       string // its element's id and the name under which it is posted: never the server's text
	Kind     string
	Label    string
	Help     string // the server's words
	Hint     string // ours, of its limits
	Required bool
	Options  []option // what can be chosen

	Format    string
	Mode      string // the keyboard to offer, "" for the usual one
	min, max  *big.Rat
	whole     bool
	least     int // characters or choices
	most      int
	pattern   *regexp.Regexp
	byDefault []string // as if posted
}

// option is one choice. It is posted as its place in the list, so that an
// empty value is no choice at all.
type option struct {
	Value string
	Title string
}

// row is a field as it stands on a page: with what was typed, and what is
// wrong with that.
type row struct {
	*field
	Values  []string
	Problem string
}

// rows puts posted values and their problems beside their fields. Without
// any posted, a field has its default.
func (f *form) rows(posted map[string][]string, problems map[string]string) []row {
	rows := make([]row, len(f.Fields))
	for i, fd := range f.Fields {
		rows[i] = row{field: fd, Values: fd.byDefault}
		if posted != nil {
			rows[i].Values = posted[fd.ID]
			rows[i].Problem = problems[fd.ID]
		}
	}
	return rows
}

// Value is what a field with one value holds.
func (r row) Value() string {
	if len(r.Values) == 0 {
		return ""
	}
	return r.Values[0]
}

// Checked reports whether the option at a place is chosen.
func (r row) Checked(place int) bool { return slices.Contains(r.Values, strconv.Itoa(place)) }

// On reports whether a yes-or-no field says yes.
func (r row) On() bool { return r.Value() == on }

// Nothing reports whether no option is chosen.
func (r row) Nothing() bool { return r.Value() == "" }

// Grouped reports whether the field is several elements under one legend.
func (r row) Grouped() bool { return r.Kind == kindRadio || r.Kind == kindChecks }

// First is the id of the element that a link to the field leads to.
func (r row) First() string {
	switch {
	case r.Kind == kindRadio && !r.Required:
		return r.ID + "-none"
	case r.Grouped():
		return r.ID + "-0"
	}
	return r.ID
}

// Describes is the list of ids of what describes the field.
func (r row) Describes() string {
	ids := ""
	for _, d := range []struct {
		there  bool
		suffix string
	}{{r.Help != "", "-help"}, {r.Hint != "", "-hint"}, {r.Problem != "", "-problem"}} {
		if d.there {
			if ids != "" {
				ids += " "
			}
			ids += r.ID + d.suffix
		}
	}
	return ids
}

const (
	on            = "on"
	localDateTime = "2006-01-02T15:04:05" // what a browser's date and time field holds
)

// asTyped gives a value of a field as a person would post it, and nothing for
// one that the field would not take.
func (f *field) asTyped(v any) []string {
	place := func(s string) []string {
		i := slices.IndexFunc(f.Options, func(o option) bool { return o.Value == s })
		if i < 0 {
			return nil
		}
		return []string{strconv.Itoa(i)}
	}
	var typed []string
	switch v := v.(type) {
	case bool:
		if v && f.Kind == kindCheck {
			typed = []string{on}
		}
	case string:
		switch f.Kind {
		case kindRadio, kindSelect:
			typed = place(v)
		case kindDateTime:
			if t, err := time.Parse(time.RFC3339, v); err == nil {
				typed = []string{t.UTC().Format(localDateTime)}
			}
		case kindText, kindArea, kindDate:
			typed = []string{v}
		}
	case number:
		if f.Kind == kindNumber {
			typed = []string{string(v)}
		}
	case []any:
		for _, e := range v {
			if s, ok := e.(string); ok && f.Kind == kindChecks {
				typed = append(typed, place(s)...)
			}
		}
	}
	if _, _, problem := f.read(typed); problem != "" {
		return nil
	}
	return typed
}
