package form_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/answerback/answerback/form"
	"github.com/answerback/answerback/form/formtest"
)

func addFiles(f *testing.F, glob string) {
	f.Helper()
	files, err := filepath.Glob("testdata/" + glob)
	if err != nil || len(files) == 0 {
		f.Fatal(files, err)
	}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
}

// Whatever is accepted as a definition can be written, read again as the same
// form, published as a schema, and answered.
func FuzzParse(f *testing.F) {
	addFiles(f, "*.form.json")
	f.Add([]byte(oneField(`{"id":"a","type":"number","label":"A","default":1e2,"validation":{"multipleOf":0.1}}`)))
	f.Fuzz(func(t *testing.T, raw []byte) {
		form1, err := form.Parse(raw)
		if err != nil {
			return
		}
		written, err := json.Marshal(form1.Definition())
		if err != nil {
			t.Fatal(err)
		}
		form2, err := form.Parse(written)
		if err != nil {
			t.Fatalf("%s\nbecomes %s: %v", raw, written, err)
		}
		if form1.Digest() != form2.Digest() {
			t.Fatalf("%s\nbecomes %s", raw, written)
		}
		oracle(t, form1)
		answerable(t, form1)
	})
}

// answerable checks that a made-up valid answer is taken.
func answerable(t *testing.T, f *form.Form) {
	t.Helper()
	v, err := formtest.Valid(f)
	if err != nil {
		return // constraints that nothing meets
	}
	if _, errs := f.Validate(v); len(errs) > 0 {
		t.Fatalf("%v: %v", v, errs)
	}
}

// Whatever becomes a form from a requestedSchema goes back, or says why not.
func FuzzFromRequested(f *testing.F) {
	addFiles(f, "*.requested.json")
	f.Fuzz(func(t *testing.T, raw []byte) {
		form.Sensitive(raw, "")
		strict := form.CheckRequested(raw)
		form1, err := form.FromRequested(raw, "message")
		if err != nil {
			if strict == nil {
				t.Fatalf("within the subset, but: %v", err)
			}
			return
		}
		answerable(t, form1)
		back, err := form1.Requested()
		if err != nil {
			return
		}
		if err := form.CheckRequested(back); err != nil {
			t.Fatalf("%s becomes %s: %v", raw, back, err)
		}
		form2, err := form.FromRequested(back, "message")
		if err != nil {
			t.Fatalf("%s becomes %s: %v", raw, back, err)
		}
		if again, err := form2.Requested(); err != nil || string(again) != string(back) {
			t.Fatalf("%s becomes %s (%v)", back, again, err)
		}
	})
}

// A condition means the same to the form and to its schema.
func FuzzCondition(f *testing.F) {
	for _, c := range []string{
		`{"operator":"equals","field":"b","value":"x"}`, `{"operator":"in","field":"n","values":[1,2.0]}`, `{"operator":"present","field":"m"}`,
		`{"operator":"not","condition":{"operator":"equals","field":"m","value":"x"}}`,
		`{"operator":"any","conditions":[{"operator":"equals","field":"t","value":true},{"operator":"all","conditions":[{"operator":"present","field":"n"}]}]}`,
	} {
		f.Add([]byte(c), []byte(`{"b":"x","n":1.0,"m":["x"],"t":true,"a":"x"}`))
		f.Add([]byte(c), []byte(`{"a":"x"}`))
	}
	f.Fuzz(func(t *testing.T, condition, raw []byte) {
		form1, err := form.Parse([]byte(`{"id":"f","title":"F","fields":[
			{"id":"a","type":"text","label":"A","required":true,"rendering":{"conditionalDisplay":` + string(condition) + `}},
			{"id":"b","type":"select","label":"B","options":["x","y"]},{"id":"n","type":"number","label":"N"},
			{"id":"m","type":"multi_select","label":"M","options":["x","y"]},{"id":"t","type":"boolean","label":"T"}]}`))
		if err != nil {
			return
		}
		values, errs := form1.Decode(raw, nil)
		if len(errs) > 0 {
			return
		}
		var instance any
		if err := json.Unmarshal(form1.Encode(values), &instance); err != nil {
			t.Fatal(err)
		}
		if err := oracle(t, form1).Validate(instance); err != nil {
			t.Fatalf("%s with %s: %v", condition, raw, err)
		}
		if rules := form1.Rules("a"); len(rules) == 1 {
			form1.Describe(&rules[0].Condition)
		}
	})
}

// A string means the same as a form post and in JSON, and what is accepted
// stays accepted.
func FuzzRead(f *testing.F) {
	for _, s := range []string{"8080", "yes", "2026-01-31", "https://example.com/", "x", " ", "1e5", "\r\n", "aa\r\r\n", "https://[::ffff:127.0.0.1]/"} {
		f.Add(s)
	}
	form1, err := form.Parse([]byte(`{"id":"f","title":"F","fields":[
		{"id":"text","type":"text","label":"A","validation":{"minLength":2,"maxLength":20,"pattern":"[a-z]"}},
		{"id":"number","type":"number","label":"A","validation":{"minimum":-5,"exclusiveMaximum":1e6,"multipleOf":0.5}},
		{"id":"boolean","type":"boolean","label":"A"},{"id":"select","type":"select","label":"A","options":["x","y"]},
		{"id":"url","type":"url","label":"A"},{"id":"date","type":"date","label":"A"},
		{"id":"time","type":"date","label":"A","validation":{"format":"date-time","minimum":"2026-01-01T00:00:00Z"}},
		{"id":"mail","type":"text","label":"A","validation":{"format":"email"}},{"id":"file","type":"file","label":"A"}]}`))
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, s string) {
		post, object := map[string][]string{}, map[string]string{}
		for _, field := range form1.Fields() {
			post[field.ID], object[field.ID] = []string{s}, s
		}
		read, errs := form1.Read(post, nil)
		if again, errs := form1.Validate(read); len(errs) > 0 || !reflect.DeepEqual(read, again) {
			t.Fatalf("%q is read as %v, which is %v, %v", s, read, again, errs)
		}
		raw, err := json.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		var back map[string]string
		if err := json.Unmarshal(raw, &back); err != nil || back["text"] != s {
			return // not UTF-8, so not to be had in JSON
		}
		decoded, more := form1.Decode(raw, nil)
		if !reflect.DeepEqual(read, decoded) || len(errs) != len(more) {
			t.Fatalf("%q is %v (%v) as a post and %v (%v) in JSON", s, read, errs, decoded, more)
		}
	})
}
