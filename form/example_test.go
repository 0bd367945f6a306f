package form_test

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/answerback/answerback/form"
)

var order = []byte(`{
	"id": "order", "title": "Order a cake",
	"fields": [
		{"id": "name", "type": "text", "label": "Name", "required": true, "validation": {"maxLength": 40}},
		{"id": "people", "type": "number", "label": "People", "required": true, "validation": {"minimum": 2, "multipleOf": 1}},
		{"id": "size", "type": "select", "label": "Size", "default": "m", "options": [{"value": "m", "title": "Medium"}, {"value": "l", "title": "Large"}]}
	]
}`)

func Example() {
	f, err := form.Parse(order)
	if err != nil {
		fmt.Println(err)
		return
	}
	// What a browser posts.
	values, errs := f.Read(map[string][]string{"name": {"Ada"}, "people": {" 12 "}}, nil)
	fmt.Println(len(errs), string(f.Encode(values)))

	_, errs = f.Read(map[string][]string{"people": {"1.5"}}, nil)
	for _, e := range errs {
		fmt.Printf("%s (%s)\n", e.Message, e.Constraint)
	}
	// Output:
	// 0 {"name":"Ada","people":12,"size":"m"}
	// Name is required (required)
	// People must be 2 or more (minimum)
	// People must be a whole number (multipleOf)
}

func ExampleParse_problems() {
	_, err := form.Parse([]byte(`{"id": "x", "title": "X", "fields": [
		{"id": "a", "type": "text", "label": "A", "validation": {"minimum": 3}, "rendering": {"colour": "red"}}]}`))
	var bad *form.DefinitionError
	if errors.As(err, &bad) {
		for _, p := range bad.Problems {
			fmt.Println(p.Path, p.Message)
		}
	}
	// Output:
	// fields[0].validation.minimum is not known here
	// fields[0].rendering.colour is not known here
}

func ExampleNew() {
	f, err := form.New(form.Definition{
		ID: "feedback", Title: "How was it?",
		Fields: []form.Field{
			{ID: "stars", Type: form.Number, Label: "Stars", Required: true, Constraints: form.Constraints{Minimum: "1", Maximum: "5"}},
			{
				ID: "why", Type: form.Text, Label: "What went wrong", Required: true,
				Hints: form.Hints{Condition: &form.Condition{Operator: form.In, Field: "stars", Values: []any{json.Number("1"), json.Number("2")}}},
			},
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	_, errs := f.Decode([]byte(`{"stars": 5}`), nil)
	fmt.Println(len(errs))
	_, errs = f.Decode([]byte(`{"stars": 1}`), nil)
	fmt.Println(errs)
	why, _ := f.Field("why")
	fmt.Println("Only if", f.Describe(why.Hints.Condition))
	// Output:
	// 0
	// What went wrong is required
	// Only if Stars is 1 or 2
}

func ExampleForm_Requested() {
	f, err := form.Parse(order)
	if err != nil {
		fmt.Println(err)
		return
	}
	schema, err := f.Requested()
	fmt.Println(string(schema), err)

	f, err = form.Parse([]byte(`{"id": "x", "title": "X", "fields": [{"id": "cv", "type": "file", "label": "CV"}]}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = f.Requested()
	fmt.Println(err)
	// Output:
	// {"type":"object","properties":{"name":{"type":"string","title":"Name","maxLength":40},"people":{"type":"integer","title":"People","minimum":2},"size":{"type":"string","title":"Size","default":"m","oneOf":[{"const":"m","title":"Medium"},{"const":"l","title":"Large"}]}},"required":["name","people"]} <nil>
	// not representable in a requestedSchema: cv has a file
}

func ExampleFromRequested() {
	f, err := form.FromRequested([]byte(`{
		"type": "object",
		"properties": {"when": {"type": "string", "format": "date", "title": "When"}, "seats": {"type": "integer", "minimum": 1}},
		"required": ["when"]
	}`), "Book a table")
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, field := range f.Fields() {
		fmt.Println(field.ID, field.Type, field.Label, field.Required)
	}
	// Output:
	// when date When true
	// seats number seats false
}

func ExampleSensitive() {
	fmt.Println(form.Sensitive([]byte(`{
		"type": "object",
		"properties": {"user": {"type": "string"}, "apiKey": {"type": "string"}, "max_tokens": {"type": "integer"}}
	}`), "Connect your account"))
	// Output: [apiKey]
}
