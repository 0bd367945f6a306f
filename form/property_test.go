package form_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"pgregory.net/rapid"

	"github.com/answerback/answerback/form"
	"github.com/answerback/answerback/form/formtest"
)

// fits finds a value that a field accepts, or nil.
func fits(t *rapid.T, f form.Field) any {
	f.Required = true
	one, err := form.New(form.Definition{ID: "one", Title: "One", Fields: []form.Field{f}})
	if err != nil {
		t.Fatalf("drew a field that is not valid: %v", err)
	}
	v, err := formtest.Random(one, source(t))
	if err != nil {
		return nil
	}
	return v[f.ID]
}

func draw(t *rapid.T) (*form.Form, form.Values) {
	f, err := form.New(drawDefinition(t))
	if err != nil {
		t.Fatalf("drew a definition that is not valid: %v", err)
	}
	v, err := formtest.Random(f, source(t))
	if err != nil {
		t.Skip(err) // constraints that nothing meets
	}
	return f, v
}

// uploads separates the files of an answer from the rest.
func uploads(v form.Values) (rest form.Values, files map[string][]form.Upload) {
	rest, files = form.Values{}, map[string][]form.Upload{}
	for id, value := range v {
		if u, ok := value.([]form.Upload); ok {
			files[id] = u
		} else {
			rest[id] = value
		}
	}
	return rest, files
}

// F22: any valid answer of any definition validates, whichever way it comes,
// means the same each way, and survives being written and read again.
func TestPropertyValidAnswersValidateAndRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f, v := draw(t)
		typed, errs := f.Validate(v)
		if len(errs) > 0 {
			t.Fatalf("%v is refused: %v", v, errs)
		}
		rest, files := uploads(v)
		decoded, errs := f.Decode(f.Encode(rest), files)
		if len(errs) > 0 || !reflect.DeepEqual(typed, decoded) {
			t.Fatalf("from JSON %v (%v), typed %v", decoded, errs, typed)
		}
		strings := map[string][]string{}
		for id := range rest {
			if strings[id] = rest.Strings(id); len(strings[id]) == 0 {
				strings[id] = []string{""}
			}
		}
		read, errs := f.Read(strings, files)
		if len(errs) > 0 || !reflect.DeepEqual(typed, read) {
			t.Fatalf("from strings %v (%v), typed %v", read, errs, typed)
		}
		again, errs := f.Validate(typed)
		if len(errs) > 0 || !reflect.DeepEqual(again, typed) {
			t.Fatalf("accepted values validate to %v (%v), were %v", again, errs, typed)
		}
	})
}

// F22: a definition that is written and parsed is the same form.
func TestPropertyDefinitionsRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f, _ := draw(t)
		raw, err := json.Marshal(f.Definition())
		if err != nil {
			t.Fatal(err)
		}
		g, err := form.Parse(raw)
		if err != nil {
			t.Fatalf("%s: %v", raw, err)
		}
		if f.Digest() != g.Digest() || string(f.Schema()) != string(g.Schema()) {
			t.Fatalf("%s is another form when parsed again", raw)
		}
	})
}

// F14, F22: a form converts to a requestedSchema within MCP's subset, and what
// comes back from there accepts the same answers; or the verdict says why not.
func TestPropertyConversion(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f, v := draw(t)
		raw, err := f.Requested()
		var not *form.NotRepresentable
		if errors.As(err, &not) {
			if len(not.Because) == 0 {
				t.Fatal("not representable for no reason")
			}
			return
		}
		if err := form.CheckRequested(raw); err != nil {
			t.Fatalf("%s is outside MCP's subset: %v", raw, err)
		}
		g, err := form.FromRequested(raw, "message")
		if err != nil {
			t.Fatalf("%s: %v", raw, err)
		}
		got, errs := g.Validate(v)
		if want, _ := f.Validate(v); len(errs) > 0 || !reflect.DeepEqual(got, want) {
			t.Fatalf("%s: %v (%v), want %v", raw, got, errs, want)
		}
		back, err := g.Requested()
		if err != nil || string(back) != string(raw) {
			t.Fatalf("%s becomes %s (%v)", raw, back, err)
		}
	})
}

