package form_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/answerback/answerback/form"
)

func parse(t *testing.T, raw string) *form.Form {
	t.Helper()
	f, err := form.Parse([]byte(raw))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// field is the definition of a form with one field.
func oneField(field string) string {
	return `{"id": "f", "title": "F", "fields": [` + field + `]}`
}

// F1, F2, F4: the examples of the language's own specification are read.
func TestSpecificationExamples(t *testing.T) {
	files, err := filepath.Glob("testdata/*.form.json")
	if err != nil || len(files) < 3 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		f, err := form.Parse(raw)
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		written, err := json.Marshal(f.Definition())
		if err != nil {
			t.Fatal(err)
		}
		again, err := form.Parse(written)
		if err != nil {
			t.Errorf("%s: what was written cannot be read: %v", file, err)
		} else if again.Digest() != f.Digest() {
			t.Errorf("%s: changed when written: %s", file, written)
		}
	}
}

func TestEveryPartOfADefinitionIsKept(t *testing.T) {
	raw, err := os.ReadFile("testdata/everything.form.json")
	if err != nil {
		t.Fatal(err)
	}
	f := parse(t, string(raw))
	d := f.Definition()
	want := form.Timeouts{Initial: 5 * time.Minute, WarnBefore: time.Minute, Extension: 5 * time.Minute, MaxExtensions: 2}
	if d.Timeout != want || !d.AllowPartial || string(d.Metadata) != `{"team": ["ops"], "n": 1e2}` {
		t.Errorf("timeout %+v, partial %v, metadata %s", d.Timeout, d.AllowPartial, d.Metadata)
	}
	written, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	var in, out any
	for raw, to := range map[string]*any{string(raw): &in, string(written): &out} {
		if err := json.Unmarshal([]byte(raw), to); err != nil {
			t.Fatal(err)
		}
	}
	if a, b := indent(t, in), indent(t, out); a != b {
		t.Errorf("was\n%s\nis\n%s", a, b)
	}
}

