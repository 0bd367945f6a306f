package form_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/answerback/answerback/form"
)

// Definitions made in Go get the checks that JSON gets from its parser.
func TestDefinitionsInGo(t *testing.T) {
	bad := func(path, message string, change func(*form.Definition, *form.Field)) {
		t.Helper()
		d := form.Definition{ID: "f", Title: "F", Fields: []form.Field{{ID: "a", Type: form.Text, Label: "A"}}}
		if _, err := form.New(d); err != nil {
			t.Fatal(err)
		}
		change(&d, &d.Fields[0])
		_, err := form.New(d)
		var problems *form.DefinitionError
		if !errors.As(err, &problems) || !slices.ContainsFunc(problems.Problems, func(p form.Problem) bool {
			return p.Path == path && strings.Contains(p.Message, message)
		}) {
			t.Errorf("no problem at %s %q: %v", path, message, err)
		}
	}
	bad("fields", "missing", func(d *form.Definition, _ *form.Field) { d.Fields = nil })
	bad("metadata", "not JSON", func(d *form.Definition, _ *form.Field) { d.Metadata = json.RawMessage("{") })
	bad("metadata", "is an array", func(d *form.Definition, _ *form.Field) { d.Metadata = json.RawMessage("[]") })
	bad("timeout.initial_timeout", "at most 366 days", func(d *form.Definition, _ *form.Field) { d.Timeout.Initial = -time.Second })
	bad("timeout.warn_before", "at most 366 days", func(d *form.Definition, _ *form.Field) { d.Timeout.WarnBefore = 1000 * 24 * time.Hour })
	bad("timeout.max_extensions", "negative", func(d *form.Definition, _ *form.Field) { d.Timeout.MaxExtensions = -1 })
	bad("title", "UTF-8", func(d *form.Definition, _ *form.Field) { d.Title = "\xff" })
	bad("description", "20001 bytes", func(d *form.Definition, _ *form.Field) { d.Description = strings.Repeat("a", 20001) })
	bad("fields[0].id", "cannot be printed", func(_ *form.Definition, f *form.Field) { f.ID = "\xff" })
	bad("fields[0].validation.minLength", "negative", func(_ *form.Definition, f *form.Field) { f.Constraints.MinLength = -1 })
	bad("fields[0].validation.maxLength", "negative", func(_ *form.Definition, f *form.Field) { f.Constraints.MaxLength = -1 })
	bad("fields[0].validation.minimum", "not a constraint of text", func(_ *form.Definition, f *form.Field) { f.Constraints.Minimum = "1" })
	bad("fields[0].validation.maximum", "not a constraint of text", func(_ *form.Definition, f *form.Field) { f.Constraints.Latest = "2026-01-01" })
	bad("fields[0].validation.maxSize", "negative", func(_ *form.Definition, f *form.Field) { f.Type, f.Constraints.MaxSize = form.File, -1 })
	bad("fields[0].validation.minimum", "not a number", func(_ *form.Definition, f *form.Field) { f.Type, f.Constraints.Minimum = form.Number, "NaN" })
	bad("fields[0].validation.minimum", "not a number", func(_ *form.Definition, f *form.Field) { f.Type, f.Constraints.Minimum = form.Number, "1e500" })
	bad("fields[0].validation.allowedSchemes[0]", "(empty)", func(_ *form.Definition, f *form.Field) { f.Type, f.Constraints.Schemes = form.URL, []string{""} })
	bad("fields[0].rendering.rows", "between 1", func(_ *form.Definition, f *form.Field) { f.Hints.Rows = -1 })
	bad("fields[0].rendering.step", "greater than 0", func(_ *form.Definition, f *form.Field) { f.Hints.Step = "x" })
	bad("fields[0].default", "not a value", func(_ *form.Definition, f *form.Field) { f.Default = struct{}{} })
	bad("fields[0].default", "empty", func(_ *form.Definition, f *form.Field) { f.Type, f.Default = form.Number, " " })
	bad("fields[0].default", "not a value", func(_ *form.Definition, f *form.Field) { f.Type, f.Default = form.Number, json.Number("x") })
	bad("fields[0].options", "at most 2000", func(_ *form.Definition, f *form.Field) { f.Type, f.Options = form.Select, make([]form.Option, 2001) })
	bad("fields[0].rendering.conditionalDisplay", "has values", func(d *form.Definition, f *form.Field) {
		d.Fields = append(d.Fields, form.Field{ID: "b", Type: form.Boolean, Label: "B"})
		d.Fields[0].Hints.Condition = &form.Condition{Operator: form.Present, Field: "b", Values: []any{true}}
	})
	bad("validation.dependencies.a", "twice", func(d *form.Definition, f *form.Field) {
		d.Fields = append(d.Fields, form.Field{ID: "b", Type: form.Boolean, Label: "B"})
		rule := form.Rule{Field: "a", Condition: form.Condition{Operator: form.Present, Field: "b"}, Action: form.Show}
		d.Validation.Dependencies = []form.Rule{rule, rule}
	})
}

// Patterns cost time with every answer, so they are bounded together.
func TestPatternsAreBounded(t *testing.T) {
	heavy := func(n int) error {
		d := form.Definition{ID: "f", Title: "F", Fields: []form.Field{}}
		for i := range n {
			d.Fields = append(d.Fields, form.Field{ID: string(rune('a' + i)), Type: form.Text, Label: "A", Constraints: form.Constraints{Pattern: `[\pL\pN]{1000}`}})
		}
		_, err := form.New(d)
		return err
	}
	if err := heavy(9); err != nil {
		t.Error(err)
	}
	if err := heavy(10); err == nil || !strings.Contains(err.Error(), "fields have patterns of 100") {
		t.Error(err)
	}
}

