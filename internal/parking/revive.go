package parking

import (
	"strconv"
	"strings"
	"time"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/era"
)

// Place is where a call stands, as it is kept with a question of the call so
// that the call can be taken up after a restart.
type Place struct {
	Parked string        `json:",omitempty"` // the call's id
	Told   bool          `json:",omitempty"` // its client was told to call again, or will be; it may be a legacy one
	Era    era.Era       `json:",omitempty"`
	Round  int           `json:",omitempty"`
	Key    string        `json:",omitempty"` // the question's, where it is for the client
	Away   time.Duration `json:",omitempty"`
	// Through is the surface by which its client comes.
	Through string `json:",omitempty"`
}

// Place says where the call stands.
func (pk *Call) Place() Place {
	pk.mu.Lock()
	defer pk.mu.Unlock()
	return Place{Parked: pk.id, Told: pk.told, Era: pk.terms.Era, Round: pk.round, Away: pk.terms.Away, Through: pk.terms.Through}
}

// Place says where the call of the offer stands.
func (o *Offer) Place() Place {
	p := o.call.Place()
	p.Key = o.key
	return p
}

// Revive makes a call of before a restart again, and the offers of its
// questions, from where it stood at each of them. What terms lack, its era,
// its surface and how long it waits, is there. It is let in, whatever the limit
// on calls says; the error means that a call of its id is there.
func (l *Lot) Revive(t Terms, created time.Time, places []Place) (*Call, []*Offer, error) {
	t.Era, t.Away, t.Through = era.Modern, places[0].Away, places[0].Through
	pk := l.New(t)
	pk.id, pk.created, pk.revived = places[0].Parked, created, true
	offers := make([]*Offer, len(places))
	for i, p := range places {
		pk.round = max(pk.round, p.Round)
		if n, err := strconv.Atoi(strings.TrimPrefix(p.Key, "q")); err == nil {
			pk.keys = max(pk.keys, n)
		}
		if p.Told {
			pk.told, pk.terms.Era = true, p.Era
		}
		offers[i] = &Offer{pk, p.Key}
	}
	return pk, offers, pk.readmit()
}

// Lost says that a revived call cannot be taken up, and waits for its client,
// who is told so.
func (pk *Call) Lost(why *ask.Error) {
	pk.result.Err, pk.over = why, true
	if pk.told && why.Code != ask.OutcomeUnknown {
		pk.result.Err = lostWork(why)
	}
	close(pk.done)
	pk.Await()
}

// Await begins the wait for the client of a revived call.
func (pk *Call) Await() {
	if pk.told {
		if err := pk.await(pk.readmit); err != nil {
			pk.lot.log.Warn("nobody finds a call that was taken up after a restart", "backend", pk.terms.Backend, "err", err)
		}
		return
	}
	pk.mu.Lock()
	defer pk.mu.Unlock()
	patience := pk.terms.Away
	if pk.terms.Tasks {
		patience = pk.lot.limits.Total
	}
	pk.patient = time.AfterFunc(patience, func() {
		pk.end(ask.Errorf(ask.ClientGone, "The client did not come back with an answer."))
	})
}
