package page

import (
	"net/http"
	"net/url"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/desk"
	"github.com/answerback/answerback/internal/entry"
)

// closed says why there is no question to be seen.
func (h *Handler) closed(w http.ResponseWriter, v *visitor, err error) {
	switch ask.CodeOf(err) {
	case ask.Unknown, ask.NotYours:
		h.notFound(w, v)
	case ask.TooLate:
		h.rd.note(w, http.StatusGone, v.bar(), note{
			Heading: "This question is no longer open",
			Words: []string{
				"It was answered, or its server took it back, or its time ran out. It takes no more answers.",
				"If you have just answered it, your first answer is the one that counts.",
			},
			Link: "/", LinkText: "Back to your questions",
			Over: true,
		})
	default:
		h.fail("question could not be shown", "", v, err)
		h.broken(w, v, err, note{
			Heading: "This question cannot be shown right now",
			Words:   []string{"If this question was open, it is still open, and nothing was sent in your name."},
		})
	}
}

// broken says that the gateway cannot do something now, and what to do about
// it. The note says what, and may say more.
func (h *Handler) broken(w http.ResponseWriter, v *visitor, err error, n note) {
	status := brokenStatus(err)
	words := "Something went wrong inside the gateway. Try again in a moment."
	if status == http.StatusServiceUnavailable {
		words = "The gateway cannot reach what it keeps, or is being restarted. Try again in a moment."
		w.Header().Set("Retry-After", retryAfter)
	}
	n.Words = append([]string{words}, n.Words...)
	h.rd.note(w, status, v.bar(), n)
}

// retryAfter is how many seconds a program should wait that has read the
// status and not the words.
const retryAfter = "5"

// brokenStatus tells what passes by itself from what somebody must look into.
func brokenStatus(err error) int {
	switch ask.CodeOf(err) {
	case ask.JournalUnavailable, ask.StoreFull, ask.ShuttingDown, ask.Overloaded:
		return http.StatusServiceUnavailable
	}
	return http.StatusInternalServerError
}

// crowded says that there is no memory for a post. Browsers keep what was
// typed for whoever goes back.
func (h *Handler) crowded(w http.ResponseWriter, v *visitor, err error) {
	h.fail("post refused", "", v, err)
	no := entry.RefusalOf(err)
	entry.RetryAfter(w.Header(), no.Retry)
	h.rd.note(w, no.Status, v.bar(), note{
		Heading: "There is too much to do right now",
		Words:   []string{"Nothing was sent in your name. Wait a moment, go back, and send it again."},
		Link:    "/", LinkText: "Go to your questions",
	})
}

// late says what came between, to somebody whose question was open when they
// sent something.
func (h *Handler) late(w http.ResponseWriter, r *http.Request, s *sent, err error) {
	if view, lost := h.look(r, s.by); lost == nil && view.Outcome != nil {
		h.over(w, s.by, view, s.values)
		return
	}
	h.closed(w, s.by, err)
}

// over says how a question ended that somebody comes back to, and gives back
// what they typed into it since.
func (h *Handler) over(w http.ResponseWriter, v *visitor, view *desk.View, posted url.Values) {
	out := view.Outcome
	q := h.question(view)
	n := note{
		About: q.about(&view.Ask), Heading: "This question is no longer open",
		Link: "/", LinkText: "Back to your questions",
		Over: true,
	}
	server := q.Who.Backend
	switch out.Ending {
	case ask.Answered:
		mine := out.By == v.Principal
		n.Heading = "Somebody else has answered this question"
		n.Words = []string{"The first answer counts. This question is no longer open."}
		if mine {
			n.Heading = "You have answered this question"
			n.Words = []string{"Your " + deed(out.Answer.Action) + " counts. This question is no longer open."}
		}
		if view.Undelivered != nil {
			n.Words = append(n.Words, "The answer could not be delivered: "+view.Undelivered.Message)
		} else if mine {
			posted = nil // it was sent, and this is the same once more
		}
	case ask.Expired:
		n.Heading = "The time for this question ran out"
		n.Words = []string{
			"Nobody answered it in time, so it is no longer open. " + server + " was told so, and nothing was sent in your name.",
			"If it still matters, ask your assistant to try again.",
		}
	case ask.Withdrawn:
		n.Heading = "This question was taken back"
		n.Words = []string{server + " does not need an answer any more, so it is no longer open. Nothing was sent in your name."}
	case ask.Abandoned:
		if out.Err.Code == ask.FormInvalidated {
			n.Heading = "This question is over: there were too many answers that did not fit"
			n.Words = []string{
				server + " was told so, and nothing was sent in your name.",
				"If it still matters, ask your assistant to try again.",
			}
			break
		}
		n.Heading = "This question was given up"
		n.Words = []string{
			"It is no longer open, because nobody is left to hear the answer: " + out.Err.Message,
			"Nothing was sent in your name. If it still matters, ask your assistant to try again.",
		}
	default:
		n.Words = []string{"It ended without an answer: " + out.Err.Message, "Nothing was sent in your name."}
	}
	n.Typed = q.typed(posted)
	h.rd.note(w, http.StatusGone, v.bar(), n)
}

