package form_test

import (
	"encoding/json"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/answerback/answerback/form"
)

func load(t *testing.T, name string) *form.Form {
	t.Helper()
	raw, err := os.ReadFile("testdata/" + name + ".form.json")
	if err != nil {
		t.Fatal(err)
	}
	return parse(t, string(raw))
}

// constraints are the violated constraints as field:constraint.
func constraints(errs form.Errors) []string {
	list := []string{}
	for _, e := range errs {
		list = append(list, e.Field+":"+e.Constraint)
	}
	return list
}

// F2, F7: every constraint of every type, each beside a value that it accepts.
func TestConstraints(t *testing.T) {
	upload := func(name, kind string, size int64) []form.Upload {
		return []form.Upload{{Name: name, Type: kind, Size: size, URL: "https://files.example/x"}}
	}
	for _, c := range []struct {
		field      string
		good, bad  any
		constraint string
		expected   any
		actual     any
		message    string
	}{
		{`"type": "text", "validation": {"minLength": 3}`, "äöü", "äö", "minLength", 3, 2, "A must be at least 3 characters"},
		{`"type": "text", "validation": {"maxLength": 1}`, "🙂", "ab", "maxLength", 1, 2, "A must be at most 1 character"},
		{`"type": "text", "validation": {"pattern": "^[a-z]+$"}`, "abc", "a1", "pattern", "^[a-z]+$", "a1", "A is not in the expected form"},
		{`"type": "text", "validation": {"format": "email"}`, "a@b.example", "a@b@c", "format", "email", "a@b@c", "A must be an e-mail address, such as name@example.com"},
		{`"type": "text"`, "5", json.Number("5"), "type", "string", "json.Number", "A must be text"},
		{`"type": "number", "validation": {"minimum": 1.5}`, 1.5, 1.4999, "minimum", json.Number("1.5"), json.Number("1.4999"), "A must be 1.5 or more"},
		{`"type": "number", "validation": {"maximum": 9007199254740993}`, json.Number("9007199254740993"), json.Number("9007199254740994"), "maximum", json.Number("9007199254740993"), json.Number("9007199254740994"), "A must be 9007199254740993 or less"},
		{`"type": "number", "validation": {"exclusiveMinimum": 0}`, json.Number("1e-300"), 0, "exclusiveMinimum", json.Number("0"), json.Number("0"), "A must be more than 0"},
		{`"type": "number", "validation": {"exclusiveMaximum": 0.1}`, json.Number("0.09999999999999999999"), json.Number("0.1"), "exclusiveMaximum", json.Number("0.1"), json.Number("0.1"), "A must be less than 0.1"},
		{`"type": "number", "validation": {"multipleOf": 0.01}`, json.Number("19.99"), json.Number("19.995"), "multipleOf", json.Number("0.01"), json.Number("19.995"), "A must be a multiple of 0.01"},
		{`"type": "number", "validation": {"multipleOf": 1}`, json.Number("2.0"), json.Number("2.5"), "multipleOf", json.Number("1"), json.Number("2.5"), "A must be a whole number"},
		{`"type": "number"`, int64(7), true, "type", "number", "bool", "A must be a number"},
		{`"type": "boolean"`, false, "maybe", "type", "boolean", "maybe", "A must be yes or no"},
		{`"type": "select", "options": ["x", "y"]`, "x", "z", "enum", []string{"x", "y"}, "z", "A must be one of the choices"},
		{`"type": "multi_select", "options": ["x", "y"]`, []any{"x"}, []string{"x", "z"}, "enum", []string{"x", "y"}, "z", "A must be one of the choices"},
		{`"type": "multi_select", "options": ["x", "y"]`, []string{}, []string{"x", "x"}, "uniqueItems", true, 2, "A must not have the same choice twice"},
		{`"type": "multi_select", "options": ["x", "y"], "validation": {"minItems": 2}`, []string{"y", "x"}, []string{"x"}, "minItems", 2, 1, "A must have at least 2 choices"},
		{`"type": "multi_select", "options": ["x", "y"], "validation": {"maxItems": 1}`, []string{"y"}, []string{"x", "y"}, "maxItems", 1, 2, "A must have at most 1 choice"},
		{`"type": "multi_select", "options": ["x", "y"]`, []string{"x"}, []any{"x", 1}, "type", "array", "array", "A must be a list of choices"},
		{`"type": "url"`, "https://example.com/", "http://example.com/", "allowedSchemes", []string{"https"}, "http", "A must begin with https://"},
		{`"type": "url", "validation": {"maxLength": 20}`, "https://example.com/", "https://example.com/1", "maxLength", 20, 21, "A must be at most 20 characters"},
		{`"type": "url"`, "https://1.1.1.1/", "https://192.168.1.1/", "blockPrivateIPs", "public IP", "192.168.1.1", "A must not point into a private or special network"},
		{`"type": "url"`, "https://example.com/", "https://localhost/", "blockLocalhost", "public host", "localhost", "A must not point to this machine"},
		{`"type": "url"`, "https://example.com/?q=a%20b", "example.com", "format", "uri", "example.com", "A must be a complete address, such as https://example.com/page"},
		{`"type": "file", "validation": {"maxSize": 1024}`, upload("a", "", 1024), upload("a", "", 1025), "maxSize", int64(1024), int64(1025), "A must be at most 1 KB large"},
		{`"type": "file"`, upload("a", "", 10<<20), upload("a", "", 10<<20+1), "maxSize", int64(10 << 20), int64(10<<20 + 1), "A must be at most 10 MB large"},
		{`"type": "file", "validation": {"allowedMimeTypes": ["image/*", "text/plain"]}`, upload("a", "Text/plain; charset=utf-8", 1), upload("a", "application/pdf", 1), "allowedMimeTypes", []string{"image/*", "text/plain"}, "application/pdf", "A must be a file of type image/* or text/plain"},
		{`"type": "file", "validation": {"allowedExtensions": [".png", ".tar.gz"]}`, upload("a.TAR.gz", "", 1), upload("a.png.exe", "", 1), "allowedExtensions", []string{".png", ".tar.gz"}, ".exe", "A must be a file whose name ends in .png or .tar.gz"},
		{`"type": "file"`, upload("a", "", 1), slices.Concat(upload("a", "", 1), upload("b", "", 1)), "maxItems", 1, 2, "A must have at most 1 file"},
		{`"type": "file", "validation": {"minItems": 2}`, slices.Concat(upload("a", "", 1), upload("b", "", 1)), upload("a", "", 1), "minItems", 2, 1, "A must have at least 2 files"},
		{`"type": "file"`, upload("a", "", 1), "https://files.example/x", "type", "file", "string", "A must be an uploaded file"},
		{`"type": "date"`, "2024-02-29", "2026-02-29", "format", "date", "2026-02-29", "A must be a date, such as 2026-01-31"},
		{`"type": "date", "validation": {"minimum": "2026-02-01"}`, "2026-02-01", "2026-01-31", "minimum", "2026-02-01", "2026-01-31", "A must be 2026-02-01 or later"},
		{`"type": "date", "validation": {"maximum": "2026-02-01"}`, "2026-02-01", "2026-02-02", "maximum", "2026-02-01", "2026-02-02", "A must be 2026-02-01 or earlier"},
		{`"type": "date", "validation": {"format": "date-time", "minimum": "2026-02-01T00:00:00Z"}`, "2026-02-01T01:00:00+01:00", "2026-02-01T00:59:59+01:00", "minimum", "2026-02-01T00:00:00Z", "2026-02-01T00:59:59+01:00", "A must be 2026-02-01T00:00:00Z or later"},
		{`"type": "date", "validation": {"format": "date-time"}`, "2026-02-01T00:00:00.5Z", "2026-02-01", "format", "date-time", "2026-02-01", "A must be a date and time, such as 2026-01-31T14:30:00Z"},
	} {
		f := parse(t, oneField(`{"id": "a", "label": "A", "required": false, `+c.field+`}`))
		if _, errs := f.Validate(form.Values{"a": c.good}); len(errs) > 0 {
			t.Errorf("%s refuses %v: %v", c.field, c.good, errs)
		}
		values, errs := f.Validate(form.Values{"a": c.bad})
		want := form.Error{Field: "a", Code: -32007, Message: c.message, Constraint: c.constraint, Expected: c.expected, Actual: c.actual}
		if len(errs) != 1 || len(values) != 0 {
			t.Errorf("%s: %v gives %v and %v", c.field, c.bad, errs, values)
			continue
		}
		if errs[0].Path[0] != "a" {
			t.Errorf("%s: path %v", c.field, errs[0].Path)
		}
		if errs[0].Path = nil; !reflect.DeepEqual(errs[0], want) {
			t.Errorf("%s: %v gives\n%#v, want\n%#v", c.field, c.bad, errs[0], want)
		}
	}
}

