package bridge

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// Each rule of the page about eras has a row, and each test that the page
// names exists.
func TestRulesNameRealTests(t *testing.T) {
	const root = "../.."
	page, err := os.ReadFile(filepath.Join(root, "docs", "bridging.md"))
	if err != nil {
		t.Fatal(err)
	}
	rows := make(map[int]string)
	for line := range strings.Lines(string(page)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if n, err := strconv.Atoi(strings.TrimSpace(cells[0])); err == nil && len(cells) == 3 {
			rows[n] = cells[2]
		}
	}
	named := regexp.MustCompile("`([a-z0-9/]+)\\.(Test[A-Za-z0-9]+)`")
	for n := 1; n <= 34; n++ {
		if n != 12 && !named.MatchString(rows[n]) {
			t.Errorf("rule %d names no test", n)
		}
	}
	sources := make(map[string]string)
	for _, m := range named.FindAllStringSubmatch(string(page), -1) {
		dir, name := m[1], m[2]
		if sources[dir] == "" {
			sources[dir] = testSource(t, filepath.Join(root, dir))
		}
		if !strings.Contains(sources[dir], "\nfunc "+name+"(t *testing.T)") {
			t.Errorf("there is no test %s.%s", dir, name)
		}
	}
}

// testSource gives the text of all test files of a package.
func testSource(t *testing.T, dir string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		b.Write(text)
	}
	return b.String()
}
