package catalog

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/answerback/answerback/ask"
)

// read takes a page apart into raw items and its cursor.
func read(t rapid.TB, l List, result []byte) (items []string, next string) {
	t.Helper()
	var members map[string]json.RawMessage
	if err := json.Unmarshal(result, &members); err != nil {
		t.Fatalf("%s: %v", result, err)
	}
	var raw []json.RawMessage
	if err := json.Unmarshal(members[l.Member()], &raw); err != nil {
		t.Fatalf("%s: %v", result, err)
	}
	for _, item := range raw {
		items = append(items, string(item))
	}
	if token, ok := members["nextCursor"]; ok {
		if err := json.Unmarshal(token, &next); err != nil || next == "" {
			t.Fatalf("cursor %s: %v", token, err)
		}
	}
	return items, next
}

// follow collects all pages from a cursor on.
func follow(t rapid.TB, l List, parts []Part, opt PageOptions) (items []string) {
	t.Helper()
	for range 10_000 {
		result, _, err := Page(l, parts, opt)
		if err != nil {
			t.Fatal(err)
		}
		some, next := read(t, l, result)
		if opt.Size > 0 && len(some) > opt.Size {
			t.Fatalf("%d items on a page of %d", len(some), opt.Size)
		}
		items = append(items, some...)
		if next == "" {
			return items
		}
		opt.Cursor = next
	}
	t.Fatal("the pages do not end")
	return nil
}

