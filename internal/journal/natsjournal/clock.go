package natsjournal

import (
	"context"
	"encoding/binary"
	"errors"
	"sync"
	"time"

	"github.com/answerback/answerback/internal/journal"
)

// clock is the time of the store. It never runs backwards, also not over a
// restart with a wall clock that was turned back: what was over stays over.
//
// The store has a record of its time, which every gateway renews at each beat
// by compare-and-set. The engine's own timestamps of that record tell how much
// time has passed in the engine between two of its versions, while no gateway
// was there too. So when the engine has removed a record because its time was
// over, the clock has passed that time as well, by slack less a beat.
type clock struct {
	wall func() time.Time

	mu    sync.Mutex // guards what follows
	base  int64      // the time of the store at the moment since
	since time.Time
	high  int64 // the latest that now gave
}

func newClock(wall func() time.Time) *clock {
	t := wall()
	return &clock{wall: wall, base: t.UnixNano(), since: t}
}

// now gives the time of the store in nanoseconds since 1970.
func (c *clock) now() int64 {
	t := c.wall()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.high = max(c.high, t.UnixNano(), c.base+int64(t.Sub(c.since)))
	return c.high
}

// raise puts the clock forward to a moment that the store has reached.
func (c *clock) raise(to int64) {
	t := c.wall()
	c.mu.Lock()
	defer c.mu.Unlock()
	if to > max(c.high, t.UnixNano(), c.base+int64(t.Sub(c.since))) {
		c.base, c.since = to, t
	}
}

// noted is one version of the record of the time.
type noted struct {
	rev journal.Rev
	at  int64     // the time of the store that it has
	in  time.Time // when the engine stored it
}

// clockSubject is where the time is noted, in the stream of shelves. No item
// has a subject that short.
func (j *Journal) clockSubject() string { return j.layout.shelfSubjects() + "clock" }

// lookAtTime reads the noted time and puts the clock forward to it. One
// goroutine at a time calls it.
func (j *Journal) lookAtTime(ctx context.Context) error {
	m, err := j.shelf.last(ctx, j.clockSubject())
	if errors.Is(err, journal.NotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	at, n := binary.Varint(m.frame.payload)
	if n <= 0 || m.frame.kind != kindClock {
		return corrupt(m.subject+" does not hold the time", errShort)
	}
	was := j.noted
	j.noted = noted{m.rev(), at, m.at}
	j.clock.raise(at)
	if was.at != 0 {
		j.clock.raise(was.at + int64(m.at.Sub(was.in)))
	}
	return nil
}

// noteTime stores the time, and reads it back to learn when the engine stored
// it. Another gateway that does so at the same moment is as good. Where more
// time has passed in the engine than here, the time is stored once more.
func (j *Journal) noteTime(ctx context.Context) error {
	for range 2 {
		now := j.clock.now()
		_, err := j.shelf.put(ctx, write{
			subject: j.clockSubject(),
			old:     j.noted.rev,
			kind:    kindClock,
			expires: journal.Never,
			payload: binary.AppendVarint(nil, now),
		})
		if err != nil && !errors.Is(err, errLost) {
			return err
		}
		if err := j.lookAtTime(ctx); err != nil {
			return err
		}
		if j.clock.now()-now < int64(j.cfg.beat) {
			return nil
		}
	}
	return nil
}

// keepTime notes the time at every beat until the journal is closed.
func (j *Journal) keepTime() {
	tick := time.NewTicker(j.cfg.beat)
	defer tick.Stop()
	for {
		select {
		case <-j.life.Done():
			return
		case <-tick.C:
		}
		if err := j.noteTime(j.life); err != nil && j.life.Err() == nil {
			j.cfg.Log.Warn("journal: the time could not be noted in the store", "cause", err)
		}
	}
}
