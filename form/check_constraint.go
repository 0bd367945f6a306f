package form

import (
	"fmt"
	"mime"
	"slices"
	"strings"
)

// checkConstraints refuses constraints that the field's type does not have,
// that say nothing, or that nothing can meet.
func checkConstraints(d *Field, path string, p *problems) {
	c := &d.Constraints
	refuse := func(set bool, key string, types ...Type) {
		if set && !slices.Contains(types, d.Type) {
			p.add(path+"."+key, "is not a constraint of %s fields", d.Type)
		}
	}
	refuse(c.MinLength != 0, "minLength", Text)
	refuse(c.MaxLength != 0, "maxLength", Text, URL)
	refuse(c.Pattern != "", "pattern", Text)
	refuse(c.Format != "", "format", Text, URL, Date)
	refuse(c.Minimum != "", "minimum", Number)
	refuse(c.Maximum != "", "maximum", Number)
	refuse(c.ExclusiveMinimum != "", "exclusiveMinimum", Number)
	refuse(c.ExclusiveMaximum != "", "exclusiveMaximum", Number)
	refuse(c.MultipleOf != "", "multipleOf", Number)
	refuse(c.Earliest != "", "minimum", Date)
	refuse(c.Latest != "", "maximum", Date)
	refuse(c.MinItems != 0, "minItems", MultiSelect, File)
	refuse(c.MaxItems != 0, "maxItems", MultiSelect, File)
	refuse(len(c.Schemes) > 0, "allowedSchemes", URL)
	refuse(c.AllowPrivate, "blockPrivateIPs", URL)
	refuse(c.AllowLocalhost, "blockLocalhost", URL)
	refuse(c.MaxSize != 0, "maxSize", File)
	refuse(len(c.MimeTypes) > 0, "allowedMimeTypes", File)
	refuse(len(c.Extensions) > 0, "allowedExtensions", File)

	checkRange(int64(c.MinLength), int64(c.MaxLength), "Length", path, p)
	checkRange(int64(c.MinItems), int64(c.MaxItems), "Items", path, p)
	if d.Type == MultiSelect && c.MinItems > len(d.Options) {
		p.add(path+".minItems", "is %d, but there are %d choices", c.MinItems, len(d.Options))
	}
	if c.MaxSize < 0 {
		p.add(path+".maxSize", "must not be negative")
	}
	switch d.Type {
	case Text:
		checkOneOf(c.Format, formatNames, path+".format", p)
	case URL:
		checkOneOf(c.Format, []string{"uri"}, path+".format", p)
	case Date:
		checkOneOf(c.Format, []string{"date", "date-time"}, path+".format", p)
		checkDates(d, path, p)
	}
	for i, s := range c.Schemes {
		checkOneOf(orMissing(s), urlSchemes, fmt.Sprintf("%s.allowedSchemes[%d]", path, i), p)
	}
	for i, s := range c.MimeTypes {
		if kind, params, err := mime.ParseMediaType(s); err != nil || len(params) > 0 || kind != s || !strings.Contains(s, "/") {
			p.add(fmt.Sprintf("%s.allowedMimeTypes[%d]", path, i), "is %q, want a type such as image/png or image/*, in small letters", clip(s))
		}
	}
	for i, s := range c.Extensions {
		if len(s) < 2 || len(s) > 20 || s[0] != '.' || !isASCII(s) || strings.ContainsAny(s[1:], " /\\,\"'") {
			p.add(fmt.Sprintf("%s.allowedExtensions[%d]", path, i), "is %q, want an extension such as .json", clip(s))
		}
	}
}

func orMissing(s string) string {
	if s == "" {
		return "(empty)"
	}
	return s
}

func checkRange(least, most int64, what, path string, p *problems) {
	if least < 0 {
		p.add(path+".min"+what, "must not be negative")
	}
	if most < 0 {
		p.add(path+".max"+what, "must not be negative")
	}
	if most > 0 && least > most {
		p.add(path+".min"+what, "is %d, more than max%s, which is %d", least, what, most)
	}
}

func checkDates(d *Field, path string, p *problems) {
	c := &d.Constraints
	good := true
	for _, b := range []struct{ key, value string }{{"minimum", c.Earliest}, {"maximum", c.Latest}} {
		if b.value != "" && !hasFormat(c.Format, b.value) {
			p.add(path+"."+b.key, "is %q, want %s", clip(b.value), formatWords(c.Format))
			good = false
		}
	}
	if good && c.Earliest != "" && c.Latest != "" && compareDates(c.Format, c.Earliest, c.Latest) > 0 {
		p.add(path+".minimum", "is later than maximum")
	}
}

// compareDates compares two valid dates, or dates with times.
func compareDates(format, a, b string) int {
	if format == "date" {
		return strings.Compare(a, b)
	}
	s, _ := parseTime(a)
	t, _ := parseTime(b)
	return s.Compare(t)
}

func checkBounds(f *field, path string, p *problems) {
	if f.step != nil && f.step.f <= 0 {
		p.add(path+".multipleOf", "must be greater than 0")
		f.step = nil
	}
	if f.min != nil && f.max != nil && f.min.compare(*f.max) > 0 {
		p.add(path+".minimum", "is greater than maximum")
	}
	low, high := f.above, f.below
	if low != nil && (f.max != nil && low.compare(*f.max) >= 0 || high != nil && low.compare(*high) >= 0) {
		p.add(path+".exclusiveMinimum", "leaves no number")
	}
	if high != nil && f.min != nil && f.min.compare(*high) >= 0 {
		p.add(path+".exclusiveMaximum", "leaves no number")
	}
}

// checkDefault refuses a default that would not be accepted as an answer. An
// empty text is no default.
func checkDefault(f *field, path string, p *problems) {
	path += ".default"
	switch {
	case f.Default == nil:
		return
	case f.Type == File:
		p.add(path, "is not possible for file fields")
		return
	case f.Type == Text && f.Default == "":
		f.Default = nil
		if f.Required && (f.Hints.ReadOnly || f.Hints.Hidden) {
			p.add(path, "is empty, which makes a required field impossible to fill in")
		}
		return
	case f.Sensitive:
		p.add(path, "is not possible for sensitive fields: a definition is no secret")
		return
	}
	e := f.take(f.Default)
	if e.err != nil {
		p.add(path, "is not a value of a %s field", f.Type)
		return
	}
	if e.state != given {
		p.add(path, "is empty")
		return
	}
	f.Default = e.value
	var errs Errors
	f.check(e.value, &errs)
	for _, err := range errs {
		p.add(path, "would not be accepted: %s", err.Message)
	}
}
