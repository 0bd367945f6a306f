package page

import (
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/desk"
	asked "github.com/answerback/answerback/internal/question"
)

const (
	// maxPast is how many questions the history shows.
	maxPast = 50
	// maxTold is how much of a question the history tells, in characters.
	maxTold = 2_000
)

// history is what somebody was asked before.
type history struct {
	Keep  string // how long it is remembered, "" where that is not known
	Items []pastItem
	More  bool
}

// pastItem is a question that has ended. What was answered is not in it.
type pastItem struct {
	ID     string
	Who    who
	Teaser string
	Rest   string // the question in full, where the teaser is not all of it
	Cut    bool   // not even Rest has all of it
	How    string // how it ended
	Good   bool   // somebody said yes, and it arrived
	When   moment
	After  string // what became of the answer
	Lost   string // why it did not arrive
}

// history shows what has ended to whom it was for.
func (h *Handler) history(w http.ResponseWriter, r *http.Request) {
	v, ok := h.visitor(r)
	if !ok {
		h.cfg.People.Challenge(w, r)
		return
	}
	views, err := h.cfg.Desk.Ended(r.Context(), v.Viewer, maxPast+1)
	if err != nil {
		h.fail("history could not be read", "", v, err)
		h.broken(w, v, err, note{Heading: "Your history cannot be shown right now"})
		return
	}
	var body history
	switch {
	case h.cfg.Keep == time.Hour:
		body.Keep = "an hour"
	case h.cfg.Keep > 0:
		body.Keep = span(h.cfg.Keep)
	}
	if len(views) > maxPast {
		views, body.More = views[:maxPast], true
	}
	now := h.cfg.Now()
	for i := range views {
		body.Items = append(body.Items, readPast(&views[i], now))
	}
	h.rd.show(w, http.StatusOK, pageHistory, frame{Title: "Your history", Me: v.me, Tabs: h.tabs(tabHistory), Body: body})
}

func readPast(view *desk.View, now time.Time) pastItem {
	a, out := &view.Ask, view.Outcome
	it := pastItem{ID: a.ID, Who: readWho(a, now), Teaser: teaser(a), When: since(out.At, now)}
	if words := strings.TrimSpace(plain(asked.Read(a.Params).Message)); utf8.RuneCountInString(words) > maxTeaser {
		it.Rest, it.Cut = clip(words, maxTold)
	}
	it.How = ending(a, out)
	if out.Ending != ask.Answered {
		return it
	}
	switch {
	case view.Undelivered != nil:
		it.Lost = "Your answer could not be delivered: " + line(view.Undelivered.Message, maxHelp)
	case view.Delivered:
		it.After = "delivered to " + it.Who.Backend
		it.Good = out.Answer.Action == ask.Accept
	default:
		it.After = "on its way to " + it.Who.Backend
	}
	return it
}

// ending says how a question ended, and where.
func ending(a *ask.Ask, out *ask.Outcome) string {
	switch out.Ending {
	case ask.Answered:
		return did(a.Kind, out.Answer.Action) + where(a, out.Surface)
	case ask.Expired:
		return "Its time ran out"
	case ask.Withdrawn:
		if a.Kind == ask.Connect {
			return "It was not needed any more"
		}
		return "Its server took it back"
	case ask.Abandoned:
		if out.Err.Code == ask.FormInvalidated {
			return "It ended after too many answers that did not fit"
		}
		return "It was given up: " + line(out.Err.Message, maxHelp)
	}
	return "It could not be asked: " + line(out.Err.Message, maxHelp)
}

// did is what somebody did.
func did(k ask.Kind, action ask.Action) string {
	switch {
	case action == ask.Decline:
		return "You declined"
	case action == ask.Cancel:
		return "You left it for now"
	case action != ask.Accept:
		return "It was refused with an error"
	case k == ask.Connect:
		return "You connected the account"
	case k == ask.URL:
		return "You agreed to open an address"
	}
	return "You answered"
}

// where is the place at which somebody answered. What a client did in its
// person's name they should see.
func where(a *ask.Ask, surface string) string {
	switch surface {
	case "page":
		return " on this site"
	case "api":
		return " through the API"
	case "terminal":
		return " at a terminal"
	}
	if name := line(a.Client, maxName); name != "" {
		return " in " + name
	}
	return " in your client"
}

// since says when something happened, both as people feel it and by the clock.
func since(then, now time.Time) moment {
	m := ago(then, now)
	m.Words += ", at " + clock(then, now)
	return m
}
