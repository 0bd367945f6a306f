package journal

import (
	"math"
	"time"
)

// Never is the moment of a Rev that does not come.
const Never = math.MaxInt64

// farthest is how far ahead a moment can be: moments are nanoseconds in 64
// bits, which end in the year 2262.
const farthest = 100 * 365 * 24 * time.Hour

// After gives the moment d after now, but no later than 100 years after it.
func After(now int64, d time.Duration) int64 { return now + int64(min(d, farthest)) }

// Recoverable gives for how long from now on r counts while it is open: until
// its deadline, and for the time of recovery after it.
func (r *Record) Recoverable(now time.Time, recovery time.Duration) time.Duration {
	return min(max(r.Deadline.Sub(now), 0), farthest-recovery) + recovery
}

// Until gives the moment until which a version that expires at the given
// moment must stay in the store, in place of old. It is never earlier than
// that of old. So where an engine loses a version that it was allowed to
// remove, and finds an older one in its files, the older one has expired too.
func Until(old Rev, expires int64) int64 { return max(old.Until, expires) }
