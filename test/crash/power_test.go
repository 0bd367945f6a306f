//go:build crash

package crash

import (
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"

	"github.com/answerback/answerback/test/crash/lossyfs"
)

const cuts = 20

// drive is a disk under the journal of a site.
type drive struct {
	*lossyfs.Disk
	site   *site
	server *fuse.Server
}

// newDrive mounts an empty disk where the journal will be. Where that cannot
// be done, nothing can be shown, and the test fails.
func newDrive(s *site) *drive {
	s.t.Helper()
	if err := os.MkdirAll(s.journal(), 0o700); err != nil {
		s.t.Fatal(err)
	}
	d := &drive{Disk: lossyfs.New(), site: s}
	d.mount()
	s.t.Cleanup(func() { d.unmount() })
	return d
}

func (d *drive) mount() {
	d.site.t.Helper()
	server, err := d.Mount(d.site.journal())
	if err != nil {
		d.site.t.Fatalf("this test needs root and /dev/fuse, to put a disk under the gateway that can lose power: %v", err)
	}
	d.server = server
}

func (d *drive) unmount() {
	if d.server == nil {
		return
	}
	if err := d.server.Unmount(); err != nil {
		d.site.t.Errorf("the disk cannot be taken away: %v", err)
	}
	d.server = nil
}

// cut takes the power from the disk and from the gateway, and gives the disk
// power again.
func (d *drive) cut(g *gateway, rng *rand.Rand) (lost int) {
	d.Cut()
	g.kill()
	d.unmount()
	lost = d.Restore(rng)
	d.mount()
	return lost
}

// The power is cut twenty times under load. Whatever was not synced is gone,
// and nothing that anybody was told was part of it.
func TestPowerCutsLoseNothing(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	w := newWorld(t)
	d := newDrive(w.site)
	w.crew(3, 2, 2)
	gone := 0
	for i := range cuts {
		g := w.site.up(w.site.start())
		w.serve(g)
		w.lives(g, 100*time.Millisecond+time.Duration(rng.Int64N(int64(250*time.Millisecond))))
		var torn *rand.Rand
		if i%2 == 1 {
			torn = rng
		}
		gone += d.cut(g, torn)
	}
	w.serve(w.site.up(w.site.start()))
	w.finish()
	s := w.book.settle(t)
	t.Logf("%d cuts, %d syncs, %d bytes lost: %+v", cuts, d.Syncs(), gone, s)
	if s.Acked < cuts || s.Kept < cuts {
		t.Errorf("there was too little load to show anything: %+v", s)
	}
	if gone == 0 {
		t.Error("the cuts took nothing: this shows nothing")
	}
}
