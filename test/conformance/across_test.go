//go:build !conformance

package conformance

import (
	"os"
	"strings"
	"testing"
)

func TestExcusesAreStrict(t *testing.T) {
	res := Result{
		{Scenario: "a", ID: "one", Status: "SUCCESS"}, {Scenario: "a", ID: "two", Status: "FAILURE"},
		{Scenario: "b", ID: "two", Status: "FAILURE"},
	}
	for _, tt := range []struct {
		name, list, diff string
		stale            bool
	}{
		{"all are excused", "# why\n\na:two\tno\nb\tno\n", "", false},
		{"one is not", "a:two\tno\n", "1 checks passed, want 1; 1 failed, want 0\n  FAILURE b: two: ", false},
		{"another check is", "a:one\tno\nb\tno\n", "", true},
		{"a whole scenario that fails", "a\tno\nb\tno\n", "", false},
		{"a scenario that did not run", "a\tno\nb\tno\nc\tno\n", "", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			excuses, err := ReadExcuses(strings.NewReader(tt.list))
			if err != nil {
				t.Fatal(err)
			}
			rest, err := res.Excused(excuses)
			if (err != nil) != tt.stale {
				t.Fatalf("out of date: %v", err)
			}
			if !tt.stale && rest.Expect(1) != tt.diff {
				t.Errorf("got %q, want %q", rest.Expect(1), tt.diff)
			}
		})
	}
	if _, err := ReadExcuses(strings.NewReader("a:two\n")); err == nil {
		t.Error("an excuse without a reason was taken")
	}
}

func TestExcusesCanBeRead(t *testing.T) {
	for _, name := range []string{"across.txt", "tasks.txt"} {
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if excuses, err := ReadExcuses(f); err != nil || len(excuses) == 0 {
			t.Errorf("%s: %d excuses: %v", name, len(excuses), err)
		}
	}
}
