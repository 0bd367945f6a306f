package matrix

import (
	"strings"
	"testing"
)

func TestTableListsWhatPassed(t *testing.T) {
	tab := newTable([]string{"c"}, []string{"s1", "s2"}, []string{"call", "form", "url", "roots"})
	tab.at("c", "s1").passed = []string{"call", "form", "url"}
	tab.at("c", "s1").excused, tab.at("c", "s1").notes = []string{"roots"}, []string{"It has none."}
	tab.at("c", "s2").passed = []string{"call", "url"}
	tab.at("c", "s2").failed = []string{"form", "roots"}
	want := "1 call, 2 form, 3 url, 4 roots.\n\n" +
		"| | s1 | s2 |\n|---|---|---|\n" +
		"| c | 1-3; ~~4~~<sup>a</sup> | 1, 3; **fails: 2, 4** |\n\n" +
		"- <sup>a</sup> It has none.\n"
	if got := tab.markdown(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	for _, line := range []string{"passed 1-3", "excused 4", "FAILED 2, 4"} {
		if !strings.Contains(tab.plain(), line) {
			t.Errorf("the text has no %q:\n%s", line, tab.plain())
		}
	}
}

func TestSpliceKeepsTheRestOfThePage(t *testing.T) {
	page := "before\n" + begin + "old\n" + end + "after\n"
	got, err := splice(page, "new\n")
	if want := strings.Replace(page, "old", "new", 1); err != nil || got != want {
		t.Errorf("got %q, %v; want %q", got, err, want)
	}
	if _, err := splice("no markers\n", "new\n"); err == nil {
		t.Error("a page without markers was taken")
	}
}
