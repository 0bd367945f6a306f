package desk

import (
	"context"
	"encoding/hex"
	"log/slog"
	"time"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/exchange"
	"github.com/answerback/answerback/internal/plant"
)

// The transitions of records that are not transitions of an ask: answers that
// were not taken, and one that was given out after its ask had ended.
const (
	transitionLate      = "late"
	transitionNotYours  = "not_yours"
	transitionCollected = "collected"
)

// Record is one entry of the audit. It never holds a question's parameters
// nor an answer's values.
type Record struct {
	At         time.Time
	Transition string // that of the exchange, or late, not_yours or collected
	Ask        string // the id
	// Of the ask. Empty for a late answer to an ask that is no longer held.
	Kind      ask.Kind
	Backend   string
	Name      string
	Client    string
	Addressee ask.Addressee
	Since     time.Duration // since it was asked
	// Of the ask too, and for those who tell people of it: not in the audit.
	During   string
	Deadline time.Time

	Rung string // of shown and show_failed: where

	Ending ask.Ending      // of settled
	Code   ask.Code        // why it ended, was not shown or was not taken; of asked: what is odd about it
	Reason ask.Abandonment // of settled: why it was abandoned, where it was

	// Of an answer, taken or not, of a look and of a collection: who and where.
	By      ask.Principal
	Surface string
	Action  ask.Action
	Digest  string // stands for the answer's bytes, in hexadecimal
}

// record begins a record about e.
func (d *Desk) record(e *entry, transition string, now time.Time) Record {
	return Record{
		At:         now,
		Transition: transition,
		Ask:        e.ask.ID,
		Kind:       e.ask.Kind,
		Backend:    e.ask.Backend,
		Name:       e.ask.Name,
		Client:     e.ask.Client,
		Addressee:  e.ask.Addressee,
		Since:      now.Sub(e.ask.Asked),
		During:     e.ask.During,
		Deadline:   e.ask.Deadline,
	}
}

// audit puts a transition that the exchange reported on record.
func (d *Desk) audit(e *entry, a exchange.Audit, now time.Time) {
	r := d.record(e, a.Transition.String(), now)
	var cause error
	switch a.Transition {
	case exchange.TransitionAsked:
		d.counts.asked.Add(1)
		r.Code = e.asker.Note
	case exchange.TransitionShown:
		r.Rung = a.Rung.String()
	case exchange.TransitionShowFailed:
		r.Rung, r.Code, cause = a.Rung.String(), a.Why.Code, a.Why.Cause
	case exchange.TransitionUndeliverable:
		r.Code, cause = a.Why.Code, a.Why.Cause
	case exchange.TransitionOpened, exchange.TransitionConsented, exchange.TransitionExtended, exchange.TransitionAttempted, exchange.TransitionInstant:
		r.By, r.Surface = a.By, a.Surface
		if a.Rung != 0 {
			r.Rung = a.Rung.String()
		}
	case exchange.TransitionSettled:
		out := a.Outcome
		d.counts.settled[out.Ending].Add(1)
		r.Ending, r.Reason = out.Ending, out.Abandonment()
		if out.Ending == ask.Answered {
			d.answered(&r, out.By, out.Surface, out.Answer)
		} else {
			r.Code, cause = out.Err.Code, out.Err.Cause
		}
	}
	d.write(r, cause)
}

// auditLate puts an answer that came too late on record. r says to what.
func (d *Desk) auditLate(r Record, by ask.Principal, surface string, answer ask.Answer) {
	d.counts.late.Add(1)
	r.Code = ask.TooLate
	d.answered(&r, by, surface, answer)
	d.write(r, nil)
}

// auditNotYours puts an answer from somebody else on record.
func (d *Desk) auditNotYours(e *entry, from From, answer ask.Answer) {
	r := d.record(e, transitionNotYours, d.cfg.Now())
	r.Code = ask.NotYours
	d.answered(&r, from.Principal, from.Surface, answer)
	d.write(r, nil)
}

// answered notes who gave an answer, and what stands for it.
func (d *Desk) answered(r *Record, by ask.Principal, surface string, answer ask.Answer) {
	r.By, r.Surface, r.Action = by, surface, answer.Action
	if len(answer.Result) == 0 && len(answer.Error) == 0 {
		return // somebody looked, and gave none
	}
	body := answer.Result
	if len(body) == 0 {
		body = answer.Error
	}
	r.Digest = plant.Instead(plant.LeakedSecret, string(body), hex.EncodeToString(d.cfg.Digest(body)))
}

// write gives a record to the audit and one line to the log. The cause of an
// error goes to the log alone.
func (d *Desk) write(r Record, cause error) {
	d.cfg.Audit(r)
	level := slog.LevelInfo
	if r.Transition == transitionNotYours {
		level = slog.LevelWarn
	}
	ctx := context.Background()
	if !d.cfg.Log.Enabled(ctx, level) {
		return
	}
	attrs := make([]slog.Attr, 0, 12)
	add := func(key, value string) {
		if value != "" {
			attrs = append(attrs, slog.String(key, value))
		}
	}
	add("ask", r.Ask)
	if r.Kind != 0 {
		add("kind", r.Kind.String())
		add("principal", r.Addressee.Principal.String())
		add("group", r.Addressee.Group)
		attrs = append(attrs, slog.Duration("dur", r.Since))
	}
	add("backend", r.Backend)
	add("name", r.Name)
	add("rung", r.Rung)
	if r.Ending != 0 {
		add("ending", r.Ending.String())
	}
	add("code", string(r.Code))
	add("reason", string(r.Reason))
	if !r.By.IsZero() {
		add("by", r.By.String())
		add("surface", r.Surface)
	}
	if r.Digest != "" {
		add("action", r.Action.String())
	}
	if cause != nil {
		add("cause", cause.Error())
	}
	d.cfg.Log.LogAttrs(ctx, level, "ask "+r.Transition, attrs...)
}
