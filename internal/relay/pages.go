package relay

import (
	"slices"
	"strings"
	"sync/atomic"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/contract"
	"github.com/answerback/answerback/internal/desk"
	"github.com/answerback/answerback/internal/era"
	"github.com/answerback/answerback/internal/exchange"
	"github.com/answerback/answerback/internal/parking"
	"github.com/answerback/answerback/internal/wire"
)

// Pages is where people answer what their client cannot show. Safe for
// concurrent use.
type Pages interface {
	// Link is the address of an ask's page. It opens nothing by itself.
	Link(id string) string
	// Opens reports whether there is a way for somebody to open their pages.
	Opens(who ask.Principal) bool
}

// standing is what is known of whoever a backend asks through a client that
// declared caps, but for the question itself.
func (r *Relay) standing(e *Entry, who ask.Principal, caps era.Caps) exchange.Standing {
	return exchange.Standing{
		Group: e != nil && e.AnsweredBy != "" && r.pages != nil,
		Pages: r.pages != nil && r.pages.Opens(who),
		Forms: caps.Form, Links: caps.URL,
	}
}

// told gives what a backend is told that a client can be asked: what the
// client declared, and what the gateway's pages can do in its place, and
// nothing that nobody could deliver, nor that this version does not have.
func (r *Relay) told(e *Entry, who ask.Principal, caps era.Caps, version string) era.Caps {
	if r.desk == nil || e == nil {
		return caps
	}
	s := r.standing(e, who, caps)
	s.Live, s.Call = true, true
	form, url := era.Elicits(version)
	s.Kind, s.Takes = ask.Form, caps.Form
	told := caps
	told.Form = caps.Form || form && len(exchange.Ladder(s.Reach())) > 0
	s.Kind, s.Takes = ask.URL, caps.URL
	told.URL = caps.URL || url && len(exchange.Ladder(s.Reach())) > 0
	return told
}

// tell is told for the object of capabilities in which a client declared have.
func (r *Relay) tell(e *Entry, who ask.Principal, have era.Caps, version string, raw []byte) []byte {
	told := r.told(e, who, have, version)
	return era.WithModes(raw, told.Form && !have.Form, told.URL && !have.URL)
}

// mute reports whether a client can show neither forms nor links, and its
// person has pages instead, to which the end of a call leads them.
func (r *Relay) mute(e *Entry, who ask.Principal, caps era.Caps) bool {
	return r.desk != nil && !caps.Form && !caps.URL && r.standing(e, who, caps).Pages
}

// standing is the relay's for one question.
func (k *carried) standing(e *Entry, kind ask.Kind, to contract.Peer) exchange.Standing {
	a := k.asker
	s := a.relay.standing(e, a.who, k.caps)
	s.Kind, s.Live, s.Doubts = kind, to != nil, a.manner.Doubt > 0
	s.Takes = era.CheckCaps(kind, k.q.Params, k.caps) == nil
	s.Call = slices.ContainsFunc(k.calls, func(c *call) bool { return c.pk != nil })
	return s
}

// ways says who is asked a question of this kind, and how they are reached. The
// error is for one that only a page is left for, and none of whose calls may
// wait for that.
func (k *carried) ways(e *Entry, kind ask.Kind, to contract.Peer) (ask.Addressee, desk.Ways, *ask.Error) {
	a, s := k.asker, k.standing(e, kind, to)
	reach := s.Reach()
	whom := ask.Addressee{Principal: a.who}
	if s.Group && kind == ask.Form {
		whom = ask.Addressee{Group: e.AnsweredBy}
	} else if reach.Page {
		full := k.admit()
		if full != nil && !reach.Client && !reach.Link {
			return whom, desk.Ways{}, full
		}
		reach.Page = full == nil
	}
	w := desk.Ways{Page: reach.Page}
	if reach.Client {
		w.Client = to
	}
	if reach.Client && (k.form != nil || k.teller() != nil) {
		w.Client = plain{to, k.teller()}
	}
	if reach.Link {
		w.Link = &link{peer: to, pages: a.relay.pages, tell: k.teller()}
	}
	if reach.Page {
		k.told = whom.Group == ""
		w.Waits = k.waitsOnPage
		if reach.Client {
			w.Doubt = a.manner.Doubt
		}
	}
	return whom, w, nil
}

// admit makes room for the calls that may have to outlive their requests. It
// is nil where there is room for one of them.
func (k *carried) admit() *ask.Error {
	full, some := ask.Errorf(ask.NoClient, "No client is available: no call waits for this question."), false
	for _, c := range k.calls {
		if c.pk == nil {
			continue
		}
		if err := c.pk.Admit(); err != nil {
			full = ask.From(err)
		} else {
			some = true
		}
	}
	if some {
		return nil
	}
	return full
}

// maxMessage bounds how much of a question is repeated to a client, in bytes.
const maxMessage = 500

// waitsOnPage notes for every call that a question may belong to that it
// waits on its page.
func (k *carried) waitsOnPage(a *ask.Ask) {
	p := parking.Page{Link: k.asker.relay.pages.Link(a.ID), Group: a.Addressee.Group != ""}
	if at, err := wire.Value(a.Params); err == nil {
		text, _ := wire.Unquote(wire.Get(a.Params, at, "message").Of(a.Params))
		p.Message = strings.ToValidUTF8(text[:min(len(text), maxMessage)], "")
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.done {
		return
	}
	k.page = p.Link
	unasked := !p.Group && era.CheckCaps(a.Kind, a.Params, k.asker.caps) != nil
	for _, c := range k.calls {
		if unasked {
			inform(c.peer, a.Kind, a.Params, p.Link)
		}
		if c.pk != nil {
			c.pk.Page(p)
		}
	}
}

// link shows an ask as a link to its page, at a client that can offer links
// and has no form.
type link struct {
	peer     contract.Peer
	pages    Pages
	tell     *teller     // where the client knows our extension
	followed atomic.Bool // the person agreed to open it
}

// Show sends the link in the place of the form, whose message was found to be
// a text when the question came.
func (l *link) Show(a *ask.Ask) error {
	message := wire.Get(a.Params, wire.Whole(a.Params), "message").Of(a.Params)
	b := append([]byte(`{"mode":"url","elicitationId":`), wire.AppendString(nil, a.ID)...)
	b = wire.AppendString(append(b, `,"url":`...), l.pages.Link(a.ID))
	b = append(append(append(b, `,"message":`...), message...), '}')
	shown := *a
	shown.Params = b
	return l.peer.Show(&shown)
}

// Warn tells the client that time is nearly up.
func (l *link) Warn(a *ask.Ask, extensions int) { warn(l.peer, l.tell, a, extensions) }

// Followed notes that the person agreed to open the link.
func (l *link) Followed() { l.followed.Store(true) }

// Withdraw takes the link back, or says that its page is done with. A peer
// that wants to know hears why in either case.
func (l *link) Withdraw(id string, why *ask.Error) {
	followed := l.followed.Load()
	if _, informed := l.peer.(contract.Informed); informed || !followed {
		defer l.peer.Withdraw(id, why)
	}
	if !followed {
		return
	}
	b := wire.AppendString([]byte(`{"jsonrpc":"2.0","method":"notifications/elicitation/complete","params":{"elicitationId":`), id)
	l.peer.Notify(append(b, "}}"...))
}
