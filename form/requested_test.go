package form_test

import (
	"encoding/json"
	"errors"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/answerback/answerback/form"
)

// F14: every kind of property that MCP has, to a form and back.
func TestRequestedSchemas(t *testing.T) {
	for _, c := range []struct {
		property string
		want     form.Field
		back     string // "" when the same
	}{
		{`{"type":"string","title":"T","description":"D","minLength":1,"maxLength":5}`, form.Field{Type: form.Text, Label: "T", Description: "D", Constraints: form.Constraints{MinLength: 1, MaxLength: 5}}, `{"type":"string","title":"T","description":"D","minLength":1,"maxLength":5}`},
		{`{"type":"string","default":"x"}`, form.Field{Type: form.Text, Label: "p", Default: "x"}, `{"type":"string","title":"p","default":"x"}`},
		{`{"type":"string","title":"T","format":"email"}`, form.Field{Type: form.Text, Label: "T", Constraints: form.Constraints{Format: "email"}}, ""},
		{`{"type":"string","title":"T","format":"uri"}`, form.Field{Type: form.Text, Label: "T", Constraints: form.Constraints{Format: "uri"}}, ""},
		{`{"type":"string","title":"T","format":"date"}`, form.Field{Type: form.Date, Label: "T", Constraints: form.Constraints{Format: "date"}}, ""},
		{`{"type":"string","title":"T","default":"2026-01-01T00:00:00Z","format":"date-time"}`, form.Field{Type: form.Date, Label: "T", Default: "2026-01-01T00:00:00Z", Constraints: form.Constraints{Format: "date-time"}}, ""},
		{`{"type":"number","title":"T","default":2.5,"minimum":0.5,"maximum":10}`, numberField("2.5", form.Constraints{Minimum: "0.5", Maximum: "10"}), ""},
		{`{"type":"integer","title":"T","default":2,"minimum":0}`, numberField("2", form.Constraints{Minimum: "0", MultipleOf: "1"}), ""},
		{`{"type":"boolean","title":"T","default":false}`, form.Field{Type: form.Boolean, Label: "T", Default: false}, ""},
		{`{"type":"string","title":"T","default":"b","enum":["a","b"]}`, form.Field{Type: form.Select, Label: "T", Default: "b", Options: []form.Option{{Value: "a"}, {Value: "b"}}}, ""},
		{`{"type":"string","title":"T","oneOf":[{"const":"a","title":"A"},{"const":"b","title":"B"}]}`, form.Field{Type: form.Select, Label: "T", Options: []form.Option{{"a", "A"}, {"b", "B"}}}, ""},
		{`{"type":"string","title":"T","enum":["a","b"],"enumNames":["A","B"]}`, form.Field{Type: form.Select, Label: "T", Options: []form.Option{{"a", "A"}, {"b", "B"}}}, `{"type":"string","title":"T","oneOf":[{"const":"a","title":"A"},{"const":"b","title":"B"}]}`},
		{`{"type":"array","title":"T","default":["a"],"items":{"type":"string","enum":["a","b"]},"minItems":1,"maxItems":2}`, form.Field{Type: form.MultiSelect, Label: "T", Default: []string{"a"}, Options: []form.Option{{Value: "a"}, {Value: "b"}}, Constraints: form.Constraints{MinItems: 1, MaxItems: 2}}, ""},
		{`{"type":"array","title":"T","items":{"anyOf":[{"const":"a","title":"A"}]}}`, form.Field{Type: form.MultiSelect, Label: "T", Options: []form.Option{{"a", "A"}}}, ""},
	} {
		raw := `{"type":"object","properties":{"p":` + c.property + `},"required":["p"]}`
		if err := form.CheckRequested([]byte(raw)); err != nil {
			t.Errorf("%s: %v", c.property, err)
		}
		f, err := form.FromRequested([]byte(raw), "Please")
		if err != nil {
			t.Errorf("%s: %v", c.property, err)
			continue
		}
		c.want.ID, c.want.Required = "p", true
		if got := f.Fields()[0]; !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s is\n%+v, want\n%+v", c.property, got, c.want)
		}
		back, err := f.Requested()
		if c.back == "" {
			c.back = c.property
		}
		if want := strings.Replace(raw, c.property, c.back, 1); err != nil || string(back) != want {
			t.Errorf("becomes %s (%v), want %s", back, err, want)
		}
	}
}

