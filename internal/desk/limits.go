package desk

import (
	"sync/atomic"
	"time"

	"github.com/answerback/answerback/ask"
)

// limits holds every bound on asks: how many are open, and how fast they come.
// Safe for concurrent use.
type limits struct {
	max       int64
	open      atomic.Int64
	session   *tally[string]
	addressee *tally[ask.Addressee]
	rate      *limiter
}

func newLimits(cfg *Config) *limits {
	return &limits{
		max:       int64(cfg.MaxOpen),
		session:   newTally[string](cfg.MaxOpenPerSession),
		addressee: newTally[ask.Addressee](cfg.MaxOpenPerPrincipal),
		rate:      newLimiter(cfg.Now(), cfg.RatePerMinute, cfg.Burst, limiterKeys),
	}
}

// take admits an ask or says why not. What it takes on the way to a refusal
// it gives back; the rate comes last, so that a refused ask is not charged.
func (l *limits) take(a *ask.Ask, now time.Time) *ask.Error {
	if !l.takeOpen() {
		return ask.Errorf(ask.TooManyOpen, "Too many questions are open at this gateway.")
	}
	if a.Session != "" && !l.session.take(a.Session) {
		l.open.Add(-1)
		return ask.Errorf(ask.TooManyOpen, "Too many questions are open in this session.")
	}
	who := a.Addressee
	if !l.addressee.take(who) {
		l.releaseSession(a)
		return ask.Errorf(ask.TooManyOpen, "Too many questions are open for this person.")
	}
	if wait := l.rate.take(limiterKey{a.Backend, who}, now); wait > 0 {
		l.release(a)
		// Rounded up: whoever waits that long is let in.
		ms := (wait + time.Millisecond - 1) / time.Millisecond
		return &ask.Error{
			Code:    ask.RateLimited,
			Message: "This server asks too often. It may ask again later.",
			Data:    map[string]any{"retryAfterMs": int64(ms)},
		}
	}
	return nil
}

// takeOpen never counts beyond the maximum, not even for a moment: a refusal
// must not get in the way of somebody for whom there is room.
func (l *limits) takeOpen() bool {
	for {
		n := l.open.Load()
		if n >= l.max {
			return false
		}
		if l.open.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// release gives back what an admitted ask took.
func (l *limits) release(a *ask.Ask) {
	l.addressee.release(a.Addressee)
	l.releaseSession(a)
}

func (l *limits) releaseSession(a *ask.Ask) {
	if a.Session != "" {
		l.session.release(a.Session)
	}
	l.open.Add(-1)
}

// restore counts an ask that was admitted before a restart, whatever the
// limits say now.
func (l *limits) restore(a *ask.Ask) {
	l.open.Add(1)
	if a.Session != "" {
		l.session.add(a.Session)
	}
	l.addressee.add(a.Addressee)
}
