package era_test

import (
	"bytes"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/answerback/answerback/internal/era"
	"github.com/answerback/answerback/internal/wire"
)

// E1, S1: what a client can be asked is what it declared, no more.
func TestReadCaps(t *testing.T) {
	const everything = `{"elicitation":{"form":{},"url":{}},"sampling":{"tools":{},"context":{}},"roots":{"listChanged":true}}`
	old := era.Caps{Sampling: true, Roots: true}
	for _, tc := range []struct {
		version, raw string
		want         era.Caps
	}{
		{"2026-07-28", everything, era.Caps{true, true, true, true, true, true}},
		{"2025-11-25", everything, era.Caps{true, true, true, true, true, true}},
		{"2025-06-18", everything, era.Caps{Form: true, Sampling: true, Roots: true}},
		{"2025-03-26", everything, old},
		{"2024-11-05", everything, old},
		{"v999.0.0", everything, era.Caps{}},
		{"", everything, era.Caps{}},
		{era.Latest, `{"elicitation":{}}`, era.Caps{Form: true}},
		{era.Latest, `{"elicitation":{"vendor":{}}}`, era.Caps{Form: true}},
		{era.Latest, `{"elicitation":{"form":{"applyDefaults":true}}}`, era.Caps{Form: true}},
		{era.Latest, `{"elicitation":{"url":{}}}`, era.Caps{URL: true}},
		{era.Latest, `{"elicitation":{"url":null}}`, era.Caps{Form: true}},
		{era.Latest, `{"elicitation":{"form":null,"url":{}}}`, era.Caps{URL: true}},
		{"2025-06-18", `{"elicitation":{"url":{}}}`, era.Caps{Form: true}},
		{era.Latest, `{"elicitation":null,"sampling":true,"roots":[]}`, era.Caps{}},
		{era.Latest, `{"Elicitation":{},"tools":{}}`, era.Caps{}},
		{era.Latest, `{"sampling":{"tools":null}}`, era.Caps{Sampling: true}},
		{era.Latest, `{}`, era.Caps{}},
		{era.Latest, `[]`, era.Caps{}},
		{era.Latest, `{"roots":`, era.Caps{}},
		{era.Latest, ``, era.Caps{}},
	} {
		if got := era.ReadCaps([]byte(tc.raw), tc.version); got != tc.want {
			t.Errorf("%s %s: %+v, want %+v", tc.version, tc.raw, got, tc.want)
		}
	}
}

func TestAny(t *testing.T) {
	for _, c := range []era.Caps{{Form: true}, {URL: true}, {Sampling: true}, {Roots: true}} {
		if !c.Any() {
			t.Errorf("%+v can be asked nothing", c)
		}
	}
	if (era.Caps{SamplingTools: true, SamplingContext: true}).Any() {
		t.Error("parts of sampling without sampling can be asked")
	}
}

func TestWithout(t *testing.T) {
	for _, tc := range []struct{ in, want string }{
		{`{"elicitation":{},"tools":{}}`, `{"tools":{}}`},
		{`{"tools":{},"elicitation":{}}`, `{"tools":{}}`},
		{`{ "a" : 1 , "roots" : {} , "sampling":{}, "b" : 1.0 }`, `{ "a" : 1, "b" : 1.0 }`},
		{`{ "roots":{},"sampling":{},"elicitation":{"form":{}} }`, `{  }`},
		{`{"a":{"roots":{}}}`, `{"a":{"roots":{}}}`},
		{`{"roots":{},"a":1,"roots":{}}`, `{"a":1}`},
		{`{"Roots":{},"\u0072oots":{},"SAMPLING":{},"ſampling":{},"a":1}`, `{"a":1}`},
		{`{}`, `{}`},
		{` null `, ` null `},
		{`[1]`, `[1]`},
		{`{"roots":`, `{"roots":`},
		{``, ``},
	} {
		in := []byte(tc.in)
		if got := era.WithoutAsks(in); string(got) != tc.want {
			t.Errorf("%s became %s, want %s", tc.in, got, tc.want)
		}
		if string(in) != tc.in {
			t.Errorf("%s was modified to %s", tc.in, in)
		}
	}
	if got := era.Without([]byte(`{"a":1,"roots":{}}`), "a"); string(got) != `{"roots":{}}` {
		t.Errorf("%s", got)
	}
}

