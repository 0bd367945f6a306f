package page

import (
	"net/http"
	"net/url"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/desk"
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
		})
	default:
		h.fail("question could not be shown", "", v, err)
		h.rd.note(w, http.StatusInternalServerError, v.bar(), note{
			Heading: "This question cannot be shown right now",
			Words:   []string{"Something went wrong inside the gateway. The question is still open: load this page again in a moment."},
		})
	}
}

// over says how a question ended that somebody comes back to.
func (h *Handler) over(w http.ResponseWriter, v *visitor, view *desk.View) {
	out := view.Outcome
	n := note{Heading: "This question is no longer open", Link: "/", LinkText: "Back to your questions"}
	switch {
	case out.Ending == ask.Answered && out.By == v.Principal:
		n.Heading = "You have answered this question"
		n.Words = []string{"Your " + deed(out.Answer.Action) + " counts. It takes no more answers."}
	case out.Ending == ask.Answered:
		n.Heading = "Somebody else has answered this question"
		n.Words = []string{"The first answer counts. It takes no more answers."}
	case out.Ending == ask.Expired:
		n.Words = []string{"Nobody answered it in time. Its server was told so; nothing was sent in your name."}
	case out.Ending == ask.Withdrawn:
		n.Words = []string{"Its server took it back. Nothing was sent in your name."}
	default:
		n.Words = []string{"It ended without an answer: " + out.Err.Message, "Nothing was sent in your name."}
	}
	if view.Undelivered != nil && out.Ending == ask.Answered {
		n.Words = append(n.Words, "The answer could not be delivered: "+view.Undelivered.Message)
	}
	h.rd.note(w, http.StatusGone, v.bar(), n)
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
func (h *Handler) done(w http.ResponseWriter, v *visitor, q *question, action ask.Action, receipt desk.Receipt) {
	n := note{Mark: true, Link: "/", LinkText: "Back to your questions"}
	from := q.Who.Backend
	switch {
	case receipt.Undelivered != nil:
		n.Mark = false
		n.Heading = "Your answer was taken, and could not be delivered"
		n.Words = []string{
			from + " is not there to hear it any more: " + receipt.Undelivered.Message,
			"Nothing was done with your answer. If it still matters, ask your assistant to try again.",
		}
	case action == ask.Decline:
		n.Heading = "You declined"
		n.Words = []string{from + " is told that your answer is no. You can close this page."}
	case action == ask.Cancel:
		n.Heading = "You left this for now"
		n.Words = []string{from + " is told that you did not decide. This question is over; it may ask again. You can close this page."}
	case q.Address != nil:
		n.Heading = "Your answer is on its way back"
		n.Words = []string{from + " is told that you went to " + q.Address.Host + ". You can close this page."}
	default:
		n.Heading = "Your answer is on its way back"
		n.Words = []string{from + " gets it and goes on. You can close this page."}
	}
	h.rd.note(w, http.StatusOK, v.bar(), n)
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
