package form

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// state is what somebody did with a field.
type state uint8

const (
	absent  state = iota // said nothing: an optional field takes its default
	cleared              // left it empty: no value, and no default either
	given
)

// entry is what was submitted for one field.
type entry struct {
	state state
	value any    // of the field's type when given and err is nil
	err   *Error // why it could not be read
}

// Read reads strings, as an HTML form or a terminal has them, into typed
// values and validates these. Files are those that were uploaded for the
// form's file fields; they come from whoever received them, never from the
// strings.
//
// Spaces around numbers, dates, addresses and yes-or-no answers do not count.
// Yes-or-no answers are true, yes, on, false, no and off, and the last of
// several counts, so that a hidden "false" can stand before a checkbox. A date
// with a time but without an offset is in UTC. An empty string is no value.
//
// The values are those that are acceptable, also when there are errors.
func (f *Form) Read(values map[string][]string, files map[string][]Upload) (Values, Errors) {
	entries := make([]entry, len(f.fields))
	var unknown []string
	for id, strings := range values {
		at, ok := f.index[id]
		if !ok {
			unknown = append(unknown, id)
			continue
		}
		entries[at] = f.fields[at].takeStrings(strings)
	}
	unknown = f.takeFiles(entries, files, unknown)
	return f.judge(entries, unknown)
}

// Decode reads a JSON object into typed values and validates these. Strings
// in place of numbers and yes-or-no answers are read as [Form.Read] does.
// Files are those that were uploaded for the form's file fields; a file that
// the JSON refers to is refused.
//
// The values are those that are acceptable, also when there are errors.
func (f *Form) Decode(raw []byte, files map[string][]Upload) (Values, Errors) {
	n, err := parseJSON(raw, MaxAnswer)
	if err == nil && n.kind != objectNode {
		err = fmt.Errorf("is %s, want an object", n.kind.noun())
	}
	if err != nil {
		return Values{}, Errors{{
			Code: Code, Message: "The answer " + err.Error(), Constraint: ConstraintType, Expected: "object", Path: []string{},
		}}
	}
	entries := make([]entry, len(f.fields))
	var unknown []string
	for i := range n.members {
		m := &n.members[i]
		at, ok := f.index[m.name]
		if !ok {
			unknown = append(unknown, m.name)
			continue
		}
		entries[at] = f.fields[at].takeNode(&m.value)
	}
	unknown = f.takeFiles(entries, files, unknown)
	return f.judge(entries, unknown)
}

// Validate checks typed values. Besides the types of [Values] it takes Go's
// other numbers, and []any for []string. It does not change values; the result
// is a new map with the values that are acceptable, defaults included, also
// when there are errors.
func (f *Form) Validate(values Values) (Values, Errors) {
	entries := make([]entry, len(f.fields))
	var unknown []string
	for id, v := range values {
		at, ok := f.index[id]
		if !ok {
			unknown = append(unknown, id)
			continue
		}
		entries[at] = f.fields[at].take(v)
	}
	return f.judge(entries, unknown)
}

func (f *Form) takeFiles(entries []entry, files map[string][]Upload, unknown []string) []string {
	for id, uploads := range files {
		at, ok := f.index[id]
		switch {
		case !ok:
			if !slices.Contains(unknown, id) {
				unknown = append(unknown, id)
			}
		case len(uploads) > 0 && entries[at].err == nil:
			entries[at] = f.fields[at].take(uploads)
		}
	}
	return unknown
}

func (f *field) unreadable(actual any) entry {
	err := f.fail(ConstraintType, f.jsonType(), actual)
	return entry{state: given, err: &err}
}

// jsonType is what the field's values are in JSON.
func (f *field) jsonType() string {
	switch f.Type {
	case Number, Boolean:
		return string(f.Type)
	case MultiSelect:
		return "array"
	case File:
		return "file"
	}
	return "string"
}

// takeStrings takes what an HTML form sent under the field's name.
func (f *field) takeStrings(values []string) entry {
	for _, s := range values {
		if !utf8.ValidString(s) {
			return f.unreadable("not UTF-8")
		}
	}
	switch {
	case len(values) == 0:
		return entry{}
	case f.Type == MultiSelect:
		// An empty string among the choices is how a page says that the
		// question was asked, also when nothing was chosen.
		return f.takeList(slices.DeleteFunc(slices.Clone(values), func(s string) bool { return s == "" && !f.options[""] }))
	case f.Type == Boolean:
		return f.takeString(values[len(values)-1])
	case len(values) > 1:
		return f.unreadable(len(values))
	}
	return f.takeString(values[0])
}

// lineEnds makes every end of a line a line feed. A lone carriage return is
// one too, so that a text that was read is read again as the same.
var lineEnds = strings.NewReplacer("\r\n", "\n", "\r", "\n")

