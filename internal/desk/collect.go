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

// Take returns the bytes that replace the result of a collected answer in the
// store. An error stops the collection; it has no effect then.
type Take func(View) (rest []byte, err error)

// maxCollect bounds the attempts of one collection. An attempt is repeated
// after a conflict, or when the store did not confirm the write. At most two
// other writers change the record: the desk, when it notes the delivery, and
// another collector, after which take refuses.
const maxCollect = 4

// Collect returns the stored answer of an ask that has ended, and replaces it
// in the store by what take returns. Both happen by one compare-and-set, so
// that of concurrent collections, at any gateway, one succeeds and the others
// see its result in take. The replacement is durable before Collect returns: a
// crash in between loses the answer and cannot return it twice. The view is
// the one from before the replacement. The errors are those of Look and of
// take, and NotAnswered for an open ask.
func (d *Desk) Collect(ctx context.Context, id string, who Viewer, surface string, take Take) (View, error) {
	if e, err := d.held(id, who, surface); err != nil {
		return View{}, err
	} else if e != nil {
		return View{}, ask.Errorf(ask.NotAnswered, "It was not answered yet.")
	}
	ctx, cancel := context.WithTimeout(ctx, storeTime)
	defer cancel()
	var failed error
	var given View   // what this collection returns
	var doubt []byte // the body that it may have stored; sealing is random, so the bytes identify it
	for range maxCollect {
		r, b, err := d.ofPast(ctx, id, who, surface)
		if err != nil {
			return View{}, err
		}
		if steppedBack(r.Body) {
			return View{}, errMayBeCollected
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

// errMayBeCollected refuses to give out what may have been given out after the
// backup from which the store was restored.
var errMayBeCollected = ask.Errorf(ask.Collected, "The gateway was restored from a backup. The result may have been collected after the backup was taken, and is given out once.")

// collected seals a body whose answer was replaced by rest. The collector is
// the asker, so the outcome counts as delivered.
func (d *Desk) collected(b *body, rest []byte) []byte {
	out := *b.kept.Outcome
	out.Answer.Result = rest
	b.kept.Outcome, b.kept.Delivery, b.resume = &out, exchange.DeliveryDone, nil
	return d.seal(b.ask.ID, *b)
}
