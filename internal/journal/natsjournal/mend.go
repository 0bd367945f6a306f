package natsjournal

import (
	"context"
	"errors"
	"time"

	"github.com/answerback/answerback/internal/journal"
)

// The pauses between attempts to start an engine that has failed.
const (
	firstPause = 500 * time.Millisecond
	maxPause   = 10 * time.Second
)

// mend starts the embedded engine again when an error of the disk has made it
// stop taking writes, until it works or the journal is closed. Meanwhile
// everything is refused at once.
func (j *Journal) mend() {
	for {
		select {
		case <-j.life.Done():
			return
		case <-j.link.trouble:
		}
		why := j.engine.sick()
		if why == nil {
			continue
		}
		j.cfg.Log.Error("journal: the store has failed; starting it again", "cause", why)
		for pause := firstPause; ; pause = min(2*pause, maxPause) {
			j.link.broken.Store(&brokenError{why})
			why = j.restart()
			if why == nil {
				j.cfg.Log.Info("journal: the store works again")
				break
			}
			j.cfg.Log.Error("journal: the store does not start", "cause", why, "next", pause)
			if errors.Is(why, journal.Corrupt) {
				// It would be read as damaged again and again.
				j.link.broken.Store(&brokenError{why})
				return
			}
			select {
			case <-j.life.Done():
				return
			case <-time.After(pause):
			}
		}
	}
}

// restart stops the engine and starts it on the same directory, and checks
// what is there as if it had just been opened. No write is under way
// meanwhile.
func (j *Journal) restart() error {
	ctx := j.life
	for _, t := range j.tables() {
		if err := t.enter(ctx); err != nil {
			return err
		}
		defer t.leave()
	}
	j.engine.stop()
	if err := j.engine.start(); err != nil {
		return err
	}
	if err := j.reconnect(ctx); err != nil {
		return err
	}
	ends, err := j.layout.prepare(ctx, j.link.conn, &j.cfg)
	if err != nil {
		return j.locate(err)
	}
	j.link.broken.Store(nil)
	if err := j.verify(ctx, ends); err != nil {
		j.link.broken.Store(&brokenError{err})
		return j.locate(err)
	}
	return nil
}

// reconnect waits until the connection has found the engine again.
func (j *Journal) reconnect(ctx context.Context) error {
	ctx, cancel := j.link.limit(ctx)
	defer cancel()
	for {
		if err := j.link.conn.FlushWithContext(ctx); err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return unavailable("connecting to the store again", context.Cause(ctx))
		case <-time.After(retryPause):
		}
	}
}