// F7: every error at once, in the order of the fields, in seed 004's shape;
// what was typed into a sensitive field is in none of them.
func TestErrorsGolden(t *testing.T) {
	f := load(t, "api_key")
	const secret = "sk-hunter2"
	_, errs := f.Validate(form.Values{"zzz": "x", "region": "mars", "api_key": secret})
	g := load(t, "types")
	_, more := g.Validate(form.Values{
		"start_date": "2027-01-01", "config_file": []form.Upload{{Name: "a.exe", Type: "application/x-dosexec", Size: 20 << 20}},
		"webhook_url": "http://192.168.1.1/webhook", "features": []string{"logging", "magic"}, "log_level": 3, "enable_ssl": "perhaps",
		"port": json.Number("80.5"), "username": "a!",
	})
	got := indent(t, map[string]form.Errors{"api_key": errs, "types": more}) + "\n"
	if strings.Contains(got, "hunter2") {
		t.Error("a secret is repeated")
	}
	golden(t, "errors.golden.json", []byte(got))
}

// F7, F18: not even the length of a secret is told.
func TestNothingOfASecretIsTold(t *testing.T) {
	f := parse(t, oneField(`{"id": "a", "type": "text", "label": "A", "sensitive": true, "validation": {"minLength": 5, "pattern": "^x", "format": "email"}}`))
	plain := parse(t, oneField(`{"id": "a", "type": "text", "label": "A", "validation": {"minLength": 5, "pattern": "^x", "format": "email"}}`))
	for _, v := range []any{"abc", 5, "abcdef\xff"} {
		_, errs := f.Validate(form.Values{"a": v})
		_, told := plain.Validate(form.Values{"a": v})
		if len(errs) == 0 || len(errs) != len(told) {
			t.Errorf("%v: %v", v, errs)
		}
		for i := range errs {
			if errs[i].Actual != nil || told[i].Actual == nil {
				t.Errorf("%v: actual is %v; of a plain field %v", v, errs[i].Actual, told[i].Actual)
			}
		}
	}
	values := form.Values{"a": "xsecret@b.example"}
	if red := f.Redacted(values); len(red) != 0 {
		t.Errorf("redacted to %v", red)
	}
	if red := plain.Redacted(values); len(red) != 1 {
		t.Errorf("redacted to %v", red)
	}
}

