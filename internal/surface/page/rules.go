package page

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/answerback/answerback/form"
)

// rule is what the script is told of a field, so that it can say what is wrong
// while somebody types and show what is asked. It never says no to what the
// form takes, and the form judges in the end.
type rule struct {
	Type     form.Type         `json:"type"`
	Time     bool              `json:"time,omitempty"`
	Required bool              `json:"required,omitempty"`
	Whole    bool              `json:"whole,omitempty"`
	Least    int               `json:"least,omitempty"` // characters or choices
	Most     int               `json:"most,omitempty"`
	Min      string            `json:"min,omitempty"` // numbers and dates
	Max      string            `json:"max,omitempty"`
	Size     int64             `json:"size,omitempty"` // bytes of a file
	Format   string            `json:"format,omitempty"`
	Say      map[string]string `json:"say"` // by constraint
	When     []when            `json:"when,omitempty"`
	Fixed    []string          `json:"fixed,omitempty"` // what a field has that cannot be changed
	Trigger  string            `json:"trigger,omitempty"`
	Debounce int               `json:"debounce,omitempty"` // milliseconds
	Search   bool              `json:"search,omitempty"`
	Slider   *slider           `json:"slider,omitempty"`
	Show     string            `json:"show,omitempty"` // the format in which a date is written
	Preview  bool              `json:"preview,omitempty"`
}

// when is a rule of the form in terms of the page: fields by their ids, and
// choices by their places.
type when struct {
	Do form.Action `json:"do"`
	If condition   `json:"if"`
}

type condition struct {
	Op    form.Operator `json:"op"`
	Field string        `json:"field,omitempty"`
	In    []string      `json:"in,omitempty"`
	Of    []condition   `json:"of,omitempty"`
}

// ruleOf gives the rule of the field at a place, as JSON.
func ruleOf(f *form.Form, at int, r *row) string {
	fd := &f.Fields()[at]
	c := &fd.Constraints
	u := rule{
		Type: fd.Type, Time: completed(fd), Required: r.Required, Format: c.Format, Whole: whole(fd), Say: map[string]string{},
		Trigger: fd.Hints.Trigger, Debounce: min(fd.Hints.DebounceMS, maxDebounce), Slider: r.Slider, Show: r.Format,
		Search: fd.Hints.Searchable && len(fd.Options) > 0, Preview: fd.Hints.Preview && fd.Type == form.File,
	}
	if bound(fd) {
		if u.Fixed = byDefault(fd); fd.Type == form.Boolean {
			u.Fixed = fd.DefaultStrings()
		}
	}
	for _, w := range f.Rules(fd.ID) {
		u.When = append(u.When, when{w.Action, pageCondition(f, &w.Condition)})
	}
	say := func(set bool, constraint string, expected any) {
		if set {
			u.Say[constraint] = sentence(fd, &form.Error{Constraint: constraint, Expected: expected})
		}
	}
	say(true, form.ConstraintType, nil)
	say(r.Required, form.ConstraintRequired, nil)
	switch fd.Type {
	case form.Text:
		u.Least, u.Most = c.MinLength, c.MaxLength
		say(u.Least > 0, "minLength", u.Least)
		say(u.Most > 0, "maxLength", u.Most)
		say(c.Format != "", "format", c.Format)
	case form.Number:
		u.Min, u.Max = string(c.Minimum), string(c.Maximum)
		say(u.Min != "", "minimum", u.Min)
		say(u.Max != "", "maximum", u.Max)
		say(u.Whole, "multipleOf", c.MultipleOf)
	case form.Date:
		u.Min, u.Max = c.Earliest, c.Latest
		say(u.Min != "", "minimum", u.Min)
		say(u.Max != "", "maximum", u.Max)
	case form.File:
		u.Size, u.Least, u.Most = f.Largest(fd.ID), c.MinItems, max(1, c.MaxItems)
		if fd.Multiple() {
			u.Most = c.MaxItems
		}
		say(true, "maxSize", u.Size)
		say(u.Least > 0, "minItems", u.Least)
		say(u.Most > 0, "maxItems", u.Most)
	case form.MultiSelect:
		u.Least, u.Most = c.MinItems, c.MaxItems
		say(u.Least > 0, "minItems", u.Least)
		say(u.Most > 0, "maxItems", u.Most)
	}
	out, _ := json.Marshal(u) // strings, counts and flags always can be
	return string(out)
}

func pageCondition(f *form.Form, c *form.Condition) condition {
	out := condition{Op: c.Operator}
	for i := range f.Fields() {
		fd := &f.Fields()[i]
		if fd.ID != c.Field {
			continue
		}
		out.Field = fieldID(i)
		for _, v := range c.Values {
			switch v := v.(type) {
			case string:
				if len(fd.Options) > 0 {
					v = place(fd, v)
				}
				out.In = append(out.In, v)
			case bool:
				out.In = append(out.In, strconv.FormatBool(v))
			case json.Number:
				out.In = append(out.In, string(v))
			}
		}
	}
	for i := range c.Conditions {
		out.Of = append(out.Of, pageCondition(f, &c.Conditions[i]))
	}
	return out
}

// asks is how a page says that a field depends on a condition.
var asks = map[form.Action]string{
	form.Show:     "Asked only if ",
	form.Hide:     "Not asked if ",
	form.Enable:   "Can be filled in only if ",
	form.Disable:  "Cannot be filled in if ",
	form.Validate: "Checked only if ",
}

// whenAsked says when a field counts, for people whose browser cannot show it
// and hide it while they type.
func whenAsked(f *form.Form, fd *form.Field) string {
	var all []string
	for _, r := range f.Rules(fd.ID) {
		all = append(all, line(asks[r.Action]+f.Describe(&r.Condition), maxHelp)+".")
	}
	return strings.Join(all, " ")
}
