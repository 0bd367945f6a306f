package page

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Limits of a form that a page shows.
const (
	maxFields  = 100
	maxOptions = 500
	maxTyped   = 10_000 // characters in a field that sets no limit of its own
	maxPattern = 1_000
	fewOptions = 7   // so many are all shown at once
	longText   = 200 // from here on a field gets several lines
)

type number = json.Number

// obstacle is why a form cannot be shown, in words for the person.
type obstacle string

func (o obstacle) Error() string { return string(o) }

func obstaclef(format string, args ...any) error { return obstacle(fmt.Sprintf(format, args...)) }

// beyond are keywords that bind values in ways no field shows. Other keywords
// that are not known narrow what a server takes, and are the server's to say.
var beyond = []string{
	"$ref", "$dynamicRef", "allOf", "not", "if", "then", "else", "const", "contains", "prefixItems",
	"properties", "patternProperties", "dependentSchemas", "dependentRequired", "dependencies",
}

// readSchema reads MCP's restricted requestedSchema: a flat object of strings,
// numbers, booleans and choices. A missing one is a form without fields. The
// error says in words for people why a schema cannot be shown.
func readSchema(raw []byte) (*form, error) {
	f := &form{}
	if len(raw) == 0 || string(bytes.TrimSpace(raw)) == "null" {
		return f, nil
	}
	top, err := members(raw)
	if err != nil {
		return nil, obstacle("Its description is not well-formed.")
	}
	schema := index(top)
	if text(schema["type"]) != "object" {
		return nil, obstacle("It does not ask for named values.")
	}
	for _, k := range beyond {
		if _, ok := schema[k]; ok && k != "properties" {
			return nil, obstaclef("Its values depend on each other in a way that a plain form cannot show (%s).", k)
		}
	}
	var properties []member
	if p, ok := schema["properties"]; ok {
		if properties, err = members(p); err != nil {
			return nil, obstacle("Its description is not well-formed.")
		}
	}
	if len(properties) > maxFields {
		return nil, obstaclef("It asks for %d values at once; a page shows %d at most.", len(properties), maxFields)
	}
	var required []string
	if r, ok := schema["required"]; ok && json.Unmarshal(r, &required) != nil {
		return nil, obstacle("Its description is not well-formed.")
	}
	for i, p := range properties {
		fd, err := readField(p, "f"+strconv.Itoa(i))
		if err != nil {
			return nil, err
		}
		fd.Required = slices.Contains(required, p.key)
		fd.Hint = fd.hint()
		if d, ok := value(p.raw, "default"); ok {
			fd.byDefault = fd.asTyped(d)
			if fd.Kind == kindText && fd.Format == "" && strings.Contains(strings.Join(fd.byDefault, ""), "\n") {
				fd.Kind = kindArea // one line would lose the others
			}
		}
		f.Fields = append(f.Fields, fd)
	}
	for _, key := range required {
		if !slices.ContainsFunc(f.Fields, func(fd *field) bool { return fd.Key == key }) {
			return nil, obstaclef("It needs a value “%s” that it does not describe.", line(key, maxName))
		}
	}
	return f, nil
}

func readField(p member, id string) (*field, error) {
	name := line(p.key, maxName)
	list, err := members(p.raw)
	if err != nil {
		return nil, obstaclef("The description of “%s” is not well-formed.", name)
	}
	s := index(list)
	for _, k := range beyond {
		if _, ok := s[k]; ok {
			return nil, obstaclef("“%s” is more than one plain value (%s).", name, k)
		}
	}
	f := &field{Key: p.key, ID: id, Label: line(text(s["title"]), maxLabel)}
	if f.Label == "" {
		f.Label = line(p.key, maxLabel)
	}
	if f.Label == "" {
		f.Label = "A value without a name"
	}
	f.Help = line(text(s["description"]), maxHelp)
	kind := text(s["type"])
	switch kind {
	case "string":
		err = f.readString(s)
	case "number", "integer":
		err = f.readNumber(s, kind == "integer")
	case "boolean":
		f.Kind = kindCheck
	case "array":
		err = f.readChoices(s)
	default:
		err = obstacle("is not one plain value")
	}
	if err != nil {
		return nil, obstaclef("“%s” %s.", name, err)
	}
	return f, nil
}

func (f *field) readString(s map[string]json.RawMessage) error {
	if options, ok, err := readOptions(s, "oneOf"); ok || err != nil {
		f.Kind, f.Options = kindRadio, options
		if len(options) > fewOptions {
			f.Kind = kindSelect
		}
		return err
	}
	if _, ok := s["anyOf"]; ok {
		return obstacle("can be of several kinds")
	}
	var err error
	if f.least, f.most, err = bounds(s, "minLength", "maxLength", maxTyped); err != nil {
		return err
	}
	if p := text(s["pattern"]); p != "" && len(p) <= maxPattern {
		// A pattern that only its server can read is left to its server.
		f.pattern, _ = regexp.Compile(p)
	}
	f.Kind, f.Format = kindText, text(s["format"])
	switch f.Format {
	case "date":
		f.Kind = kindDate
	case "date-time":
		f.Kind = kindDateTime
	case "email":
		f.Mode = "email"
	case "uri":
		f.Mode = "url"
	default:
		f.Format = ""
		if f.most > longText && s["maxLength"] != nil {
			f.Kind = kindArea
		}
	}
	return nil
}

