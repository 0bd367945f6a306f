package glob_test

import (
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/answerback/answerback/internal/glob"
)

func TestMatch(t *testing.T) {
	for _, c := range []struct {
		pattern, name string
		want          bool
	}{
		{"read", "read", true},
		{"read", "reads", false},
		{"read", "rea", false},
		{"read", "Read", false},
		{"read*", "read", true},
		{"read*", "read/all.files", true},
		{"*read", "spread", true},
		{"*", "", true},
		{"*", "anything/at all", true},
		{"a*b*c", "a--b--b--c", true},
		{"a*b*c", "a--c--b", false},
		{"?", "", false},
		{"?", "ü", true},
		{"??", "ü", false},
		{"r?ad", "read", true},
		{"r?ad", "rad", false},
		{"**", "x", true},
		{"", "", true},
		{"", "x", false},
		{"*?", "", false},
		{"a.c", "abc", false},
	} {
		if got := glob.Match(c.pattern, c.name); got != c.want {
			t.Errorf("Match(%q, %q) is %t", c.pattern, c.name, got)
		}
	}
}

func TestMatchMeansWhatARegexpOfItMeans(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pattern := rapid.StringOfN(rapid.RuneFrom([]rune("ab*?ü")), 0, 8, -1).Draw(t, "pattern")
		name := rapid.StringOfN(rapid.RuneFrom([]rune("abü")), 0, 10, -1).Draw(t, "name")
		same := regexp.MustCompile(`(?s)\A` + strings.NewReplacer("*", ".*", "?", ".").Replace(pattern) + `\z`)
		if got, want := glob.Match(pattern, name), same.MatchString(name); got != want {
			t.Fatalf("Match(%q, %q) is %t", pattern, name, got)
		}
	})
}

func TestMatchOfStarsTakesNoExponentialTime(t *testing.T) {
	if glob.Match(strings.Repeat("*a", 200)+"*b", strings.Repeat("a", 5000)) {
		t.Fatal("there is no b")
	}
}

func TestCheck(t *testing.T) {
	for _, good := range []string{"*", "?", "read_*", "a.b/c-d", "ü"} {
		if err := glob.Check(good); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
	for _, bad := range []string{"", "[ab]", "{a,b}", `a\*`, "!a", "a\xff"} {
		if err := glob.Check(bad); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
}
