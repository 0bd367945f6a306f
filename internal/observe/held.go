package observe

import "github.com/prometheus/client_golang/prometheus"

// heldFrom is where figures of memory are had.
type heldFrom struct {
	bytes map[string]func() int64
	short func() bool
}

// HeldFrom says where it is had how many bytes of requests and of responses
// are under way, and whether the process is short of memory. The functions are
// called at every scrape and must be quick.
func (m *Metrics) HeldFrom(bytes map[string]func() int64, short func() bool) {
	m.held.Store(&heldFrom{bytes, short})
}

func (m *Metrics) heldOf(what string) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "answerback_held_bytes", Help: "Memory of messages under way, by whose they are.", ConstLabels: prometheus.Labels{"of": what},
	}, func() float64 {
		if count := m.held.Load().bytes[what]; count != nil {
			return float64(count())
		}
		return 0
	})
}

func (m *Metrics) short() prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "answerback_short_of_memory", Help: "1 while new calls and sessions are refused for want of memory.",
	}, func() float64 {
		if m.held.Load().short() {
			return 1
		}
		return 0
	})
}
