package desk

import (
	"slices"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/exchange"
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

// View is an open ask as its addressee may see it.
type View struct {
	Ask ask.Ask
}

// Look gives an open ask to whom it is for. The error's code is Unknown for
// an id that is none, NotYours for somebody else's ask, and TooLate for one
// that has ended. Who looks at somebody else's ask is put on record; whoever
// presents the error must not let them tell it from Unknown.
func (d *Desk) Look(id string, who Viewer, surface string) (View, error) {
	e, err := d.held(id, who, surface)
	if err != nil {
		return View{}, err
	}
	if e == nil {
		return View{}, errTooLate
	}
	r := d.record(e, transitionOpened, d.cfg.Now())
	r.By, r.Surface = who.Principal, surface
	d.write(r, nil)
	return View{Ask: e.ask}, nil
}

// Waiting gives the open asks that are for somebody or for their groups,
// oldest first, and at most limit of them.
func (d *Desk) Waiting(who Viewer, limit int) []View {
	var found []*entry
	if !who.Principal.IsZero() {
		found = d.inbox.of(ask.Addressee{Principal: who.Principal})
	}
	for _, g := range who.Groups {
		found = append(found, d.inbox.of(ask.Addressee{Group: g})...)
	}
	slices.SortFunc(found, older)
	views := make([]View, 0, min(limit, len(found)))
	for _, e := range found[:min(limit, len(found))] {
		views = append(views, View{Ask: e.ask})
	}
	return views
}

// Submit takes an answer from somebody to an ask that is for them. The errors
// are those of Look. An answer that was taken settles the ask.
func (d *Desk) Submit(id string, who Viewer, surface string, answer ask.Answer) error {
	if (len(answer.Result) == 0) == (len(answer.Error) == 0) {
		return errNoAnswer
	}
	from := From{Principal: who.Principal, Surface: surface}
	e, err := d.held(id, who, surface)
	if err != nil {
		return err
	}
	if e == nil {
		d.auditLate(Record{At: d.cfg.Now(), Transition: transitionLate, Ask: id}, from.Principal, surface, answer)
		return errTooLate
	}
	if late := d.step(e, d.cfg.Now(), exchange.Submitted{By: who.Principal, Surface: surface, Answer: answer}); late {
		return errTooLate
	}
	return nil
}

// held finds the open ask with this id for somebody who may see it. It gives
// nil for an id that is one, of an ask that has ended.
func (d *Desk) held(id string, who Viewer, surface string) (*entry, error) {
	e := d.find(id)
	switch {
	case e == nil && !d.cfg.Verify(id):
		return nil, errUnknown
	case e == nil:
		return nil, nil
	case !forPeople(e.ask.Kind):
		return nil, errUnknown
	case !who.may(e.ask.Addressee):
		d.auditNotYours(e, From{Principal: who.Principal, Surface: surface}, ask.Answer{})
		return nil, errNotYours
	}
	return e, nil
}
