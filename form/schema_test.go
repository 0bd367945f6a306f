package form_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/answerback/answerback/form"
)

// F6: what a form is published as.
func TestSchemasGolden(t *testing.T) {
	for _, name := range []string{"api_key", "types", "conditions", "everything"} {
		f := load(t, name)
		oracle(t, f) // it is a schema
		var pretty bytes.Buffer
		if err := json.Indent(&pretty, f.Schema(), "", "  "); err != nil {
			t.Fatal(err)
		}
		pretty.WriteByte('\n')
		golden(t, name+".schema.golden.json", pretty.Bytes())
	}
}

// What a format accepts, a validator that knows it accepts as well.
func TestFormatsAreAtLeastAsStrictAsStandardOnes(t *testing.T) {
	for format, c := range map[string]struct{ good, bad []string }{
		"email": {
			[]string{"a@b.example", "first.last+tag@sub.example.com", "o'neil@example.com"},
			[]string{"a", "@b.example", "a@", "a@b@c.example", "A <a@b.example>", "a b@c.example", "a@b..example", "a@-b.example", strings.Repeat("a", 65) + "@b.example", "a@[127.0.0.1]"},
		},
		"uri": {
			[]string{"https://example.com/a?b#c", "urn:isbn:0451450523", "mailto:a@b.example", "http://localhost:8080"},
			[]string{"example.com", "/path", "http://exa mple.com/", `https://a\b`, "https://ä.example/", "https://", "https:", "://x", "https://a/{x}", "https://example.com/%zz"},
		},
		"uuid":      {[]string{"123e4567-e89b-12d3-a456-426614174000", "123E4567-E89B-12D3-A456-426614174000"}, []string{"", "123e4567e89b12d3a456426614174000", "123e4567-e89b-12d3-a456-42661417400g", "123e4567-e89b-12d3-a456_426614174000"}},
		"date":      {[]string{"2026-01-31", "2024-02-29", "0001-01-01"}, []string{"2026-1-31", "2026-02-29", "2026-13-01", "2026-00-01", "2026-01-00", "2026/01/01", "20260101", "2026-01-32", "2026-04-31", "２026-01-01"}},
		"date-time": {[]string{"2026-01-31T14:30:00Z", "2026-01-31T14:30:00.123+02:00", "2026-01-31T14:30:00-23:59"}, []string{"2026-01-31", "2026-01-31T14:30Z", "2026-01-31 14:30:00Z", "2026-01-31T24:00:00Z", "2026-01-31T1:30:00Z", "2026-01-31T14:30:00", "2026-01-31T14:30:00,5Z", "2026-01-31T14:30:00+24:00", "2026-02-30T14:30:00Z"}},
		"time":      {[]string{"14:30:00Z", "14:30:00.5+02:00"}, []string{"14:30", "14:30:00", "25:00:00Z", "1:30:00Z"}},
		"hostname":  {[]string{"example.com", "localhost", "a-b.c1"}, []string{"", "-a.example", "a-.example", "a..b", "a_b", "ä.example", strings.Repeat("a", 64), strings.Repeat("a.", 127) + "a"}},
		"ipv4":      {[]string{"192.0.2.1"}, []string{"192.0.2", "192.0.2.256", "192.0.02.1", "::1", "::ffff:1.2.3.4"}},
		"ipv6":      {[]string{"2001:db8::1", "::ffff:1.2.3.4"}, []string{"192.0.2.1", "fe80::1%eth0", ":::", "2001:db8::g"}},
	} {
		compiler := jsonschema.NewCompiler()
		compiler.AssertFormat()
		if err := compiler.AddResource("f.json", map[string]any{"format": format}); err != nil {
			t.Fatal(err)
		}
		standard := compiler.MustCompile("f.json")
		for _, s := range c.good {
			if !form.HasFormat(format, s) {
				t.Errorf("%q is no %s", s, format)
			}
			if err := standard.Validate(s); err != nil {
				t.Errorf("%q is no standard %s: %v", s, format, err)
			}
		}
		for _, s := range c.bad {
			if form.HasFormat(format, s) {
				t.Errorf("%q is a %s", s, format)
			}
		}
	}
	if form.HasFormat("unheard", "x") {
		t.Error("an unknown format is accepted")
	}
}

