package form_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/answerback/answerback/form"
)

// The reference tells of nothing that the language does not take: the example
// of each key is taken where it stands.
func TestReferenceIsTrue(t *testing.T) {
	var types []form.Type
	for _, k := range form.Types() {
		types = append(types, form.Type(k.Name))
		answers(t, k)
	}
	for _, part := range form.Parts() {
		for _, k := range part.Keys {
			if k.Doc == "" || k.Takes == "" || !strings.HasSuffix(k.Doc, ".") {
				t.Errorf("%s of %s is not described", k.Name, part.Name)
			}
			for _, of := range types {
				if k.For(of) {
					takes(t, part.Name, k, of)
				}
			}
		}
	}
}

// answers checks that the example of a type answers a field of that type.
func answers(t *testing.T, k form.Key) {
	t.Helper()
	options := ""
	if k.Name == "select" || k.Name == "multi_select" {
		options = `,"options":["x","y"]`
	}
	f, err := form.Parse([]byte(oneField(`{"id":"a","type":"` + k.Name + `","label":"A"` + options + `}`)))
	if err != nil {
		t.Fatal(err)
	}
	if k.Name == "file" {
		return // an address that comes in is refused: only an upload makes one
	}
	if _, errs := f.Decode([]byte(`{"a":`+k.Example+`}`), nil); len(errs) > 0 {
		t.Errorf("%s: %v", k.Name, errs)
	}
}

// takes checks that a definition with the example of a key is one.
func takes(t *testing.T, part string, k form.Key, of form.Type) {
	t.Helper()
	head := map[string]any{"id": "f", "title": "F"}
	field := map[string]any{"id": "name", "label": "N", "type": of}
	fields := []any{field, map[string]any{"id": "other", "label": "O", "type": "text"}, map[string]any{"id": "why", "label": "W", "type": "text"}}
	head["fields"] = fields
	if of == form.Select || of == form.MultiSelect {
		field["options"] = []string{"x", "y"}
	}
	example := json.RawMessage(k.Example)
	switch part {
	case "the form":
		head[k.Name] = example
	case "timeout", "validation":
		head[part] = map[string]any{k.Name: example}
	case "fields[]":
		field[k.Name] = example
		if k.Name == "type" {
			field[k.Name] = of
		} else if k.Name == "default" {
			field[k.Name] = map[form.Type]any{form.Text: example, form.Number: 1, form.Boolean: true, form.Select: "x", form.MultiSelect: []string{"x"}, form.URL: "https://example.com/", form.Date: "2026-01-01"}[of]
		}
	case "fields[].options[]":
		field["type"], field["options"] = "select", []any{map[string]any{"value": "eu", k.Name: example}}
	case "fields[].validation", "fields[].rendering", "fields[].accessibility":
		field[strings.TrimPrefix(part, "fields[].")] = map[string]any{k.Name: example}
	case "a condition":
		field["type"], field["options"] = "text", nil
		delete(field, "options")
		c := map[string]any{
			"field": `{"operator":"present","field":"name"}`, "operator": `{"operator":"equals","field":"name","value":"x"}`,
			"value": `{"operator":"equals","field":"name","value":"x"}`, "values": `{"operator":"in","field":"name","values":["x"]}`,
			"condition": `{"operator":"not","condition":` + k.Example + `}`, "conditions": `{"operator":"all","conditions":` + k.Example + `}`,
		}[k.Name].(string)
		fields[2].(map[string]any)["rendering"] = map[string]any{"conditionalDisplay": json.RawMessage(c)}
	default:
		t.Fatalf("no place for a key of %s", part)
	}
	raw, err := json.Marshal(head)
	if err != nil {
		t.Fatalf("%s of %s: %v", k.Name, part, err)
	}
	if _, err := form.Parse(raw); err != nil {
		t.Errorf("%s of %s for %s: %s: %v", k.Name, part, of, raw, err)
	}
}

// The reference tells of everything that the language takes: every key of the
// forms in testdata, and of a definition in which everything is set.
func TestReferenceIsWhole(t *testing.T) {
	known := map[string][]string{}
	for _, part := range form.Parts() {
		for _, k := range part.Keys {
			known[part.Name] = append(known[part.Name], k.Name)
		}
	}
	var all form.Definition
	set(reflect.ValueOf(&all).Elem(), 0)
	all.Metadata, all.Fields[0].Default = json.RawMessage(`{}`), "x"
	raw, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	docs := map[string][]byte{"everything set": raw}
	files, err := filepath.Glob("testdata/*.form.json")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		if docs[file], err = os.ReadFile(file); err != nil {
			t.Fatal(err)
		}
	}
	for name, raw := range docs {
		var d any
		if err := json.Unmarshal(raw, &d); err != nil {
			t.Fatal(name, err)
		}
		walkKeys(d, "the form", func(part, key string) {
			if !slices.Contains(known[part], key) {
				t.Errorf("%s: %s of %s is not in the reference", name, key, part)
			}
		})
	}
}

// set gives everything in a value something that is not its zero.
func set(v reflect.Value, depth int) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			set(v.Field(i), depth+1)
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		set(v.Elem(), depth+1)
	case reflect.Slice:
		if depth < 8 { // conditions hold conditions
			v.Set(reflect.MakeSlice(v.Type(), 1, 1))
			set(v.Index(0), depth+1)
		}
	case reflect.String:
		v.SetString("1")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(1_000_000)
	}
}

// walkKeys visits every key of a definition with the part that it belongs to.
func walkKeys(v any, part string, visit func(part, key string)) {
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			walkKeys(item, part, visit)
		}
	case map[string]any:
		for key, inner := range v {
			visit(part, key)
			if next := below[part+" "+key]; next == "rules" {
				for _, rule := range inner.(map[string]any) {
					walkKeys(rule.(map[string]any)["condition"], "a condition", visit)
				}
			} else if next != "" {
				walkKeys(inner, next, visit)
			}
		}
	}
}

var below = map[string]string{
	"the form fields": "fields[]", "the form timeout": "timeout", "the form validation": "validation", "validation dependencies": "rules",
	"fields[] options": "fields[].options[]", "fields[] validation": "fields[].validation", "fields[] rendering": "fields[].rendering",
	"fields[] accessibility": "fields[].accessibility", "fields[].rendering conditionalDisplay": "a condition",
	"a condition condition": "a condition", "a condition conditions": "a condition",
}
