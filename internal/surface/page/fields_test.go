package page

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/form"
)

// everything has each kind of field that MCP's restricted schema knows.
const everything = `{
	"zone":   {"type":"string","title":"Release name","description":"How people find it.","minLength":3,"maxLength":12,"pattern":"^[a-z0-9-]+$"},
	"notes":  {"type":"string","maxLength":2000,"default":"one\ntwo"},
	"mail":   {"type":"string","format":"email"},
	"hook":   {"type":"string","format":"uri"},
	"day":    {"type":"string","format":"date","default":"2026-12-01"},
	"at":     {"type":"string","format":"date-time","default":"2026-12-01T10:00:00+02:00"},
	"ratio":  {"type":"number","minimum":0,"maximum":1,"default":0.5},
	"port":   {"type":"integer","minimum":1,"maximum":65535,"default":8080},
	"safe":   {"type":"boolean","title":"Encrypt connections","default":true},
	"plain":  {"type":"boolean"},
	"size":   {"type":"string","enum":["s","m","l"],"enumNames":["Small","Medium","Large"],"default":"m"},
	"region": {"type":"string","oneOf":[{"const":"eu","title":"Europe"},{"const":"us","title":"US"}]},
	"month":  {"type":"string","enum":["1","2","3","4","5","6","7","8","9","10","11","12"],"default":"3"},
	"parts":  {"type":"array","items":{"type":"string","enum":["log","metric","trace"]},"minItems":1,"maxItems":2,"default":["log"]},
	"colours":{"type":"array","items":{"anyOf":[{"const":"#f00","title":"Red"},{"const":"#0f0","title":"Green"}]}}
}`

// The fields of everything by their place.
const (
	fZone = "f0"
	fMail = "f2"
	fHook = "f3"
	fPort = "f7"
	fSafe = "f8"
	fRegn = "f11"
	fPart = "f13"
	fColr = "f14"
)

func TestEveryKindOfFieldGoesThereAndBack(t *testing.T) {
	k := newKit(t, withSchema(everything, `["zone","region","parts"]`))
	p := k.get("/asks/ask1", "ada")
	p.want(200)
	p.says("Release name", "How people find it.", "3 to 12 characters.", "(optional)", "At most 2000 characters.", "Date and time in UTC.",
		"A number from 0 to 1.", "A whole number from 1 to 65535.", "Encrypt connections", "Small", "Europe", "No answer", "Choose 1 to 2.",
		"Choose as many as you like.", "Send answer", "Never type a password")
	if strings.Contains(p.body, "enum") || !strings.Contains(p.body, `inputmode="numeric"`) {
		t.Error("the page shows the schema's own words, or no keyboard for digits")
	}
	last := -1
	for _, label := range []string{"Release name", "notes", "mail", "hook", "day", "at", "ratio", "port", "Encrypt", "plain", "size", "region", "month", "parts", "colours"} {
		at := strings.Index(p.body, `-label">`+label)
		if at <= last {
			t.Errorf("%s stands before the field that the schema names first", label)
		}
		last = at
	}
	k.press("ask1", "ada", "accept", url.Values{fZone: {"spring-24"}, fRegn: {"0"}}).want(200)
	k.wantSent(ask.Accept, `{"action":"accept","content":{"zone":"spring-24","notes":"one\ntwo","day":"2026-12-01","at":"2026-12-01T08:00:00Z",`+
		`"ratio":0.5,"port":8080,"safe":true,"plain":false,"size":"m","region":"eu","month":"3","parts":["log"],"colours":[]}}`)
}