// unsaid are the constraints that a schema cannot say.
func unsaid(f *form.Form, e form.Error) bool {
	switch field, _ := f.Field(e.Field); e.Constraint {
	case "blockPrivateIPs", "blockLocalhost", "maxSize", "allowedMimeTypes", "allowedExtensions", "custom":
		return true
	case "format":
		return field.Type == form.URL // the schema's uri says less
	case "minimum", "maximum":
		return field.Type == form.Date
	case "maxItems":
		return field.Type == form.File && !field.Multiple()
	}
	return false
}

// F6: the form and its schema say the same of any answer, right or wrong, as
// far as a schema can say it.
func TestPropertyVerdictIsTheSchemas(t *testing.T) {
	verdicts := map[bool]int{}
	rapid.Check(t, func(t *rapid.T) {
		f, v := draw(t)
		for range rapid.IntRange(0, 3).Draw(t, "mutations") {
			mutate(t, f, v)
		}
		accepted, errs := f.Validate(v)
		instance := map[string]any{}
		for id, value := range v {
			if field, ok := f.Field(id); value == "" && ok && field.Type != form.MultiSelect {
				continue // no value
			}
			instance[id] = plain(f, id, value)
		}
		for id, value := range accepted {
			instance[id] = plain(f, id, value)
		}
		said := slices.DeleteFunc(slices.Clone(errs), func(e form.Error) bool { return unsaid(f, e) })
		err := oracle(t, f).Validate(instance)
		verdicts[err == nil]++
		if err == nil && len(said) > 0 {
			t.Fatalf("only the form refuses %v: %v\n%s", instance, said, f.Schema())
		}
		if err != nil && len(errs) == 0 {
			t.Fatalf("only the schema refuses %v: %v\n%s", instance, err, f.Schema())
		}
	})
	if verdicts[true] == 0 || verdicts[false] == 0 {
		t.Errorf("not both verdicts were met: %v", verdicts)
	}
}

// mutate puts something into one field that may not belong there.
func mutate(t *rapid.T, f *form.Form, v form.Values) {
	field := rapid.SampledFrom(f.Fields()).Draw(t, "mutated")
	if field.Type == form.File {
		delete(v, field.ID)
		return
	}
	switch rapid.IntRange(0, 7).Draw(t, "mutation") {
	case 0:
		delete(v, field.ID)
	case 1:
		v[field.ID] = rapid.Bool().Draw(t, "bool")
	case 2:
		v[field.ID] = json.Number(fmt.Sprintf("%d.%d", rapid.IntRange(-60, 80).Draw(t, "whole"), rapid.IntRange(0, 99).Draw(t, "part")))
	case 3:
		v[field.ID] = rapid.SampledFrom([][]string{{"o0", "o0"}, {"o9"}, {"o0", "o1"}, {"o0", "o1", "o2", "o3", "o4", "o5"}}).Draw(t, "list")
	case 4:
		v["unknown"] = "x"
	case 5:
		v[field.ID] = strings.Repeat("a", rapid.IntRange(0, 70).Draw(t, "length"))
	default:
		v[field.ID] = rapid.SampledFrom(words).Draw(t, "word")
	}
}

// plain is a value as a JSON decoder would give it to a validator.
func plain(f *form.Form, id string, v any) any {
	switch v := v.(type) {
	case []string:
		list := make([]any, len(v))
		for i, s := range v {
			list[i] = s
		}
		return list
	case []form.Upload:
		var decoded map[string]any
		if err := json.Unmarshal(f.Encode(form.Values{id: v}), &decoded); err != nil {
			panic(err)
		}
		return decoded[id]
	}
	return v
}

type fatal interface {
	Helper()
	Fatal(args ...any)
}

// oracle compiles a form's schema with another validator.
func oracle(t fatal, f *form.Form) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(string(f.Schema())))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(jsonschema.SchemeURLLoader{})
	c.AssertFormat()
	for _, name := range form.Formats() {
		c.RegisterFormat(&jsonschema.Format{Name: name, Validate: func(v any) error {
			if s, ok := v.(string); ok && !form.HasFormat(name, s) {
				return errors.New("not " + name)
			}
			return nil
		}})
	}
	if err := c.AddResource("form.json", doc); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("form.json")
	if err != nil {
		t.Fatal(err)
	}
	return schema
}