// F3: absent, cleared and given are three things.
func TestDefaults(t *testing.T) {
	f := parse(t, `{"id": "f", "title": "F", "fields": [
		{"id": "opt", "type": "text", "label": "Opt", "default": "d"},
		{"id": "none", "type": "text", "label": "None"},
		{"id": "req", "type": "text", "label": "Req", "required": true, "default": "d"},
		{"id": "list", "type": "multi_select", "label": "List", "options": ["a", "b"], "default": ["a"]}]}`)
	values, errs := f.Decode([]byte(`{}`), nil)
	if !reflect.DeepEqual(values, form.Values{"opt": "d", "list": []string{"a"}}) || !slices.Equal(constraints(errs), []string{"req:required"}) {
		t.Errorf("absent: %v, %v", values, errs)
	}
	values, errs = f.Decode([]byte(`{"opt": "", "none": "", "req": "", "list": []}`), nil)
	if !reflect.DeepEqual(values, form.Values{"list": []string{}}) || !slices.Equal(constraints(errs), []string{"req:required"}) {
		t.Errorf("cleared: %v, %v", values, errs)
	}
	values, errs = f.Decode([]byte(`{"opt": null, "req": "x"}`), nil)
	if !slices.Equal(constraints(errs), []string{"opt:type"}) || values["req"] != "x" {
		t.Errorf("null: %v, %v", values, errs)
	}
	if got := string(f.Encode(form.Values{"list": []string{"b"}, "opt": "\"x\n", "else": 1})); got != `{"opt":"\"x\n","list":["b"]}` {
		t.Error(got)
	}
}

