package page

import (
	"errors"
	"mime"
	"net/http"
	"net/url"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/desk"
)

// Limits of what is read before anything is known of a request.
const (
	maxID   = 256
	maxPost = 512 << 10
)

// askBody is the page of an open question.
type askBody struct {
	*question
	Token    string
	Notice   string // why nothing was sent, where that is not a field's fault
	Problems string // how many fields are wrong
	Rows     []row
}

// open shows a question to whom it is for.
func (h *Handler) open(w http.ResponseWriter, r *http.Request) {
	v, ok := h.visitor(r)
	if !ok {
		h.cfg.People.Challenge(w, r)
		return
	}
	a, err := h.look(r, v)
	if err != nil {
		h.closed(w, v, err)
		return
	}
	if a.Outcome != nil {
		h.over(w, v, a)
		return
	}
	h.ask(w, v, http.StatusOK, readQuestion(&a.Ask, h.cfg.Now()), askBody{}, nil, nil)
}

// answer takes what somebody did with a question. Whatever is refused for
// other reasons than the question's end comes back with all that was typed.
func (h *Handler) answer(w http.ResponseWriter, r *http.Request) {
	v, ok := h.visitor(r)
	if !ok {
		h.signedOut(w, r)
		return
	}
	posted, status := readForm(w, r)
	if status != 0 {
		h.unreadable(w, v, status)
		return
	}
	view, err := h.look(r, v)
	if err != nil {
		h.closed(w, v, err)
		return
	}
	if view.Outcome != nil {
		h.over(w, v, view)
		return
	}
	a := &view.Ask
	q := readQuestion(a, h.cfg.Now())
	again := func(status int, why string) { h.ask(w, v, status, q, askBody{Notice: why}, posted, nil) }

	if len(posted[TokenField]) != 1 || !h.cfg.Guard.Check(v.session, purposeAnswer+a.ID, posted.Get(TokenField)) {
		h.cfg.Log.Warn("page refused an answer without a valid token", "ask", a.ID, "principal", v.Principal.String(), "surface", surface)
		again(http.StatusForbidden, "This page was too old, or the answer did not come from it. Check what is below, and send it again if it is what you want to say.")
		return
	}
	action := readAction(posted["action"])
	if action == ask.NoAction || action == ask.Accept && !q.answerable() {
		again(http.StatusBadRequest, "It is not clear what you want to do. Use one of the buttons at the end of the page.")
		return
	}
	answer := ask.Answer{Action: action, Result: []byte(`{"action":"` + action.String() + `"}`)}
	if action == ask.Accept && q.Form != nil {
		content, problems := readPost(q.Form, posted)
		if problems != nil {
			h.ask(w, v, http.StatusUnprocessableEntity, q, askBody{}, posted, problems)
			return
		}
		answer.Result = append(append([]byte(`{"action":"accept","content":`), content...), '}')
	}
	receipt, err := h.cfg.Desk.Submit(a.ID, v.Viewer, surface, answer)
	if err != nil {
		if ended(err) {
			h.closed(w, v, err)
			return
		}
		h.fail("answer could not be passed on", a.ID, v, err)
		again(http.StatusInternalServerError, "Your answer could not be passed on. Wait a moment, and send it again.")
		return
	}
	h.done(w, v, q, action, receipt)
}

// look finds the question that a request is about.
func (h *Handler) look(r *http.Request, v *visitor) (*desk.View, error) {
	id := r.PathValue("id")
	if len(id) > maxID {
		return nil, ask.Errorf(ask.Unknown, "There is no such question.")
	}
	view, err := h.cfg.Desk.Look(r.Context(), id, v.Viewer, surface)
	if err != nil {
		return nil, err
	}
	if !forPeople(&view.Ask) {
		return nil, ask.Errorf(ask.Unknown, "There is no such question.")
	}
	return &view, nil
}

// forPeople reports whether a person can answer the ask. What is for a
// client's model has no page, whoever the desk says it is for.
func forPeople(a *ask.Ask) bool { return a.Kind == ask.Form || a.Kind == ask.URL }

// readForm reads what was posted, and nothing from the address. A status
// other than 0 says why it cannot.
func readForm(w http.ResponseWriter, r *http.Request) (url.Values, int) {
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/x-www-form-urlencoded" {
		return nil, http.StatusUnsupportedMediaType
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxPost)
	if err := r.ParseForm(); err != nil {
		if _, large := errors.AsType[*http.MaxBytesError](err); large {
			return nil, http.StatusRequestEntityTooLarge
		}
		return nil, http.StatusBadRequest
	}
	return r.PostForm, 0
}

// readAction is what the pressed button says. Nothing, or more than one
// thing, is no action: least of all is it a yes.
func readAction(values []string) ask.Action {
	if len(values) != 1 {
		return ask.NoAction
	}
	for _, a := range []ask.Action{ask.Accept, ask.Decline, ask.Cancel} {
		if values[0] == a.String() {
			return a
		}
	}
	return ask.NoAction
}

// ask shows an open question, with what was posted where something was.
func (h *Handler) ask(w http.ResponseWriter, v *visitor, status int, q *question, body askBody, posted url.Values, problems map[string]string) {
	body.question = q
	body.Token = h.cfg.Guard.Token(v.session, purposeAnswer+q.ID)
	title := "Question from " + q.Who.Backend
	if q.Form != nil {
		body.Rows = q.Form.rows(posted, problems)
	}
	switch n := len(problems); {
	case n == 1:
		body.Problems = "One thing needs another look"
	case n > 1:
		body.Problems = count(n, "thing") + " need another look"
	}
	if status != http.StatusOK {
		title = "Error: " + title
	}
	h.rd.show(w, status, pageAsk, frame{Title: title, Me: v.me, Body: body})
}

// ended reports whether an error means that there is nothing to answer.
func ended(err error) bool {
	switch ask.CodeOf(err) {
	case ask.TooLate, ask.Unknown, ask.NotYours:
		return true
	}
	return false
}

// fail logs what went wrong inside the gateway.
func (h *Handler) fail(what, id string, v *visitor, err error) {
	h.cfg.Log.Error(what, "ask", id, "principal", v.Principal.String(), "surface", surface, "code", string(ask.CodeOf(err)), "err", err)
}