func numberField(value string, c form.Constraints) form.Field {
	f := form.Field{Type: form.Number, Label: "T", Constraints: c}
	f.Default = number(value)
	return f
}

func TestRequestedMessage(t *testing.T) {
	schema := []byte(`{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{}}`)
	long := strings.Repeat("long ", 50)
	for message, want := range map[string][2]string{
		"Who are you?":          {"Who are you?", ""},
		"":                      {"Question", ""},
		" First\nSecond line\n": {"First", "First\nSecond line"},
		long:                    {long[:100] + "…", strings.TrimSpace(long)},
	} {
		f, err := form.FromRequested(schema, message)
		if err != nil {
			t.Fatal(err)
		}
		if d := f.Definition(); d.Title != want[0] || d.Description != want[1] {
			t.Errorf("%q: title %q, description %q", message, d.Title, d.Description)
		}
		if values, errs := f.Decode([]byte(`{}`), nil); len(errs) > 0 || len(values) > 0 {
			t.Error(values, errs)
		}
	}
}

// A5: what is outside MCP's subset, and what of it a form can still ask.
func TestBeyondTheSubset(t *testing.T) {
	in := func(property string) string { return `{"type":"object","properties":{"p":` + property + `}}` }
	for _, c := range []struct {
		raw  string
		path string // what the strict check names
		form bool   // whether a form can be made all the same
	}{
		{in(`{"type":"string","pattern":"^a"}`), "properties.p.pattern", true},
		{in(`{"type":"string","format":"uuid"}`), "properties.p.format", true},
		{in(`{"type":"string","format":"phone"}`), "properties.p.format", true},
		{in(`{"type":"string","examples":["a"]}`), "properties.p.examples", true},
		{in(`{"type":"string","x-order":1}`), "properties.p.x-order", true},
		{in(`{"type":"string","format":"date","maxLength":10}`), "", true},
		{in(`{"type":"string","anyOf":[{"const":"a","title":"A"}]}`), "properties.p.anyOf", true},
		{in(`{"type":"string","oneOf":[{"const":"a"}]}`), "properties.p.oneOf[0].title", true},
		{in(`{"type":"number","exclusiveMinimum":0,"exclusiveMaximum":9,"multipleOf":0.5}`), "properties.p.multipleOf", true},
		{in(`{"type":"array","items":{"type":"string","oneOf":[{"const":"a","title":"A"}]},"uniqueItems":true}`), "properties.p.uniqueItems", true},
		{`{"type":"object","properties":{},"additionalProperties":false}`, "additionalProperties", true},
		{`{"type":"object","properties":{},"title":"T","x-a":1}`, "title", true},
		{in(`{"type":"object","properties":{}}`), "properties.p.type", false},
		{in(`{"type":"string","const":"a"}`), "properties.p.const", false},
		{in(`{"$ref":"file:///etc/passwd"}`), "properties.p.type", false},
		{in(`{"type":["string","null"]}`), "properties.p.type", false},
		{in(`{"type":"array","items":{"type":"number"}}`), "properties.p.items", false},
		{in(`{"type":"array"}`), "properties.p.items", false},
		{in(`{"type":"array","items":{"type":"string"}}`), "properties.p.items", false},
		{in(`{"type":"string","enum":["a"],"enumNames":[]}`), "properties.p.enumNames", false},
		{in(`{"type":"string","enum":[1]}`), "properties.p.enum[0]", false},
		{in(`{"type":"string","enum":[]}`), "properties.p.options", false},
		{in(`{"type":"string","oneOf":[{"title":"A"}]}`), "properties.p.oneOf[0].const", false},
		{in(`{"type":"integer","multipleOf":0.5}`), "properties.p.multipleOf", false},
		{in(`{"type":"number","default":"x"}`), "properties.p.default", true},
		{in(`{"type":"string","default":null}`), "properties.p.default", true},
		{in(`{"type":"string","default":{}}`), "properties.p.default", true},
		{in(`{"type":"string","enum":["a"],"default":"b"}`), "properties.p.default", true},
		{in(`{"type":"string","minLength":3,"default":"ab"}`), "properties.p.default", true},
		{in(`{"type":"array","items":{"type":"string","enum":["a"]},"default":["a",1]}`), "properties.p.default[1]", true},
		{in(`{"type":"string","pattern":"(?=a)"}`), "properties.p.pattern", false},
		{in(`true`), "properties.p", false},
		{`{"type":"object","properties":{},"required":["p"]}`, "required[0]", false},
		{`{"type":"array","properties":{}}`, "type", false},
		{`{"properties":{}}`, "type", false},
		{`{"type":"object"}`, "properties", false},
		{`{"type":"object","properties":[]}`, "properties", false},
		{`{"type":"object","properties":{},"allOf":[]}`, "allOf", false},
		{`[]`, "", false},
		{`{`, "", false},
	} {
		err := form.CheckRequested([]byte(c.raw))
		var bad *form.DefinitionError
		switch errors.As(err, &bad); {
		case bad == nil && (c.path != "" || !c.form):
			t.Errorf("%s is within the subset", c.raw)
		case bad != nil && !slices.ContainsFunc(bad.Problems, func(p form.Problem) bool { return p.Path == c.path }):
			t.Errorf("%s: no problem at %s: %v", c.raw, c.path, err)
		}
		if _, err := form.FromRequested([]byte(c.raw), "m"); (err == nil) != c.form {
			t.Errorf("%s: form: %v", c.raw, err)
		}
	}
}

