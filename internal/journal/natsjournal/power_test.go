//go:build crash

package natsjournal

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"

	"github.com/answerback/answerback/test/crash/lossyfs"
)

// The power is cut under the play: whatever was not synced is gone. What was
// over when it was cut, or is over when the store is opened again, does not
// count.
func TestPowerCutsBringNothingBack(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	dir, disk, lost, cuts := t.TempDir(), lossyfs.New(), 0, 0
	var server *fuse.Server
	mount := func() {
		var err error
		if server, err = disk.Mount(dir); err != nil {
			t.Fatalf("this test needs root and /dev/fuse, to put a disk under the store that can lose power: %v", err)
		}
	}
	unmount := func() {
		if err := server.Unmount(); err != nil {
			t.Errorf("the disk cannot be taken away: %v", err)
		}
	}
	mount()
	defer func() { unmount() }()
	m := &model{t: t, known: map[string]version{}, cut: disk.Cut}
	m.play(dir, seed, rng, func() {
		unmount()
		var torn *rand.Rand
		if cuts++; cuts%2 == 0 {
			torn = rng
		}
		lost += disk.Restore(torn)
		mount()
	})
	t.Logf("%d bytes lost in %d cuts", lost, cuts)
	if lost == 0 {
		t.Error("the cuts took nothing: this shows nothing")
	}
}
