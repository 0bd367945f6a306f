package exchange

import "time"

// Clock measures how long a call has worked. It stands still while somebody
// is asked, so that a person's thinking is not charged to the backend. A Clock
// is a value. One that stands still has Left and a zero Since.
type Clock struct {
	Left  time.Duration // what was left when it last started or stopped
	Since time.Time     // when it started to run, zero while it stands still
}

// Start lets the clock run from now on; it changes nothing on one that runs.
func (c Clock) Start(now time.Time) Clock {
	if c.Since.IsZero() {
		c.Since = now
	}
	return c
}

// Stop makes the clock stand still; it changes nothing on one that does.
func (c Clock) Stop(now time.Time) Clock {
	return Clock{Left: c.Remaining(now)}
}

// Remaining is the work time that is left, never below zero. A now before the
// clock's start, as after a clock jump, gives no time back.
func (c Clock) Remaining(now time.Time) time.Duration {
	if c.Since.IsZero() {
		return c.Left
	}
	return max(0, c.Left-max(0, now.Sub(c.Since)))
}

// Deadline is when the clock runs out. It is false while it stands still.
func (c Clock) Deadline() (time.Time, bool) {
	if c.Since.IsZero() {
		return time.Time{}, false
	}
	return c.Since.Add(c.Left), true
}