// F14: what a requestedSchema cannot say, and why.
func TestNotRepresentable(t *testing.T) {
	field := func(rest string) string { return oneField(`{"id": "a", "label": "A", ` + rest + `}`) }
	for raw, want := range map[string][]form.Reason{
		field(`"type": "file"`):                                                  {{"a", "file"}},
		field(`"type": "text", "validation": {"pattern": "x"}`):                  {{"a", "pattern"}},
		field(`"type": "text", "rendering": {"inputType": "password"}`):          {{"a", "secret"}},
		field(`"type": "text", "validation": {"format": "uuid"}`):                {{"a", "format of uuid"}},
		field(`"type": "text", "default": "x", "rendering": {"readonly": true}`): {{"a", "readonly value"}},
		field(`"type": "text", "default": "x", "rendering": {"hidden": true}`):   {{"a", "hidden value"}},
		field(`"type": "number", "validation": {"multipleOf": 2}`):               {{"a", "multipleOf"}},
		field(`"type": "number", "validation": {"exclusiveMinimum": 2}`):         {{"a", "exclusiveMinimum"}},
		field(`"type": "number", "validation": {"exclusiveMaximum": 2}`):         {{"a", "exclusiveMaximum"}},
		field(`"type": "date", "validation": {"minimum": "2026-01-01"}`):         {{"a", "range of dates"}},
		field(`"type": "url"`): nil,
		field(`"type": "text", "rendering": {"rows": 4, "placeholder": "x"}`):          nil,
		field(`"type": "file", "sensitive": true`):                                     {{"a", "file"}, {"a", "secret"}},
		`{"id": "f", "title": "F", "fields": [], "allow_partial": true}`:               nil,
		field(`"type": "select", "options": ["a"], "rendering": {"searchable": true}`): nil,
	} {
		_, err := parse(t, raw).Requested()
		var not *form.NotRepresentable
		if errors.As(err, &not); (not == nil) != (want == nil) || not != nil && !reflect.DeepEqual(not.Because, want) {
			t.Errorf("%s: %v, want %v", raw, err, want)
		}
	}
	_, err := load(t, "conditions").Requested()
	if err == nil || !strings.Contains(err.Error(), "other_reason has a condition") {
		t.Error(err)
	}
	c := form.Compiler{Validators: map[string]form.Validator{"v": func(form.Values) []form.Fault { return nil }}}
	f, err := c.New(form.Definition{ID: "f", Title: "F", Fields: []form.Field{}, Validation: form.Rules{Validators: []string{"v"}}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err = f.Requested(); err == nil || !strings.HasSuffix(err.Error(), ": custom validators") {
		t.Error(err)
	}
}

// A5: a default that its own field would not take is not offered; the question
// can be answered all the same.
func TestRequestedDefaultsThatDoNotFit(t *testing.T) {
	f, err := form.FromRequested([]byte(`{"type":"object","properties":{
		"a":{"type":"integer","default":"x"},"b":{"type":"string","default":null},"c":{"type":"boolean","default":true},"d":{"type":"string","enum":["y"],"default":"z"}}}`), "")
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []any{nil, nil, true, nil} {
		if got := f.Fields()[i].Default; got != want {
			t.Errorf("field %d has the default %v, want %v", i, got, want)
		}
	}
}

// A pattern that RE2 cannot read is named: nothing here could hold an answer
// to it.
func TestRequestedPatternBeyondRE2(t *testing.T) {
	_, err := form.FromRequested([]byte(`{"type":"object","properties":{"p":{"type":"string","pattern":"^(?!x)"}}}`), "")
	bad, ok := errors.AsType[*form.DefinitionError](err)
	if !ok || len(bad.Problems) != 1 || bad.Problems[0].Path != "properties.p.pattern" || !strings.Contains(bad.Problems[0].Message, "RE2") {
		t.Errorf("the verdict: %v", err)
	}
}

// A6: a secret becomes a sensitive field, whatever the schema calls it.
func TestRequestedSecrets(t *testing.T) {
	f, err := form.FromRequested([]byte(`{"type":"object","properties":{
		"user":{"type":"string","default":"me"},"password":{"type":"string","default":"x","minLength":3},"code":{"type":"string","format":"password"},"w":{"type":"string","writeOnly":true},"pin":{"type":"integer","default":1}}}`), "Sign in")
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []bool{false, true, true, true, true} {
		field := f.Fields()[i]
		if field.Sensitive != want || want != (field.Hints.InputType == "password") || want == (field.Default != nil) {
			t.Errorf("%+v", field)
		}
	}
	if _, err := f.Requested(); err == nil {
		t.Error("secrets can be asked through a client")
	}
}

// F21: the older inline mode is a form with one text.
func TestInline(t *testing.T) {
	f, err := form.Inline("What is your name?")
	if err != nil {
		t.Fatal(err)
	}
	if values, errs := f.Decode([]byte(`{"value": "Ada"}`), nil); len(errs) > 0 || values["value"] != "Ada" || f.Sensitive() {
		t.Error(values, errs)
	}
	if f, err = form.Inline("Enter API key:"); err != nil || !f.Sensitive() {
		t.Error("an API key is no secret", err)
	}
	if _, err = form.Inline(strings.Repeat("a", 30_000)); err == nil {
		t.Error("a prompt without end is accepted")
	}
}

// F14: a schema with every kind of property, and the form that it becomes.
func TestRequestedGolden(t *testing.T) {
	raw, err := os.ReadFile("testdata/all.requested.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := form.CheckRequested(raw); err != nil {
		t.Error(err)
	}
	if secrets := form.Sensitive(raw, ""); len(secrets) > 0 {
		t.Errorf("%v are no secrets", secrets)
	}
	f, err := form.FromRequested(raw, "Please register.")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "all.requested.golden.json", []byte(indent(t, f.Definition())+"\n"))
}

func number(s string) any { return json.Number(s) }

func TestRequestedSchemasAreBounded(t *testing.T) {
	var properties, required []string
	for i := range 20_000 {
		properties = append(properties, `"p`+strconv.Itoa(i)+`":{"type":"string"}`)
		required = append(required, `"p`+strconv.Itoa(i)+`"`)
	}
	schema := func(n int) []byte {
		return []byte(`{"type":"object","properties":{` + strings.Join(properties[:n], ",") + `},"required":[` + strings.Join(required[:n], ",") + `]}`)
	}
	if f, err := form.FromRequested(schema(form.MaxFields), "m"); err != nil || len(f.Fields()) != form.MaxFields {
		t.Error(err)
	}
	_, err := form.FromRequested(schema(20_000), "m")
	var bad *form.DefinitionError
	if !errors.As(err, &bad) || bad.Problems[0].Path != "properties" || len(bad.Problems) > 100 {
		t.Error(err)
	}
}