// F4: readonly and hidden fields have their default and nothing else.
func TestBoundFields(t *testing.T) {
	f := parse(t, `{"id": "f", "title": "F", "fields": [
		{"id": "ro", "type": "number", "label": "Ro", "required": true, "default": 1.0, "rendering": {"readonly": true}},
		{"id": "hid", "type": "multi_select", "label": "Hid", "options": ["a", "b"], "default": ["a"], "rendering": {"hidden": true}},
		{"id": "nil", "type": "text", "label": "Nil", "rendering": {"readonly": true}}]}`)
	want := form.Values{"ro": json.Number("1.0"), "hid": []string{"a"}}
	values, errs := f.Read(map[string][]string{"ro": {""}}, nil)
	if len(errs) > 0 || !reflect.DeepEqual(values, want) {
		t.Errorf("left alone: %v, %v", values, errs)
	}
	if _, errs = f.Read(map[string][]string{"ro": {"1"}, "hid": {"a"}}, nil); len(errs) > 0 {
		t.Error(errs)
	}
	_, errs = f.Read(map[string][]string{"ro": {"2"}, "hid": {"b"}, "nil": {"x"}}, nil)
	if !slices.Equal(constraints(errs), []string{"ro:readonly", "hid:readonly", "nil:readonly"}) {
		t.Error(errs)
	}
}

// F1: with allow_partial a missing required field is no error, a wrong one is.
func TestAllowPartial(t *testing.T) {
	fields := `"fields": [{"id": "a", "type": "number", "label": "A", "required": true}, {"id": "b", "type": "text", "label": "B", "required": true}]`
	partial := parse(t, `{"id": "f", "title": "F", "allow_partial": true, `+fields+`}`)
	whole := parse(t, `{"id": "f", "title": "F", `+fields+`}`)
	if _, errs := partial.Decode([]byte(`{"b": "x"}`), nil); len(errs) > 0 {
		t.Error(errs)
	}
	if _, errs := whole.Decode([]byte(`{"b": "x"}`), nil); !slices.Equal(constraints(errs), []string{"a:required"}) {
		t.Error(errs)
	}
	if _, errs := partial.Decode([]byte(`{"a": "x"}`), nil); !slices.Equal(constraints(errs), []string{"a:type"}) {
		t.Error(errs)
	}
}

// F5: hidden and disabled fields are neither required nor accepted; validate
// holds a field to its constraints only under its condition.
func TestConditions(t *testing.T) {
	f := load(t, "conditions")
	for _, c := range []struct {
		answer string
		want   []string
	}{
		{`{"reason": "holiday", "days": 1}`, nil},
		{`{"reason": "holiday", "days": 1, "cover": "x"}`, nil},
		{`{"reason": "holiday", "days": 1.0, "cover": 5}`, []string{"cover:type"}},
		{`{"reason": "holiday", "days": 2, "cover": "x"}`, []string{"cover:minLength"}},
		{`{"reason": "holiday", "days": 2}`, []string{"cover:required"}},
		{`{"reason": "holiday", "days": 1, "other_reason": "x"}`, []string{"other_reason:hidden"}},
		{`{"reason": "holiday", "days": 1, "other_reason": ""}`, nil},
		{`{"reason": "other", "days": 1}`, []string{"other_reason:required"}},
		{`{"reason": "other", "days": 1, "other_reason": "x"}`, nil},
		{`{"reason": "other", "days": 1, "other_reason": "x", "notify": ["team"]}`, []string{"notify:hidden"}},
		{`{"reason": "other", "days": 1, "other_reason": "x", "notify": []}`, nil},
		{`{"reason": "holiday", "days": 1, "notify": ["team"], "message": "x"}`, []string{"message:hidden"}},
		{`{"reason": "holiday", "days": 1, "notify": ["team", "clients"], "message": "x"}`, nil},
		{`{"days": "no"}`, []string{"reason:required", "days:type", "cover:required"}},
	} {
		_, errs := f.Decode([]byte(c.answer), nil)
		if got := constraints(errs); !slices.Equal(got, c.want) && len(got)+len(c.want) > 0 {
			t.Errorf("%s: %v, want %v", c.answer, got, c.want)
		}
	}
}

