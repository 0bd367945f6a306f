//go:build worlds

package worlds

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// planted names for each bug a world that must go red with it, and the words in
// which. A world is a seed of TestWorlds, or a script where the bug needs a
// gateway that dies at one exact point.
var planted = []struct {
	bug    string
	seed   uint64
	script string
	says   string
}{
	{bug: "short_life", script: "short_life", says: `^P9: the gateway refused to start|^revived:|^once:`},
	{bug: "lone_call", seed: 10, says: `^P1:|panic`},
	{bug: "ack_before_persist", seed: 1, says: `^P1:`},
	{bug: "sync_off", seed: 13, says: `^P1:|^P9:`},
	{bug: "no_principal_check", seed: 2, says: `^P5:`},
	{bug: "leaked_secret", seed: 2, says: `^P8:`},
	{bug: "early_show", seed: 1, says: `^P1:|was shown|was listed`},
	{bug: "lost_timer", script: "lost_timer", says: `^P3:`},
	{bug: "lost_answer", script: "lost_answer", says: `^P1:`},
}

// Each planted bug turns its world red, in words that name it. The scripts are
// green without their bug; the seeds are, in TestWorlds.
func TestPlantedBugsAreFound(t *testing.T) {
	for _, p := range planted {
		t.Run(p.bug, func(t *testing.T) {
			t.Parallel()
			plan := generate(p.seed, span)
			if p.script != "" {
				text, err := os.ReadFile(filepath.Join("testdata", p.script+".txt"))
				if err != nil {
					t.Fatal(err)
				}
				if plan, err = parse(string(text)); err != nil {
					t.Fatal(err)
				}
				if faults, story := play(t, plan, ""); len(faults) > 0 {
					t.Fatalf("without the bug: %s\n%s", strings.Join(faults, "\n"), story)
				}
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