func TestAllProblemsComeAtOnceAndNothingTypedIsLost(t *testing.T) {
	k := newKit(t, withSchema(everything, `["zone","region","parts"]`))
	bad := url.Values{fZone: {"sp"}, fMail: {"nobody"}, fHook: {"not an address"}, fPort: {"8080.5"}, fPart: {"0", "1", "2"}, fSafe: {}}
	p := k.press("ask1", "ada", "accept", bad)
	p.want(422)
	p.says("6 things need another look", "Release name: Use at least 3 characters: there are 2.", "mail: Enter an e-mail address",
		"hook: Enter a full address", "port: Enter a whole number", "region: Choose one: this is needed.", "parts: Choose at most 2: there are 3.")
	if got := p.root.all("title")[0].text(); !strings.HasPrefix(got, "Error: ") {
		t.Errorf("title %q", got)
	}
	if n := strings.Count(p.body, `aria-invalid="true"`); n != 4 {
		t.Errorf("%d fields are marked invalid, want 4", n)
	}
	k.wantNothingSent()
	again := p.typed()
	for name, values := range bad {
		if strings.Join(again[name], "|") != strings.Join(values, "|") {
			t.Errorf("%s came back as %q, want %q", name, again[name], values)
		}
	}
	again["f0"], again["f2"], again["f3"], again["f7"] = []string{"spring"}, nil, []string{" https://example.org/hook "}, []string{"+0443"}
	again[fPart], again[fRegn], again[fColr] = []string{"2", "0"}, []string{"1"}, []string{"1"}
	again.Set("action", "accept")
	k.post("/asks/ask1", "ada", again).want(200)
	k.wantSent(ask.Accept, `{"action":"accept","content":{"zone":"spring","notes":"one\ntwo","hook":"https://example.org/hook","day":"2026-12-01","at":"2026-12-01T08:00:00Z",`+
		`"ratio":0.5,"port":443,"safe":false,"plain":false,"size":"m","region":"us","month":"3","parts":["log","trace"],"colours":["#0f0"]}}`)
}

func TestDeclineAndCancelNeedNoValuesAndSendNone(t *testing.T) {
	for _, action := range []string{"decline", "cancel"} {
		k := newKit(t, withSchema(everything, `["zone"]`))
		k.press("ask1", "ada", action, url.Values{fZone: {"x"}, fPort: {"typed"}}).want(200)
		if got := string(k.submitted()[0].Result); got != `{"action":"`+action+`"}` {
			t.Errorf("sent %s", got)
		}
	}
}

func TestAttackFieldsThatWereNotAskedFor(t *testing.T) {
	k := newKit(t, withSchema(`{"action":{"type":"string"},"token":{"type":"string"}}`, `[]`))
	k.press("ask1", "ada", "accept", url.Values{"f0": {"a"}, "f1": {"b"}, "f2": {"c"}, "name": {"d"}, "content": {"{}"}, "__proto__": {"e"}}).want(200)
	k.wantSent(ask.Accept, `{"action":"accept","content":{"action":"a","token":"b"}}`)
}

