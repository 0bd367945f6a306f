package catalog

import (
	"encoding/json"
	"strings"
	"testing"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/answerback/answerback/ask"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// view makes a view of a result whose items have these names and nothing else.
func view(t rapid.TB, backend string, l List, names ...string) *View {
	t.Helper()
	v, err := NewView(backend, l, page(l, names...))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// page is a raw result with items of these names.
func page(l List, names ...string) []byte {
	items := make([]string, len(names))
	for i, name := range names {
		token, _ := json.Marshal(name)
		items[i] = `{"` + l.key() + `":` + string(token) + `}`
	}
	return []byte(`{"` + l.Member() + `":[` + strings.Join(items, ",") + `]}`)
}

func wantCode(t *testing.T, err error, want ask.Code) {
	t.Helper()
	if got := ask.CodeOf(err); got != want {
		t.Fatalf("error %v has the code %q, want %q", err, got, want)
	}
}

func TestListsAreSpelledAsMCPSpellsThem(t *testing.T) {
	for _, tt := range []struct {
		list                    List
		method, member, changed string
	}{
		{Tools, "tools/list", "tools", "notifications/tools/list_changed"},
		{Prompts, "prompts/list", "prompts", "notifications/prompts/list_changed"},
		{Resources, "resources/list", "resources", "notifications/resources/list_changed"},
		{Templates, "resources/templates/list", "resourceTemplates", "notifications/resources/list_changed"},
	} {
		if tt.list.Method() != tt.method || tt.list.Member() != tt.member || tt.list.Changed() != tt.changed || tt.list.String() != tt.member {
			t.Errorf("%v: %q %q %q", tt.list, tt.list.Method(), tt.list.Member(), tt.list.Changed())
		}
		if got := ByMethod(tt.method); got != tt.list {
			t.Errorf("ByMethod(%q) = %v", tt.method, got)
		}
		want := tt.list
		if want == Templates {
			want = Resources
		}
		if got := ByChanged(tt.changed); got != want {
			t.Errorf("ByChanged(%q) = %v", tt.changed, got)
		}
	}
	for _, method := range []string{"", "tools/call", "Tools/list"} {
		if ByMethod(method) != 0 || ByChanged(method) != 0 {
			t.Errorf("%q is taken for a list", method)
		}
	}
	for _, l := range []List{0, 5, 255} {
		if l.Method() != "" || l.String() != "none" {
			t.Errorf("List(%d) has a name", uint8(l))
		}
	}
}

func TestValidBackend(t *testing.T) {
	for name, want := range map[string]bool{
		"a": true, "git-hub2": true, "-": true, strings.Repeat("a", 24): true,
		"": false, strings.Repeat("a", 25): false, "A": false, "a_b": false, "a.b": false, "é": false, "a b": false,
	} {
		if ValidBackend(name) != want {
			t.Errorf("ValidBackend(%q) = %v", name, !want)
		}
	}
}

func TestSplitUndoesJoin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		backend := rapid.StringMatching(`[a-z0-9-]{1,24}`).Draw(t, "backend")
		name := rapid.OneOf(rapid.StringMatching(`_{0,4}[a-z_]{1,6}`), rapid.StringN(1, 20, -1)).Draw(t, "name")
		gotBackend, gotName, ok := Split(Join(backend, name))
		if !ok || gotBackend != backend || gotName != name {
			t.Fatalf("Split(Join(%q, %q)) = %q, %q, %v", backend, name, gotBackend, gotName, ok)
		}
	})
}

func TestSplitRefusesWhatJoinCannotMake(t *testing.T) {
	for _, name := range []string{"", "echo", "__echo", "a__", "A__echo", "a_b__echo", strings.Repeat("a", 25) + "__echo", "a b__c"} {
		if backend, rest, ok := Split(name); ok || backend != "" || rest != "" {
			t.Errorf("Split(%q) = %q, %q, %v", name, backend, rest, ok)
		}
	}
}

func TestFilter(t *testing.T) {
	for _, tt := range []struct {
		allow, deny string
		name        string
		want        bool
	}{
		{"", "", "anything", true},
		{"read_*", "", "read_file", true},
		{"read_*", "", "read_", true},
		{"read_*", "", "write_file", false},
		{"read_*", "", "xread_file", false},
		{"read_* stat", "", "stat", true},
		{"read_* stat", "", "stats", false},
		{"", "delete*", "delete", false},
		{"", "delete*", "delete/all", false},
		{"", "*/admin/*", "a/b/admin/c/d", false},
		{"", "delete*", "undelete", true},
		{"*", "*", "x", false},
		{"read_*", "*_secret", "read_secret", false},
		{"read_*", "*_secret", "read_secrets", true},
		{"a?c", "", "abc", true},
		{"a?c", "", "aéc", true},
		{"a?c", "", "ac", false},
		{"a?c", "", "abbc", false},
		{"*a*b*", "", "xxaxxbxx", true},
		{"*a*b*", "", "xxbxxaxx", false},
		{"*ab", "", "aab", true},
		{"*ab*ab", "", "abab", true},
		{"*ab*ab", "", "abb", false},
		{"**", "", "x", true},
		{"é*", "", "éa", true},
		{"é*", "", "\xc3a", false},
		{"\uFFFD", "", "\xff", false},
		{"Read*", "", "read", false},
		{"?", "", "", false},
		{"*", "", "", true},
	} {
		f, err := NewFilter(strings.Fields(tt.allow), strings.Fields(tt.deny))
		if err != nil {
			t.Fatal(err)
		}
		if f.Allows(tt.name) != tt.want {
			t.Errorf("allow %q, deny %q: Allows(%q) = %v", tt.allow, tt.deny, tt.name, !tt.want)
		}
	}
}

func TestFilterRefusesBadPatterns(t *testing.T) {
	for _, pattern := range []string{"", "[a-z]", `a\*`, "{a,b}", "!a", "\xff"} {
		if _, err := NewFilter([]string{"ok", pattern}, nil); err == nil {
			t.Errorf("%q is taken as an allowed pattern", pattern)
		}
		if _, err := NewFilter(nil, []string{pattern}); err == nil {
			t.Errorf("%q is taken as a denied pattern", pattern)
		}
	}
}

func TestFilterKeepsItsOwnPatterns(t *testing.T) {
	deny := []string{"secret"}
	f, err := NewFilter(nil, deny)
	if err != nil {
		t.Fatal(err)
	}
	deny[0] = "other"
	if f.Allows("secret") {
		t.Fatal("the caller's slice changes the filter")
	}
}
