package era_test

import (
	"encoding/json"
	"testing"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/era"
)

func TestKindOf(t *testing.T) {
	for _, tc := range []struct {
		method, params string
		want           ask.Kind
		ok             bool
	}{
		{"elicitation/create", `{"message":"m"}`, ask.Form, true},
		{"elicitation/create", `{"mode":"form"}`, ask.Form, true},
		{"elicitation/create", `{"mode":"inline"}`, ask.Form, true},
		{"elicitation/create", `{"mode":"\u0075rl"}`, ask.URL, true},
		{"elicitation/create", `{"mode":"carrier-pigeon"}`, 0, true},
		{"elicitation/create", `{"mode":7}`, 0, true},
		{"elicitation/create", `{"mode":null}`, 0, true},
		{"elicitation/create", ``, ask.Form, true},
		{"elicitation/requestInput", `{"mode":"url"}`, ask.URL, true},
		{"sampling/createMessage", `{"mode":"url"}`, ask.Sampling, true},
		{"roots/list", ``, ask.Roots, true},
		{"elicitation/Create", `{}`, 0, false},
		{"ping", ``, 0, false},
	} {
		if got, ok := era.KindOf(tc.method, []byte(tc.params)); got != tc.want || ok != tc.ok {
			t.Errorf("%s %s: %v, %v", tc.method, tc.params, got, ok)
		}
	}
}

// E10
func TestCanonicalTurnsTheAliasIntoElicitationCreate(t *testing.T) {
	const empty = `"requestedSchema":{"type":"object","properties":{}}`
	for _, tc := range []struct{ in, want string }{
		{`{"prompt":"Why?","title":"T","action":{"x":1.0}}`, `{"message":"Why?",` + empty + `,"prompt":"Why?","title":"T","action":{"x":1.0}}`},
		{`{"prompt":"a","message":"b"}`, `{` + empty + `,"prompt":"a","message":"b"}`},
		{`{"message":"b","requestedSchema":{"type":"object","properties":{"n":{"type":"integer"}}} }`, `{"message":"b","requestedSchema":{"type":"object","properties":{"n":{"type":"integer"}}} }`},
		{`{"mode":"url","prompt":"p","url":"https://x"}`, `{"message":"p","mode":"url","prompt":"p","url":"https://x"}`},
		{`{}`, `{` + empty + `}`},
		{`[]`, `[]`},
		{``, ``},
	} {
		in := []byte(tc.in)
		method, got := era.Canonical("elicitation/requestInput", in)
		if method != "elicitation/create" || string(got) != tc.want {
			t.Errorf("%s became %s %s", tc.in, method, got)
		}
		if string(in) != tc.in {
			t.Errorf("%s was modified", tc.in)
		}
	}
}

// F21: the older inline mode is a form of one text.
func TestCanonicalTurnsInlineIntoAForm(t *testing.T) {
	const value = `"requestedSchema":{"type":"object","properties":{"value":{"type":"string","title":"Answer"}},"required":["value"]}`
	for params, want := range map[string]string{
		`{"mode":"inline","prompt":"Who?"}`:                    `{"message":"Who?",` + value + `,"prompt":"Who?"}`,
		`{"mode":"inline","message":"m","prompt":"Who?"}`:      `{` + value + `,"message":"m","prompt":"Who?"}`,
		`{"x":1,"mode":"inline","prompt":"Who?"}`:              `{"message":"Who?",` + value + `,"x":1,"prompt":"Who?"}`,
		`{"mode":"inline","message":"m","requestedSchema":{}}`: `{"message":"m","requestedSchema":{}}`,
	} {
		method, got := era.Canonical("elicitation/create", []byte(params))
		if method != "elicitation/create" || string(got) != want {
			t.Errorf("%s became %s %s, want %s", params, method, got, want)
		}
		if kind, ok := era.KindOf(method, got); kind != ask.Form || !ok {
			t.Errorf("%s is of kind %v", got, kind)
		}
	}
}

