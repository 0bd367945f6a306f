package observe

import (
	"hash/maphash"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/desk"
)

const (
	censusParts = 64
	// maxCensus is how many questions are known to the census at most, far
	// above what a desk may be told to hold.
	maxCensus = 1 << 24
	// overtaken is how many endings each part remembers whose beginning it
	// has not seen.
	overtaken = 16
)

// census knows which questions are open, by a hash of their ids, so that it
// can say how many there are and how old the oldest is.
//
// The records of one question can overtake each other. An ending without a
// beginning is remembered for a while, so that a beginning which comes after
// it does not count for ever. It can also be the ending of a question that
// was answered right after a restart, and then nothing follows.
type census struct {
	now  func() time.Time
	seed maphash.Seed
	part [censusParts]censusPart

	open, oldest *prometheus.Desc
}

type censusPart struct {
	mu    sync.Mutex
	open  map[uint64]openAsk
	ended [overtaken]uint64
	next  int
}

type openAsk struct {
	asked int64 // in nanoseconds since 1970: a million of these are held
	kind  ask.Kind
}

func newCensus(now func() time.Time) *census {
	c := &census{
		now: now, seed: maphash.MakeSeed(),
		open:   prometheus.NewDesc("answerback_asks_open", "Questions that are open.", []string{"kind"}, nil),
		oldest: prometheus.NewDesc("answerback_ask_oldest_seconds", "Age of the oldest question that is open, 0 where none is.", nil, nil),
	}
	for i := range c.part {
		c.part[i].open = map[uint64]openAsk{}
	}
	return c
}

func (c *census) opened(r *desk.Record) {
	id := maphash.String(c.seed, r.Ask)
	p := &c.part[id%censusParts]
	p.mu.Lock()
	defer p.mu.Unlock()
	if i := slices.Index(p.ended[:], id); i >= 0 {
		p.ended[i] = 0
		return
	}
	if len(p.open) < maxCensus/censusParts {
		p.open[id] = openAsk{asked: r.At.Add(-r.Since).UnixNano(), kind: r.Kind}
	}
}

func (c *census) settled(r *desk.Record) {
	id := maphash.String(c.seed, r.Ask)
	p := &c.part[id%censusParts]
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, ok := p.open[id]; ok {
		delete(p.open, id)
		return
	}
	p.ended[p.next] = id
	p.next = (p.next + 1) % overtaken
}

// Describe is prometheus.Collector.Describe.
func (c *census) Describe(to chan<- *prometheus.Desc) {
	to <- c.open
	to <- c.oldest
}

// Collect is prometheus.Collector.Collect. It looks at one part after the
// other, so that nobody who counts waits for all of them.
func (c *census) Collect(to chan<- prometheus.Metric) {
	var open [ask.Connect + 1]int
	now := c.now().UnixNano()
	oldest := now
	for i := range c.part {
		p := &c.part[i]
		p.mu.Lock()
		for _, a := range p.open {
			if a.kind <= ask.Connect {
				open[a.kind]++
			}
			oldest = min(oldest, a.asked)
		}
		p.mu.Unlock()
	}
	for kind := ask.Form; kind <= ask.Connect; kind++ {
		to <- prometheus.MustNewConstMetric(c.open, prometheus.GaugeValue, float64(open[kind]), kind.String())
	}
	to <- prometheus.MustNewConstMetric(c.oldest, prometheus.GaugeValue, time.Duration(now-oldest).Seconds())
}
