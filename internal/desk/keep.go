package desk

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/exchange"
	"github.com/answerback/answerback/internal/journal"
	"github.com/answerback/answerback/internal/plant"
)

// storeTime bounds one attempt to store something about an ask.
const storeTime = 5 * time.Second

// persist stores an ask as it will be after the step that waits, and says
// what came of it.
func (d *Desk) persist(e *entry, p exchange.Persist) exchange.AskEvent {
	ctx, cancel := context.WithTimeout(d.life, storeTime)
	defer cancel()
	r := d.stored(e, p.Kept)
	var rev journal.Rev
	var err error
	if p.New {
		plant.Kill("desk.create.before")
		rev, err = d.cfg.Journal.Create(ctx, r)
		plant.Kill("desk.create.after")
	} else {
		plant.Kill("desk.update.before")
		rev, err = d.cfg.Journal.Update(ctx, r)
		plant.Kill("desk.update.after")
	}
	if err == nil {
		e.rev = rev
		return exchange.Persisted{}
	}
	if fault, ok := errors.AsType[*journal.Error](err); ok && fault.Current != nil {
		b, ferr := d.read(*fault.Current, nil)
		if ferr == nil {
			e.rev = fault.Current.Rev
			return exchange.Learned{Kept: b.kept}
		}
		err = ferr
	}
	d.cfg.Log.Error("ask not stored", "ask", e.ask.ID, "err", err)
	return exchange.PersistFailed{Why: journal.Refusal(err)}
}

// note stores what became of an outcome, as well as that can be done.
func (d *Desk) note(e *entry, k exchange.Kept) {
	ctx, cancel := context.WithTimeout(d.life, storeTime)
	defer cancel()
	plant.Kill("desk.note.before")
	_, err := d.cfg.Journal.Update(ctx, d.stored(e, k))
	plant.Kill("desk.note.after")
	if fault, ok := errors.AsType[*journal.Error](err); ok && fault.Current != nil && len(fault.Current.Body) > 0 {
		if done, _ := told(e.ask.ID, fault.Current.Body); done {
			return // the asker has collected the answer meanwhile, which notes the delivery too
		}
	}
	if err != nil {
		d.cfg.Log.Warn("delivery of an outcome not stored", "ask", e.ask.ID, "err", err)
	}
}

// forget settles what an attempt to store a new ask may have left behind, so
// that it does not come back after a restart.
func (d *Desk) forget(e *entry) {
	ctx, cancel := context.WithTimeout(d.life, storeTime)
	defer cancel()
	key, _ := d.cfg.Key(e.ask.ID) // Mint made it
	r, err := d.cfg.Journal.Get(ctx, key)
	if err != nil {
		return // it is not there, or the store is not
	}
	r.Settled, r.Keep, r.Body = true, d.cfg.Keep, nil
	if _, err := d.cfg.Journal.Update(ctx, r); err != nil {
		d.cfg.Log.Warn("an ask that was refused is still in the store", "ask", e.ask.ID, "err", err)
	}
}

// stored gives an ask as the journal keeps it.
func (d *Desk) stored(e *entry, k exchange.Kept) journal.Record {
	key, _ := d.cfg.Key(e.ask.ID) // Mint made it
	r := journal.Record{
		Key: key, Rev: e.rev, Addressee: addresseeKey(e.ask.Addressee),
		Asked: e.ask.Asked, Deadline: k.Deadline, Body: plant.Without(plant.EarlyShow, d.seal(e.ask.ID, bodyOf(&e.ask, k, e.group, e.handle(k), e.keeps(k)))),
	}
	if k.Outcome != nil {
		r.Settled, r.Keep = true, d.cfg.Keep
	}
	if e.steppedBack && (!e.open || k.Outcome == nil) {
		// An answer of before the backup stays one, and so does a question until
		// it was answered anew.
		r.Body = StepBack(r.Body)
	}
	return r
}

// read is the reverse of stored.
func (d *Desk) read(r journal.Record, known *words) (body, error) {
	if len(r.Body) == 0 {
		return body{}, ask.Errorf(ask.Unknown, "The question was never asked.")
	}
	return d.unseal(r.ID, r.Body, known)
}

// handle is what the asker is taken up from after a restart. One that was told
// is not, and may have let go of what it would be taken up from.
func (e *entry) handle(k exchange.Kept) []byte {
	if k.Delivery != 0 {
		return nil
	}
	if e.resume == nil && e.taken == nil && e.asker.Resume != nil {
		return e.asker.Resume()
	}
	return e.resume
}

// keeps is what the asker wants kept of an answer that it has.
func (e *entry) keeps(k exchange.Kept) func([]byte) []byte {
	if k.Delivery != exchange.DeliveryDone {
		return nil
	}
	if e.taken != nil {
		<-e.taken
	}
	return e.asker.Keep
}

// addresseeKey names an addressee in the store. The words are told apart by
// their lengths.
func addresseeKey(a ask.Addressee) string {
	return fmt.Sprintf("%d.%d.%s%s%s", len(a.Principal.Issuer), len(a.Principal.Subject), a.Principal.Issuer, a.Principal.Subject, a.Group)
}
