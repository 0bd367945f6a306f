package desk

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/exchange"
	"github.com/answerback/answerback/internal/journal"
	"github.com/answerback/answerback/internal/plant"
)

// Viewer is somebody who proved who they are, outside any client: at a page,
// or at the API.
type Viewer struct {
	Principal ask.Principal
	Groups    []string // the configured groups that they belong to
}

// may reports whether v is whom an ask is for.
func (v Viewer) may(to ask.Addressee) bool {
	if to.Group != "" {
		return slices.Contains(v.Groups, to.Group)
	}
	return !v.Principal.IsZero() && to.Principal == v.Principal
}

// View is an ask as its addressee may see it.
type View struct {
	Ask        ask.Ask      // with its deadline as it stands now
	Active     bool         // somebody has opened it
	Extensions int          // how often it was extended
	Attempts   int          // how many answers did not fit it
	Outcome    *ask.Outcome // how it ended; nil while it is open
	Delivered  bool         // the outcome reached the asker
	// Undelivered says why the outcome did not reach the asker, where that is
	// known.
	Undelivered *ask.Error
}

// Receipt is what somebody is told whose answer was taken.
type Receipt struct {
	// Undelivered says why the answer did not reach the asker; nil where it
	// did.
	Undelivered *ask.Error
}

// Look gives an ask to whom it is for, and promises that it is kept. The
// error's code is Unknown for an id that is none, NotYours for somebody
// else's ask, and another where nothing can be promised now. Who looks at
// somebody else's ask is put on record; whoever presents the error must not
// let them tell it from Unknown.
func (d *Desk) Look(ctx context.Context, id string, who Viewer, surface string) (View, error) {
	return d.look(ctx, id, who, surface, exchange.Opened{Rung: exchange.RungPage, By: who.Principal, Surface: surface})
}

// Peek is Look by a program that does not put the ask before anybody.
func (d *Desk) Peek(ctx context.Context, id string, who Viewer, surface string) (View, error) {
	return d.look(ctx, id, who, surface, exchange.Promised{})
}

func (d *Desk) look(ctx context.Context, id string, who Viewer, surface string, ev exchange.AskEvent) (View, error) {
	e, err := d.held(id, who, surface)
	if err != nil {
		return View{}, err
	}
	if e == nil {
		return d.past(ctx, id, who, surface)
	}
	v := d.step(e, ev)
	plant.Kill("desk.look")
	switch {
	case v.notDone == nil:
		return d.view(e), nil
	case v.notDone.Code == ask.TooLate:
		return d.past(ctx, id, who, surface)
	}
	return View{}, v.notDone
}

// promiseAtOnce bounds how many asks are made kept at the same time for one
// list.
const promiseAtOnce = 16

// Waiting gives the open asks that are for somebody or for their groups,
// oldest first, and at most limit of them. Each is kept from then on; one that
// could not be stored is left out.
func (d *Desk) Waiting(who Viewer, limit int) []View {
	var found []*entry
	if !who.Principal.IsZero() {
		found = d.inbox.of(ask.Addressee{Principal: who.Principal})
	}
	for _, g := range who.Groups {
		found = append(found, d.inbox.of(ask.Addressee{Group: g})...)
	}
	slices.SortFunc(found, older)
	found = found[:min(limit, len(found))]

	there := make([]bool, len(found))
	room := make(chan struct{}, promiseAtOnce)
	var wg sync.WaitGroup
	for i, e := range found {
		room <- struct{}{}
		wg.Go(func() {
			defer func() { <-room }()
			there[i] = d.step(e, exchange.Promised{}).notDone == nil
			if there[i] {
				// Somebody who is shown the list can open the page: an ask that
				// loses its client has that left.
				d.step(e, exchange.Reachable{Rungs: []exchange.Rung{exchange.RungPage}})
			}
		})
	}
	wg.Wait()
	plant.Kill("desk.list")
	views := make([]View, 0, len(found))
	for i, e := range found {
		if there[i] {
			views = append(views, d.view(e))
		}
	}
	return views
}

