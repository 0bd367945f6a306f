package observe

import (
	"errors"
	"log/slog"
	"net/http"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/aside"
)

// The bounds of histograms, in seconds.
var (
	peopleBuckets  = []float64{.1, .5, 1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 4 * 3600, 24 * 3600}
	callBuckets    = []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300}
	journalBuckets = []float64{.00005, .0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 5}
)

// maxScrapes is how many scrapes are served at once.
const maxScrapes = 4

// MetricsConfig is what Metrics are made of. Every field is required.
type MetricsConfig struct {
	Version, Commit string // of this build
	Now             func() time.Time
	Log             *slog.Logger
}

// Metrics counts for a Prometheus server to scrape, in a registry of its own.
// Safe for concurrent use; counting takes no lock that a scrape holds for
// long. Make one with NewMetrics.
type Metrics struct {
	registry *prometheus.Registry
	log      *slog.Logger
	backends atomic.Pointer[map[string]*backendSeries]
	other    *backendSeries
	sessions atomic.Pointer[func() int]
	held     atomic.Pointer[heldFrom]
	census   *census

	asks      [ask.Connect + 1][ask.Refused + 1]prometheus.Counter
	shown     *prometheus.CounterVec
	abandoned *prometheus.CounterVec
	answers   *prometheus.CounterVec
	delivered *prometheus.CounterVec
	answer    *prometheus.HistogramVec
	refusals  *prometheus.CounterVec

	calls  *prometheus.CounterVec
	work   *prometheus.HistogramVec
	people *prometheus.HistogramVec

	journal       *prometheus.HistogramVec
	journalErrors *prometheus.CounterVec

	auditWritten prometheus.Counter
	auditDropped prometheus.Counter

	notified *prometheus.CounterVec
	aside    *prometheus.CounterVec
}

// NewMetrics makes metrics with nothing counted.
func NewMetrics(cfg MetricsConfig) (*Metrics, error) {
	if cfg.Version == "" || cfg.Commit == "" || cfg.Now == nil || cfg.Log == nil {
		return nil, errors.New("observe: MetricsConfig needs Version, Commit, Now and Log")
	}
	m := &Metrics{registry: prometheus.NewRegistry(), log: cfg.Log, census: newCensus(cfg.Now)}
	m.backends.Store(&map[string]*backendSeries{})
	m.SessionsFrom(func() int { return 0 })
	m.HeldFrom(nil, func() bool { return false })
	if err := errors.Join(m.makeAsks(), m.makeCalls(), m.makeRest(cfg)); err != nil {
		return nil, err
	}
	return m, nil
}

func (m *Metrics) makeAsks() error {
	asks := counters("answerback_asks_total", "Questions that ended, by what was asked for and how they ended.", "kind", "ending")
	for kind := ask.Form; kind <= ask.Connect; kind++ {
		for ending := ask.Answered; ending <= ask.Refused; ending++ {
			m.asks[kind][ending] = asks.WithLabelValues(kind.String(), ending.String())
		}
	}
	m.shown = counters("answerback_asks_shown_total", "Attempts to show a question, by where and whether it was shown.", "rung", "result")
	m.abandoned = counters("answerback_asks_abandoned_total", "Questions that were asked and left without a decision, by reason.", "reason")
	for reason := range reasons {
		m.abandoned.WithLabelValues(reason)
	}
	m.answers = counters("answerback_answers_total", "Answers that were taken, by where they were given and what was done.", "surface", "action")
	m.delivered = counters("answerback_outcomes_total", "Outcomes of questions, by whether their asker got them.", "result")
	m.answer = histograms("answerback_answer_seconds", "Time from asking to the answer: the time of people and models.", peopleBuckets, "kind", "surface")
	m.refusals = counters("answerback_refusals_total", "Refusals and failures of the gateway's own, by code.", "code")
	return m.register(asks, m.shown, m.abandoned, m.answers, m.delivered, m.answer, m.refusals, m.census)
}

func (m *Metrics) makeCalls() error {
	m.calls = counters("answerback_calls_total", "Calls that ended, by backend, the eras of client and server, and outcome.", "backend", "eras", "outcome")
	m.work = histograms("answerback_call_seconds", "Time that a call took at the backend, the time of people not counted.", callBuckets, "backend")
	m.people = histograms("answerback_call_human_seconds", "Time in which a call waited for somebody's answer, of calls that did.", peopleBuckets, "backend")
	m.other = m.newBackend(other)
	return m.register(m.calls, m.work, m.people)
}

func (m *Metrics) makeRest(cfg MetricsConfig) error {
	m.journal = histograms("answerback_journal_seconds", "Time that operations of the journal took.", journalBuckets, "operation")
	m.journalErrors = counters("answerback_journal_errors_total", "Operations of the journal that failed, by reason.", "operation", "reason")
	m.auditWritten = prometheus.NewCounter(prometheus.CounterOpts{Name: "answerback_audit_written_total", Help: "Records of the audit that were stored."})
	m.auditDropped = prometheus.NewCounter(prometheus.CounterOpts{Name: "answerback_audit_dropped_total", Help: "Records of the audit that were lost."})
	m.notified = counters("answerback_notifications_total", "Posts that tell of a question that waits on a page, by what became of them.", "result")
	m.aside = counters("answerback_set_aside_total", "What could not be taken up at this start and was set aside, by kind.", "kind")
	for _, k := range aside.Kinds {
		m.aside.WithLabelValues(string(k))
	}
	sessions := prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "answerback_sessions_open", Help: "Client sessions that are open."},
		func() float64 { return float64((*m.sessions.Load())()) })
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "answerback_build_info", Help: "Always 1; the labels say what runs.",
		ConstLabels: prometheus.Labels{"version": cfg.Version, "commit": cfg.Commit, "goversion": runtime.Version()},
	})
	build.Set(1)
	return m.register(m.journal, m.journalErrors, m.auditWritten, m.auditDropped, m.notified, m.aside, sessions, build,
		m.heldOf("requests"), m.heldOf("responses"), m.short(),
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
}

func (m *Metrics) register(all ...prometheus.Collector) error {
	var errs []error
	for _, c := range all {
		errs = append(errs, m.registry.Register(c))
	}
	return errors.Join(errs...)
}

func counters(name, help string, labels ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
}

func histograms(name, help string, bounds []float64, labels ...string) *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: bounds}, labels)
}

// SessionsFrom says where the number of open sessions is had. count is called
// at every scrape and must be quick.
func (m *Metrics) SessionsFrom(count func() int) { m.sessions.Store(&count) }

// Notified counts what became of a post that tells of a question.
func (m *Metrics) Notified(result string) { m.notified.WithLabelValues(result).Inc() }

// SetAside counts something that could not be taken up after a restart.
func (m *Metrics) SetAside(k aside.Kind) { m.aside.WithLabelValues(string(k)).Inc() }

// Handler serves the metrics.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{
		ErrorLog:            slog.NewLogLogger(m.log.Handler(), slog.LevelWarn),
		ErrorHandling:       promhttp.ContinueOnError,
		MaxRequestsInFlight: maxScrapes,
	})
}
