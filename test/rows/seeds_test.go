package main

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// document has every kind of place, and things that look like one.
const document = `no place: text above the first heading
- no place

# Title — with ‚úÖ icons

- first

## 1. **Bold** and ` + "`code`" + `

1. one
   - nested
   ` + "```python" + `
   - no place, in code
` + "```" + `

` + "```yaml" + `
# no heading, in code
A_SETTING=true   # an item
1. an item, too
` + "```" + `

### Examples

` + "```json" + `
{"a": 1}
` + "```" + `
text
` + "```json" + `
{"b": [...]}
` + "```" + `

| Metric | Target |
|--------|--------|
| **Speed** | <5ms |
| Size | 5KB |

not | a row
`

func TestPlaces(t *testing.T) {
	examples := make(map[string]string)
	got := placesOf("004", document, examples)
	want := []string{
		"004#Title with icons", "004#Title with icons, item 1",
		"004#1. Bold and code", "004#1. Bold and code, item 1", "004#1. Bold and code, item 2", "004#1. Bold and code, item 3", "004#1. Bold and code, item 4",
		"004#Examples", "004#Examples, example 1", "004#Examples, example 2", "004#Examples, row Speed", "004#Examples, row Size",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if want := map[string]string{"004#Examples, example 1": "{\"a\": 1}\n", "004#Examples, example 2": "{\"b\": [...]}\n"}; !maps.Equal(examples, want) {
		t.Errorf("got examples %q", examples)
	}
}

func TestSeedsThatCannotBeIndexed(t *testing.T) {
	for want, dir := range map[string]fstest.MapFS{
		"no seed":      {"README.md": {Data: []byte("# A")}},
		"two headings": {"000_ab.txt": {Data: []byte("# A\n# A\n")}},
	} {
		if _, _, err := readSeeds(dir); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	places, _, err := readSeeds(fstest.MapFS{"000_ab.txt": {Data: []byte("# A\n")}, "001_cd.txt": {Data: []byte("# A\n")}, "notes.txt": {Data: []byte("# B")}})
	if err != nil || !slices.Equal(places, []string{"000#A", "001#A"}) {
		t.Errorf("got %q and %v", places, err)
	}
}

func TestSeedRows(t *testing.T) {
	places := []string{"000#A", "000#A, item 1", "000#A, item 2", "000#A, example 1", "000#T", "000#T, row Speed (p95)"}
	const good = "| place | what we do | requirements | tests or reason |\n|---|---|---|---|\n" +
		"| `000#A` with item 1 | It asks. | E1, E2 | `internal/a.TestA` |\n" +
		"| `000#A` item 2, example 1 | An estimate. | | Does not bind: it is an estimate. |\n" +
		"| `000#T` | A table. | | Heading only. |\n" +
		"| `000#T` row Speed (p95) | Fast. | E1 | Deviation: slow. `internal/a.TestB` |\n"
	for _, c := range []struct {
		name, old, new, want string
	}{
		{"fine", "", "", ""},
		{"no row", "| `000#T` | A table. | | Heading only. |\n", "", `the place "000#T" has no row`},
		{"no row for a part", "item 2, example 1", "item 2", `the place "000#A, example 1" has no row`},
		{"no row for the section", "with item 1", "item 1", `the place "000#A" has no row`},
		{"no such heading", "`000#T` |", "`000#U` |", `no seed has the place "000#U"`},
		{"no such item", "item 2, example 1", "items 2-3, example 1", `no seed has the place "000#A, item 3"`},
		{"no such table row", "row Speed (p95)", "row Speed", `no seed has the place "000#T, row Speed"`},
		{"twice", "item 2, example 1", "items 1-2, example 1", `the place "000#A, item 1" has a row already`},
		{"unreadable", "item 2, example 1", "item two", `"item two" is neither items, examples nor a row`},
		{"too many", "item 2, example 1", "items 1-999", "more than 100 places"},
		{"cells", "| A table. | |", "| A table. |", "has 3 cells, want 4"},
		{"unknown requirement", "E1, E2", "E1, Z9", "there is no requirement Z9"},
		{"no requirement", "| E1, E2 |", "| |", "names no requirement"},
		{"neither test nor reason", "`internal/a.TestA`", "soon", "names no test"},
		{"an empty reason", "Does not bind: it is an estimate.", "Does not bind: ", "names no test"},
		{"no account", "| It asks. |", "| |", "does not say what we do"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, problems := seedRows(strings.Replace(good, c.old, c.new, 1), places, []string{"E1", "E2"})
			got := strings.Join(problems, "\n")
			if c.want == "" && got != "" || !strings.Contains(got, c.want) {
				t.Errorf("got problems %q, want %q", got, c.want)
			}
		})
	}
	rows, _ := seedRows(good, places, []string{"E1", "E2"})
	if len(rows) != 4 || !slices.Equal(rows[0].tests, []string{"internal/a.TestA"}) || !slices.Equal(rows[3].tests, []string{"internal/a.TestB"}) {
		t.Errorf("got %+v", rows)
	}
}

func TestCompareIndex(t *testing.T) {
	root := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	seeds := filepath.Join(root, "seeds")
	index := []string{"004#2.2 Text", "004#2.2 Text, example 1"}
	compare := func(want ...string) string {
		t.Helper()
		said, problems := compareIndex(root, seeds, index)
		if len(problems) != len(want) {
			t.Errorf("got problems %q, want %q", problems, want)
		}
		for i, p := range problems {
			if i < len(want) && !strings.Contains(p, want[i]) {
				t.Errorf("got problem %q, want %q", p, want[i])
			}
		}
		return said
	}

	if said := compare(); !strings.Contains(said, "is absent") || !strings.Contains(said, "committed index of 2 places only") {
		t.Errorf("said %q without the documents", said)
	}
	write("seeds/004_ab.txt", "## 2.2 Text\n```json\n{\"a\": [...]}\n```\n")
	write("form/testdata/seed/004-2.2-1.json", "{\"a\": [...]}\n")
	if said := compare(); !strings.Contains(said, "2 places") || !strings.Contains(said, "1 examples") {
		t.Errorf("said %q", said)
	}
	write("form/testdata/seed/004-2.2-1.json", "{\"a\": [1]}\n")
	compare("004-2.2-1.json: is not what 004#2.2 Text, example 1 has")
	write("form/testdata/seed/004-2.2-1.json", "{\"a\": [...]}\n")
	write("internal/relay/testdata/seed/004-2.2-2.json", "{}")
	write("internal/relay/testdata/seed/other.json", "{}")
	compare("no seed has such an example", "the name is not seed-section-number.json")
	write("seeds/004_ab.txt", "## 2.2 Text\n- more\n")
	index = append(index, "004#9 Gone")
	compare(`places.txt lacks "004#2.2 Text, item 1"`, `places.txt has "004#2.2 Text, example 1", which no seed has`, `"004#9 Gone", which no seed has`,
		"no seed has such an example", "no seed has such an example", "the name is not")
	if err := os.Remove(filepath.Join(seeds, "004_ab.txt")); err != nil {
		t.Fatal(err)
	}
	compare("no seed document was found")
}

func TestIndexIsWhole(t *testing.T) {
	places := indexed()
	for _, p := range []string{"000#Scenario: Elicitation request timeout", "001#4. Error Handling, item 5", "003#Summary table, row Scope", "004#9.2 elicitation/submit", "004#11. Performance Targets, row Validation throughput"} {
		if !slices.Contains(places, p) {
			t.Errorf("places.txt lacks %q", p)
		}
	}
	if !slices.IsSortedFunc(places, func(a, b string) int { return strings.Compare(a[:3], b[:3]) }) {
		t.Error("the seeds are not in their order")
	}
}