func TestStatesAndDescriptions(t *testing.T) {
	f := load(t, "conditions")
	states := func(values map[string][]string) map[string]form.State {
		out := map[string]form.State{}
		for i, s := range f.States(values, nil) {
			out[f.Fields()[i].ID] = s
		}
		return out
	}
	empty := states(nil)
	if empty["other_reason"].Shown || empty["notify"].Enabled || !empty["reason"].Required || empty["other_reason"].Required {
		t.Errorf("empty: %+v", empty)
	}
	full := states(map[string][]string{"reason": {"holiday"}, "days": {" 0.50 "}, "notify": {"clients"}})
	if !full["message"].Shown || !full["notify"].Enabled || full["cover"].Checked || full["cover"].Required {
		t.Errorf("filled in: %+v", full)
	}
	for id, want := range map[string]string{
		"other_reason": "show: Reason is Something else",
		"cover":        "validate: Days is not 0.5 or 1",
		"notify":       "enable: Days is filled in and Reason is Holiday",
		"message":      "show: Tell includes clients",
	} {
		rules := f.Rules(id)
		if len(rules) != 1 {
			t.Fatal(id, rules)
		}
		if got := string(rules[0].Action) + ": " + f.Describe(&rules[0].Condition); got != want {
			t.Errorf("%s: %s, want %s", id, got, want)
		}
	}
	if f.Rules("nothing") != nil || f.Rules("reason") != nil {
		t.Error("rules where there are none")
	}
	c := form.Condition{Operator: form.Any, Conditions: []form.Condition{
		{Operator: form.Not, Conditions: []form.Condition{{Operator: form.All, Conditions: []form.Condition{
			{Operator: form.Present, Field: "days"}, {Operator: form.Equals, Field: "gone", Values: []any{true}}}}}},
		{Operator: form.Not, Conditions: []form.Condition{{Operator: form.Present, Field: "days"}}},
		{Operator: form.Equals, Field: "gone", Values: []any{false}},
	}}
	if got, want := f.Describe(&c), "it is not so that (Days is filled in and gone is Yes) or Days is not filled in or gone is No"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// F5: custom validators see what is acceptable and speak in field order.
func TestCustomValidators(t *testing.T) {
	c := form.Compiler{Validators: map[string]form.Validator{
		"ordered": func(v form.Values) []form.Fault {
			from, _ := v["from"].(string)
			to, _ := v["to"].(string)
			if from != "" && to != "" && from > to {
				return []form.Fault{{Field: "from", Message: "From must not be after To", Expected: to}, {Message: "The dates do not fit"}}
			}
			return nil
		},
	}}
	f, err := c.Parse([]byte(`{"id": "f", "title": "F", "fields": [
		{"id": "from", "type": "date", "label": "From"}, {"id": "to", "type": "date", "label": "To"}, {"id": "n", "type": "number", "label": "N"}],
		"validation": {"custom_validators": ["ordered"]}}`))
	if err != nil {
		t.Fatal(err)
	}
	if _, errs := f.Decode([]byte(`{"from": "2026-01-01", "to": "2026-01-02"}`), nil); len(errs) > 0 {
		t.Error(errs)
	}
	_, errs := f.Decode([]byte(`{"from": "2026-01-03", "to": "2026-01-02", "n": "x"}`), nil)
	if got := constraints(errs); !slices.Equal(got, []string{"from:custom", "n:type", ":custom"}) {
		t.Error(got)
	}
	if len(errs) == 3 && (errs[0].Message != "From must not be after To" || errs[0].Path[0] != "from" || len(errs[2].Path) != 0) {
		t.Error(errs)
	}
	if errs.For("n").Error() != "N must be a number" {
		t.Error(errs.For("n"))
	}
}

func TestUnknownFields(t *testing.T) {
	f := parse(t, oneField(`{"id": "a", "type": "text", "label": "A"}`))
	values := map[string][]string{}
	for _, c := range "abcdefghijklmnopqrstuvwxyz" {
		values[string(c)] = []string{"x"}
	}
	_, errs := f.Read(values, map[string][]form.Upload{"file": nil, "b": nil})
	if len(errs) != 20 || errs[0].Field != "b" || errs[0].Constraint != "additionalProperties" {
		t.Errorf("%d errors: %v", len(errs), errs)
	}
	if _, errs = f.Decode([]byte(`[]`), nil); len(errs) != 1 || errs[0].Message != "The answer is an array, want an object" {
		t.Error(errs)
	}
	if _, errs = f.Decode([]byte(`{"a": "x", "a": "y"}`), nil); len(errs) != 1 {
		t.Error(errs)
	}
	if _, errs = f.Decode(make([]byte, form.MaxAnswer+1), nil); len(errs) != 1 {
		t.Error(errs)
	}
}

// A page that shows every field sends what is left in those not asked.
func TestPrune(t *testing.T) {
	f := load(t, "conditions")
	post := map[string][]string{"reason": {"holiday"}, "other_reason": {"left over"}, "days": {"1"}, "notify": {"team"}, "message": {"left over"}, "cover": {""}}
	if _, errs := f.Read(post, nil); !slices.Equal(constraints(errs), []string{"other_reason:hidden", "message:hidden"}) {
		t.Error(errs)
	}
	pruned := f.Prune(post, nil)
	if values, errs := f.Read(pruned, nil); len(errs) > 0 || len(values) != 3 {
		t.Error(values, errs)
	}
	if len(post) != 6 || len(pruned) != 4 {
		t.Error(post, pruned)
	}
}

// One file is judged by itself while it comes in, before the rest of the
// answer is there.
func TestOneFileIsCheckedByItself(t *testing.T) {
	f, err := (&form.Compiler{MaxSize: 500}).Parse([]byte(`{"id":"f","title":"F","fields":[
		{"id":"cv","type":"file","label":"CV","required":true,"validation":{"minItems":2,"maxSize":100,"allowedMimeTypes":["image/*"],"allowedExtensions":[".png"]}},
		{"id":"any","type":"file","label":"Any","validation":{"maxSize":1000}},
		{"id":"name","type":"text","label":"Name"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		id   string
		file form.Upload
		want []string
	}{
		{"cv", form.Upload{Name: "a.PNG", Type: "image/png", Size: 100}, nil},
		{"cv", form.Upload{Name: "a.png.gif", Type: "text/html; charset=utf-8", Size: 101}, []string{"maxSize", "allowedMimeTypes", "allowedExtensions"}},
		{"any", form.Upload{Name: "a", Size: 500}, nil},
		{"any", form.Upload{Name: "a", Size: 501}, []string{"maxSize"}},
		{"name", form.Upload{Name: "a"}, []string{form.ConstraintUnknown}},
		{"none", form.Upload{Name: "a"}, []string{form.ConstraintUnknown}},
	} {
		var got []string
		for _, e := range f.CheckUpload(c.id, c.file) {
			got = append(got, e.Constraint)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s %+v: %v, want %v", c.id, c.file, got, c.want)
		}
	}
	for id, want := range map[string]int64{"cv": 100, "any": 500, "name": 0, "none": 0} {
		if got := f.Largest(id); got != want {
			t.Errorf("%s takes %d bytes, want %d", id, got, want)
		}
	}
	if cv, _ := f.Field("cv"); !cv.TakesType("image/gif") || cv.TakesType("text/html") {
		t.Error("the wrong types are taken")
	}
}
