package form_test

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/answerback/answerback/form"
)

// The files in testdata/seed are the examples of the document that the form
// language comes from, as it writes them. A file is named after the document,
// the section and the example: 004-2.5-2.json is the second example of section
// 2.5. `make rows` compares them with the document.

func seed(t *testing.T, name string) string {
	t.Helper()
	raw, err := os.ReadFile("testdata/seed/" + name + ".json")
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// seedFields are the examples of fields, with answers as JSON: those that are
// accepted, and those that are not with the constraint that refuses them.
var seedFields = map[string]struct {
	with string // another field that the example speaks of
	good []string
	bad  map[string]string
}{
	"004-2.2-1": {good: []string{`"ada_l-1"`, `"abc"`}, bad: map[string]string{
		`"ab"`: "minLength", `"` + strings.Repeat("a", 33) + `"`: "maxLength", `"no spaces"`: "pattern", `7`: "type", ``: "required", `""`: "required",
	}},
	"004-2.3-1": {good: []string{`1024`, `65535`, `"8080"`}, bad: map[string]string{`1023`: "minimum", `65536`: "maximum", `8080.5`: "multipleOf", `true`: "type"}},
	"004-2.4-1": {good: []string{`true`, `false`, `"true"`, `"false"`, ``}, bad: map[string]string{`"maybe"`: "type", `1`: "type"}},
	"004-2.5-1": {good: []string{`"debug"`, `"critical"`}, bad: map[string]string{`"trace"`: "enum", `["debug"]`: "type"}},
	"004-2.5-2": {good: []string{`"us-east-1"`, `"ap-southeast-1"`}, bad: map[string]string{`"US West (Oregon)"`: "enum"}},
	// Nothing chosen is no answer, so the field is left out; minItems counts
	// where something is chosen.
	"004-2.6-1": {good: []string{`["tracing"]`, `["logging","metrics","tracing","profiling"]`, `[]`, ``}, bad: map[string]string{
		`["logging","logging"]`: "uniqueItems", `["sampling"]`: "enum", `7`: "type",
	}},
	"004-2.7-1": {good: []string{`"https://api.example.com/webhook"`}, bad: map[string]string{
		`"http://api.example.com/webhook"`: "allowedSchemes", `"https://192.168.1.1/webhook"`: "blockPrivateIPs", `"https://localhost/"`: "blockLocalhost", `"no address"`: "format", ``: "required",
	}},
	"004-2.8-1": {bad: map[string]string{``: "required", `"https://files.example/config.json"`: "type", `{"filename":"config.json","content_type":"application/json","size":2,"content":"{}"}`: "type"}},
	"004-2.9-1": {good: []string{`"2026-01-01"`, `"2026-12-31"`}, bad: map[string]string{`"2025-12-31"`: "minimum", `"2027-01-01"`: "maximum", `"31.12.2026"`: "format", `"2026-02-30"`: "format"}},
	"004-4.3-1": {with: `{"id":"use_smtp","type":"boolean","label":"Use SMTP"}`, bad: map[string]string{`25`: "hidden"}},
}

// F2, F3: each field of the specification is accepted as it is written there,
// keeps all that it says, and takes and refuses answers as it says.
func TestSeedFields(t *testing.T) {
	files, err := filepath.Glob("testdata/seed/004-[24].*.json")
	if err != nil || len(files) != len(seedFields) {
		t.Fatalf("%d examples of fields, and %d in the table: %v", len(files), len(seedFields), err)
	}
	for name, c := range seedFields {
		t.Run(name, func(t *testing.T) {
			raw := seed(t, name)
			fields := raw
			if c.with != "" {
				fields += "," + c.with
			}
			f := parse(t, oneField(fields))
			if got, want := indent(t, f.Definition().Fields[0]), raw; !kept(t, want, got) {
				t.Errorf("the field reads\n%s\nand is kept as\n%s", want, got)
			}
			id := f.Fields()[0].ID
			answer := func(value string) form.Errors {
				content := `{"` + id + `":` + value + `}`
				if value == "" {
					content = `{}`
				}
				_, errs := f.Decode([]byte(content), nil)
				return errs
			}
			for _, value := range c.good {
				if errs := answer(value); len(errs) > 0 {
					t.Errorf("%s is refused: %v", value, errs)
				}
			}
			for value, constraint := range c.bad {
				errs := answer(value)
				if got := constraints(errs); !slices.Contains(got, id+":"+constraint) {
					t.Errorf("%s is refused with %v, want %s", value, got, constraint)
				}
			}
		})
	}
}

// kept reports whether two definitions say the same. What the language assumes
// anyway need not be written: a false, an empty default, and that private
// addresses are blocked, which a form cannot change.
func kept(t *testing.T, want, got string) bool {
	t.Helper()
	var a, b any
	for raw, to := range map[string]*any{want: &a, got: &b} {
		if err := json.Unmarshal([]byte(raw), to); err != nil {
			t.Fatal(err)
		}
	}
	return indent(t, essence(a)) == indent(t, essence(b))
}

func essence(v any) any {
	switch v := v.(type) {
	case map[string]any:
		maps.DeleteFunc(v, func(key string, m any) bool {
			return m == false || m == "" && key == "default" || m == true && (key == "blockPrivateIPs" || key == "blockLocalhost")
		})
		for _, m := range v {
			essence(m)
		}
	case []any:
		for _, m := range v {
			essence(m)
		}
	}
	return v
}

// F16: the file field of the specification takes an upload within its limits.
func TestSeedFile(t *testing.T) {
	f := parse(t, oneField(seed(t, "004-2.8-1")))
	upload := func(name, kind string, size int64) []form.Upload {
		return []form.Upload{{Name: name, Type: kind, Size: size, URL: "https://files.example/x"}}
	}
	for constraint, files := range map[string][]form.Upload{
		"":                  upload("config.yaml", "text/yaml", 10<<20),
		"maxSize":           upload("config.json", "application/json", 10<<20+1),
		"allowedMimeTypes":  upload("config.json", "image/png", 1),
		"allowedExtensions": upload("config.toml", "application/json", 1),
	} {
		_, errs := f.Validate(form.Values{"config_file": files})
		if got := constraints(errs); constraint == "" && len(got) > 0 || constraint != "" && !slices.Contains(got, "config_file:"+constraint) {
			t.Errorf("%v is refused with %v, want %q", files, got, constraint)
		}
	}
}

// F1, F18: the form of the specification is accepted and kept, and its key is
// a secret because of its input type.
func TestSeedForm(t *testing.T) {
	raw := seed(t, "004-1.2-1")
	f := parse(t, raw)
	marked := strings.Replace(raw, `"label": "API Key",`, `"label": "API Key", "sensitive": true,`, 1) // what inputType means is written out
	if got := indent(t, f.Definition()); !kept(t, marked, got) {
		t.Errorf("the form is kept as\n%s", got)
	}
	if d := f.Definition(); d.Timeout.Initial.Milliseconds() != 300_000 {
		t.Errorf("the timeout is %v", d.Timeout.Initial)
	}
	for i, want := range []bool{true, false} {
		if got := f.Fields()[i]; got.Sensitive != want {
			t.Errorf("%s: sensitive is %v", got.ID, got.Sensitive)
		}
	}
	if _, errs := f.Decode([]byte(`{"api_key":"sk-`+strings.Repeat("a", 40)+`","region":"eu-west-1"}`), nil); len(errs) > 0 {
		t.Errorf("a good answer is refused: %v", errs)
	}
	// A default is what a person sees first. It does not answer a required field.
	if _, errs := f.Decode([]byte(`{"api_key":"sk-`+strings.Repeat("a", 40)+`"}`), nil); !slices.Equal(constraints(errs), []string{"region:required"}) {
		t.Errorf("without a region: %v", errs)
	}
	for value, constraint := range map[string]string{"sk-" + strings.Repeat("a", 17): "minLength", "sk-" + strings.Repeat("a", 62): "maxLength", strings.Repeat("a", 43): "pattern"} {
		_, errs := f.Decode([]byte(`{"api_key":"`+value+`"}`), nil)
		if !slices.Contains(constraints(errs), "api_key:"+constraint) {
			t.Errorf("%s is refused with %v", value, errs)
		}
	}
}

// F7: an error has the members and values of the specification's example; its
// sentence begins with the field's label.
func TestSeedError(t *testing.T) {
	f := parse(t, oneField(`{"id":"api_key","type":"text","label":"API key","validation":{"minLength":32}}`))
	_, errs := f.Decode([]byte(`{"api_key":"`+strings.Repeat("a", 20)+`"}`), nil)
	if len(errs) != 1 || !kept(t, seed(t, "004-3.3-1"), indent(t, errs[0])) {
		t.Errorf("got %s", indent(t, errs))
	}
}

// F4: every rendering and accessibility hint of sections 2, 4.2 and 4.4, each
// display style and each input type is accepted and kept.
func TestSeedHints(t *testing.T) {
	hints := []string{
		`"placeholder":"p"`, `"helpText":"h"`, `"readonly":true`, `"hidden":true`, `"autocomplete":"email"`,
		`"gridColumn":2`, `"gridRow":2`, `"breakAfter":true`, `"step":0.5`, `"rows":4`,
		`"validationTrigger":"on_change"`, `"validationTrigger":"on_blur"`, `"validationTrigger":"on_submit"`, `"debounceMs":200`,
		`"searchable":true`, `"testButton":true`, `"acceptAttribute":".json"`, `"dragAndDrop":true`, `"preview":true`, `"displayFormat":"YYYY-MM-DD"`, `"enableTime":true`,
	}
	for _, style := range strings.Fields("dropdown radio checkbox toggle segmented multiselect_dropdown chips slider text password email tel") {
		hints = append(hints, `"displayStyle":"`+style+`"`)
	}
	for _, kind := range strings.Fields("text password email tel url number date time datetime_local") {
		hints = append(hints, `"inputType":"`+kind+`"`)
	}
	parts := map[string][]string{
		"rendering":     hints,
		"accessibility": {`"ariaLabel":"l"`, `"ariaDescribedBy":"d"`, `"tabIndex":3`, `"required":true`, `"invalid":true`},
	}
	for part, members := range parts {
		for _, member := range members {
			f, err := form.Parse([]byte(oneField(`{"id":"a","type":"text","label":"A","` + part + `":{` + member + `}}`)))
			if err != nil {
				t.Errorf("%s: %v", member, err)
				continue
			}
			var got map[string]json.RawMessage
			if err := json.Unmarshal([]byte(indent(t, f.Definition().Fields[0])), &got); err != nil {
				t.Fatal(err)
			}
			if !kept(t, "{"+member+"}", string(got[part])) {
				t.Errorf("%s is kept as %s", member, got[part])
			}
		}
	}
}

// F5: the five actions of section 3.2.3, on the condition of its example. What
// a field may not have while the condition holds, or while it does not, is
// refused; what it need not have is not demanded.
func TestSeedActions(t *testing.T) {
	const with, without = `{"reason":"%","other_reason":"because"}`, `{"reason":"%"}`
	for action, want := range map[string]struct{ other, holiday [2]string }{ // with a value and without one
		"show":     {[2]string{"", "required"}, [2]string{"hidden", ""}},
		"hide":     {[2]string{"hidden", ""}, [2]string{"", "required"}},
		"enable":   {[2]string{"", "required"}, [2]string{"hidden", ""}},
		"disable":  {[2]string{"hidden", ""}, [2]string{"", "required"}},
		"validate": {[2]string{"", "required"}, [2]string{"", ""}},
	} {
		f := parse(t, `{"id":"f","title":"F","fields":[
			{"id":"reason","type":"select","label":"Reason","required":true,"options":["holiday","other"]},
			{"id":"other_reason","type":"text","label":"Which?","required":true}],
			"validation":{"dependencies":{"other_reason":{"condition":{"operator":"equals","field":"reason","value":"other"},"action":"`+action+`"}}}}`)
		for reason, wanted := range map[string][2]string{"other": want.other, "holiday": want.holiday} {
			for i, answer := range []string{with, without} {
				_, errs := f.Decode([]byte(strings.Replace(answer, "%", reason, 1)), nil)
				expected := []string{}
				if wanted[i] != "" {
					expected = append(expected, "other_reason:"+wanted[i])
				}
				if got := constraints(errs); !slices.Equal(got, expected) {
					t.Errorf("%s with reason %s, %s: %v, want %v", action, reason, answer, got, expected)
				}
			}
		}
	}
}
