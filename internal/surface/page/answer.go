package page

import (
	"errors"
	"mime"
	"net/http"
	"net/url"
	"slices"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/form"
	"github.com/answerback/answerback/internal/desk"
	asked "github.com/answerback/answerback/internal/question"
	"github.com/answerback/answerback/internal/upload"
)

// Limits of what is read before anything is known of a request.
const (
	maxID   = 256
	maxPost = 512 << 10
)

// askBody is the page of an open question.
type askBody struct {
	*question
	Token  string
	Fresh  bool   // nobody typed anything into it yet
	News   string // what went well
	Notice string // why nothing was sent, where that is not a field's fault
	Doubt  bool   // the answer may have been taken all the same
	Wrong  string // how many things are wrong
	Faults []fault
	Last   bool // the next answer that is wrong ends the question
	Rows   []row
}

// Grid reports whether a field has a place beside others.
func (b askBody) Grid() bool {
	return slices.ContainsFunc(b.Rows, func(r row) bool { return r.Cell != "" })
}

// fault is one line of the summary of what is wrong.
type fault struct {
	To    string // the id of the element where it is put right; "" for the form as a whole
	Label string
	Words string
}

// open shows a question to whom it is for.
func (h *Handler) open(w http.ResponseWriter, r *http.Request) {
	v, ok := h.visitor(r)
	if !ok {
		h.cfg.People.Challenge(w, r)
		return
	}
	view, err := h.look(r, v)
	if err != nil {
		h.closed(w, v, err)
		return
	}
	if view.Outcome != nil {
		h.over(w, v, view, nil)
		return
	}
	q := h.question(view)
	h.recall(r.Context(), q, v, nil)
	h.ask(w, v, http.StatusOK, q, askBody{}, nil, nil)
}

// sent is what somebody posted from the page of a question that is open and
// theirs.
type sent struct {
	*question
	by     *visitor
	values url.Values
}

// take reads a post from the page of a question. Where it is not to be acted
// on, it answers and gives nil; whatever is refused for other reasons than the
// question's end comes back with all that was typed.
func (h *Handler) take(w http.ResponseWriter, r *http.Request) *sent {
	v, ok := h.visitor(r)
	if !ok {
		h.signedOut(w, r)
		return nil
	}
	s := &sent{by: v}
	status := 0
	if !isParts(r) {
		if s.values, status = readForm(w, r); status != 0 {
			h.unreadable(w, v, status)
			return nil
		}
	}
	view, err := h.look(r, v)
	if err != nil {
		h.closed(w, v, err)
		return nil
	}
	s.question = h.question(view)
	if isParts(r) {
		status = h.readParts(r, s, view.Outcome == nil)
	} else {
		h.recall(r.Context(), s.question, v, ticked(s.values))
	}
	switch {
	case status != 0:
		h.unreadable(w, v, status)
		return nil
	case view.Outcome != nil:
		h.over(w, v, view, s.values)
		return nil
	}
	if !h.proven(s) {
		h.cfg.Log.Warn("page refused a post without a valid token", "ask", s.ID, "principal", v.Principal.String(), "surface", surface)
		h.again(w, s, http.StatusForbidden, "This page was too old, or the answer did not come from it. Check what is below, and send it again if it is what you want to say.")
		return nil
	}
	if s.given != nil && s.given.trouble != nil {
		h.again(w, s, http.StatusServiceUnavailable, "Your files could not be kept. "+s.given.trouble.Message)
		return nil
	}
	return s
}

// proven reports whether what was posted so far came from the page that this
// person was shown of the question.
func (h *Handler) proven(s *sent) bool {
	return len(s.values[TokenField]) == 1 && h.cfg.Guard.Check(s.by.session, purposeAnswer+s.ID, s.values.Get(TokenField))
}

// again shows the page of a question once more, and why nothing was done.
func (h *Handler) again(w http.ResponseWriter, s *sent, status int, why string) {
	h.ask(w, s.by, status, s.question, askBody{Notice: why}, s.values, nil)
}