// about is the question in a few words.
func (q *question) about(a *ask.Ask) *about { return &about{Who: q.Who, Teaser: teaser(a)} }

// written are the fields whose values are typed rather than chosen.
var written = map[string]bool{kindText: true, kindArea: true, kindNumber: true, kindDate: true, kindDateTime: true}

// typed gives back what somebody wrote who was too late, so that it is not
// lost: what they wrote, not what they chose, and no secrets.
func (q *question) typed(posted url.Values) []typed {
	if q.Form == nil || posted == nil {
		return nil
	}
	var all []typed
	for _, r := range rows(q.Form, posted, nil) {
		if written[r.Kind] && r.Value != "" {
			all = append(all, typed{r.Label, plain(r.Value)})
		}
	}
	return all
}

// deed is what somebody did, as a noun.
func deed(a ask.Action) string {
	switch a {
	case ask.Decline:
		return "no"
	case ask.Cancel:
		return "“not now”"
	}
	return "answer"
}

// done says what became of what somebody did.
func (h *Handler) done(w http.ResponseWriter, s *sent, action ask.Action, receipt desk.Receipt) {
	n := note{Mark: true, Over: true, Link: "/", LinkText: "Back to your questions"}
	from := s.Who.Backend
	switch {
	case receipt.Undelivered != nil:
		n.Mark = false
		n.Heading = "Your answer was taken, and could not be delivered"
		n.Words = []string{
			from + " is not there to hear it any more: " + receipt.Undelivered.Message,
			"Nothing was done with your answer. If it still matters, ask your assistant to try again.",
		}
		n.Typed = s.typed(s.values)
	case action == ask.Decline:
		n.Heading = "You declined"
		n.Words = []string{from + " is told that your answer is no. You can close this page."}
	case action == ask.Cancel:
		n.Heading = "You left this for now"
		n.Words = []string{from + " is told that you did not decide. This question is over; it may ask again. You can close this page."}
	case s.Address != nil:
		n.Heading = "Your answer is on its way back"
		n.Words = []string{from + " is told that you went to " + s.Address.Host + ". You can close this page."}
	default:
		n.Heading = "Your answer is on its way back"
		n.Words = []string{from + " gets it and goes on. You can close this page."}
	}
	h.rd.note(w, http.StatusOK, s.by.bar(), n)
}

// signedOut answers a post whose sender is not signed in any more. Their
// browser still has what they typed, and sends it again on a reload; the page
// of the question then gives it back to them with a new token.
func (h *Handler) signedOut(w http.ResponseWriter, r *http.Request) {
	h.rd.note(w, http.StatusUnauthorized, nil, note{
		Heading: "You are signed out, and nothing was sent",
		Words:   []string{"What you typed is not lost as long as you leave this page open."},
		Steps: []string{
			"Sign in again, in a new tab.",
			"Come back to this tab and reload it. When your browser asks whether to send the form again, say yes.",
			"Check your answer, and send it.",
		},
		Link: "/asks/" + url.PathEscape(r.PathValue("id")), LinkText: "Sign in, in a new tab", NewTab: true,
	})
}

// unreadable says why a post was not taken.
func (h *Handler) unreadable(w http.ResponseWriter, v *visitor, status int) {
	n := note{
		Heading: "Your answer could not be read",
		Words:   []string{"Nothing was sent. Go back, load the question again, and use the buttons at its end."},
		Link:    "/", LinkText: "Go to your questions",
	}
	if status == http.StatusRequestEntityTooLarge {
		n.Heading = "Your answer is too long"
		n.Words = []string{"Nothing was sent. Go back, make it shorter, and send it again."}
	}
	h.rd.note(w, status, v.bar(), n)
}
