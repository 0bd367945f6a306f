//go:build crash

package lossyfs

import (
	"math/rand/v2"
	"sync"
	"syscall"
	"time"
)

// Fault is how the disk fails. The zero Fault is none.
type Fault struct {
	Write syscall.Errno // what writing, creating and renaming say
	Sync  syscall.Errno // what syncing says
	Delay time.Duration // how long syncing takes
	Full  bool          // whether the disk says that it has no room left
}

// Disk is what is stored. Safe for concurrent use.
type Disk struct {
	mu     sync.Mutex
	off    bool
	fault  Fault
	root   *file
	next   uint64
	stable *name // the tree as it is found after a cut
	stale  bool  // whether the tree is another than that
	syncs  int
}

// file is a file or a directory as programs see it, and what of it would
// outlast a cut.
type file struct {
	id       uint64
	dir      bool
	mode     uint32
	changed  time.Time
	data     []byte
	durable  []byte
	pending  []change // since it was synced
	children map[string]*file
}

// change is one write, or a new size where there is no data.
type change struct {
	at   int64
	data []byte
}

// name is an entry of a tree.
type name struct {
	of       *file
	children map[string]*name
}

// New makes an empty disk.
func New() *Disk {
	d := &Disk{next: 1}
	d.root = d.make(true, 0o700)
	d.stable = snapshot(d.root)
	return d
}

func (d *Disk) make(dir bool, mode uint32) *file {
	f := &file{id: d.next, dir: dir, mode: mode, changed: time.Now()}
	if dir {
		f.children = map[string]*file{}
	}
	d.next++
	return f
}

func snapshot(f *file) *name {
	n := &name{of: f}
	if f.dir {
		n.children = make(map[string]*name, len(f.children))
		for k, c := range f.children {
			n.children[k] = snapshot(c)
		}
	}
	return n
}

func (c change) apply(data []byte) []byte {
	end := c.at + int64(len(c.data))
	if c.data == nil && end < int64(len(data)) {
		return data[:end]
	}
	if grow := end - int64(len(data)); grow > 0 {
		data = append(data, make([]byte, grow)...)
	}
	copy(data[c.at:], c.data)
	return data
}

func (f *file) change(c change) {
	f.data = c.apply(f.data)
	f.pending = append(f.pending, c)
	f.changed = time.Now()
}

// sync makes a file durable, and the names of all.
func (d *Disk) sync(f *file) {
	for _, c := range f.pending {
		f.durable = c.apply(f.durable)
	}
	f.pending = nil
	if d.stale {
		d.stable, d.stale = snapshot(d.root), false
	}
	d.syncs++
}

// Syncs is how often anything was synced.
func (d *Disk) Syncs() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.syncs
}

// Fail makes the disk fail from now on, or work again.
func (d *Disk) Fail(f Fault) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.fault = f
}

// Cut turns the power off: from now on nothing succeeds.
func (d *Disk) Cut() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.off = true
}

// Restore turns the power on again: there is what was durable, and nothing
// else. Where rng is not nil, some of what was being written is there too, of
// each file the first part, the last write perhaps torn. The disk must not be
// mounted. It gives how many bytes were lost.
func (d *Disk) Restore(rng *rand.Rand) (lost int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.root = d.restore(d.stable, rng, &lost)
	d.stable, d.stale = snapshot(d.root), false
	d.off = false
	return lost
}

func (d *Disk) restore(n *name, rng *rand.Rand, lost *int) *file {
	f := d.make(n.of.dir, n.of.mode)
	for k, c := range n.children {
		f.children[k] = d.restore(c, rng, lost)
	}
	f.durable = append([]byte(nil), n.of.durable...)
	pending := n.of.pending
	if rng != nil {
		for len(pending) > 0 && rng.IntN(4) > 0 {
			c := pending[0]
			pending = pending[1:]
			if c.data != nil && rng.IntN(4) == 0 {
				c.data = c.data[:rng.IntN(len(c.data)+1)]
				pending = nil
			}
			f.durable = c.apply(f.durable)
		}
	}
	for _, c := range pending {
		*lost += len(c.data)
	}
	f.data = append([]byte(nil), f.durable...)
	return f
}