func TestPagePrefixesNamesAndNothingElse(t *testing.T) {
	a, err := NewView("a", Tools, []byte(`{"tools":[{ "x":"name", "name" : "e\u0063ho" , "n":1e400}]}`))
	if err != nil {
		t.Fatal(err)
	}
	parts := []Part{{Backend: "a", View: a}, {Backend: "dead"}, {Backend: "b", View: view(t, "b", Tools, "echo")}}
	got, hidden, err := Page(Tools, parts, PageOptions{Prefix: true})
	if err != nil || hidden != nil {
		t.Fatal(hidden, err)
	}
	if want := `{"tools":[{ "x":"name", "name" : "a__e\u0063ho" , "n":1e400},{"name":"b__echo"}]}`; string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestPageWithoutPrefixHidesLaterOnes(t *testing.T) {
	parts := []Part{
		{Backend: "a", View: view(t, "a", Prompts, "x", "y")},
		{Backend: "b", View: view(t, "b", Prompts, "y", "z")},
		{Backend: "c", View: view(t, "c", Prompts, "z", "y")},
	}
	got, hidden, err := Page(Prompts, parts, PageOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"prompts":[{"name":"x"},{"name":"y"},{"name":"z"}]}`; string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if want := []Hidden{{"b", "y", "a"}, {"c", "z", "b"}, {"c", "y", "a"}}; !slices.Equal(hidden, want) {
		t.Errorf("hidden %v, want %v", hidden, want)
	}
}

func TestPageNeverTouchesURIs(t *testing.T) {
	for _, l := range []List{Resources, Templates} {
		parts := []Part{
			{Backend: "a", View: view(t, "a", l, "x://1")},
			{Backend: "b", View: view(t, "b", l, "x://1", "x://2")},
		}
		got, hidden, err := Page(l, parts, PageOptions{Prefix: true})
		if err != nil {
			t.Fatal(err)
		}
		if want := string(page(l, "x://1", "x://2")); string(got) != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
		if want := []Hidden{{"b", "x://1", "a"}}; !slices.Equal(hidden, want) {
			t.Errorf("hidden %v, want %v", hidden, want)
		}
	}
}

func TestPageFiltersToolsOnly(t *testing.T) {
	f, err := NewFilter(nil, []string{"bad*"})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		list List
		want []string
	}{{Tools, []string{"good", "bad2"}}, {Prompts, []string{"bad1", "good", "bad2"}}, {Resources, []string{"bad1", "good", "bad2"}}} {
		parts := []Part{
			{Backend: "a", View: view(t, "a", tt.list, "bad1", "good"), Filter: f},
			{Backend: "b", View: view(t, "b", tt.list, "bad2")},
		}
		got, hidden, err := Page(tt.list, parts, PageOptions{})
		if err != nil || hidden != nil {
			t.Fatal(hidden, err)
		}
		if want := page(tt.list, tt.want...); string(got) != string(want) {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	// What is not offered hides nothing.
	parts := []Part{
		{Backend: "a", View: view(t, "a", Tools, "bad"), Filter: f},
		{Backend: "b", View: view(t, "b", Tools, "bad")},
	}
	if got, hidden, _ := Page(Tools, parts, PageOptions{}); string(got) != `{"tools":[{"name":"bad"}]}` || hidden != nil {
		t.Errorf("%s, hidden %v", got, hidden)
	}
}

func TestPageOfNothing(t *testing.T) {
	got, hidden, err := Page(Tools, nil, PageOptions{})
	if string(got) != `{"tools":[]}` || hidden != nil || err != nil {
		t.Fatalf("%s %v %v", got, hidden, err)
	}
}

func TestPageIsBoundedByBytes(t *testing.T) {
	big := func(name string, size int) string {
		return `{"name":"` + name + `","d":"` + strings.Repeat("x", size) + `"}`
	}
	items := []string{big("a", maxPageBytes/3), big("b", maxPageBytes/3), big("c", maxPageBytes/3), big("d", maxPageBytes+1), big("e", 1)}
	v, err := NewView("a", Tools, []byte(`{"tools":[`+strings.Join(items, ",")+`]}`))
	if err != nil {
		t.Fatal(err)
	}
	var opt PageOptions
	for i, want := range [][]string{items[:2], items[2:3], items[3:4], items[4:]} {
		result, _, err := Page(Tools, []Part{{Backend: "a", View: v}}, opt)
		if err != nil {
			t.Fatal(err)
		}
		rest, ok := strings.CutPrefix(string(result), `{"tools":[`+strings.Join(want, ",")+`]`)
		if !ok {
			t.Fatalf("page %d of %d bytes has other items", i, len(result))
		}
		opt.Cursor = strings.TrimSuffix(strings.TrimPrefix(rest, `,"nextCursor":"`), `"}`)
	}
	if opt.Cursor != "}" {
		t.Fatalf("there is more: %q", opt.Cursor)
	}
}

func TestDefaultPageSize(t *testing.T) {
	names := make([]string, DefaultPageSize+1)
	for i := range names {
		names[i] = fmt.Sprint("t", i)
	}
	result, _, err := Page(Tools, []Part{{Backend: "a", View: view(t, "a", Tools, names...)}}, PageOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if items, next := read(t, Tools, result); len(items) != DefaultPageSize || next == "" {
		t.Fatalf("%d items, cursor %q", len(items), next)
	}
}

func TestBadCursorsAreRefused(t *testing.T) {
	tools := []Part{{Backend: "a", View: view(t, "a", Tools, "x", "y", "z")}}
	prompts := []Part{{Backend: "a", View: view(t, "a", Prompts, "x", "y", "z")}}
	result, _, err := Page(Prompts, prompts, PageOptions{Size: 1})
	if err != nil {
		t.Fatal(err)
	}
	_, foreign := read(t, Prompts, result)
	for _, cursor := range []string{"x", "1", strings.Repeat("A", 43), strings.Repeat("!", 43), strings.Repeat("A", 10_000), foreign} {
		_, _, err := Page(Tools, tools, PageOptions{Cursor: cursor})
		wantCode(t, err, ask.UnknownName)
	}
}

func TestACursorTellsNothingOfWhatIsFilteredOut(t *testing.T) {
	all := []Part{{Backend: "a", View: view(t, "a", Tools, "secret1", "secret2", "open")}}
	result, _, err := Page(Tools, all, PageOptions{Size: 1})
	if err != nil {
		t.Fatal(err)
	}
	_, cursor := read(t, Tools, result)
	all[0].Filter, _ = NewFilter(nil, []string{"secret*"})
	_, _, err = Page(Tools, all, PageOptions{Cursor: cursor})
	wantCode(t, err, ask.UnknownName)
}

func TestACursorOutlivesOneOfItsTwoItems(t *testing.T) {
	for _, tt := range []struct {
		name, now string
		want      string // "" for a refusal
	}{
		{"nothing changed", "abcd", "cd"},
		{"last gone", "acd", "cd"},
		{"next gone", "abd", "d"},
		{"added between", "abxcd", "xcd"},
		{"added before", "xabcd", "cd"},
		{"last gone, added before", "xyacd", "cd"},
		{"all the rest gone", "ab", "nothing"},
		{"both gone", "ad", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			parts := func(names string) []Part {
				return []Part{{Backend: "a", View: view(t, "a", Tools, strings.Split(names, "")...)}}
			}
			result, _, err := Page(Tools, parts("abcd"), PageOptions{Size: 2})
			if err != nil {
				t.Fatal(err)
			}
			_, cursor := read(t, Tools, result)
			result, _, err = Page(Tools, parts(tt.now), PageOptions{Cursor: cursor})
			if tt.want == "" {
				wantCode(t, err, ask.UnknownName)
				return
			}
			var want []string
			if tt.want != "nothing" {
				want = strings.Split(tt.want, "")
			}
			if string(result) != string(page(Tools, want...)) || err != nil {
				t.Errorf("%s, %v", result, err)
			}
		})
	}
}

// model is a joined list as drawn: what each backend has, item by item.
type model struct {
	list     List
	backends []string
	names    [][]string
}

func drawModel(t *rapid.T) model {
	m := model{list: rapid.SampledFrom([]List{Tools, Prompts, Resources, Templates}).Draw(t, "list")}
	m.backends = rapid.SliceOfNDistinct(rapid.StringMatching(`[a-z0-9-]{1,5}`), 0, 4, rapid.ID).Draw(t, "backends")
	for range m.backends {
		names := rapid.SliceOfNDistinct(rapid.OneOf(rapid.StringMatching(`[a-f_]{1,2}`), rapid.StringN(1, 5, -1)), 0, 12, rapid.ID)
		m.names = append(m.names, names.Draw(t, "names"))
	}
	return m
}

// parts makes the model real; items carry who has them and odd spacing.
func (m model) parts(t rapid.TB) []Part {
	var parts []Part
	for i, backend := range m.backends {
		var items []string
		for _, name := range m.names[i] {
			items = append(items, m.item(backend, name, ""))
		}
		v, err := NewView(backend, m.list, []byte(`{"`+m.list.Member()+`":[`+strings.Join(items, " , ")+`]}`))
		if err != nil {
			t.Fatal(err)
		}
		parts = append(parts, Part{Backend: backend, View: v})
	}
	return parts
}

func (m model) item(backend, name, prefix string) string {
	token, _ := json.Marshal(prefix + name)
	return fmt.Sprintf(`{ "by":%q, %q : %s,"n":1.0e2 }`, backend, m.list.key(), token)
}

// visible is what all pages together must be.
func (m model) visible(prefix bool) (items []string) {
	seen := make(map[string]bool)
	prefix = prefix && m.list.named()
	for i, backend := range m.backends {
		for _, name := range m.names[i] {
			switch {
			case prefix:
				items = append(items, m.item(backend, name, backend+"__"))
			case !seen[name]:
				seen[name] = true
				items = append(items, m.item(backend, name, ""))
			}
		}
	}
	return items
}

func TestPagesTogetherAreTheList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := drawModel(t)
		opt := PageOptions{Prefix: rapid.Bool().Draw(t, "prefix"), Size: rapid.IntRange(1, 8).Draw(t, "size")}
		got := follow(t, m.list, m.parts(t), opt)
		if want := m.visible(opt.Prefix); !slices.Equal(got, want) {
			t.Fatalf("got  %q\nwant %q", got, want)
		}
	})
}

func TestACursorFromBeforeAChangeNeverRepeats(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := drawModel(t)
		opt := PageOptions{Prefix: true, Size: rapid.IntRange(1, 8).Draw(t, "size")}
		if !m.list.named() {
			m.list = Tools
		}
		result, _, err := Page(m.list, m.parts(t), opt)
		if err != nil {
			t.Fatal(err)
		}
		before, next := read(t, m.list, result)
		if next == "" {
			return
		}
		// Items come and go; those that stay keep their order.
		for i := range m.names {
			names := slices.DeleteFunc(slices.Clone(m.names[i]), func(string) bool {
				return rapid.IntRange(0, 3).Draw(t, "goes") == 0
			})
			for j := range rapid.IntRange(0, 3).Draw(t, "come") {
				at := rapid.IntRange(0, len(names)).Draw(t, "at")
				names = slices.Insert(names, at, fmt.Sprint("new name ", j))
			}
			m.names[i] = names
		}
		opt.Cursor = next
		result, _, err = Page(m.list, m.parts(t), opt)
		if err != nil {
			if ask.CodeOf(err) != ask.UnknownName {
				t.Fatal(err)
			}
			return
		}
		after, next := read(t, m.list, result)
		if next != "" {
			opt.Cursor = next
			after = append(after, follow(t, m.list, m.parts(t), opt)...)
		}
		all := slices.Concat(before, after)
		slices.Sort(all)
		if len(slices.Compact(slices.Clone(all))) != len(all) {
			t.Fatalf("an item came twice: %q", all)
		}
	})
}

func TestNoCursorPanics(t *testing.T) {
	parts := []Part{{Backend: "a", View: view(t, "a", Tools, "x")}}
	rapid.Check(t, func(t *rapid.T) {
		cursor := rapid.OneOf(rapid.String(), rapid.StringMatching(`[A-Za-z0-9_-]{43}`)).Draw(t, "cursor")
		if _, _, err := Page(Tools, parts, PageOptions{Cursor: cursor}); cursor != "" && ask.CodeOf(err) != ask.UnknownName {
			t.Fatalf("%q: %v", cursor, err)
		}
	})
}