// answer takes what somebody did with a question.
func (h *Handler) answer(w http.ResponseWriter, r *http.Request) {
	s := h.take(w, r)
	if s == nil {
		return
	}
	action := readAction(s.values["action"])
	if action == ask.NoAction || action == ask.Accept && !s.answerable() {
		h.again(w, s, http.StatusBadRequest, "It is not clear what you want to do. Use one of the buttons at the end of the page.")
		return
	}
	answer := ask.Answer{Action: action, Result: []byte(`{"action":"` + action.String() + `"}`)}
	var files []upload.File
	undo := func() {}
	if action == ask.Accept && s.Form != nil {
		values, errs := readPost(s.Form, s.values, s.given.uploads(s.Form))
		if errs == nil {
			errs = h.cfg.Names.Check(r.Context(), s.Form, values)
		}
		if errs = s.given.faulty(errs); len(errs) > 0 {
			h.wrong(w, r, s, errs)
			return
		}
		var err error
		if files, undo, err = h.attach(r.Context(), s, values); err != nil {
			h.fail("files could not be sent", s.ID, s.by, err)
			h.again(w, s, http.StatusServiceUnavailable, "Your files could not be sent. "+ask.From(err).Message)
			return
		}
		answer.Result = append(append([]byte(`{"action":"accept","content":`), asked.Encode(s.Created(), s.Form, values)...), '}')
	}
	receipt, err := h.cfg.Desk.Submit(s.ID, s.by.Viewer, surface, answer)
	if err != nil {
		if ended(err) {
			undo()
			h.late(w, r, s, err)
			return
		}
		h.fail("answer could not be passed on", s.ID, s.by, err)
		h.ask(w, s.by, brokenStatus(err), s.question, askBody{Doubt: true, Notice: "It could not be passed on for certain. Wait a moment, and send it again: if it was taken, that changes nothing."}, s.values, nil)
		return
	}
	if receipt.Undelivered != nil {
		undo()
		files = nil
	}
	if s.given != nil {
		h.cfg.Files.Settled(r.Context(), s.ID, files...)
	}
	h.done(w, s, action, receipt)
}

// wrong counts an answer that does not fit, and gives it back to be put right,
// unless it was one too many.
func (h *Handler) wrong(w http.ResponseWriter, r *http.Request, s *sent, errs form.Errors) {
	tries, err := h.cfg.Desk.Attempted(s.ID, s.by.Viewer, surface)
	switch {
	case err != nil && ended(err), tries.Over():
		h.late(w, r, s, ask.Errorf(ask.TooLate, "The question is no longer open."))
		return
	case err != nil:
		// They lose nothing by it.
		h.fail("attempt could not be counted", s.ID, s.by, err)
	}
	h.ask(w, s.by, http.StatusUnprocessableEntity, s.question, askBody{Last: err == nil && tries.Last()}, s.values, errs)
}

// extend gives somebody more time, and back what they typed.
func (h *Handler) extend(w http.ResponseWriter, r *http.Request) {
	s := h.take(w, r)
	if s == nil {
		return
	}
	view, err := h.cfg.Desk.Extend(s.ID, s.by.Viewer, surface, 0, h.cfg.Extensions)
	switch {
	case err == nil:
		q := h.question(&view)
		q.given = s.given
		h.ask(w, s.by, http.StatusOK, q, askBody{News: "You have " + moreOf(view.Ask.Terms.Extension) + "."}, s.values, nil)
	case ended(err):
		h.late(w, r, s, err)
	case ask.CodeOf(err) == ask.NotAllowed:
		h.again(w, s, http.StatusConflict, "This question cannot be given more time. Answer it before its time is up, or ask for it to be put to you again.")
	default:
		h.fail("question could not be extended", s.ID, s.by, err)
		h.again(w, s, brokenStatus(err), "More time could not be had right now. Wait a moment, and try again.")
	}
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
	if !view.Ask.Kind.ForPeople() {
		return nil, ask.Errorf(ask.Unknown, "There is no such question.")
	}
	return &view, nil
}

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
func (h *Handler) ask(w http.ResponseWriter, v *visitor, status int, q *question, body askBody, posted url.Values, errs form.Errors) {
	if q.Connect != "" {
		w.Header().Set("Location", connectPath(q.Connect, q.ID))
		w.WriteHeader(http.StatusSeeOther)
		return
	}
	body.question = q
	body.Fresh = posted == nil
	body.Token = h.cfg.Guard.Token(v.session, purposeAnswer+q.ID)
	title := "Question from " + q.Who.Backend
	if q.Form != nil {
		body.Rows = rows(q.Form, posted, errs)
		q.given.showFiles(q.Form, body.Rows)
		body.Faults = faults(body.Rows, errs)
	}
	switch n := len(body.Faults); {
	case n == 1:
		body.Wrong = "One thing needs another look"
	case n > 1:
		body.Wrong = count(n, "thing") + " need another look"
	}
	if status != http.StatusOK {
		title = "Error: " + title
	}
	h.rd.show(w, status, pageAsk, frame{Title: title, Me: v.me, Body: body})
}

// faults is the summary of what is wrong: the fields in their order, then
// what concerns no single one.
func faults(rows []row, errs form.Errors) []fault {
	var all []fault
	for _, r := range rows {
		if r.Problem != "" && !r.Flagged {
			all = append(all, fault{To: r.First(), Label: r.Label, Words: r.Problem})
		}
	}
	for _, e := range errs.For("") {
		all = append(all, fault{Words: line(e.Message, maxHelp)})
	}
	return all
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
