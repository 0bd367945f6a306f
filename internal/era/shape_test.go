package era_test

import (
	"strings"
	"testing"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/era"
)

// A5: every kind of property that MCP 2025-11-25 has, and its near misses.
func TestCheckSchemaOfProperties(t *testing.T) {
	for _, tc := range []struct {
		schema string
		ok     bool
	}{
		{`{"type":"string","title":"t","minLength":1,"maxLength":2,"format":"email","default":"d"}`, true},
		{`{"type":"string","pattern":"^a$"}`, true},
		{`{"type":"number","minimum":0.5}`, true},
		{`{"type":"integer","maximum":5,"default":1}`, true},
		{`{"type":"boolean","default":false}`, true},
		{`{"type":"string","enum":["a","b"]}`, true},
		{`{"type":"string","enum":["a","b"],"enumNames":["A","B"]}`, true},
		{`{"type":"string","oneOf":[{"const":"a","title":"A"}]}`, true},
		{`{"type":"array","items":{"type":"string","enum":["a"]},"minItems":1}`, true},
		{`{"type":"array","items":{"anyOf":[{"const":"a","title":"A"}]}}`, true},
		{`{"type":"object","properties":{}}`, false},
		{`{"type":"null"}`, false},
		{`{"type":["string","null"]}`, false},
		{`{"$ref":"#/$defs/x"}`, false},
		{`{}`, false},
		{`"string"`, false},
		{`true`, false},
		{`{"type":"string","enum":[]}`, false},
		{`{"type":"string","enum":[1]}`, false},
		{`{"type":"string","enum":"a"}`, false},
		{`{"type":"string","enum":["a"],"enumNames":[1]}`, false},
		{`{"type":"string","oneOf":[{"title":"A"}]}`, false},
		{`{"type":"string","oneOf":[{"const":"a","title":1}]}`, false},
		{`{"type":"string","oneOf":[]}`, false},
		{`{"type":"string","oneOf":["a"]}`, false},
		{`{"type":"array"}`, false},
		{`{"type":"array","items":{"type":"string"}}`, false},
		{`{"type":"array","items":{"type":"number","enum":[1]}}`, false},
		{`{"type":"array","items":{"type":"object","properties":{}}}`, false},
		{`{"type":"array","items":{"anyOf":[{"type":"string"}]}}`, false},
		{`{"type":"array","items":[{"type":"string"}]}`, false},
	} {
		params := `{"message":"m","requestedSchema":{"type":"object","properties":{"p":` + tc.schema + `}}}`
		err := era.CheckSchema([]byte(params))
		if (err == nil) != tc.ok {
			t.Errorf("%s: %v", tc.schema, err)
		}
		if err != nil && (err.Code != ask.BadSchema || !strings.Contains(err.Message, `"p"`)) {
			t.Errorf("%s: the error does not say which property: %v", tc.schema, err)
		}
	}
}

func TestCheckSchemaOfForms(t *testing.T) {
	for _, tc := range []struct {
		params string
		ok     bool
	}{
		{goodForm, true},
		{`{"message":"m","requestedSchema":{"$schema":"x","type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false}}`, true},
		{`{"requestedSchema":{"type":"object","properties":{}}}`, false},
		{`{"message":1,"requestedSchema":{"type":"object","properties":{}}}`, false},
		{`{"message":"m"}`, false},
		{`{"message":"m","requestedSchema":null}`, false},
		{`{"message":"m","requestedSchema":[]}`, false},
		{`{"message":"m","requestedSchema":{"properties":{}}}`, false},
		{`{"message":"m","requestedSchema":{"type":"string"}}`, false},
		{`{"message":"m","requestedSchema":{"type":"object"}}`, false},
		{`{"message":"m","requestedSchema":{"type":"object","properties":[]}}`, false},
		{`{"message":"m","requestedSchema":{"type":"object","properties":{"a":{"type":"string"},"\u0061":{"type":"string"}}}}`, false},
		{`{"message":"m","requestedSchema":{"type":"object","properties":{},"required":["a"]}}`, false},
		{`{"message":"m","requestedSchema":{"type":"object","properties":{},"required":[1]}}`, false},
		{`{"message":"m","requestedSchema":{"type":"object","properties":{},"required":"a"}}`, false},
		{`[]`, false},
		{`null`, false},
		{``, false},
		{`{"message":`, false},
	} {
		if err := checkForm([]byte(tc.params)); (err == nil) != tc.ok || (err != nil && err.Code != ask.BadSchema) {
			t.Errorf("%s: %v", tc.params, err)
		}
	}
}

// checkForm is all that is checked of a form.
func checkForm(params []byte) *ask.Error {
	if err := era.CheckShape(ask.Form, params); err != nil {
		return err
	}
	return era.CheckSchema(params)
}

func TestCheckShapeOfURLs(t *testing.T) {
	for url, ok := range map[string]bool{
		`"https://example.com/a?b=c"`: true,
		`"http://127.0.0.1:8080/"`:    true,
		`"HTTPS://example.com"`:       true,
		`"javascript:alert(1)"`:       false,
		`"file:///etc/passwd"`:        false,
		`"data:text/html,x"`:          false,
		`"/relative"`:                 false,
		`"//example.com"`:             false,
		`"https:example.com"`:         false,
		`"https:///path"`:             false,
		`"https://bank.example@evil"`: false,
		`"https://a\nb/"`:             false,
		`"https://%zz/"`:              false,
		`""`:                          false,
		`7`:                           false,
		`null`:                        false,
	} {
		params := `{"mode":"url","message":"m","url":` + url + `}`
		if err := era.CheckShape(ask.URL, []byte(params)); (err == nil) != ok || (err != nil && err.Code != ask.BadSchema) {
			t.Errorf("%s: %v", url, err)
		}
	}
	if era.CheckShape(ask.URL, []byte(`{"message":"m"}`)) == nil {
		t.Error("no url: accepted")
	}
	if era.CheckShape(ask.URL, []byte(`{"url":"https://example.com"}`)) == nil {
		t.Error("no message: accepted")
	}
}

func TestCheckSchemaCutsAServersWordsShort(t *testing.T) {
	params := `{"message":"m","requestedSchema":{"type":"object","properties":{"` + strings.Repeat("ü", 5000) + `":1}}}`
	if err := era.CheckSchema([]byte(params)); err == nil || len(err.Message) > 200 {
		t.Errorf("%v", err)
	}
}
