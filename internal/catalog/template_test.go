package catalog

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestTemplatesMatch(t *testing.T) {
	for _, tt := range []struct {
		template string
		yes, no  []string // separated so that both sides of every rule are held
	}{
		{"docs://readme", []string{"docs://readme"}, []string{"docs://readme2", "docs://read", "docs://README", ""}},
		{"db://{table}/rows", []string{"db://users/rows", "db://a%2Fb/rows"}, []string{"db:///rows", "db://a/b/rows", "db://users/rows/1", "db://users"}},
		{"db://{table}", []string{"db://users", "db://{table}"}, []string{"db://", "db:///", "db:///a", "db://a/b"}},
		{"x://{a}-{b}", []string{"x://1-2", "x://1-2-3"}, []string{"x://1", "x://-2", "x://1-", "x://1/2-3"}},
		{"x://{a,b}", []string{"x://1,2", "x://1"}, []string{"x://1/2"}},
		{"file:///{+path}", []string{"file:///a", "file:///a/b/c.txt"}, []string{"file:///", "file://a"}},
		{"{+any}", []string{"anything://at/all"}, []string{""}},
		{"x://{+a}/end/{b}", []string{"x://1/2/end/3", "x://1/end/2/end/3"}, []string{"x://1/end/2/3", "x://end/3"}},
		{"x://h{/a}", []string{"x://h/1", "x://h", "x://h/"}, []string{"x://h/1/2", "x://h1"}},
		{"x://h{/a*}", []string{"x://h/1/2/3", "x://h"}, []string{"x://h1/2"}},
		{"x://h{/a,b}", []string{"x://h/1/2", "x://h/1"}, []string{"x://h1"}},
		{"x://h{/a}/z", []string{"x://h/1/z", "x://h/z", "x://h//z"}, []string{"x://h/1/2/z"}},
		{"x://f{.ext}", []string{"x://f.txt", "x://f", "x://f.tar.gz"}, []string{"x://ftxt", "x://f.a/b"}},
		{"x://s{?q,page}", []string{"x://s", "x://s?q=1&page=2", "x://s?q=a/b"}, []string{"x://s&q=1", "x://sq"}},
		{"x://s?fixed=1{&q}", []string{"x://s?fixed=1", "x://s?fixed=1&q=2"}, []string{"x://s?fixed=12", "x://s"}},
		{"x://s{;v}", []string{"x://s;v=1", "x://s"}, []string{"x://sv"}},
		{"x://s{#frag}", []string{"x://s#a/b", "x://s"}, []string{"x://sa"}},
		{"x://{id:3}", []string{"x://abc"}, []string{"x://a/b"}},
		{"x://{a}{b}", []string{"x://12"}, []string{"x://1"}},
		{"x://é/{a}", []string{"x://é/ü"}, []string{"x://e/ü"}},

		{"x://{", nil, []string{"x://{", "x://a"}},
		{"x://}", nil, []string{"x://}", "x://a"}},
		{"x://{}", nil, []string{"x://{}", "x://a"}},
		{"x://{+}", nil, []string{"x://{+}", "x://a"}},
		{"x://{{a}}", nil, []string{"x://a", "x://{a}"}},
		{"x://{=a}", nil, []string{"x://a"}},
		{"x://{|a}", nil, []string{"x://a"}},
		{"{a}" + strings.Repeat("a", maxTemplate), nil, []string{"x" + strings.Repeat("a", maxTemplate)}},
		{strings.Repeat("{a}", maxExpressions), []string{strings.Repeat("x", maxExpressions)}, []string{strings.Repeat("x", maxExpressions-1)}},
		{strings.Repeat("{a}", maxExpressions+1), nil, []string{strings.Repeat("x", maxExpressions+1)}},
		{"x://{+a}", []string{"x://" + strings.Repeat("a", maxURI-4)}, []string{"x://" + strings.Repeat("a", maxURI-3)}},
	} {
		v := view(t, "srv", Templates, tt.template)
		for _, uri := range tt.yes {
			if !v.Match(uri) {
				t.Errorf("%q does not match %q", tt.template, uri)
			}
		}
		for _, uri := range tt.no {
			if v.Match(uri) {
				t.Errorf("%q matches %q", tt.template, uri)
			}
		}
	}
}

func TestOneTemplateOfManyMatches(t *testing.T) {
	v := view(t, "srv", Templates, "a://{x}", "b://{", "c://{x}/{y}")
	for uri, want := range map[string]bool{"a://1": true, "b://1": false, "c://1/2": true, "c://1": false, "d://1": false} {
		if v.Match(uri) != want {
			t.Errorf("Match(%q) = %v", uri, !want)
		}
	}
}

// What a template makes of any values is matched by it.
func TestTemplatesMatchWhatTheyMake(t *testing.T) {
	value := rapid.StringMatching(`[a-z0-9.~%-]{1,5}`)
	rapid.Check(t, func(t *rapid.T) {
		var template, uri strings.Builder
		for range rapid.IntRange(1, 8).Draw(t, "pieces") {
			v, w := value.Draw(t, "v"), value.Draw(t, "w")
			piece := rapid.SampledFrom([][2]string{
				{"x://", "x://"}, {"/", "/"}, {"{v}", v}, {"{v,w}", v + "," + w}, {"{+v}", v + "/" + w},
				{"{/v}", "/" + v}, {"{/v*}", "/" + v + "/" + w}, {"{/v}", ""}, {"{.v}", "." + v}, {"{.v}", ""},
				{"{?v,w}", "?v=" + v + "&w=" + w}, {"{?v}", ""}, {"{&v}", "&v=" + v}, {"{;v}", ";v=" + v}, {"{#v}", "#" + v},
			}).Draw(t, "piece")
			template.WriteString(piece[0])
			uri.WriteString(piece[1])
		}
		if !view(t, "srv", Templates, template.String()).Match(uri.String()) {
			t.Fatalf("%q does not match %q", &template, &uri)
		}
	})
}

func TestNoTemplatePanics(t *testing.T) {
	alphabet := rapid.StringOfN(rapid.SampledFrom([]rune("{}+./#?;&*,=ab:é")), 0, 20, -1)
	rapid.Check(t, func(t *rapid.T) {
		template := parseTemplate(alphabet.Draw(t, "template"))
		uri := alphabet.Draw(t, "uri")
		var m matcher
		first := m.matches(&template, uri)
		m.matches(&template, alphabet.Draw(t, "other"))
		if m.matches(&template, uri) != first {
			t.Fatal("a matcher that was used before answers differently")
		}
	})
}

// worst is the worst that a backend and a client can do together: a matcher
// that tries one way after the other would not end.
func worst() (template, string) {
	return parseTemplate(strings.Repeat("{+a}a", maxExpressions-1) + "{b}cb"), strings.Repeat("a", maxURI-1) + "b"
}

func TestTheWorstTemplateEnds(t *testing.T) {
	template, uri := worst()
	if len(template.steps) == 0 || len(uri) > maxURI {
		t.Fatal("it is not even tried")
	}
	var m matcher
	if m.matches(&template, uri) {
		t.Fatal("there is no c")
	}
}

func BenchmarkWorstTemplate(b *testing.B) {
	template, uri := worst()
	var m matcher
	for b.Loop() {
		m.matches(&template, uri)
	}
}
