package form

import (
	"fmt"
	"strings"
)

// The constraints that an [Error] can name, beyond those named like the key of
// the definition that was violated.
const (
	ConstraintType     = "type"                 // not the kind of value the field takes
	ConstraintRequired = "required"             // nothing was given
	ConstraintUnknown  = "additionalProperties" // the form has no such field
	ConstraintHidden   = "hidden"               // the field is not asked now, so it takes no value
	ConstraintReadOnly = "readonly"             // the value is not the default
	ConstraintCustom   = "custom"               // a custom validator objected
)

// sentence puts a violated constraint into words. Pages that speak another
// language make their own from the constraint and what was expected.
func sentence(f *Field, constraint string, expected any) string {
	text := ""
	switch constraint {
	case ConstraintType:
		text = "must be " + typeWords(f)
	case ConstraintRequired:
		text = "is required"
	case ConstraintHidden:
		text = "must be left out: it is not asked here"
	case ConstraintReadOnly:
		text = "cannot be changed"
	case "minLength":
		text = fmt.Sprintf("must be at least %v %s", expected, plural(expected, "character"))
	case "maxLength":
		text = fmt.Sprintf("must be at most %v %s", expected, plural(expected, "character"))
	case "pattern":
		text = "is not in the expected form"
	case "format":
		text = "must be " + formatWords(expected)
	case "minimum":
		text = fmt.Sprintf("must be %v or %s", expected, ifDate(f, "later", "more"))
	case "maximum":
		text = fmt.Sprintf("must be %v or %s", expected, ifDate(f, "earlier", "less"))
	case "exclusiveMinimum":
		text = fmt.Sprintf("must be more than %v", expected)
	case "exclusiveMaximum":
		text = fmt.Sprintf("must be less than %v", expected)
	case "multipleOf":
		text = fmt.Sprintf("must be a multiple of %v", expected)
		if fmt.Sprint(expected) == "1" {
			text = "must be a whole number"
		}
	case "enum":
		text = "must be one of the choices"
	case "uniqueItems":
		text = "must not have the same choice twice"
	case "minItems":
		text = fmt.Sprintf("must have at least %v %s", expected, plural(expected, itemWord(f)))
	case "maxItems":
		text = fmt.Sprintf("must have at most %v %s", expected, plural(expected, itemWord(f)))
	case "allowedSchemes":
		text = "must begin with " + orList(expected, "://")
	case "blockPrivateIPs":
		text = "must not point into a private or special network"
	case "blockLocalhost":
		text = "must not point to this machine"
	case "maxSize":
		text = fmt.Sprintf("must be at most %s large", sizeWords(expected))
	case "allowedMimeTypes":
		text = "must be a file of type " + orList(expected, "")
	case "allowedExtensions":
		text = "must be a file whose name ends in " + orList(expected, "")
	}
	return f.Label + " " + text
}

func typeWords(f *Field) string {
	switch f.Type {
	case Number:
		return "a number"
	case Boolean:
		return "yes or no"
	case MultiSelect:
		return "a list of choices"
	case Date:
		return formatWords(f.Constraints.Format)
	case URL:
		return "a web address"
	case File:
		return "an uploaded file"
	case Select:
		return "one of the choices"
	}
	return "text"
}

func formatWords(format any) string {
	switch format {
	case "email":
		return "an e-mail address, such as name@example.com"
	case "uri":
		return "a complete address, such as https://example.com/page"
	case "uuid":
		return "a UUID"
	case "date-time":
		return "a date and time, such as 2026-01-31T14:30:00Z"
	case "time":
		return "a time, such as 14:30:00Z"
	case "hostname":
		return "a host name, such as www.example.com"
	case "ipv4":
		return "an IPv4 address"
	case "ipv6":
		return "an IPv6 address"
	}
	return "a date, such as 2026-01-31"
}

func plural(count any, word string) string {
	if fmt.Sprint(count) == "1" {
		return word
	}
	return word + "s"
}

func ifDate(f *Field, date, other string) string {
	if f.Type == Date {
		return date
	}
	return other
}

func itemWord(f *Field) string {
	if f.Type == File {
		return "file"
	}
	return "choice"
}

func orList(v any, suffix string) string {
	items, _ := v.([]string)
	words := make([]string, len(items))
	for i, s := range items {
		words[i] = s + suffix
	}
	return strings.Join(words, " or ")
}

func sizeWords(v any) string {
	n, _ := v.(int64)
	switch {
	case n >= 1<<20 && n%(1<<20) == 0:
		return fmt.Sprintf("%d MB", n>>20)
	case n >= 1<<10 && n%(1<<10) == 0:
		return fmt.Sprintf("%d KB", n>>10)
	}
	return fmt.Sprintf("%d bytes", n)
}
