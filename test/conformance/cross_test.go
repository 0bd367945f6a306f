//go:build conformance

package conformance

import (
	"os"
	"slices"
	"testing"
)

// crossings are runs of the suite of one era against a gateway whose only
// backend speaks the other: how many checks pass, and which are excused.
var crossings = []struct {
	name   string
	modern bool // the backend
	args   []string
	passed int
}{
	{"2025-11-25-on-modern", true, []string{"--requirements", "2025-11-25"}, 71},
	{"2026-07-28-on-legacy", false, []string{"--requirements", "2026-07-28"}, 156},
	{"2026-07-28-all-on-legacy", false, []string{"--suite", "all", "--spec-version", "2026-07-28"}, 142},
}

// TestAcross runs the suite across eras. What fails must be in across.txt,
// and what is in it must fail.
func TestAcross(t *testing.T) {
	r := newRig(t)
	f, err := os.Open("across.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	excuses, err := ReadExcuses(f)
	if err != nil {
		t.Fatal(err)
	}
	ran := make(map[string]bool)
	for _, run := range crossings {
		t.Run(run.name, func(t *testing.T) {
			url := r.gateway(t, map[string]string{"other": r.fixture(t, run.modern)})
			res, text, _ := r.suite(t, append([]string{"server", "--url", url, "--timeout", "5000"}, run.args...)...)
			for _, c := range res {
				ran[c.Scenario] = true
			}
			rest, err := res.Excused(excuses)
			if err != nil {
				t.Fatal(err)
			}
			if diff := rest.Expect(run.passed); diff != "" {
				t.Errorf("%s\nthe suite printed:\n%s", diff, text)
			}
		})
	}
	if i := slices.IndexFunc(excuses, func(e Excuse) bool { return !ran[e.Scenario] }); i >= 0 {
		t.Errorf("%s is excused and there is no such scenario", excuses[i])
	}
}
