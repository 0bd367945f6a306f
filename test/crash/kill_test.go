//go:build crash

package crash

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

const (
	kills = 100
	// readyWithin is how soon a gateway must serve after its start, whatever
	// it was doing when the one before it died.
	readyWithin = 2 * time.Second
)

// A hundred gateways are killed, one after another, at random moments under
// load. Nothing that anybody was told is lost, and nothing is settled twice.
func TestAHundredKillsLoseNothing(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	w := newWorld(t)
	w.site.binary = binaries.plain
	w.crew(4, 3, 3)
	var starts []time.Duration
	for range kills {
		g := w.site.start()
		// One in five dies while it starts and takes up what was open.
		if rng.IntN(5) == 0 {
			w.lives(g, time.Duration(rng.Int64N(int64(80*time.Millisecond))))
			g.kill()
			continue
		}
		w.site.up(g)
		starts = append(starts, g.took)
		w.serve(g)
		w.lives(g, time.Duration(rng.Int64N(int64(200*time.Millisecond))))
		g.kill()
	}
	g := w.site.up(w.site.start())
	starts = append(starts, g.took)
	w.serve(g)
	w.finish()
	s := w.book.settle(t)
	slices.Sort(starts)
	t.Logf("%d kills: %+v; started in %v at the median, %v at most", kills, s, starts[len(starts)/2], starts[len(starts)-1])
	if slow := starts[len(starts)-1]; slow > readyWithin {
		t.Errorf("a gateway took %v to start, want at most %v", slow, readyWithin)
	}
	if s.Acked < kills || s.Kept < kills || s.Results < kills {
		t.Errorf("there was too little load to show anything: %+v", s)
	}
}

// lives lets a gateway run for a while, unless it ends before.
func (w *world) lives(g *gateway, d time.Duration) {
	select {
	case <-g.done:
		w.t.Errorf("the gateway ended by itself: %v\n%s", g.cmd.ProcessState, g.tail())
	case <-time.After(d):
	}
}
