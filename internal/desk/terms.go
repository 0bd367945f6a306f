package desk

import (
	"cmp"
	"math"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/exchange"
)

// terms are those of an ask, with what it leaves open filled in.
func (d *Desk) terms(a *ask.Ask) ask.Terms {
	t, usual := a.Terms, &d.cfg.Terms
	t.Timeout = cmp.Or(min(max(0, t.Timeout), d.cfg.MaxTimeout), d.cfg.Timeout(a.Kind))
	t.Extension = min(cmp.Or(max(0, t.Extension), usual.Extension), d.cfg.MaxTimeout)
	t.Extensions = cmp.Or(max(0, t.Extensions), usual.Extensions)
	t.NoExtension = t.NoExtension || usual.NoExtension
	if t.NoExtension {
		t.Extensions = 0
	}
	t.Attempts = cmp.Or(max(0, t.Attempts), usual.Attempts)
	t.Warn = cmp.Or(max(0, t.Warn), usual.Warn)
	switch {
	case !a.Kind.ForPeople():
		t.Warn = 0 // a model needs no warning
	case t.Warn >= t.Timeout:
		// It would come with the question itself.
		t.Warn = t.Timeout / 5
	}
	return t
}

// extensions is how often an ask may be extended from somewhere that needs at
// least so many.
func extensions(t *ask.Terms, least int) int32 {
	if t.NoExtension {
		return 0
	}
	return int32(min(max(t.Extensions, least), math.MaxInt32))
}

// Warner is a Showing that can pass on that a question's time is nearly up.
type Warner interface {
	// Warn is called once for each time that the end comes near. The ask has
	// its deadline as it stands; it is not modified. extensions is how often
	// it can still be extended.
	Warn(a *ask.Ask, extensions int)
}

// warn tells the clients that have e before them that its time is nearly up.
// Pages have a clock of their own.
func (d *Desk) warn(e *entry, up exchange.Rungs) {
	if e.taken != nil {
		select {
		case <-e.taken:
			// Whoever had it before a restart may have it still.
			up = ^exchange.Rungs(0)
		default:
			return // no client is back yet
		}
	}
	v := d.view(e)
	for _, r := range []exchange.Rung{exchange.RungClient, exchange.RungLink} {
		if to, ok := e.way(r).(Warner); ok && up.Has(r) {
			to.Warn(&v.Ask, v.Extendable())
		}
	}
}

// Extendable is how often the ask can still be extended.
func (v *View) Extendable() int {
	if v.Outcome != nil {
		return 0
	}
	return max(0, v.Ask.Terms.Extensions-v.Extensions)
}

// Attempts is how often an ask was answered in a way that does not fit it.
type Attempts struct {
	Count int
	Limit int // one more ends the ask
}

// Over reports whether the ask has ended for that reason.
func (a Attempts) Over() bool { return a.Count > a.Limit }

// Last reports whether one more ends the ask.
func (a Attempts) Last() bool { return a.Count == a.Limit }

// Attempted counts an answer from somebody to an ask that is for them, which
// does not fit it and was not submitted. One too many ends the ask: its asker
// is told FormInvalidated. The errors are those of Submit; with one that is
// about the store nothing was counted.
func (d *Desk) Attempted(id string, who Viewer, surface string) (Attempts, error) {
	e, err := d.held(id, who, surface)
	if err != nil {
		return Attempts{}, err
	}
	if e == nil {
		return Attempts{}, errTooLate
	}
	limit := e.ask.Terms.Attempts
	v := d.step(e, exchange.Attempted{Limit: int32(limit), By: who.Principal, Surface: surface})
	if v.notDone != nil {
		return Attempts{}, v.notDone
	}
	return Attempts{Count: d.view(e).Attempts, Limit: limit}, nil
}
