package page

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/form"
)

// conditional has every kind of rule, over every kind of field that one can
// look at.
const conditional = `{"id":"c","title":"Why do you leave?","description":"It helps us.","fields":[
	{"id":"reason","type":"select","label":"Reason","required":true,"options":[{"value":"price","title":"Price"},{"value":"other","title":"Something else"}]},
	{"id":"what","type":"text","label":"What","required":true,"rendering":{"conditionalDisplay":{"operator":"equals","field":"reason","value":"other"}}},
	{"id":"tags","type":"multi_select","label":"Tags","options":["x","y"]},
	{"id":"note","type":"text","label":"Note"},
	{"id":"stars","type":"number","label":"Stars"},
	{"id":"sure","type":"boolean","label":"Sure"},
	{"id":"stage","type":"text","label":"Stage","default":"beta","rendering":{"readonly":true}},
	{"id":"kind","type":"boolean","label":"Kind","default":true,"rendering":{"hidden":true}}
],"validation":{"dependencies":{
	"note":{"action":"hide","condition":{"operator":"equals","field":"tags","value":"y"}},
	"tags":{"action":"enable","condition":{"operator":"all","conditions":[{"operator":"equals","field":"kind","value":true},{"operator":"not","condition":{"operator":"present","field":"what"}}]}},
	"stars":{"action":"disable","condition":{"operator":"equals","field":"stage","value":"alpha"}},
	"sure":{"action":"validate","condition":{"operator":"any","conditions":[{"operator":"in","field":"stars","values":[1,2.50]}]}}
}}}`

func TestConditionsAreSaidAndKept(t *testing.T) { // F5
	k := newKit(t, withDefinition(conditional))
	p := k.get("/asks/ask1", "ada")
	p.want(200)
	p.says("Why do you leave?", "It helps us.", "Asked only if Reason is Something else.", "Not asked if Tags includes y.",
		"Can be filled in only if Kind is Yes and What is not filled in.", "Cannot be filled in if Stage is alpha.", "Checked only if Stars is 1 or 2.50.",
		"This cannot be changed.", "beta")
	k.get("/", "ada").says("Why do you leave?")
	rules := map[string]rule{}
	p.root.walk(func(n *node) {
		if raw, ok := n.attr["data-rule"]; ok {
			id := n.attr["id"]
			for _, name := range []string{"input", "select", "textarea"} {
				if all := n.all(name); len(all) > 0 {
					id = all[0].attr["name"]
				}
			}
			var r rule
			if err := json.Unmarshal([]byte(raw), &r); err != nil {
				t.Fatal(err)
			}
			rules[id] = r
		}
	})
	for id, want := range map[string]string{
		"f1": `[{"do":"show","if":{"op":"equals","field":"f0","in":["1"]}}]`,
		"f2": `[{"do":"enable","if":{"op":"all","of":[{"op":"equals","field":"f7","in":["true"]},{"op":"not","of":[{"op":"present","field":"f1"}]}]}}]`,
		"f3": `[{"do":"hide","if":{"op":"equals","field":"f2","in":["1"]}}]`,
		"f4": `[{"do":"disable","if":{"op":"equals","field":"f6","in":["alpha"]}}]`,
		"f5": `[{"do":"validate","if":{"op":"any","of":[{"op":"in","field":"f4","in":["1","2.50"]}]}}]`,
	} {
		if got, _ := json.Marshal(rules[id].When); string(got) != want {
			t.Errorf("the script is told of %s: %s, want %s", id, got, want)
		}
	}
	if got := rules["f6"].Fixed; len(got) != 1 || got[0] != "beta" {
		t.Errorf("the script is told that the stage is %q", got)
	}
	if got := rules["f7"].Fixed; len(got) != 1 || got[0] != "true" {
		t.Errorf("the script is told that the kind is %q", got)
	}

	// Without a script everything is posted; what is not asked is left out.
	p = k.press("ask1", "ada", "accept", url.Values{"f0": {"1"}, "f1": {""}, "f3": {"n"}})
	p.want(422)
	p.says("What: Fill this in: it is needed.")
	k.press("ask1", "ada", "accept", url.Values{"f0": {"0"}, "f1": {"left over"}, "f2": {"1"}, "f3": {"not asked"}, "f4": {"2"}}).want(200)
	k.wantSent(ask.Accept, `{"action":"accept","content":{"reason":"price","tags":["y"],"stars":2,"sure":false,"stage":"beta","kind":true}}`)
}

func TestAttackFieldsThatNobodyCanChange(t *testing.T) { // F4
	k := newKit(t, withDefinition(conditional))
	k.press("ask1", "ada", "accept", url.Values{"f0": {"0"}, "f6": {"alpha"}, "f7": {"off"}, "stage": {"alpha"}}).want(200)
	k.wantSent(ask.Accept, `{"action":"accept","content":{"reason":"price","tags":[],"sure":false,"stage":"beta","kind":true}}`)
}

