package form_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/answerback/answerback/form"
)

// F8: a string means the same from a page, a terminal and JSON.
func TestStringsMeanTheSameEverywhere(t *testing.T) {
	const wrong = "(not accepted)"
	for _, c := range []struct {
		field string
		text  string
		want  any // nil: no value
	}{
		{`"type": "text"`, " a b ", " a b "},
		{`"type": "text"`, "a\r\nb\nc", "a\nb\nc"},
		{`"type": "text"`, "", nil},
		{`"type": "number"`, "8080", json.Number("8080")},
		{`"type": "number"`, " -007.50 ", json.Number("-7.50")},
		{`"type": "number"`, ".5", json.Number("0.5")},
		{`"type": "number"`, "+5", json.Number("5")},
		{`"type": "number"`, "1e3", json.Number("1e3")},
		{`"type": "number"`, "1E+03", json.Number("1E+03")},
		{`"type": "number"`, "-0", json.Number("-0")},
		{`"type": "number"`, "12345678901234567890", json.Number("12345678901234567890")},
		{`"type": "number"`, "  ", nil},
		{`"type": "number"`, "1,5", wrong},
		{`"type": "number"`, "1.", wrong},
		{`"type": "number"`, "1e", wrong},
		{`"type": "number"`, "1e+-3", wrong},
		{`"type": "number"`, "--1", wrong},
		{`"type": "number"`, "0x10", wrong},
		{`"type": "number"`, "Infinity", wrong},
		{`"type": "number"`, "NaN", wrong},
		{`"type": "number"`, "1e999", wrong},
		{`"type": "number"`, "1e-99999999", wrong},
		{`"type": "number"`, "١٢", wrong},
		{`"type": "number"`, strings.Repeat("9", 200), wrong},
		{`"type": "boolean"`, "true", true},
		{`"type": "boolean"`, " Yes ", true},
		{`"type": "boolean"`, "on", true},
		{`"type": "boolean"`, "false", false},
		{`"type": "boolean"`, "NO", false},
		{`"type": "boolean"`, "off", false},
		{`"type": "boolean"`, "1", wrong},
		{`"type": "boolean"`, "", nil},
		{`"type": "date"`, " 2026-01-31 ", "2026-01-31"},
		{`"type": "date"`, "31.01.2026", wrong},
		{`"type": "date"`, "", nil},
		{`"type": "date", "validation": {"format": "date-time"}`, "2026-01-31T14:30", "2026-01-31T14:30:00Z"},
		{`"type": "date", "validation": {"format": "date-time"}`, "2026-01-31T14:30:05", "2026-01-31T14:30:05Z"},
		{`"type": "date", "validation": {"format": "date-time"}`, "2026-01-31T14:30:05+02:00", "2026-01-31T14:30:05+02:00"},
		{`"type": "date", "validation": {"format": "date-time"}`, "2026-01-31T1:30:05Z", wrong},
		{`"type": "select", "options": ["a"]`, "a", "a"},
		{`"type": "select", "options": ["a"]`, "", nil},
		{`"type": "select", "options": ["a", {"value": "", "title": "None"}]`, "", ""},
		{`"type": "select", "options": ["a"]`, " a", wrong},
		{`"type": "url"`, " HTTPS://example.com/A ", "https://example.com/A"},
		{`"type": "url"`, "", nil},
		{`"type": "file"`, "x", wrong},
	} {
		f := parse(t, oneField(`{"id": "a", "label": "A", `+c.field+`}`))
		want := form.Values{}
		if c.want != nil && c.want != wrong {
			want["a"] = c.want
		}
		raw, err := json.Marshal(map[string]string{"a": c.text})
		if err != nil {
			t.Fatal(err)
		}
		read, errs := f.Read(map[string][]string{"a": {c.text}}, nil)
		decoded, errs2 := f.Decode(raw, nil)
		typed, errs3 := f.Validate(form.Values{"a": c.text})
		for from, got := range map[string]form.Values{"strings": read, "JSON": decoded, "values": typed} {
			if !reflect.DeepEqual(got, want) {
				t.Errorf("%s: %q from %s is %v, want %v", c.field, c.text, from, got, want)
			}
		}
		for _, e := range []form.Errors{errs, errs2, errs3} {
			if (len(e) > 0) != (c.want == wrong) {
				t.Errorf("%s: %q: %v", c.field, c.text, e)
			}
		}
	}
}

