package desk

import (
	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/exchange"
)

// Open is how many asks are open now.
func (d *Desk) Open() int { return int(d.limits.open.Load()) }

// Keeps reports whether an ask is open and kept, so that it goes on after the
// next start.
func (d *Desk) Keeps(id string) bool {
	e := d.find(id)
	if e == nil {
		return false
	}
	s := d.shard(id)
	s.mu.Lock()
	defer s.mu.Unlock()
	return !e.state.Persisting() && e.state.Kept && e.state.Phase != exchange.PhaseSettled
}

// Stats are counts for metrics. All but Open and RateKeys only ever grow.
type Stats struct {
	Open      int    // asks open now
	RateKeys  int    // pairs of backend and addressee that the rate limit remembers
	Asked     uint64 // refused ones included
	Answered  uint64
	Expired   uint64
	Withdrawn uint64
	Abandoned uint64
	Refused   uint64
	Late      uint64 // answers that came too late
}

// Stats gives the counts as they stand.
func (d *Desk) Stats() Stats {
	ended := func(how ask.Ending) uint64 { return d.counts.settled[how].Load() }
	return Stats{
		Open:      d.Open(),
		RateKeys:  d.limits.rate.keys(),
		Asked:     d.counts.asked.Load(),
		Answered:  ended(ask.Answered),
		Expired:   ended(ask.Expired),
		Withdrawn: ended(ask.Withdrawn),
		Abandoned: ended(ask.Abandoned),
		Refused:   ended(ask.Refused),
		Late:      d.counts.late.Load(),
	}
}
