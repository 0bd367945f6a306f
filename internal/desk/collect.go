package desk

import (
	"bytes"
	"context"
	"errors"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/exchange"
	"github.com/answerback/answerback/internal/journal"
	"github.com/answerback/answerback/internal/plant"
)

// Take says what stays of an answer that is given out: the bytes that replace
// its result in the store. An error means that it is not given out.
type Take func(View) (rest []byte, err error)

// maxCollect bounds how often a collection begins anew because the record
// changed meanwhile, or because the store did not say whether it took it. Two
// writers at most come between: the desk itself, which notes that the asker
// has the outcome, and another collector, after which nothing is left to take.
const maxCollect = 4

// Collect gives out what the store keeps of an answer, once: of all who try,
// at any time and at any gateway, one gets it. What take leaves replaces it in
// the store before Collect returns, so a crash in between loses it and cannot
// give it out twice. The view is that from before. The errors are those of
// Look and of take, and NotAnswered for an ask that is open.
func (d *Desk) Collect(ctx context.Context, id string, who Viewer, surface string, take Take) (View, error) {
	if e, err := d.held(id, who, surface); err != nil {
		return View{}, err
	} else if e != nil {
		return View{}, ask.Errorf(ask.NotAnswered, "It was not answered yet.")
	}
	ctx, cancel := context.WithTimeout(ctx, storeTime)
	defer cancel()
	var failed error
	var given View   // what this collection gives out
	var doubt []byte // what it may have stored: sealing is random, so these bytes are its own
	for range maxCollect {
		r, b, err := d.ofPast(ctx, id, who, surface)
		if err != nil {
			return View{}, err
		}
		if doubt == nil || !bytes.Equal(r.Body, doubt) {
			given = b.view()
			rest, err := take(given)
			if err != nil {
				return View{}, err
			}
			r.Body, r.Settled, r.Keep = d.collected(&b, rest), true, d.cfg.Keep
			plant.Kill("desk.collect.before")
			_, failed = d.cfg.Journal.Update(ctx, r)
			plant.Kill("desk.collect.after")
			switch doubt = nil; {
			case errors.Is(failed, journal.Unavailable):
				doubt = r.Body
				continue
			case errors.Is(failed, journal.Conflict):
				continue
			case failed != nil:
				return View{}, journal.Refusal(failed)
			}
		}
		rec := d.record(&entry{ask: b.ask}, transitionCollected, d.cfg.Now())
		rec.By, rec.Surface = who.Principal, surface
		d.write(rec, nil)
		return given, nil
	}
	return View{}, journal.Refusal(failed)
}

// collected gives a body as it is stored once rest is all that stays of its
// answer. Whoever collects is the asker: it has the outcome.
func (d *Desk) collected(b *body, rest []byte) []byte {
	out := *b.kept.Outcome
	out.Answer.Result = rest
	b.kept.Outcome, b.kept.Delivery, b.resume = &out, exchange.DeliveryDone, nil
	return d.seal(b.ask.ID, *b)
}