func TestReadFromPages(t *testing.T) {
	f := parse(t, `{"id": "f", "title": "F", "fields": [
		{"id": "box", "type": "boolean", "label": "Box"},
		{"id": "list", "type": "multi_select", "label": "List", "options": ["a", "b"]},
		{"id": "some", "type": "multi_select", "label": "Some", "options": ["a", "b"], "validation": {"minItems": 1}},
		{"id": "text", "type": "text", "label": "Text"},
		{"id": "file", "type": "file", "label": "File", "validation": {"maxItems": 2}}]}`)
	upload := []form.Upload{{Name: "a.txt", Type: "text/plain", Size: 1, URL: "https://files.example/1"}}
	values, errs := f.Read(map[string][]string{
		"box": {"false", "true"}, "list": {"", "a", "b"}, "some": {""}, "text": {}, "file": {""},
	}, map[string][]form.Upload{"file": upload})
	want := form.Values{"box": true, "list": []string{"a", "b"}, "file": upload}
	if len(errs) > 0 || !reflect.DeepEqual(values, want) {
		t.Errorf("%v, %v", values, errs)
	}
	if got := string(f.Encode(values)); got != `{"box":true,"list":["a","b"],"file":["https://files.example/1"]}` {
		t.Error(got)
	}
	if got := values.Strings("file"); !reflect.DeepEqual(got, []string{"a.txt"}) {
		t.Error(got)
	}
	_, errs = f.Read(map[string][]string{"text": {"a", "b"}, "box": {"\xff"}, "file": {"s3://bucket/key"}}, map[string][]form.Upload{"file": upload, "text": upload})
	if got := strings.Join(constraints(errs), " "); got != "box:type text:type file:type" {
		t.Error(got)
	}
	values, errs = f.Read(map[string][]string{"list": {""}}, nil)
	if len(errs) > 0 || !reflect.DeepEqual(values, form.Values{"list": []string{}}) {
		t.Errorf("%v, %v", values, errs)
	}
}

// F16: a file that an answer only refers to is refused.
func TestFileReferencesAreRefused(t *testing.T) {
	f := parse(t, oneField(`{"id": "a", "type": "file", "label": "A"}`))
	for _, raw := range []string{
		`{"a": "https://files.example/1"}`, `{"a": {"type": "local", "location": "/etc/passwd"}}`, `{"a": ["x"]}`,
		`{"a": {"filename": "a", "content_type": "b", "size": 1, "content": "x"}}`,
	} {
		if _, errs := f.Decode([]byte(raw), nil); len(errs) != 1 || errs[0].Constraint != "type" {
			t.Errorf("%s: %v", raw, errs)
		}
	}
	upload := map[string][]form.Upload{"a": {{Name: "a", URL: "https://files.example/1"}}}
	values, errs := f.Decode([]byte(`{}`), upload)
	if len(errs) > 0 || string(f.Encode(values)) != `{"a":"https://files.example/1"}` {
		t.Error(values, errs)
	}
}

func TestNumbersCompareExactly(t *testing.T) {
	for _, c := range []struct {
		bound, value string
		over         bool
	}{
		{"0.1", "0.10000000000000000001", true},
		{"0.1", "0.1000", false},
		{"9007199254740992", "9007199254740993", true},
		{"100000000000000000000", "100000000000000000001", true},
		{"1e20", "100000000000000000000", false},
		{"-5", "-4.999999999999999999999", true},
	} {
		f := parse(t, oneField(`{"id": "a", "type": "number", "label": "A", "validation": {"maximum": `+c.bound+`}}`))
		_, errs := f.Decode([]byte(`{"a": `+c.value+`}`), nil)
		if (len(errs) > 0) != c.over {
			t.Errorf("%s over %s: %v", c.value, c.bound, errs)
		}
	}
}