// F6: a definition that comes again is not compiled again, and the cache stays
// within its size.
func TestCache(t *testing.T) {
	c := form.NewCache(nil, 2)
	get := func(id string) *form.Form {
		t.Helper()
		f, err := c.Parse([]byte(`{"id": "` + id + `", "title": "T", "fields": []}`))
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	a, b := get("a"), get("b")
	if get("a") != a || get("b") != b || get("a") != a {
		t.Error("compiled again")
	}
	get("c") // b was used least recently
	if c.Len() != 2 || get("a") != a {
		t.Error("the wrong one was dropped")
	}
	if get("b") == b {
		t.Error("nothing was dropped")
	}
	if _, err := c.Parse([]byte(`{}`)); err == nil || c.Len() != 2 {
		t.Error("an invalid definition is kept")
	}
	raw := []byte(`{"type": "object", "properties": {}}`)
	x, err := c.FromRequested(raw, "one")
	if err != nil {
		t.Fatal(err)
	}
	if y, err := c.FromRequested(raw, "two"); err != nil || x == y {
		t.Error("two messages share a form", err)
	}
}

func TestCacheConcurrently(t *testing.T) {
	c := form.NewCache(&form.Compiler{}, 0)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for range 50 {
				f, err := c.Parse([]byte(`{"id": "` + string(rune('a'+i%3)) + `", "title": "T", "fields": []}`))
				if err != nil || f.Definition().ID != string(rune('a'+i%3)) {
					t.Error(f, err)
				}
			}
		})
	}
	wg.Wait()
	if c.Len() != 1 {
		t.Errorf("%d forms are kept", c.Len())
	}
}

func TestFieldForRenderers(t *testing.T) {
	f := load(t, "types")
	by := func(id string) *form.Field {
		field, ok := f.Field(id)
		if !ok {
			t.Fatal(id)
		}
		return field
	}
	if got := by("port").DefaultStrings(); len(got) != 1 || got[0] != "8080" {
		t.Error(got)
	}
	if got := by("features").DefaultStrings(); strings.Join(got, ",") != "logging,metrics" || !by("features").Multiple() {
		t.Error(got)
	}
	if by("username").DefaultStrings() != nil || by("config_file").Multiple() || by("start_date").WithTime() {
		t.Error("wrong for username, config_file or start_date")
	}
	if by("region").OptionText("us-west-2") != "US West (Oregon)" || by("region").OptionText("x") != "x" || by("log_level").Options[0].Text() != "debug" {
		t.Error("wrong text of an option")
	}
	if by("config_file").Accept() != ".json,.yaml,.yml" {
		t.Error(by("config_file").Accept())
	}
	plain := form.Field{Description: "d", Constraints: form.Constraints{Extensions: []string{".a"}, MimeTypes: []string{"b/c"}}}
	if plain.Accept() != ".a,b/c" || plain.Help() != "d" {
		t.Error(plain.Accept(), plain.Help())
	}
	if plain.Hints.HelpText = "h"; plain.Help() != "d\nh" {
		t.Error(plain.Help())
	}
	if _, ok := f.Field("nothing"); ok {
		t.Error("found a field that is not there")
	}
	raw, err := json.Marshal(by("enable_ssl"))
	if err != nil || !strings.HasPrefix(string(raw), `{"id":"enable_ssl","type":"boolean","label":"Enable SSL/TLS","default":true,`) {
		t.Errorf("%s %v", raw, err)
	}
	c := load(t, "conditions").Rules("other_reason")[0].Condition
	if raw, err := json.Marshal(&c); err != nil || string(raw) != `{"operator":"equals","field":"reason","value":"other"}` {
		t.Errorf("%s %v", raw, err)
	}
}
