package natsjournal

import (
	"fmt"
)

// What new records leave free, so that those that are there can still be
// settled: a tenth of the store, and of the disk at most maxReserve.
const (
	reservePart = 10
	maxReserve  = 64 << 20
)

// room says why there is no room for a new record, or nothing.
func (e *engine) room() error {
	e.mu.Lock()
	s := e.server
	e.mu.Unlock()
	if s == nil {
		return nil // whoever writes will be told
	}
	reserve := uint64(e.cfg.MaxStore / reservePart)
	if used := s.GlobalAccount().JetStreamUsage().Store; used > uint64(e.cfg.MaxStore)-reserve {
		return fmt.Errorf("the store in %s uses %d of its %d bytes, and the rest is for settling what is open", e.cfg.Dir, used, e.cfg.MaxStore)
	}
	if free, ok := diskFree(e.cfg.Dir); ok && free < min(reserve, maxReserve) {
		return fmt.Errorf("the disk of %s has %d bytes left, and they are for settling what is open", e.cfg.Dir, free)
	}
	return nil
}
