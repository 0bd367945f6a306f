package page

import (
	"net/http"
	"time"

	"github.com/answerback/answerback/ask"
)

// maxListed is how many questions the list shows at once.
const maxListed = 100

// list is the questions that wait for somebody.
type list struct {
	Heading string
	AsOf    moment
	Items   []item
	More    bool
}

type item struct {
	ID     string
	Who    who
	Teaser string
	Left   *remaining
}

func (h *Handler) inbox(w http.ResponseWriter, r *http.Request) {
	v, ok := h.visitor(r)
	if !ok {
		h.cfg.People.Challenge(w, r)
		return
	}
	now := h.cfg.Now()
	l := list{AsOf: moment{Words: clock(now, now), Machine: now.UTC().Format(time.RFC3339)}}
	views := h.cfg.Desk.Waiting(v.Viewer, maxListed+1)
	if len(views) > maxListed {
		views, l.More = views[:maxListed], true
	}
	for _, view := range views {
		if view.Ask.Kind.ForPeople() {
			l.Items = append(l.Items, readItem(&view.Ask, now))
		}
	}
	switch n := len(l.Items); {
	case n == 0:
		l.Heading = "Your questions"
	case n == 1:
		l.Heading = "1 question is waiting for you"
	case l.More:
		l.Heading = "More than " + count(n, "question") + " are waiting for you"
	default:
		l.Heading = count(n, "question") + " are waiting for you"
	}
	h.rd.show(w, http.StatusOK, pageInbox, frame{Title: l.Heading, Me: v.me, Tabs: h.tabs(tabWaiting), Body: l})
}

func readItem(a *ask.Ask, now time.Time) item {
	it := item{ID: a.ID, Who: readWho(a, now), Teaser: teaser(a)}
	if m, ok := left(a.Deadline, now, a.Terms.Warn); ok {
		it.Left = &m
	}
	return it
}