func indent(t *testing.T, v any) string {
	t.Helper()
	raw, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// F1, F5: what a definition must not say is refused where it stands.
func TestDefinitionsAreStrict(t *testing.T) {
	text := func(rest string) string { return oneField(`{"id": "a", "type": "text", "label": "A"` + rest + `}`) }
	typed := func(kind, rest string) string {
		return oneField(`{"id": "a", "type": "` + kind + `", "label": "A"` + rest + `}`)
	}
	two := func(a, b, rest string) string {
		return `{"id": "f", "title": "F", "fields": [{"id": "a", "type": "text", "label": "A"` + a + `}, {"id": "b", "type": "select", "options": ["x", "y"], "label": "B"` + b + `}]` + rest + `}`
	}
	rule := func(condition, action string) string {
		return two("", "", `, "validation": {"dependencies": {"a": {"condition": `+condition+`, "action": "`+action+`"}}}`)
	}
	for _, c := range []struct{ raw, path, message string }{
		{`{`, "", "not JSON"},
		{`[]`, "", "is an array, want an object"},
		{`{"id": "a", "id": "b"}`, "", `the name "id" twice`},
		{"{\"id\": \"\xff\"}", "", "not UTF-8"},
		{strings.Repeat("[", 40) + strings.Repeat("]", 40), "", "nested deeper"},
		{`{"title": "F", "fields": []}`, "id", "missing"},
		{`{"id": "f", "fields": []}`, "title", "missing"},
		{`{"id": "f", "title": "F"}`, "fields", "missing"},
		{`{"id": "f", "title": "F", "fields": [], "extra": 1}`, "extra", "not known"},
		{`{"id": "f", "title": "F", "fields": [], "timeout": 0}`, "timeout", "between 1 and"},
		{`{"id": "f", "title": "F", "fields": [], "timeout": 999999999999}`, "timeout", "more than a year"},
		{`{"id": "f", "title": "F", "fields": [], "timeout": {"warn": 1}}`, "timeout.warn", "not known"},
		{`{"id": "f", "title": "F", "fields": [], "metadata": []}`, "metadata", "want an object"},
		{`{"id": " f", "title": "F", "fields": []}`, "id", "space"},
		{`{"id": "f\u0007", "title": "F", "fields": []}`, "id", "cannot be printed"},
		{`{"id": "` + strings.Repeat("f", 201) + `", "title": "F", "fields": []}`, "id", "201 bytes"},
		{oneField(`{"type": "text", "label": "A"}`), "fields[0].id", "missing"},
		{oneField(`{"id": "a", "label": "A"}`), "fields[0].type", "want text, number"},
		{oneField(`{"id": "a", "type": "text"}`), "fields[0].label", "missing"},
		{oneField(`{"id": "a", "type": "colour", "label": "A"}`), "fields[0].type", `is "colour"`},
		{oneField(`{"id": 7, "type": "text", "label": "A"}`), "fields[0].id", "is a number, want a string"},
		{two("", `, "id": "a"`, ""), "", "twice"},
		{`{"id": "f", "title": "F", "fields": [{"id": "a", "type": "text", "label": "A"}, {"id": "a", "type": "text", "label": "A"}]}`, "fields[1].id", "like that of fields[0]"},
		{text(`, "colour": "red"`), "fields[0].colour", "not known"},
		{text(`, "validation": {"minimum": 1}`), "fields[0].validation.minimum", "not known"},
		{text(`, "validation": {"minLength": -1}`), "fields[0].validation.minLength", "between 0"},
		{text(`, "validation": {"maxLength": 0}`), "fields[0].validation.maxLength", "between 1"},
		{text(`, "validation": {"minLength": 1.5}`), "fields[0].validation.minLength", "whole number"},
		{text(`, "validation": {"minLength": 5, "maxLength": 4}`), "fields[0].validation.minLength", "more than maxLength"},
		{text(`, "validation": {"pattern": "(?=x)"}`), "fields[0].validation.pattern", "RE2"},
		{text(`, "validation": {"pattern": "(((a{100}){100}){100})"}`), "fields[0].validation.pattern", "RE2"},
		{text(`, "validation": {"pattern": "` + strings.Repeat("a", 1001) + `"}`), "fields[0].validation.pattern", "1001 bytes"},
		{text(`, "validation": {"format": "phone"}`), "fields[0].validation.format", "want one of email"},
		{text(`, "options": ["a"]`), "fields[0].options", "not for a text field"},
		{text(`, "default": 5`), "fields[0].default", "not a value of a text field"},
		{text(`, "default": null`), "fields[0].default", "is null"},
		{text(`, "default": {}`), "fields[0].default", "is an object"},
		{text(`, "default": "ab", "validation": {"minLength": 3}`), "fields[0].default", "at least 3 characters"},
		{text(`, "default": "x", "sensitive": true`), "fields[0].default", "no secret"},
		{text(`, "rendering": {"inputType": "colour"}`), "fields[0].rendering.inputType", "want one of text"},
		{text(`, "rendering": {"rows": 0}`), "fields[0].rendering.rows", "between 1"},
		{text(`, "rendering": {"step": -1}`), "fields[0].rendering.step", "greater than 0"},
		{text(`, "rendering": {"glow": true}`), "fields[0].rendering.glow", "not known"},
		{text(`, "rendering": {"readonly": true}, "required": true`), "fields[0].rendering.readonly", "impossible"},
		{text(`, "rendering": {"hidden": true}, "required": true`), "fields[0].rendering.hidden", "impossible"},
		{text(`, "rendering": {"hidden": true}, "required": true, "default": ""`), "fields[0].default", "impossible"},
		{text(`, "accessibility": {"tabIndex": "1"}`), "fields[0].accessibility.tabIndex", "want a number"},
		{typed("number", `, "validation": {"minimum": 3, "maximum": 2}`), "fields[0].validation.minimum", "greater than maximum"},
		{typed("number", `, "validation": {"minimum": 2, "exclusiveMaximum": 2}`), "fields[0].validation.exclusiveMaximum", "no number"},
		{typed("number", `, "validation": {"exclusiveMinimum": 2, "exclusiveMaximum": 2}`), "fields[0].validation.exclusiveMinimum", "no number"},
		{typed("number", `, "validation": {"multipleOf": 0}`), "fields[0].validation.multipleOf", "greater than 0"},
		{typed("number", `, "validation": {"minimum": 1e999999}`), "fields[0].validation.minimum", "compared with"},
		{typed("number", `, "default": "5x"`), "fields[0].default", "not a value"},
		{typed("boolean", `, "validation": {"required": true}`), "fields[0].validation.required", "not known"},
		{typed("select", ``), "fields[0].options", "at least one"},
		{typed("select", `, "options": ["a", "a"]`), "fields[0].options[1]", "same value"},
		{typed("select", `, "options": [{"title": "A"}]`), "fields[0].options[0].value", "missing"},
		{typed("select", `, "options": [1]`), "fields[0].options[0]", "want an object"},
		{typed("select", `, "options": ["a"], "default": "b"`), "fields[0].default", "one of the choices"},
		{typed("select", `, "options": ["a"], "validation": {"enum": ["b"]}`), "fields[0].validation.enum", "values of options"},
		{typed("multi_select", `, "options": ["a"], "validation": {"uniqueItems": false}`), "fields[0].validation.uniqueItems", "must be true"},
		{typed("multi_select", `, "options": ["a"], "validation": {"minItems": 2}`), "fields[0].validation.minItems", "1 choices"},
		{typed("multi_select", `, "options": ["a"], "default": ["a", 1]`), "fields[0].default[1]", "want a string"},
		{typed("url", `, "validation": {"blockPrivateIPs": false}`), "fields[0].validation.blockPrivateIPs", "only by the operator"},
		{typed("url", `, "validation": {"blockLocalhost": false}`), "fields[0].validation.blockLocalhost", "only by the operator"},
		{typed("url", `, "validation": {"allowedSchemes": ["javascript"]}`), "fields[0].validation.allowedSchemes[0]", "want one of https"},
		{typed("url", `, "validation": {"format": "email"}`), "fields[0].validation.format", "want one of uri"},
		{typed("url", `, "default": "https://127.0.0.1/"`), "fields[0].default", "this machine"},
		{typed("file", `, "default": "x"`), "fields[0].default", "not possible for file"},
		{typed("file", `, "rendering": {"hidden": true}`), "fields[0].rendering", "neither readonly nor hidden"},
		{typed("file", `, "validation": {"allowedMimeTypes": ["png"]}`), "fields[0].validation.allowedMimeTypes[0]", "image/png"},
		{typed("file", `, "validation": {"allowedExtensions": ["png"]}`), "fields[0].validation.allowedExtensions[0]", ".json"},
		{typed("date", `, "validation": {"minimum": "2026-02-30"}`), "fields[0].validation.minimum", "want a date"},
		{typed("date", `, "validation": {"minimum": "2026-02-02", "maximum": "2026-02-01"}`), "fields[0].validation.minimum", "later than maximum"},
		{typed("date", `, "validation": {"format": "time"}`), "fields[0].validation.format", "want one of date"},

		{two(`, "dependencies": ["z"]`, "", ""), "fields[0].dependencies[0]", `the field "z", which the form does not have`},
		{two(`, "dependencies": ["a"]`, "", ""), "fields[0].dependencies[0]", "on itself"},
		{two(`, "dependencies": ["b"]`, `, "dependencies": ["a"]`, ""), "validation.dependencies", "a → b → a"},
		{two(`, "rendering": {"conditionalDisplay": {"operator": "equals", "field": "b", "value": "x"}}`, `, "rendering": {"conditionalDisplay": {"operator": "present", "field": "a"}}`, ""), "validation.dependencies", "in a circle"},
		{two("", "", `, "validation": {"dependencies": {"z": {"condition": {"operator": "present", "field": "a"}, "action": "show"}}}`), "validation.dependencies.z", "does not have"},
		{two("", "", `, "validation": {"custom_validators": ["luhn"]}`), "validation.custom_validators[0]", `"luhn", which is not known`},
		{rule(`{"operator": "present", "field": "b"}`, "blink"), "validation.dependencies.a.action", "want show"},
		{rule(`{"operator": "present", "field": "z"}`, "show"), "validation.dependencies.a.condition", `"z"`},
		{rule(`{"operator": "present", "field": "a"}`, "show"), "validation.dependencies.a.condition", "on itself"},
		{rule(`{"operator": "matches", "field": "b"}`, "show"), "validation.dependencies.a.condition.operator", "want equals"},
		{rule(`{"operator": "equals", "field": "b"}`, "show"), "validation.dependencies.a.condition", "0 values"},
		{rule(`{"operator": "equals", "field": "b", "value": "q"}`, "show"), "validation.dependencies.a.condition", "which it never has"},
		{rule(`{"operator": "equals", "field": "b", "value": 1}`, "show"), "validation.dependencies.a.condition", "which it never has"},
		{rule(`{"operator": "equals", "field": "b", "value": null}`, "show"), "validation.dependencies.a.condition.value", "is null"},
		{rule(`{"operator": "equals", "value": "x"}`, "show"), "validation.dependencies.a.condition.field", "must be there"},
		{rule(`{"operator": "in", "field": "b", "values": []}`, "show"), "validation.dependencies.a.condition", "at least one for in"},
		{rule(`{"operator": "not"}`, "show"), "validation.dependencies.a.condition", "0 conditions below not"},
		{rule(`{"operator": "all", "conditions": []}`, "show"), "validation.dependencies.a.condition", "0 conditions below all"},
		{rule(`{"operator": "all", "field": "b", "conditions": []}`, "show"), "validation.dependencies.a.condition.field", "not known"},
		{rule(strings.Repeat(`{"operator": "not", "condition": `, 18)+`{"operator": "present", "field": "b"}`+strings.Repeat("}", 18), "show"), "", "too deep"},
		{rule(`{"operator": "in", "field": "b", "values": ["x"`+strings.Repeat(`, "x"`, 250)+`]}`, "show"), "validation.dependencies.a.condition", "parts"},
	} {
		_, err := form.Parse([]byte(c.raw))
		var bad *form.DefinitionError
		if !errors.As(err, &bad) {
			t.Errorf("%s is accepted (%v)", c.raw, err)
			continue
		}
		if !slices.ContainsFunc(bad.Problems, func(p form.Problem) bool {
			return (c.path == p.Path || c.path == "" && c.message != "") && strings.Contains(p.Message, c.message)
		}) {
			t.Errorf("%s\n is refused without %s %q: %v", c.raw, c.path, c.message, err)
		}
	}
}

func TestAllProblemsComeAtOnce(t *testing.T) {
	_, err := form.Parse([]byte(`{"title": "", "extra": 1, "fields": [
		{"id": "a", "type": "text", "label": "A", "validation": {"minLength": "x", "pattern": "("}},
		{"id": "a", "type": "number", "default": true}]}`))
	var bad *form.DefinitionError
	if !errors.As(err, &bad) {
		t.Fatal(err)
	}
	var got []string
	for _, p := range bad.Problems {
		got = append(got, p.Path)
	}
	want := []string{
		"extra", "fields[0].validation.minLength", "id", "title", "fields[0].validation.pattern", "fields[1].id", "fields[1].label",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestProblemsAreBounded(t *testing.T) {
	var fields []string
	for i := range 300 {
		fields = append(fields, fmt.Sprintf(`{"id": "f%d"}`, i))
	}
	_, err := form.Parse([]byte(oneField(strings.Join(fields, ","))))
	var bad *form.DefinitionError
	if !errors.As(err, &bad) || len(bad.Problems) != 100 {
		t.Fatalf("%d problems, want 100", len(bad.Problems))
	}
	for i := 300; i < 501; i++ {
		fields = append(fields, fmt.Sprintf(`{"id": "f%d"}`, i))
	}
	if _, err = form.Parse([]byte(oneField(strings.Join(fields, ",")))); err == nil || !strings.Contains(err.Error(), "at most 500") {
		t.Error(err)
	}
	if _, err = form.Parse(make([]byte, form.MaxDefinition+1)); err == nil || !strings.Contains(err.Error(), "at most 1048576") {
		t.Error(err)
	}
}

func TestOperatorDecides(t *testing.T) {
	local := oneField(`{"id": "a", "type": "url", "label": "A", "validation": {"blockPrivateIPs": false, "blockLocalhost": false, "allowedSchemes": ["http"]}}`)
	c := form.Compiler{InsecureAllowPrivateURLs: true, MaxLength: 30, MaxSize: 100}
	f, err := c.Parse([]byte(local))
	if err != nil {
		t.Fatal(err)
	}
	for address, ok := range map[string]bool{
		"http://localhost:8080/": true, "http://10.0.0.1/": true, "http://[::1]/": true, "http://printer.local/": true,
		"http://169.254.169.254/": false, "http://[::ffff:10.0.0.1]/": false, "http://[::ffff:127.0.0.1]/": false, "http://0/": false,
		"http://10.0.0.1/" + strings.Repeat("a", 20): false,
	} {
		if _, errs := f.Validate(form.Values{"a": address}); ok != (len(errs) == 0) {
			t.Errorf("%s: %v", address, errs)
		}
	}
	f, err = c.New(form.Definition{ID: "f", Title: "F", Fields: []form.Field{
		{ID: "text", Type: form.Text, Label: "Text", Constraints: form.Constraints{MaxLength: 1000}},
		{ID: "file", Type: form.File, Label: "File", Constraints: form.Constraints{MaxSize: 1000}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	_, errs := f.Validate(form.Values{"text": strings.Repeat("a", 31), "file": []form.Upload{{Name: "a", Size: 101}}})
	if len(errs) != 2 || errs[0].Expected != 30 || errs[1].Expected != int64(100) {
		t.Errorf("a definition outbids the operator: %v", errs)
	}
}

// F18: whatever marks a field as secret makes it sensitive.
func TestSensitiveFields(t *testing.T) {
	for rest, want := range map[string]bool{
		`"rendering": {"inputType": "password"}`:                true,
		`"rendering": {"displayStyle": "password"}`:             true,
		`"rendering": {"autocomplete": "section-a cc-number"}`:  true,
		`"rendering": {"autocomplete": "One-Time-Code"}`:        true,
		`"sensitive": true`:                                     true,
		`"rendering": {"autocomplete": "username"}`:             false,
		`"rendering": {"inputType": "email"}, "required": true`: false,
	} {
		f := parse(t, oneField(`{"id": "a", "type": "text", "label": "A", `+rest+`}`))
		if f.Fields()[0].Sensitive != want || f.Sensitive() != want {
			t.Errorf("%s: sensitive is %v", rest, f.Fields()[0].Sensitive)
		}
	}
}

// A date field that would like a time asks for one, unless its format says
// otherwise.
func TestEnableTimeAsksForATime(t *testing.T) {
	for rest, want := range map[string]bool{
		`"rendering": {"enableTime": true}`:                                    true,
		`"rendering": {"inputType": "datetime_local"}`:                         true,
		`"rendering": {"enableTime": false}`:                                   false,
		`"rendering": {"enableTime": true}, "validation": {"format": "date"}`:  false,
		`"validation": {"format": "date-time"}, "rendering": {"rows": 1}`:      true,
		`"rendering": {"enableTime": true}, "default": "2026-12-01T10:00:00Z"`: true,
		`"rendering": {"displayFormat": "D.M.YYYY"}, "default": "2026-12-01"`:  false,
	} {
		f := parse(t, oneField(`{"id": "a", "type": "date", "label": "A", `+rest+`}`))
		if got := f.Fields()[0].WithTime(); got != want {
			t.Errorf("%s: with a time is %v", rest, got)
		}
		answer := `{"a": "2026-12-01"}`
		if want {
			answer = `{"a": "2026-12-01T14:30:00Z"}`
		}
		if _, errs := f.Decode([]byte(answer), nil); len(errs) > 0 {
			t.Errorf("%s: %s: %v", rest, answer, errs)
		}
	}
}

// Keys that only we had are refused like all that are unknown.
func TestInventedHintsAreRefused(t *testing.T) {
	for _, key := range []string{`"layout": "wide"`, `"slider": true`} {
		_, err := form.Parse([]byte(oneField(`{"id": "a", "type": "number", "label": "A", "rendering": {` + key + `}}`)))
		if err == nil || !strings.Contains(err.Error(), "is not known here") {
			t.Errorf("%s: %v", key, err)
		}
	}
}