// E5: everything but the alias is passed on as it is.
func TestCanonicalLeavesEveryOtherQuestionAlone(t *testing.T) {
	for _, method := range []string{"elicitation/create", "sampling/createMessage", "roots/list", "x"} {
		if m, got := era.Canonical(method, []byte(` {"prompt":"p"}`)); m != method || string(got) != ` {"prompt":"p"}` {
			t.Errorf("%s became %s %s", method, m, got)
		}
	}
}

const goodForm = `{"message":"m","requestedSchema":{"type":"object","properties":{}}}`

// A2, A4: a question never goes to a client that did not declare it.
func TestCheckQuestionAgainstTheCapabilities(t *testing.T) {
	const goodURL = `{"mode":"url","message":"m","url":"https://example.com/"}`
	for _, tc := range []struct {
		name     string
		kind     ask.Kind
		params   string
		caps     era.Caps
		want     ask.Code
		required string
	}{
		{"form", ask.Form, goodForm, era.Caps{Form: true}, "", ""},
		{"form, nothing declared", ask.Form, goodForm, era.Caps{Sampling: true, Roots: true}, ask.ClientLacksCapability, `{"elicitation":{"form":{}}}`},
		{"form, url declared", ask.Form, goodForm, era.Caps{URL: true}, ask.ModeNotDeclared, `{"elicitation":{"form":{}}}`},
		{"url", ask.URL, goodURL, era.Caps{URL: true}, "", ""},
		{"url, form declared", ask.URL, goodURL, era.Caps{Form: true}, ask.ModeNotDeclared, `{"elicitation":{"url":{}}}`},
		{"url, nothing declared", ask.URL, goodURL, era.Caps{}, ask.ClientLacksCapability, `{"elicitation":{"url":{}}}`},
		{"sampling", ask.Sampling, `{"messages":[]}`, era.Caps{Sampling: true}, "", ""},
		{"sampling, not declared", ask.Sampling, `{}`, era.Caps{Form: true, URL: true, Roots: true}, ask.ClientLacksCapability, `{"sampling":{}}`},
		{"tools", ask.Sampling, `{"tools":[]}`, era.Caps{Sampling: true, SamplingTools: true}, "", ""},
		{"tools, not declared", ask.Sampling, `{"tools":[]}`, era.Caps{Sampling: true}, ask.ClientLacksCapability, `{"sampling":{"tools":{}}}`},
		{"toolChoice, not declared", ask.Sampling, `{"toolChoice":{}}`, era.Caps{Sampling: true}, ask.ClientLacksCapability, `{"sampling":{"tools":{}}}`},
		{"sampling without params", ask.Sampling, ``, era.Caps{Sampling: true}, "", ""},
		{"roots", ask.Roots, ``, era.Caps{Roots: true}, "", ""},
		{"roots, not declared", ask.Roots, ``, era.Caps{Form: true, URL: true, Sampling: true}, ask.ClientLacksCapability, `{"roots":{}}`},
		{"unknown mode", 0, `{}`, era.Caps{true, true, true, true, true, true}, ask.ModeNotDeclared, ``},
		{"capability before shape", ask.Form, `{}`, era.Caps{}, ask.ClientLacksCapability, `{"elicitation":{"form":{}}}`},
		{"shape", ask.Form, `{}`, era.Caps{Form: true}, ask.BadSchema, ``},
	} {
		err := era.CheckQuestion(tc.kind, []byte(tc.params), tc.caps)
		if err == nil {
			if tc.want != "" {
				t.Errorf("%s: accepted", tc.name)
			}
			continue
		}
		required, _ := err.Data["requiredCapabilities"].(json.RawMessage)
		if err.Code != tc.want || string(required) != tc.required {
			t.Errorf("%s: %v, %s", tc.name, err, required)
		}
	}
}

// A client that declares what RequiredCaps says can be asked.
func TestRequiredCapsAreEnough(t *testing.T) {
	for _, kind := range []ask.Kind{ask.Form, ask.URL, ask.Sampling, ask.Roots} {
		caps := era.ReadCaps(era.RequiredCaps(kind), era.Latest)
		if err := era.CheckCaps(kind, nil, caps); err != nil {
			t.Errorf("%v: %v", kind, err)
		}
	}
	if got := era.RequiredCaps(0); got != nil {
		t.Errorf("%s", got)
	}
}