func (f *field) readNumber(s map[string]json.RawMessage, whole bool) error {
	if s["enum"] != nil || s["oneOf"] != nil || s["anyOf"] != nil {
		return obstacle("is a choice between numbers")
	}
	f.Kind, f.whole = kindNumber, whole
	for _, b := range []struct {
		keyword string
		to      **big.Rat
	}{{"minimum", &f.min}, {"maximum", &f.max}} {
		raw, ok := s[b.keyword]
		if !ok {
			continue
		}
		r, ok := rational(string(raw))
		if !ok {
			return obstacle("has a limit that is not a number")
		}
		*b.to = r
	}
	if f.min != nil && f.max != nil && f.min.Cmp(f.max) > 0 {
		return obstacle("has limits that no number keeps")
	}
	if f.min != nil && f.min.Sign() >= 0 { // keyboards of digits have no minus
		f.Mode = "decimal"
		if whole {
			f.Mode = "numeric"
		}
	}
	return nil
}

func (f *field) readChoices(s map[string]json.RawMessage) error {
	list, err := members(s["items"])
	if err != nil {
		return obstacle("is a list of things that cannot be chosen from")
	}
	options, ok, err := readOptions(index(list), "anyOf")
	if err != nil {
		return err
	}
	if !ok {
		return obstacle("is a list of things that cannot be chosen from")
	}
	f.Kind, f.Options = kindChecks, options
	f.least, f.most, err = bounds(s, "minItems", "maxItems", len(options))
	return err
}

// readOptions reads a choice between strings: a list of constants with titles
// under the given keyword, or an enum, with or without enumNames.
func readOptions(s map[string]json.RawMessage, titled string) ([]option, bool, error) {
	var options []option
	if raw, ok := s[titled]; ok {
		var list []map[string]json.RawMessage
		if json.Unmarshal(raw, &list) != nil {
			return nil, false, obstacle("has choices that are not well-formed")
		}
		for _, o := range list {
			var v *string
			if json.Unmarshal(o["const"], &v) != nil || v == nil {
				return nil, false, obstacle("can be of several kinds")
			}
			options = append(options, option{*v, line(text(o["title"]), maxLabel)})
		}
	} else if raw, ok := s["enum"]; ok {
		var values []*string
		if json.Unmarshal(raw, &values) != nil || slices.Contains(values, nil) {
			return nil, false, obstacle("is a choice between things that are not text")
		}
		var names []string
		if json.Unmarshal(s["enumNames"], &names) != nil || len(names) != len(values) {
			names = make([]string, len(values))
		}
		for i, v := range values {
			options = append(options, option{*v, line(names[i], maxLabel)})
		}
	} else {
		return nil, false, nil
	}
	if len(options) == 0 || len(options) > maxOptions {
		return nil, false, obstaclef("has %d choices; a page shows 1 to %d", len(options), maxOptions)
	}
	for i := range options {
		if options[i].Title == "" {
			options[i].Title = line(options[i].Value, maxLabel)
		}
		if options[i].Title == "" {
			options[i].Title = "(nothing)"
		}
	}
	return options, true, nil
}

// bounds reads how few and how many of something there may be.
func bounds(s map[string]json.RawMessage, least, most string, limit int) (lo, hi int, err error) {
	hi = limit
	for _, b := range []struct {
		keyword string
		to      *int
	}{{least, &lo}, {most, &hi}} {
		raw, ok := s[b.keyword]
		if !ok {
			continue
		}
		var n float64
		if json.Unmarshal(raw, &n) != nil || n < 0 || n != float64(int64(n)) {
			return 0, 0, obstacle("has a limit that is not a count")
		}
		*b.to = int(min(n, float64(limit)+1))
	}
	hi = min(hi, limit)
	if lo > hi {
		return 0, 0, obstacle("has limits that nothing keeps")
	}
	return lo, hi, nil
}

// member is one name and value of a JSON object.
type member struct {
	key string
	raw json.RawMessage
}

// members gives the members of a JSON object as they stand. An object that
// names something twice means something else to every reader, and is refused.
func members(raw []byte) ([]member, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil, fmt.Errorf("not an object: %w", err)
	}
	var list []member
	seen := map[string]bool{}
	for dec.More() {
		t, err := dec.Token()
		if err != nil {
			return nil, err
		}
		m := member{key: t.(string)}
		if seen[m.key] {
			return nil, fmt.Errorf("%q stands there twice", m.key)
		}
		seen[m.key] = true
		if err := dec.Decode(&m.raw); err != nil {
			return nil, err
		}
		list = append(list, m)
	}
	_, err := dec.Token()
	return list, err
}

func index(list []member) map[string]json.RawMessage {
	all := make(map[string]json.RawMessage, len(list))
	for _, m := range list {
		all[m.key] = m.raw
	}
	return all
}

// value decodes one member of an object, with its numbers as they stand.
func value(raw []byte, key string) (any, bool) {
	list, err := members(raw)
	if err != nil {
		return nil, false
	}
	r, ok := index(list)[key]
	if !ok {
		return nil, false
	}
	dec := json.NewDecoder(strings.NewReader(string(r)))
	dec.UseNumber()
	var v any
	return v, dec.Decode(&v) == nil
}
