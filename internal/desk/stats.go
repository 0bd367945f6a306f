package desk

import "github.com/answerback/answerback/ask"

// Open is how many asks are open now.
func (d *Desk) Open() int { return int(d.limits.open.Load()) }

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
