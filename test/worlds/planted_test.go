//go:build worlds

package worlds

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// planted names each bug with the words in which a world must find it. The world
// is the script in testdata that has the bug's name: a seed would find some of
// them only where its moments fall right.
var planted = []struct{ bug, says string }{
	{"short_life", `^P9: the gateway refused to start|^revived:|^once:`},
	{"lone_call", `^P1:|panic`},
	{"no_principal_check", `^P5:`},
	{"leaked_secret", `^P8:`},
	{"early_show", `^P1:|was shown|was listed`},
	{"lost_timer", `^P3:`},
	{"lost_answer", `^P1:`},
}

// Each planted bug turns its world red, in words that name the promise; without
// the bug the world is green.
func TestPlantedBugsAreFound(t *testing.T) {
	for _, p := range planted {
		t.Run(p.bug, func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(filepath.Join("testdata", p.bug+".txt"))
			if err != nil {
				t.Fatal(err)
			}
			plan, err := parse(string(text))
			if err != nil {
				t.Fatal(err)
			}
			if faults, story := play(t, plan, ""); len(faults) > 0 {
				t.Fatalf("without the bug: %s\n%s", strings.Join(faults, "\n"), story)
			}
			faults, story := play(t, plan, p.bug)
			says := regexp.MustCompile(p.says)
			for _, f := range faults {
				if says.MatchString(f) {
					return
				}
			}
			t.Errorf("the bug is not found, or in other words than %q: %q\n%s", p.says, faults, story)
		})
	}
}
