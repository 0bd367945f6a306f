package relay

import (
	"sync/atomic"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/desk"
	"github.com/answerback/answerback/internal/era"
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

// told gives what a backend is told that a client can be asked: what the
// client declared, and what the gateway's pages can do in its place, and
// nothing that nobody could deliver.
func (r *Relay) told(e *Entry, who ask.Principal, caps era.Caps) era.Caps {
	if r.desk != nil && r.pages != nil && e != nil && (e.AnsweredBy != "" || caps.URL && r.pages.Opens(who)) {
		caps.Form = true
	}
	return caps
}

// tell is told for the object of capabilities in which a client declared have.
func (r *Relay) tell(e *Entry, who ask.Principal, have era.Caps, raw []byte) []byte {
	if r.told(e, who, have) == have {
		return raw
	}
	return era.WithForm(raw)
}

// opens reports whether there are pages that somebody can open.
func (r *Relay) opens(who ask.Principal) bool { return r.pages != nil && r.pages.Opens(who) }

// ways says who is asked a question of this kind, and how they are reached.
func (a asker) ways(e *Entry, kind ask.Kind, to Peer) (ask.Addressee, desk.Ways) {
	switch {
	case kind == ask.Form && e != nil && e.AnsweredBy != "":
		return ask.Addressee{Group: e.AnsweredBy}, desk.Ways{Page: true}
	case kind == ask.Connect && (to == nil || !a.caps.URL || !a.relay.opens(a.who)):
	case kind == ask.Connect:
		return ask.Addressee{Principal: a.who}, desk.Ways{Link: &link{peer: to, pages: a.relay.pages}}
	case to == nil:
	case kind == ask.Form && !a.caps.Form:
		return ask.Addressee{Principal: a.who}, desk.Ways{Link: &link{peer: to, pages: a.relay.pages}}
	default:
		return ask.Addressee{Principal: a.who}, desk.Ways{Client: to}
	}
	return ask.Addressee{Principal: a.who}, desk.Ways{}
}

// link shows an ask as a link to its page, at a client that can offer links
// and has no form.
type link struct {
	peer     Peer
	pages    Pages
	followed atomic.Bool // the person agreed to open it
}

// Show sends the link in the place of the form.
func (l *link) Show(a *ask.Ask) error {
	at, err := wire.Value(a.Params)
	if err != nil {
		return ask.Wrap(ask.BadSchema, "The question cannot be read.", err)
	}
	message := wire.Get(a.Params, at, "message").Of(a.Params)
	if len(message) == 0 {
		message = []byte(`""`)
	}
	b := append([]byte(`{"mode":"url","elicitationId":`), wire.AppendString(nil, a.ID)...)
	b = wire.AppendString(append(b, `,"url":`...), l.pages.Link(a.ID))
	b = append(append(append(b, `,"message":`...), message...), '}')
	shown := *a
	shown.Params = b
	return l.peer.Show(&shown)
}

// Followed notes that the person agreed to open the link.
func (l *link) Followed() { l.followed.Store(true) }

// Withdraw takes the link back, or says that its page is done with.
func (l *link) Withdraw(id string, why *ask.Error) {
	if !l.followed.Load() {
		l.peer.Withdraw(id, why)
		return
	}
	b := wire.AppendString([]byte(`{"jsonrpc":"2.0","method":"notifications/elicitation/complete","params":{"elicitationId":`), id)
	l.peer.Notify(append(b, "}}"...))
}
