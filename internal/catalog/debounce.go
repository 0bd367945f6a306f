package catalog

import (
	"sync"
	"time"
)

// Debouncer gathers changes: however many there are of a list within a window
// of time, one call of fire follows at the window's end. Idle it costs nothing.
// Safe for concurrent use.
type Debouncer struct {
	wait time.Duration
	fire func(List)

	mu      sync.Mutex
	closed  bool
	slots   [lastList + 1]slot
	running sync.WaitGroup
}

// slot is the state of one list.
type slot struct {
	timer  *time.Timer // set while a window is open
	firing bool
	again  bool // a change came while firing
}

// NewDebouncer makes a Debouncer. The window opens with the first change, so
// that a stream of changes delays nothing for ever. Calls of fire for one list
// never overlap; those for different lists may. fire must not call Close.
func NewDebouncer(wait time.Duration, fire func(l List)) *Debouncer {
	return &Debouncer{wait: wait, fire: fire}
}

// Changed notes a change of a list. Templates counts as Resources, because one
// notification stands for both. It does nothing after Close.
func (d *Debouncer) Changed(l List) {
	if l == Templates {
		l = Resources
	}
	if l.known() == 0 {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	s := &d.slots[l]
	switch {
	case d.closed || s.timer != nil:
	case s.firing:
		s.again = true
	default:
		d.open(l)
	}
}

// open opens a window. d.mu is held.
func (d *Debouncer) open(l List) {
	d.running.Add(1)
	d.slots[l].timer = time.AfterFunc(d.wait, func() {
		defer d.running.Done()
		d.end(l)
	})
}

// end is the end of a window.
func (d *Debouncer) end(l List) {
	s := &d.slots[l]
	d.mu.Lock()
	closed := d.closed
	s.timer, s.firing = nil, !closed
	d.mu.Unlock()
	if closed {
		return
	}
	d.fire(l)
	d.mu.Lock()
	defer d.mu.Unlock()
	s.firing = false
	if s.again && !d.closed {
		d.open(l)
	}
	s.again = false
}

// Close drops what is gathered and waits for calls of fire to end.
func (d *Debouncer) Close() {
	d.mu.Lock()
	d.closed = true
	for i := range d.slots {
		if t := d.slots[i].timer; t != nil && t.Stop() {
			d.slots[i].timer = nil
			d.running.Done()
		}
	}
	d.mu.Unlock()
	d.running.Wait()
}