func TestDefinitionIsShownAsItsHintsSay(t *testing.T) { // F2, F4
	k := newKit(t, withDefinition(`{"id":"h","title":"T","allow_partial":true,"fields":[
		{"id":"a","type":"text","label":"A","required":true,"rendering":{"rows":100,"placeholder":"like\u202e this","helpText":"Help"}},
		{"id":"b","type":"text","label":"B","rendering":{"inputType":"tel"}},
		{"id":"c","type":"text","label":"C","rendering":{"inputType":"email"}},
		{"id":"d","type":"url","label":"D","validation":{"allowedSchemes":["https","wss"]}},
		{"id":"e","type":"select","label":"E","options":["x","y"],"rendering":{"displayStyle":"dropdown"}},
		{"id":"f","type":"boolean","label":"F","default":false,"rendering":{"readonly":true}},
		{"id":"g","type":"select","label":"G","options":[{"value":"x","title":"The X"}],"default":"x","rendering":{"readonly":true}},
		{"id":"i","type":"multi_select","label":"I","options":["x","y"],"rendering":{"readonly":true}},
		{"id":"j","type":"number","label":"J","validation":{"exclusiveMinimum":0,"exclusiveMaximum":9,"multipleOf":0.25}},
		{"id":"k","type":"number","label":"K","validation":{"minimum":0}},
		{"id":"l","type":"date","label":"L","validation":{"minimum":"2026-01-01","maximum":"2026-12-31"}},
		{"id":"m","type":"date","label":"M","validation":{"maximum":"2026-12-31"}},
		{"id":"n","type":"date","label":"N","validation":{"minimum":"2026-01-01T00:00:00Z","format":"date-time"}}
	]}`))
	p := k.get("/asks/ask1", "ada")
	p.says("A (optional)", "Help", "A full address that begins with https:// or wss:// and can be reached from the internet.", "No answer", "No", "The X", "Nothing",
		"A number, more than 0, less than 9, in steps of 0.25.", "A number, 0 or more.", "From 2026-01-01 to 2026-12-31.", "2026-12-31 or earlier.", "Date and time in UTC. 2026-01-01T00:00:00Z or later.")
	for _, want := range []string{`rows="20"`, `placeholder="like this"`, `inputmode="tel"`, `inputmode="email"`, `inputmode="url"`, `inputmode="decimal"`, `<select id="f4"`} {
		if !strings.Contains(p.body, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
	p = k.press("ask1", "ada", "accept", url.Values{"f3": {"http://10.0.0.1/"}, "f8": {"9"}, "f10": {"2027-01-01"}, "f11": {"2027-01-01"}, "f12": {"2025-01-01T00:00"}})
	p.want(422)
	p.says("begins with https:// or wss://", "can be reached from the internet", "Enter less than 9.", "Enter 2026-12-31 or earlier.", "Enter 2026-01-01T00:00:00Z or later.")
	p = k.press("ask1", "ada", "accept", url.Values{"f8": {"0.1"}, "f10": {"2025-01-01"}})
	p.says("Enter a multiple of 0.25.", "Enter 2026-01-01 or later.")
	k.press("ask1", "ada", "accept", url.Values{"f8": {"-1"}}).says("Enter more than 0.")
	k.press("ask1", "ada", "accept", nil).want(200)
	k.wantSent(ask.Accept, `{"action":"accept","content":{"f":false,"g":"x"}}`)
}

func TestFormsForFilesAreNotTaken(t *testing.T) {
	k := newKit(t, withDefinition(`{"id":"f","title":"T","fields":[{"id":"a","type":"file","label":"A"}]}`))
	p := k.get("/asks/ask1", "ada")
	p.says("This form cannot be shown here", "It asks for a file")
	k.press("ask1", "ada", "accept", nil).want(400)
	k.press("ask1", "ada", "decline", nil).want(200)
}

func TestFaultOfTheWholeForm(t *testing.T) {
	c := form.Compiler{Validators: map[string]form.Validator{"never": func(form.Values) []form.Fault {
		return []form.Fault{{Message: "These do <not> go together"}, {Field: "a", Message: "Not this one"}}
	}}}
	f, err := c.Parse([]byte(`{"id":"f","title":"T","fields":[{"id":"a","type":"text","label":"A"}],"validation":{"custom_validators":["never"]}}`))
	if err != nil {
		t.Fatal(err)
	}
	_, errs := readPost(f, url.Values{"f0": {"x"}}, nil)
	all := faults(rows(f, url.Values{}, errs), errs)
	if len(all) != 2 || all[0] != (fault{"f0", "A", "Not this one."}) || all[1] != (fault{"", "", "These do <not> go together"}) {
		t.Errorf("faults %+v", all)
	}
}

func TestChoiceOfNothing(t *testing.T) {
	k := newKit(t, withDefinition(`{"id":"f","title":"T","fields":[
		{"id":"a","type":"select","label":"A","required":true,"options":["","b"]},
		{"id":"b","type":"multi_select","label":"B","options":["","b"]}]}`))
	p := k.press("ask1", "ada", "accept", nil)
	p.want(422)
	p.says("A: Choose one: this is needed.", "(nothing)")
	k.press("ask1", "ada", "accept", url.Values{"f0": {"0"}, "f1": {"0", "1"}}).want(200)
	k.wantSent(ask.Accept, `{"action":"accept","content":{"a":"","b":["","b"]}}`)
}
