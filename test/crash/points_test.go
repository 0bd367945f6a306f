//go:build crash

package crash

import (
	"bytes"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// points are all the places at which the program can be made to die, between
// what it stores, what it does and what it says; those of a refresh are in
// refreshPoints, those of a collection in collectPoints.
var points = []string{
	"desk.create.before",    // a new ask is about to be stored
	"desk.create.after",     // it is stored, and shown to nobody
	"desk.update.before",    // an answer is about to be stored
	"desk.update.after",     // it is stored, and nobody knows
	"desk.show.before",      // a client is about to be shown a question
	"desk.show.after",       // it was, and the desk has not noted it
	"desk.reply.before",     // the asker is about to get its outcome
	"desk.reply.after",      // it has it, and the store does not know
	"desk.note.before",      // that is about to be stored
	"desk.note.after",       // it is stored, and the answerer was not told
	"desk.look",             // a page is kept, and not sent
	"desk.list",             // an inbox is kept, and not sent
	"desk.submit",           // an answer was delivered, and not acknowledged
	"relay.reply.before",    // the answer is about to go to the backend
	"relay.reply.after",     // it went
	"journal.put.before",    // the store is about to be given a record
	"journal.put.after",     // it has it, and its ledger does not
	"restore.read",          // after a restart: a record was read
	"restore.revive.before", // its asker is about to be taken up
	"restore.revive.after",  // the asker is there, and the ask does not know
	"restore.taken",         // the ask goes on
	"relay.resumed.session", // the backend goes on with the call of a session
	"relay.resumed.parked",  // the backend goes on with a call that was sent away
	"serve.restored",        // everything is restored, and nobody is served
}

// At every one of the named points a gateway dies, with asks from before a
// crash on its desk. Nothing that anybody was told is lost.
func TestAKillAtEachPointLosesNothing(t *testing.T) {
	for _, point := range points {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.waiting(2, 1)

			g := w.site.start("ANSWERBACK_KILL_AT=" + point)
			select {
			case <-g.ready:
				w.serve(g)
				w.crew(0, 0, 2)
			case <-g.done:
			case <-time.After(patience):
			}
			w.site.dies(g)

			g = w.site.up(w.site.start())
			if g.took > readyWithin {
				t.Errorf("the gateway took %v to start", g.took)
			}
			w.serve(g)
			w.crew(0, 0, 1)
			w.finish()
			if s := w.book.settle(t); s.Kept < 3 {
				t.Errorf("there was too little load to show anything: %+v", s)
			}
		})
	}
}

// waiting leaves the gateway killed with this many kept questions of either
// kind of client, which both wait for people.
func (w *world) waiting(legacy, modern int) {
	w.t.Helper()
	g := w.site.up(w.site.start())
	w.serve(g)
	w.crew(legacy, modern, 0)
	b, err := g.visit(w.life, w.http)
	if err != nil {
		w.t.Fatal(err)
	}
	give := time.After(patience)
	for {
		all, err := b.inbox(w.life, w.book)
		if err != nil {
			w.t.Fatal(err)
		}
		if len(all) == legacy+modern {
			break
		}
		select {
		case <-give:
			w.t.Fatalf("%d questions are waiting", len(all))
		case <-time.After(5 * time.Millisecond):
		}
	}
	g.kill()
}

// Every point in the program is in the list, and the other way round.
func TestEveryPointIsNamed(t *testing.T) {
	grep := exec.Command("grep", "-rhoE", `plant\.Kill\("[^"]+"\)`, "--include=*.go", "--exclude=*_test.go", "../../internal", "../../cmd")
	grep.Stderr = os.Stderr
	out, err := grep.Output()
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for line := range bytes.Lines(out) {
		found = append(found, regexp.MustCompile(`"(.+)"`).FindStringSubmatch(string(line))[1])
	}
	named := slices.Clone(points)
	for _, p := range refreshPoints {
		if strings.HasPrefix(p.name, "grant.") {
			named = append(named, p.name)
		}
	}
	for _, p := range collectPoints {
		if strings.HasPrefix(p.name, "desk.collect.") {
			named = append(named, p.name)
		}
	}
	slices.Sort(named)
	slices.Sort(found)
	if !slices.Equal(named, found) {
		t.Errorf("the program has\n%s\nand the test\n%s", strings.Join(found, " "), strings.Join(named, " "))
	}
}
