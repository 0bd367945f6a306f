package form

import (
	"cmp"
	"encoding/json"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Bounds on the report on an answer.
const (
	maxUnknown  = 20 // unknown fields, and unknown choices of one field
	maxExpected = 50 // choices that are listed as expected
)

// State is what the rules of a form make of one field, given the values of the
// others.
type State struct {
	Shown    bool
	Enabled  bool
	Required bool
	Checked  bool // its constraints apply
}

// judge decides what of a submission is accepted.
func (f *Form) judge(entries []entry, unknown []string) (Values, Errors) {
	var errs Errors
	values := make([]any, len(f.fields))
	out := make(Values, len(f.fields))
	for _, at := range f.order {
		field, e := &f.fields[at], &entries[at]
		s := field.state(values)
		if !s.Shown || !s.Enabled {
			if list, ok := e.value.([]string); e.state == given && (!ok || len(list) > 0) {
				errs = append(errs, field.fail(ConstraintHidden, "no value", nil))
			}
			continue
		}
		bound := field.Hints.ReadOnly || field.Hints.Hidden
		if e.state == absent && (bound || !field.Required) || e.state == cleared && bound {
			e.value = field.Default
			if e.value != nil {
				e.state = given
			}
		}
		before := len(errs)
		switch {
		case e.err != nil:
			errs = append(errs, *e.err)
			continue
		case e.state != given:
			if s.Required && !f.def.AllowPartial {
				errs = append(errs, field.fail(ConstraintRequired, true, nil))
			}
			continue
		case bound && !same(e.value, field.Default):
			errs = append(errs, field.fail(ConstraintReadOnly, field.Default, e.value))
		case s.Checked:
			field.check(e.value, &errs)
		}
		values[at] = e.value
		if len(errs) == before {
			out[field.ID] = e.value
		}
	}
	if len(unknown) > 0 {
		errs = append(errs, unknownErrors(unknown)...)
	}
	errs = append(errs, f.runValidators(out)...)
	if len(errs) > 1 {
		slices.SortStableFunc(errs, func(a, b Error) int { return cmp.Compare(f.place(a.Field), f.place(b.Field)) })
	}
	return out, errs
}

// place is where the errors of a field stand among all errors: those of no
// field come last.
func (f *Form) place(id string) int {
	if at, ok := f.index[id]; ok {
		return at
	}
	return len(f.fields)
}

// state evaluates the rules of a field.
func (f *field) state(values []any) State {
	s := State{Shown: true, Enabled: true, Required: f.Required, Checked: true}
	for i := range f.rules {
		r := &f.rules[i]
		holds := r.when.holds(values)
		switch r.action {
		case Show:
			s.Shown = s.Shown && holds
		case Hide:
			s.Shown = s.Shown && !holds
		case Enable:
			s.Enabled = s.Enabled && holds
		case Disable:
			s.Enabled = s.Enabled && !holds
		case Validate:
			s.Checked = s.Checked && holds
		}
	}
	s.Required = s.Required && s.Shown && s.Enabled && s.Checked
	return s
}

// States says what a page shows while it holds these strings and files: one
// State for each field, in their order. Strings that cannot be read count as
// no value.
func (f *Form) States(values map[string][]string, files map[string][]Upload) []State {
	states := make([]State, len(f.fields))
	known := make([]any, len(f.fields))
	for _, at := range f.order {
		field := &f.fields[at]
		s := field.state(known)
		states[at] = s
		if !s.Shown || !s.Enabled {
			continue
		}
		e := entry{}
		if uploads := files[field.ID]; len(uploads) > 0 {
			e = field.take(uploads)
		} else if strings, ok := values[field.ID]; ok {
			e = field.takeStrings(strings)
		}
		switch {
		case e.state == absent:
			known[at] = field.Default
		case e.state == given && e.err == nil:
			known[at] = e.value
		}
	}
	return states
}

// Prune is a copy of values without those of fields that are not asked while
// the page holds these strings and files. A page that cannot hide fields while
// people type sends what they left there, and [Form.Read] refuses that.
func (f *Form) Prune(values map[string][]string, files map[string][]Upload) map[string][]string {
	out := maps.Clone(values)
	for i, s := range f.States(values, files) {
		if !s.Shown || !s.Enabled {
			delete(out, f.fields[i].ID)
		}
	}
	return out
}

// check holds a value of the field's type to the field's constraints.
func (f *field) check(v any, errs *Errors) {
	switch v := v.(type) {
	case string:
		switch f.Type {
		case Select:
			if !f.options[v] {
				*errs = append(*errs, f.fail("enum", f.expected, v))
			}
		case Date:
			f.checkDate(v, errs)
		case URL:
			f.checkLength(v, errs)
			for _, fault := range f.url.Check(v) {
				*errs = append(*errs, f.fail(fault.Constraint, fault.Expected, fault.Actual))
			}
		default:
			f.checkText(v, errs)
		}
	case json.Number:
		f.checkNumber(v, errs)
	case []string:
		f.checkChoices(v, errs)
	case []Upload:
		f.checkFiles(v, errs)
	}
}

// checkLength reports whether the text is short enough to be looked at
// further.
func (f *field) checkLength(s string, errs *Errors) bool {
	if f.Constraints.MinLength == 0 && len(s) <= f.longest {
		return true // there are no more characters than bytes
	}
	n := utf8.RuneCountInString(s)
	if n < f.Constraints.MinLength {
		*errs = append(*errs, f.fail("minLength", f.Constraints.MinLength, n))
	}
	if n > f.longest {
		*errs = append(*errs, f.fail("maxLength", f.longest, n))
	}
	return n <= f.longest
}

func (f *field) checkText(s string, errs *Errors) {
	if !f.checkLength(s, errs) {
		return
	}
	if f.pattern != nil && !f.pattern.MatchString(s) {
		*errs = append(*errs, f.fail("pattern", f.Constraints.Pattern, s))
	}
	if f.Constraints.Format != "" && !hasFormat(f.Constraints.Format, s) {
		*errs = append(*errs, f.fail("format", f.Constraints.Format, s))
	}
}

func (f *field) checkDate(s string, errs *Errors) {
	c := &f.Constraints
	if !hasFormat(c.Format, s) {
		*errs = append(*errs, f.fail("format", c.Format, s))
		return
	}
	if c.Earliest != "" && compareDates(c.Format, s, c.Earliest) < 0 {
		*errs = append(*errs, f.fail("minimum", c.Earliest, s))
	}
	if c.Latest != "" && compareDates(c.Format, s, c.Latest) > 0 {
		*errs = append(*errs, f.fail("maximum", c.Latest, s))
	}
}

func (f *field) checkNumber(n json.Number, errs *Errors) {
	d, _ := parseDecimal(n)
	c := &f.Constraints
	if f.min != nil && d.compare(*f.min) < 0 {
		*errs = append(*errs, f.fail("minimum", c.Minimum, n))
	}
	if f.max != nil && d.compare(*f.max) > 0 {
		*errs = append(*errs, f.fail("maximum", c.Maximum, n))
	}
	if f.above != nil && d.compare(*f.above) <= 0 {
		*errs = append(*errs, f.fail("exclusiveMinimum", c.ExclusiveMinimum, n))
	}
	if f.below != nil && d.compare(*f.below) >= 0 {
		*errs = append(*errs, f.fail("exclusiveMaximum", c.ExclusiveMaximum, n))
	}
	if f.step != nil && !d.multipleOf(*f.step) {
		*errs = append(*errs, f.fail("multipleOf", c.MultipleOf, n))
	}
}

func (f *field) checkChoices(values []string, errs *Errors) {
	f.checkCount(len(values), errs)
	unknown := 0
	for i, v := range values {
		if !f.options[v] && unknown < maxUnknown {
			*errs = append(*errs, f.fail("enum", f.expected, v, strconv.Itoa(i)))
			unknown++
		}
	}
	if len(values) > len(f.options) || repeats(values) {
		*errs = append(*errs, f.fail("uniqueItems", true, len(values)))
	}
}

// repeats reports whether a list has the same text twice.
func repeats(values []string) bool {
	if len(values) <= 16 {
		for i, v := range values {
			if slices.Contains(values[:i], v) {
				return true
			}
		}
		return false
	}
	sorted := slices.Sorted(slices.Values(values))
	return len(slices.Compact(sorted)) < len(values)
}

func (f *field) checkCount(n int, errs *Errors) {
	if least := f.Constraints.MinItems; n < least {
		*errs = append(*errs, f.fail("minItems", least, n))
	}
	most := f.Constraints.MaxItems
	if f.Type == File && !f.Multiple() {
		most = 1
	}
	if most > 0 && n > most {
		*errs = append(*errs, f.fail("maxItems", most, n))
	}
}

func (f *field) checkFiles(files []Upload, errs *Errors) {
	f.checkCount(len(files), errs)
	for i := range files {
		u, at := &files[i], []string(nil)
		if f.Multiple() {
			at = []string{strconv.Itoa(i)}
		}
		f.checkFile(u, at, errs)
	}
}

// checkFile checks one file; below is where it stands in a list of several.
func (f *field) checkFile(u *Upload, below []string, errs *Errors) {
	if u.Size > f.largest {
		*errs = append(*errs, f.fail("maxSize", f.largest, u.Size, below...))
	}
	if types := f.Constraints.MimeTypes; len(types) > 0 && !matchesType(types, u.Type) {
		*errs = append(*errs, f.fail("allowedMimeTypes", types, u.Type, below...))
	}
	if exts := f.Constraints.Extensions; len(exts) > 0 && !slices.ContainsFunc(exts, func(ext string) bool {
		return strings.EqualFold(ext, path.Ext(u.Name)) || strings.Count(ext, ".") > 1 && strings.HasSuffix(strings.ToLower(u.Name), strings.ToLower(ext))
	}) {
		*errs = append(*errs, f.fail("allowedExtensions", exts, path.Ext(u.Name), below...))
	}
}

func matchesType(allowed []string, found string) bool {
	found, _, _ = strings.Cut(strings.ToLower(found), ";")
	found = strings.TrimSpace(found)
	return slices.ContainsFunc(allowed, func(a string) bool {
		family, wild := strings.CutSuffix(a, "*")
		return a == found || wild && strings.HasPrefix(found, family)
	})
}

func (f *field) optionValues() []string {
	values := make([]string, len(f.Options))
	for i, o := range f.Options {
		values[i] = o.Value
	}
	return values
}

// fail describes a violated constraint.
func (f *field) fail(constraint string, expected, actual any, below ...string) Error {
	e := Error{
		Field: f.ID, Code: Code, Message: sentence(f.Field, constraint, expected),
		Constraint: constraint, Expected: expected, Path: f.path,
	}
	if len(below) > 0 {
		e.Path = append(slices.Clone(f.path), below...)
	}
	if s, ok := actual.(string); ok {
		if actual = clip(s); s == "" {
			actual = nil
		}
	}
	if !f.Sensitive {
		e.Actual = actual
	}
	return e
}

func unknownErrors(names []string) Errors {
	slices.Sort(names)
	var errs Errors
	for _, name := range names[:min(len(names), maxUnknown)] {
		name = clip(strings.ToValidUTF8(name, "\uFFFD"))
		errs = append(errs, Error{
			Field: name, Code: Code, Message: "There is no field called " + strconv.Quote(name),
			Constraint: ConstraintUnknown, Expected: false, Path: []string{name},
		})
	}
	return errs
}

func (f *Form) runValidators(values Values) Errors {
	var errs Errors
	for _, validate := range f.validators {
		for _, fault := range validate(values) {
			e := Error{
				Field: fault.Field, Code: Code, Message: fault.Message,
				Constraint: ConstraintCustom, Expected: fault.Expected, Path: []string{},
			}
			if fault.Field != "" {
				e.Path = []string{fault.Field}
			}
			errs = append(errs, e)
		}
	}
	return errs
}

// same compares two values of one field.
func same(a, b any) bool {
	switch a := a.(type) {
	case []string:
		b, ok := b.([]string)
		return ok && slices.Equal(a, b)
	case json.Number:
		b, ok := b.(json.Number)
		if !ok {
			return false
		}
		x, _ := parseDecimal(a)
		y, _ := parseDecimal(b)
		return x.compare(y) == 0
	}
	return a == b
}
