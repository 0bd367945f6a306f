package desk

import (
	"context"
	"slices"
	"strings"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/exchange"
	"github.com/answerback/answerback/internal/journal"
)

// Ended gives the asks that have ended and are still remembered: those that
// were for somebody, and those for their groups that they answered
// themselves. Those that ended last come first, and there are at most limit.
// What was answered is in none of them. An ask that only passed through was
// never stored, and one that cannot be read is left out.
func (d *Desk) Ended(ctx context.Context, who Viewer, limit int) ([]View, error) {
	if who.Principal.IsZero() {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, storeTime)
	defer cancel()
	last := latest{limit: limit}
	own := ask.Addressee{Principal: who.Principal}
	if err := d.ended(ctx, own, &last, func(*View) bool { return true }); err != nil {
		return nil, err
	}
	for _, g := range who.Groups {
		err := d.ended(ctx, ask.Addressee{Group: g}, &last, func(v *View) bool {
			return v.Outcome.Ending == ask.Answered && v.Outcome.By == who.Principal
		})
		if err != nil {
			return nil, err
		}
	}
	return last.views, nil
}

// ended adds those asks of one addressee that somebody may see.
func (d *Desk) ended(ctx context.Context, of ask.Addressee, to *latest, may func(*View) bool) error {
	for r, err := range d.cfg.Journal.Settled(ctx, d.cfg.Shard(of), addresseeKey(of)) {
		if err != nil {
			return journal.Refusal(err)
		}
		if len(r.Body) == 0 {
			continue // it was refused before anybody was told of it
		}
		b, err := d.read(r, nil)
		if err != nil {
			d.cfg.Log.Error("ask not read", "ask", r.ID, "err", err)
			continue
		}
		v := b.view()
		if v.Outcome == nil || v.Ask.Addressee != of || !v.Ask.Kind.ForPeople() || !may(&v) {
			continue
		}
		v.Outcome.Answer.Result, v.Outcome.Answer.Error = nil, nil
		to.add(v)
	}
	return nil
}

// view is a stored ask as its addressee may see it.
func (b *body) view() View {
	k := &b.kept
	return View{
		Ask: b.ask, Active: k.Phase >= exchange.PhaseActive, Extensions: int(k.Extensions), Attempts: int(k.Attempts),
		Outcome: k.Outcome, Delivered: k.Delivery == exchange.DeliveryDone, Undelivered: k.Undelivered,
	}
}

// latest keeps the asks that ended last, those first. It never holds more than
// its limit, because questions can be long.
type latest struct {
	limit int
	views []View
}

func (l *latest) add(v View) {
	at, twice := slices.BinarySearchFunc(l.views, &v, func(a View, b *View) int {
		if c := b.Outcome.At.Compare(a.Outcome.At); c != 0 {
			return c
		}
		return strings.Compare(a.Ask.ID, b.Ask.ID)
	})
	switch {
	case twice: // it changed while it was read
		l.views[at] = v
	case at < l.limit:
		l.views = slices.Insert(l.views, at, v)
		l.views = l.views[:min(l.limit, len(l.views))]
	}
}