// Whatever the object: what remains is valid, has none of the members, and
// has all the others as they were written.
func TestWithoutKeepsEverythingElse(t *testing.T) {
	member := rapid.SampledFrom([]string{
		`"roots":{}`, `"sampling": {"tools":{}}`, `"elicitation" :{}`, `"rOOts":1`,
		`"x":"y"`, ` "tools" : {"roots":{}} `, "\n\"n\":1e0",
	})
	rapid.Check(t, func(t *rapid.T) {
		members := rapid.SliceOfN(member, 0, 8).Draw(t, "members")
		got := era.WithoutAsks([]byte("{" + strings.Join(members, ",") + "}"))
		obj, err := wire.Value(got)
		if err != nil {
			t.Fatalf("%s: %v", got, err)
		}
		var kept []string
		for _, m := range members {
			if strings.ContainsAny(m[:3], "xtn\n") {
				kept = append(kept, strings.TrimSpace(m))
			}
		}
		i := 0
		for m := range wire.Members(got, obj) {
			whole := string(got[m.Key.Start:m.Value.End])
			if i >= len(kept) || whole != kept[i] {
				t.Fatalf("%v became %s", members, got)
			}
			i++
		}
		if i != len(kept) {
			t.Fatalf("%v became %s", members, got)
		}
	})
}

func TestWithoutTakesLinearTimeForRepeatedMembers(t *testing.T) {
	in := []byte("{" + strings.Repeat(`"roots":{},`, 200_000) + `"a":1}`)
	if got := era.WithoutAsks(in); !bytes.Equal(got, []byte(`{"a":1}`)) {
		t.Errorf("%d bytes remain", len(got))
	}
}

func TestCapsKey(t *testing.T) {
	a := era.CapsKey([]byte(`{"roots":{},"sampling":{"n":10}}`))
	if b := era.CapsKey([]byte(` { "sampling":{"\u006e":1e1}, "roots" : {} }`)); a != b {
		t.Error("the same capabilities, written otherwise, have another key")
	}
	seen := map[string]string{}
	for _, raw := range []string{`{"roots":{},"sampling":{"n":10}}`, `{"roots":{}}`, `{}`, `null`, ``, `{`, `{"a":1,"a":1}`, `{"a":1}`, `{"roots":[]}`} {
		key := era.CapsKey([]byte(raw))
		if other, there := seen[key]; there {
			t.Errorf("%q and %q have the same key", raw, other)
		}
		seen[key] = raw
	}
}

// What a backend is told beside what a client declared stands beside it.
func TestWithModes(t *testing.T) {
	for _, tc := range []struct {
		in        string
		form, url bool
		want      string
	}{
		{`{}`, true, true, `{"elicitation":{"form":{},"url":{}}}`},
		{`{"roots":{"x":1.10}}`, true, false, `{"elicitation":{"form":{}},"roots":{"x":1.10}}`},
		{`{"elicitation":{"url":{}}}`, true, false, `{"elicitation":{"form":{},"url":{}}}`},
		{`{"elicitation":{"form":null,"url":{"a":1}}}`, true, true, `{"elicitation":{"form":{},"url":{"a":1}}}`},
		{`{"elicitation":null}`, true, false, `{"elicitation":{"form":{}}}`},
		{`{"elicitation":{"form":{"a":1}}}`, false, false, `{"elicitation":{"form":{"a":1}}}`},
		{`[]`, true, true, `[]`},
		{``, true, true, ``},
	} {
		if got := string(era.WithModes([]byte(tc.in), tc.form, tc.url)); got != tc.want {
			t.Errorf("%s with form %t and url %t became %s, want %s", tc.in, tc.form, tc.url, got, tc.want)
		}
	}
}