func TestFormsBeyondTheSubsetCanOnlyBeTurnedDown(t *testing.T) {
	for name, schema := range map[string]string{
		"no object":                  `"x"`,
		"an array":                   `[]`,
		"another type":               `{"type":"string"}`,
		"no type":                    `{"properties":{}}`,
		"properties twice":           `{"type":"object","properties":{},"properties":{}}`,
		"properties no object":       `{"type":"object","properties":[]}`,
		"a field twice":              `{"type":"object","properties":{"a":{"type":"string"},"a":{"type":"number"}}}`,
		"a field no object":          `{"type":"object","properties":{"a":true}}`,
		"required no list":           `{"type":"object","properties":{},"required":"a"}`,
		"required but not described": `{"type":"object","properties":{},"required":["a"]}`,
		"conditions":                 `{"type":"object","properties":{},"if":{}}`,
		"a reference at the top":     `{"type":"object","$ref":"#/x"}`,
		"a nested object":            `{"type":"object","properties":{"a":{"type":"object","properties":{}}}}`,
		"an object without members":  `{"type":"object","properties":{"a":{"type":"object"}}}`,
		"a reference":                `{"type":"object","properties":{"a":{"$ref":"#/x"}}}`,
		"several types":              `{"type":"object","properties":{"a":{"type":["string","null"]}}}`,
		"any of several":             `{"type":"object","properties":{"a":{"type":"string","anyOf":[{"type":"string"}]}}}`,
		"one of several kinds":       `{"type":"object","properties":{"a":{"type":"string","oneOf":[{"type":"string"}]}}}`,
		"one of nothing":             `{"type":"object","properties":{"a":{"type":"string","oneOf":[]}}}`,
		"one of no list":             `{"type":"object","properties":{"a":{"type":"string","oneOf":{}}}}`,
		"a choice of numbers":        `{"type":"object","properties":{"a":{"type":"integer","enum":[1,2]}}}`,
		"a choice with null":         `{"type":"object","properties":{"a":{"type":"string","enum":["a",null]}}}`,
		"a choice of nothing":        `{"type":"object","properties":{"a":{"type":"string","enum":[]}}}`,
		"too many choices":           `{"type":"object","properties":{"a":{"type":"string","enum":[` + manyChoices(form.MaxOptions+1) + `]}}}`,
		"a list of anything":         `{"type":"object","properties":{"a":{"type":"array"}}}`,
		"a list of strings":          `{"type":"object","properties":{"a":{"type":"array","items":{"type":"string"}}}}`,
		"a list of objects":          `{"type":"object","properties":{"a":{"type":"array","items":{"anyOf":[{"type":"object"}]}}}}`,
		"a list nobody can choose":   `{"type":"object","properties":{"a":{"type":"array","items":{"enum":["x"]},"minItems":2}}}`,
		"lengths that exclude all":   `{"type":"object","properties":{"a":{"type":"string","minLength":5,"maxLength":4}}}`,
		"a length beyond the limit":  `{"type":"object","properties":{"a":{"type":"string","minLength":1e300}}}`,
		"a length no count":          `{"type":"object","properties":{"a":{"type":"string","minLength":-1}}}`,
		"a length no number":         `{"type":"object","properties":{"a":{"type":"string","maxLength":"9"}}}`,
		"a bound no number":          `{"type":"object","properties":{"a":{"type":"number","minimum":"9"}}}`,
		"a bound of monstrous size":  `{"type":"object","properties":{"a":{"type":"number","minimum":1e999999999}}}`,
		"bounds that exclude all":    `{"type":"object","properties":{"a":{"type":"number","minimum":2,"maximum":1}}}`,
		"too many fields":            `{"type":"object","properties":{` + manyFields(form.MaxFields+1) + `}}`,
		"too much for one page":      `{"type":"object","properties":{"a":{"type":"string","enum":[` + manyChoices(maxParts) + `]}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			k := newKit(t, formAsk(`{"message":"m","requestedSchema":`+schema+`}`))
			p := k.get("/asks/ask1", "ada")
			p.want(200)
			p.says("This form cannot be shown here")
			if got := strings.Join(p.buttons(), " "); got != "decline cancel" {
				t.Errorf("buttons %s", got)
			}
			k.press("ask1", "ada", "accept", nil).want(400)
			k.wantNothingSent()
			k.press("ask1", "ada", "cancel", nil).want(200)
			k.wantSent(ask.Cancel, `{"action":"cancel"}`)
		})
	}
}

func manyFields(n int) string {
	var fields []string
	for i := range n {
		fields = append(fields, fmt.Sprintf(`"k%d":{"type":"string"}`, i))
	}
	return strings.Join(fields, ",")
}

func manyChoices(n int) string {
	var choices []string
	for i := range n {
		choices = append(choices, fmt.Sprintf(`"%d"`, i))
	}
	return strings.Join(choices, ",")
}

func TestFormsThatAreShown(t *testing.T) {
	for name, params := range map[string]string{
		"none":                       `{"message":"m"}`,
		"null":                       `{"message":"m","requestedSchema":null}`,
		"no fields":                  `{"message":"m","requestedSchema":{"type":"object","properties":{}}}`,
		"keywords of no weight":      `{"requestedSchema":{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","additionalProperties":false,"properties":{"a":{"type":"string","examples":["x"],"x-y":1}}}}`,
		"a format that is not MCP's": `{"requestedSchema":{"type":"object","properties":{"a":{"type":"string","format":"uuid"}}}}`,
		"as many fields as allowed":  `{"requestedSchema":{"type":"object","properties":{` + manyFields(form.MaxFields) + `}}}`,
		"as much as a page shows":    `{"requestedSchema":{"type":"object","properties":{"a":{"type":"string","enum":[` + manyChoices(maxParts-1) + `]}}}}`,
		"names without letters":      `{"requestedSchema":{"type":"object","properties":{"a":{"type":"string","title":"\u202e","enum":["\u200b"]}}}}`,
		"the older inline mode":      `{"mode":"inline","prompt":"Which one?"}`,
		"a definition":               `{"formDefinition":{"id":"d","title":"T","fields":[]}}`,
	} {
		t.Run(name, func(t *testing.T) {
			k := newKit(t, formAsk(params))
			p := k.get("/asks/ask1", "ada")
			p.want(200)
			if got := strings.Join(p.buttons(), " "); got != "accept decline cancel" {
				t.Errorf("buttons %s:\n%s", got, p.root.text())
			}
		})
	}
}

func TestDefaultOfSeveralLinesGetsRoomForThem(t *testing.T) {
	k := newKit(t, withSchema(`{"a":{"type":"string","default":"one\ntwo"}}`, `[]`))
	if got := k.get("/asks/ask1", "ada").typed().Get("f0"); got != "one\ntwo" {
		t.Errorf("the field begins with %q", got)
	}
}
