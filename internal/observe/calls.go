package observe

import (
	"maps"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/era"
)

// maxLabelled is how many backends are counted apart.
const maxLabelled = 1000

// CallStats is how one call went.
type CallStats struct {
	Backend string
	// The eras of the two sides, zero where one is not known.
	Client, Server era.Era
	Code           ask.Code // why the gateway failed it, "" where the backend answered
	Failed         bool     // whether the backend answered with an error of its own
	// Work is the time that it took, but for People: that in which somebody
	// was asked.
	Work, People time.Duration
}

type outcome uint8

const (
	callOK outcome = iota
	callError
	callCancelled
	callFailed
	outcomes
)

var outcomeNames = [outcomes]string{"ok", "error", "cancelled", failed}

func (s *CallStats) outcome() outcome {
	switch {
	case s.Code == ask.ClientCancelled || s.Code == ask.ClientGone || s.Code == ask.SessionExpired:
		return callCancelled
	case s.Code != "":
		return callFailed
	case s.Failed:
		return callError
	}
	return callOK
}

// eraPairs are the labels by the eras of client and server.
var eraPairs = [era.Modern + 1][era.Modern + 1]string{
	era.Legacy: {era.Legacy: "legacy-legacy", era.Modern: "legacy-modern"},
	era.Modern: {era.Legacy: "modern-legacy", era.Modern: "modern-modern"},
}

// backendSeries are the series of one backend, at hand so that a call does
// not search for them.
type backendSeries struct {
	name         string
	work, people prometheus.Observer
	// calls are made when the first of them ends that way.
	calls [era.Modern + 1][era.Modern + 1][outcomes]atomic.Pointer[prometheus.Counter]
}

func (m *Metrics) newBackend(name string) *backendSeries {
	return &backendSeries{name: name, work: m.work.WithLabelValues(name), people: m.people.WithLabelValues(name)}
}

// Backends says which names of backends are counted apart. What comes under
// another name is counted as "other". Names that were given before stay, as
// their series do, up to 1,000 in all.
func (m *Metrics) Backends(names []string) {
	for {
		old := m.backends.Load()
		known := maps.Clone(*old)
		for _, name := range names {
			if known[name] == nil && len(known) < maxLabelled {
				known[name] = m.newBackend(name)
			}
		}
		if m.backends.CompareAndSwap(old, &known) {
			return
		}
	}
}

// Call counts a call that has ended.
func (m *Metrics) Call(s CallStats) {
	b := (*m.backends.Load())[s.Backend]
	if b == nil {
		b = m.other
	}
	client, server, how := s.Client, s.Server, s.outcome()
	if client > era.Modern || server > era.Modern || eraPairs[client][server] == "" {
		client, server = 0, 0
	}
	count := b.calls[client][server][how].Load()
	if count == nil {
		pair := eraPairs[client][server]
		if pair == "" {
			pair = other
		}
		c := m.calls.WithLabelValues(b.name, pair, outcomeNames[how])
		count = &c
		b.calls[client][server][how].Store(count)
	}
	(*count).Inc()
	b.work.Observe(s.Work.Seconds())
	if s.People > 0 {
		b.people.Observe(s.People.Seconds())
	}
	if how == callFailed {
		m.Refused(s.Code)
	}
}