// Submit takes an answer from somebody to an ask that is for them. An answer
// that was taken settles the ask, for ever. The errors are those of Look, and
// TooLate for an ask that has ended.
func (d *Desk) Submit(id string, who Viewer, surface string, answer ask.Answer) (Receipt, error) {
	if (len(answer.Result) == 0) == (len(answer.Error) == 0) {
		return Receipt{}, errNoAnswer
	}
	e, err := d.held(id, who, surface)
	if err != nil {
		return Receipt{}, err
	}
	if e == nil {
		d.auditLate(Record{At: d.cfg.Now(), Transition: transitionLate, Ask: id}, who.Principal, surface, answer)
		return Receipt{}, plant.Without(plant.DoubleSettle, error(errTooLate))
	}
	v := d.step(e, exchange.Submitted{Rung: exchange.RungPage, By: who.Principal, Surface: surface, Answer: answer})
	plant.Kill("desk.submit")
	return Receipt{Undelivered: v.undelivered}, v.err()
}

// Extend gives somebody more time for an ask that is for them: what its terms
// say, where by is 0. It may be extended as often as its terms say, or least
// times where that is more and it may be extended at all.
func (d *Desk) Extend(id string, who Viewer, surface string, by time.Duration, least int) (View, error) {
	e, err := d.held(id, who, surface)
	if err != nil {
		return View{}, err
	}
	if e == nil {
		return View{}, errTooLate
	}
	v := d.step(e, exchange.Extend{
		For: cmp.Or(by, e.ask.Terms.Extension), Limit: extensions(&e.ask.Terms, least),
		By: who.Principal, Surface: surface,
	})
	if v.notDone != nil {
		return View{}, v.notDone
	}
	return d.view(e), nil
}

// view is the ask as it stands.
func (d *Desk) view(e *entry) View {
	s := d.shard(e.ask.ID)
	s.mu.Lock()
	defer s.mu.Unlock()
	v := View{
		Ask: e.ask, Active: e.state.Phase >= exchange.PhaseActive,
		Extensions: int(e.state.Extensions), Attempts: int(e.state.Attempts),
	}
	v.Ask.Deadline = e.state.Deadline
	return v
}

// held finds the open ask with this id for somebody who may see it. It gives
// nil for an id that is one, of an ask that is not open here.
func (d *Desk) held(id string, who Viewer, surface string) (*entry, error) {
	e := d.find(id)
	if e == nil {
		key, err := d.cfg.Key(id)
		if err != nil || !d.shardOf(who, key.Shard) {
			return nil, errUnknown
		}
		return nil, nil
	}
	switch {
	case !e.ask.Kind.ForPeople():
		return nil, errUnknown
	case !who.may(e.ask.Addressee) && !plant.NoPrincipalCheck.On():
		d.auditNotYours(e, From{Principal: who.Principal, Surface: surface}, ask.Answer{})
		return nil, errNotYours
	}
	return e, nil
}

// shardOf reports whether an ask of this shard can be for somebody. That is
// all there is to tell strangers from an addressee once an ask is forgotten.
func (d *Desk) shardOf(who Viewer, shard uint16) bool {
	if d.cfg.Shard(ask.Addressee{Principal: who.Principal}) == shard {
		return true
	}
	return slices.ContainsFunc(who.Groups, func(g string) bool { return d.cfg.Shard(ask.Addressee{Group: g}) == shard })
}

// past gives an ask that has ended, as long as it is remembered. One that was
// never kept is not.
func (d *Desk) past(ctx context.Context, id string, who Viewer, surface string) (View, error) {
	_, b, err := d.ofPast(ctx, id, who, surface)
	if err != nil {
		return View{}, err
	}
	return b.view(), nil
}

// ofPast is past with the record and the whole body.
func (d *Desk) ofPast(ctx context.Context, id string, who Viewer, surface string) (journal.Record, body, error) {
	key, _ := d.cfg.Key(id) // held has looked at it
	r, err := d.cfg.Journal.Get(ctx, key)
	switch {
	case errors.Is(err, journal.NotFound):
		return r, body{}, errTooLate
	case err != nil:
		return r, body{}, journal.Refusal(err)
	}
	b, err := d.read(r, nil)
	if err != nil {
		d.cfg.Log.Error("ask not read", "ask", id, "err", err)
		return r, body{}, ask.From(err)
	}
	a := b.ask
	switch {
	case !a.Kind.ForPeople():
		return r, body{}, errUnknown
	case !who.may(a.Addressee):
		d.auditNotYours(&entry{ask: a}, From{Principal: who.Principal, Surface: surface}, ask.Answer{})
		return r, body{}, errNotYours
	case b.kept.Outcome == nil:
		return r, body{}, ask.Errorf(ask.Internal, "This question is open at another gateway.")
	}
	return r, b, nil
}