// New keeps nothing of the caller's fields but what it was given.
func TestNewDoesNotChangeTheDefinition(t *testing.T) {
	fields := []form.Field{{ID: "a", Type: form.Date, Label: "A"}, {ID: "b", Type: form.Text, Label: "B", Default: "", Hints: form.Hints{InputType: "password"}}}
	before := slices.Clone(fields)
	f, err := form.New(form.Definition{ID: "f", Title: "F", Fields: fields})
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(fields, before) {
		t.Errorf("changed to %+v", fields)
	}
	if got := f.Fields(); got[0].Constraints.Format != "date" || !got[1].Sensitive || got[1].Default != nil {
		t.Errorf("%+v", got)
	}
}

func TestTimeouts(t *testing.T) {
	for raw, want := range map[string]form.Timeouts{
		`300000`:                    {Initial: 5 * time.Minute},
		`1e3`:                       {Initial: time.Second},
		`{"initial_timeout": 1000}`: {Initial: time.Second},
		`{"max_extensions": 0}`:     {NoExtension: true},
		`{"extension_allowed": true, "max_extensions": 3}`:  {MaxExtensions: 3},
		`{"extension_allowed": false, "max_extensions": 3}`: {MaxExtensions: 3, NoExtension: true},
	} {
		f := parse(t, `{"id": "f", "title": "F", "fields": [], "timeout": `+raw+`}`)
		if f.Definition().Timeout != want {
			t.Errorf("%s: %+v", raw, f.Definition().Timeout)
		}
		written, err := json.Marshal(f.Definition())
		if err != nil {
			t.Fatal(err)
		}
		if again := parse(t, string(written)); again.Definition().Timeout != want {
			t.Errorf("%s: written as %s", raw, written)
		}
	}
}

// Each format is explained to people by an example that it accepts.
func TestFormatsAreExplained(t *testing.T) {
	for _, format := range form.Formats() {
		f := parse(t, oneField(`{"id": "a", "type": "text", "label": "A", "validation": {"format": "`+format+`"}}`))
		_, errs := f.Validate(form.Values{"a": "?"})
		if len(errs) != 1 {
			t.Fatal(format, errs)
		}
		_, example, ok := strings.Cut(errs[0].Message, ", such as ")
		if _, errs := f.Validate(form.Values{"a": example}); ok && len(errs) > 0 {
			t.Errorf("%s: the example is wrong: %v", format, errs)
		}
		if !ok && format != "uuid" && format != "ipv4" && format != "ipv6" {
			t.Errorf("%s: no example in %q", format, errs[0].Message)
		}
	}
}

func TestLongAnswersAreNotEchoed(t *testing.T) {
	f := parse(t, `{"id": "f", "title": "F", "fields": [
		{"id": "a", "type": "text", "label": "A", "validation": {"pattern": "^x"}},
		{"id": "b", "type": "multi_select", "label": "B", "options": ["a", "b"]}]}`)
	many := make([]string, 1000)
	for i := range many {
		many[i] = strings.Repeat("ü", i)
	}
	_, errs := f.Validate(form.Values{"a": strings.Repeat("ü", 1000), "b": many, strings.Repeat("n", 1000): 1})
	want := slices.Concat([]string{"a:pattern"}, slices.Repeat([]string{"b:enum"}, 20), []string{"b:uniqueItems"})
	if got := constraints(errs); !slices.Equal(got[:22], want) || len(got) != 23 {
		t.Error(got)
	}
	raw, err := json.Marshal(errs)
	if err != nil || len(raw) > 20_000 {
		t.Errorf("%d bytes, %v", len(raw), err)
	}
	repeated := slices.Repeat([]string{"a"}, 30)
	if _, errs := f.Validate(form.Values{"b": repeated}); !slices.Equal(constraints(errs), []string{"b:uniqueItems"}) {
		t.Error(errs)
	}
}

func TestObjectsWithManyMembers(t *testing.T) {
	var fields, answer []string
	for i := range 100 {
		id := string(rune('a'+i%26)) + string(rune('a'+i/26))
		fields = append(fields, `{"id": "`+id+`", "type": "boolean", "label": "L"}`)
		answer = append(answer, `"`+id+`": true`)
	}
	f := parse(t, oneField(strings.Join(fields, ",")))
	values, errs := f.Decode([]byte("{"+strings.Join(answer, ",")+"}"), nil)
	if len(values) != 100 || len(errs) > 0 {
		t.Errorf("%d values, %v", len(values), errs)
	}
	if _, errs = f.Decode([]byte("{"+strings.Join(append(answer, `"a\u0061": true`), ",")+"}"), nil); len(errs) != 1 || !strings.Contains(errs[0].Message, `"aa" twice`) {
		t.Error(errs)
	}
}

func TestDefinitionsInsideOtherJSON(t *testing.T) {
	f := load(t, "everything")
	raw, err := json.Marshal(map[string]any{"formDefinition": *f.Definition()})
	if err != nil {
		t.Fatal(err)
	}
	var params struct{ FormDefinition form.Definition }
	if err := json.Unmarshal(raw, &params); err != nil {
		t.Fatal(err)
	}
	if g, err := form.New(params.FormDefinition); err != nil || g.Digest() != f.Digest() {
		t.Error(err)
	}
	if err := json.Unmarshal([]byte(`{"FormDefinition": {"colour": 1}}`), &params); err == nil || !strings.Contains(err.Error(), "colour is not known here") {
		t.Error(err)
	}
}
