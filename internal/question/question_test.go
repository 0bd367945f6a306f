package question_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/form"
	"github.com/answerback/answerback/internal/question"
)

func forms() *form.Cache { return form.NewCache(nil, 10) }

func definition(fields string) string {
	return `{"formDefinition":{"id":"f","title":"Deploy","description":"Where to?","fields":[` + fields + `]}}`
}

const region = `{"id":"region","type":"select","label":"Region","required":true,"options":["eu","us"]}`

// F14: a form that MCP can say becomes a requestedSchema, one that it cannot
// has none, and nothing else of the parameters changes.
func TestDefine(t *testing.T) {
	for name, c := range map[string]struct {
		params string
		schema string // "" where it cannot be said
		secret []string
	}{
		"plain":              {definition(region), `{"type":"object","properties":{"region":{"type":"string","title":"Region","enum":["eu","us"]}},"required":["region"]}`, nil},
		"a pattern":          {definition(`{"id":"v","type":"text","label":"Version","validation":{"pattern":"^v"}}`), "", nil},
		"a file":             {definition(`{"id":"v","type":"file","label":"Version"}`), "", nil},
		"a secret":           {definition(`{"id":"v","type":"text","label":"V","sensitive":true}`), "", []string{"v"}},
		"a secret by name":   {definition(region + `,{"id":"api_key","type":"text","label":"Key","default":"x"}`), "", []string{"api_key"}},
		"a constant by name": {definition(`{"id":"token","type":"text","label":"Token","default":"x","rendering":{"hidden":true}}`), "", nil},
		"an old schema":      {`{"requestedSchema":{"type":"object","properties":{}},` + definition(`{"id":"v","type":"file","label":"V"}`)[1:], "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			got, f, err := question.Define([]byte(c.params), forms())
			if err != nil {
				t.Fatal(err)
			}
			q := question.Read(got)
			if string(q.Schema) != c.schema {
				t.Errorf("the requestedSchema is %s, want %s", q.Schema, c.schema)
			}
			if q.Message != "Deploy\n\nWhere to?" {
				t.Errorf("the message is %q", q.Message)
			}
			if secrets := q.Secrets(forms()); !slices.Equal(secrets, c.secret) || f.Sensitive() != (c.secret != nil) {
				t.Errorf("the secrets are %v, want %v", secrets, c.secret)
			}
			again, err2 := q.Form(forms())
			if err2 != nil || again.Digest() != f.Digest() {
				t.Errorf("those who show it get another form: %v", err2)
			}
			if plain := string(question.Plain(got)); strings.Contains(plain, "formDefinition") || !json.Valid([]byte(plain)) {
				t.Errorf("a client gets %s", plain)
			}
		})
	}
}

func TestDefineKeepsTheMessage(t *testing.T) {
	got, _, err := question.Define([]byte(`{"message":"Mine","x":1,`+definition(region)[1:]), forms())
	if q := question.Read(got); err != nil || q.Message != "Mine" || !strings.Contains(string(got), `"x":1`) {
		t.Errorf("%s %v", got, err)
	}
}

func TestDefineRefusesWhatIsNoForm(t *testing.T) {
	_, _, err := question.Define([]byte(definition(`{"id":"a","type":"nonsense","label":"A"},{"id":"a","type":"text","label":"B"}`)), forms())
	if err == nil || err.Code != ask.BadSchema || !strings.Contains(err.Message, "fields[0].type") || !strings.Contains(err.Message, "fields[1].id") {
		t.Errorf("%v", err)
	}
}

func TestOtherQuestionsAreLeftAlone(t *testing.T) {
	for _, params := range []string{`{"message":"m","requestedSchema":{"type":"object","properties":{}}}`, `[]`, ``} {
		got, f, err := question.Define([]byte(params), forms())
		if string(got) != params || f != nil || err != nil {
			t.Errorf("%s became %s, %v, %v", params, got, f, err)
		}
		if string(question.Plain([]byte(params))) != params {
			t.Errorf("a client gets another %s", params)
		}
	}
}

// Whatever the parameters are, what shows a question gets a form or a reason.
func TestForms(t *testing.T) {
	for params, fields := range map[string]int{
		`{"message":"m","requestedSchema":{"type":"object","properties":{"a":{"type":"string"}}}}`: 1,
		`{"message":"m"}`:                        0,
		`{"message":"m","requestedSchema":null}`: 0,
		`{"mode":"inline","prompt":"Who?"}`:      1,
		definition(region):                       1,
		`{"requestedSchema":{"type":"object","properties":{"a":{"type":"object"}}}}`: -1,
		`{"formDefinition":{}}`: -1,
		`nonsense`:              0,
	} {
		f, err := question.Read([]byte(params)).Form(forms())
		switch {
		case err != nil:
			if fields >= 0 || ask.CodeOf(err) != ask.BadSchema || len(question.Problems(err, 1)) != 1 {
				t.Errorf("%s: %v", params, err)
			}
		case len(f.Fields()) != fields:
			t.Errorf("%s: %d fields, want %d", params, len(f.Fields()), fields)
		}
	}
}
