package observe

import (
	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/desk"
)

// Record counts one transition of a question.
func (m *Metrics) Record(r desk.Record) {
	switch r.Transition {
	case "asked", "restarted", "adopted":
		m.census.opened(&r)
	case "shown":
		m.shown.WithLabelValues(among(rungs, r.Rung), "shown").Inc()
	case "show_failed":
		m.shown.WithLabelValues(among(rungs, r.Rung), failed).Inc()
	case "settled":
		m.census.settled(&r)
		m.settled(&r)
	case "delivered", "undeliverable":
		m.delivered.WithLabelValues(r.Transition).Inc()
	case "late", "not_yours":
		m.Refused(r.Code)
	}
}

// failed is how a showing or a call ends that the gateway could not manage.
const failed = "failed"

func (m *Metrics) settled(r *desk.Record) {
	if int(r.Kind) >= len(m.asks) || int(r.Ending) >= len(m.asks[0]) || r.Kind == 0 || r.Ending == 0 {
		return
	}
	m.asks[r.Kind][r.Ending].Inc()
	switch r.Ending {
	case ask.Answered:
		surface := among(surfaces, r.Surface)
		m.answers.WithLabelValues(surface, r.Action.String()).Inc()
		m.answer.WithLabelValues(r.Kind.String(), surface).Observe(r.Since.Seconds())
	case ask.Refused:
		m.Refused(r.Code)
	}
	if r.Reason != "" {
		m.abandoned.WithLabelValues(among(reasons, string(r.Reason))).Inc()
	}
}

// Refused counts a refusal that reaches neither a question's record nor
// CallStats.
func (m *Metrics) Refused(code ask.Code) { m.refusals.WithLabelValues(codeLabel(code)).Inc() }
