//go:build crash

package crash

import (
	"bytes"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/answerback/answerback/internal/plant"
)

// planted says which test must turn red for each bug, and what it must say.
// A bug without a test that finds it would be one that nobody finds.
var planted = []struct {
	bug  plant.Bug
	dir  string // of the test's package; "" for this one
	test string
	says string
}{
	{plant.AckBeforePersist, "internal/desk", "TestNothingIsAcknowledgedThatCouldNotBeStored", `error <nil>, want code "store_full"`},
	{plant.AckBeforePersist, "", "TestAnAcknowledgedAnswerIsThereAfterAKill", `was answered is not said to be`},
	{plant.EarlyShow, "internal/desk", "TestAnAskThatWasLookedAtIsAnsweredAfterARestart", `waiting: \[\]`},
	{plant.SyncOff, "", "TestPowerCutsLoseNothing", `question \d+ (was lost|lost its answer)`},
	{plant.DoubleSettle, "internal/desk", "TestTwoHundredPeopleAnswerAtOnce", `200 won and 0 were told`},
	{plant.DoubleSettle, "", "TestHistoriesAreLinearizable", `has a history that no order explains`},
	{plant.LateAnswer, "internal/desk", "TestTimerThatLags", `error <nil>, want code "too_late"`},
	{plant.LostTimer, "internal/desk", "TestADeadlineHoldsAcrossARestart", `not settled`},
	{plant.LostAnswer, "internal/desk", "TestAnAnswerThatWasStoredIsDeliveredAfterARestart", `not settled`},
	{plant.NoPrincipalCheck, "internal/desk", "TestAttackSomebodyElseAtThePage", `error <nil>, want code "not_yours"`},
	{plant.LeakedSecret, "internal/desk", "TestAuditHoldsNoContents", `"4711" is on record`},
	{plant.SilentRefresh, "", "TestARefreshSurvivesAKillAtEachPoint/grant.renew.before", `a refresh token was shown 2 times`},
	{plant.EarlyUse, "", "TestARefreshSurvivesAKillAtEachPoint/the_backend_runs_the_call", `the person is asked to connect, want it goes on`},
	{plant.SentTwice, "", "TestACallThatWaitedForAnAccountRunsOnce/desk.update.after", `it was run 1 times, want at most 0`},
	{plant.UnboundedQueue, "internal/desk", "TestOpenLimits", `not settled`},
	{plant.ShortLife, "internal/journal/natsjournal", "TestWhatIsOverStaysOverAfterACrash/embedded", `holds \d+ records that must stay`},
	{plant.ShortLife, "internal/journal/natsjournal", "TestWhatIsOverStaysOverAfterACrash/external", `a grant that was revoked is read`},
}

// Each planted bug turns the test red that is there for it, with the words
// that name it; without the bug the same test is green.
func TestPlantedBugsAreFound(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]string{"": self} // the test binary of each package
	for _, p := range planted {
		if tests[p.dir] != "" {
			continue
		}
		tests[p.dir] = filepath.Join(t.TempDir(), "package.test")
		compile := exec.Command("go", "test", "-c", "-tags", "plant", "-o", tests[p.dir], module+p.dir)
		if out, err := compile.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	for _, p := range planted {
		t.Run(string(p.bug)+"/"+p.test, func(t *testing.T) {
			binary, dir := tests[p.dir], filepath.Join("..", "..", p.dir)
			if p.dir == "" {
				dir = "."
			}
			run := func(env string) ([]byte, error) {
				cmd := exec.Command(binary, "-test.run=^"+p.test+"$", "-test.timeout=90s")
				cmd.Dir = dir
				cmd.Env = append(os.Environ(), env, givenBinaries+"="+filepath.Dir(binaries.plain))
				return cmd.CombinedOutput()
			}
			if p.dir != "" { // those of this package run by themselves
				if out, err := run("ANSWERBACK_BUG="); err != nil || bytes.Contains(out, []byte("no tests to run")) {
					t.Fatalf("without the bug: %v: %s", err, out)
				}
			}
			out, err := run("ANSWERBACK_BUG=" + string(p.bug))
			if err == nil {
				t.Fatalf("the bug is not found: %s", out)
			}
			if !regexp.MustCompile(p.says).Match(out) {
				t.Errorf("it was red for another reason than %q: %s", p.says, out[:min(len(out), 2000)])
			}
		})
	}
}

// Whoever was told that their answer was taken finds it so, however soon the
// gateway dies after that.
func TestAnAcknowledgedAnswerIsThereAfterAKill(t *testing.T) {
	w := newWorld(t)
	g := w.site.up(w.site.start())
	w.serve(g)
	c := &client{http: w.http}
	if err := c.open(w.life, g); err != nil {
		t.Fatal(err)
	}
	b := &bench{world: w, g: g, asker: c}
	it, call := b.ask(t)
	defer call.body.Close()
	who, err := g.visit(w.life, w.http)
	if err != nil {
		t.Fatal(err)
	}
	token, _, _, err := who.page(w.life, w.book, it)
	if err != nil {
		t.Fatal(err)
	}
	if status, body, err := who.submit(w.life, w.book, it, token, newValue(it.n, "page")); err != nil || status != http.StatusOK {
		t.Fatalf("%d %s %v", status, shorten(body), err)
	}
	g.kill()
	g = w.site.up(w.site.start())
	w.serve(g)
	if who, err = g.visit(w.life, w.http); err != nil {
		t.Fatal(err)
	}
	if _, status, body, err := who.page(w.life, w.book, it); err != nil || status != http.StatusGone || !strings.Contains(body, "You have answered this question") {
		t.Errorf("what was answered is not said to be: %d %s %v", status, shorten(body), err)
	}
	w.finish()
	w.book.settle(t)
}