// takeString takes one string for a field that has one value.
func (f *field) takeString(s string) entry {
	switch f.Type {
	case Text:
		if strings.IndexByte(s, '\r') >= 0 { // browsers send lines with CRLF
			s = lineEnds.Replace(s)
		}
	case Select:
		if s == "" && f.options[""] {
			return entry{state: given, value: s}
		}
	case File:
		if s != "" {
			return f.unreadable("string")
		}
	default:
		s = strings.TrimSpace(s)
	}
	if s == "" {
		return entry{state: cleared}
	}
	switch f.Type {
	case Number:
		n, ok := readNumber(s)
		if !ok {
			return f.unreadable(clip(s))
		}
		return entry{state: given, value: n}
	case Boolean:
		v, ok := readBoolean(s)
		if !ok {
			return f.unreadable(clip(s))
		}
		return entry{state: given, value: v}
	case Date:
		s = f.readDate(s)
	case URL:
		s = lowerScheme(s)
	}
	return entry{state: given, value: s}
}

func readBoolean(s string) (value, ok bool) {
	switch strings.ToLower(s) {
	case "true", "yes", "on":
		return true, true
	case "false", "no", "off":
		return false, true
	}
	return false, false
}

// readDate completes what a browser's date and time picker sends, which has
// no offset and may have no seconds.
func (f *field) readDate(s string) string {
	if f.Constraints.Format != "date-time" {
		return s
	}
	for _, missing := range []string{"Z", ":00Z"} {
		if _, ok := parseTime(s + missing); ok {
			return s + missing
		}
	}
	return s
}

// lowerScheme writes the scheme of an address in small letters: the keyboards
// of phones begin with a capital.
func lowerScheme(s string) string {
	if at := strings.Index(s, "://"); at > 0 && at < 10 {
		return strings.ToLower(s[:at]) + s[at:]
	}
	return s
}

// takeList takes the choices of a multi_select. To choose nothing is an answer
// where the constraints allow it, and else no answer.
func (f *field) takeList(values []string) entry {
	if len(values) == 0 && (f.Required || f.Constraints.MinItems > 0) {
		return entry{state: cleared}
	}
	return entry{state: given, value: values}
}

func (f *field) takeNode(n *node) entry {
	switch {
	case n.kind == stringNode && f.Type != MultiSelect:
		return f.takeString(n.text)
	case n.kind == numberNode && f.Type == Number:
		return f.takeNumber(json.Number(n.text))
	case n.kind == boolNode && f.Type == Boolean:
		return entry{state: given, value: n.flag}
	case n.kind == arrayNode && f.Type == MultiSelect:
		values := make([]string, len(n.items))
		for i := range n.items {
			if n.items[i].kind != stringNode {
				return f.unreadable("array with a " + n.items[i].kind.String())
			}
			values[i] = n.items[i].text
		}
		return f.takeList(values)
	}
	return f.unreadable(n.kind.String())
}

func (f *field) takeNumber(n json.Number) entry {
	if _, ok := parseDecimal(n); !ok {
		return f.unreadable(clip(string(n)))
	}
	return entry{state: given, value: n}
}

// take takes a value of a Go type.
func (f *field) take(v any) entry {
	switch v := v.(type) {
	case string:
		if !utf8.ValidString(v) {
			return f.unreadable("not UTF-8")
		}
		if f.Type != MultiSelect {
			return f.takeString(v)
		}
	case json.Number:
		if f.Type == Number && json.Valid([]byte(v)) {
			return f.takeNumber(v)
		}
	case bool:
		if f.Type == Boolean {
			return entry{state: given, value: v}
		}
	case []string:
		if f.Type == MultiSelect {
			return f.takeList(v)
		}
	case []any:
		return f.takeAnys(v)
	case []Upload:
		switch {
		case f.Type == File && len(v) == 0:
			return entry{state: cleared}
		case f.Type == File:
			return entry{state: given, value: v}
		}
	case float64:
		if f.Type == Number && !math.IsNaN(v) && !math.IsInf(v, 0) {
			return f.takeNumber(json.Number(strconv.FormatFloat(v, 'g', -1, 64)))
		}
	case int:
		if f.Type == Number {
			return f.takeNumber(json.Number(strconv.Itoa(v)))
		}
	case int64:
		if f.Type == Number {
			return f.takeNumber(json.Number(strconv.FormatInt(v, 10)))
		}
	}
	return f.unreadable(fmt.Sprintf("%T", v))
}

func (f *field) takeAnys(items []any) entry {
	values := make([]string, len(items))
	for i, item := range items {
		s, ok := item.(string)
		if !ok || f.Type != MultiSelect || !utf8.ValidString(s) {
			return f.unreadable("array")
		}
		values[i] = s
	}
	if f.Type != MultiSelect {
		return f.unreadable("array")
	}
	return f.takeList(values)
}
