package api

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/desk"
	"github.com/answerback/answerback/internal/wire"
)

// Bounds on what is asked for.
const (
	maxID        = 256 // bytes of an id
	defaultLimit = 50
	maxLimit     = 1000

	maxExtension = time.Hour
)

// list gives what waits for somebody, oldest first.
func (h *Handler) list(r *http.Request, who desk.Viewer) (any, error) {
	limit, err := readLimit(r)
	if err != nil {
		return nil, err
	}
	page := Page{Asks: []Summary{}}
	views := h.cfg.Desk.Waiting(who, limit+1)
	if len(views) > limit {
		views, page.More = views[:limit], true
	}
	for i := range views {
		s := summaryOf(&views[i])
		s.Message = teaser(s.Message)
		page.Asks = append(page.Asks, s)
	}
	return page, nil
}

func readLimit(r *http.Request) (int, error) {
	if r.URL.RawQuery == "" {
		return defaultLimit, nil
	}
	wrong := bad(fmt.Sprintf("The query takes one limit from 1 to %d, and nothing else.", maxLimit))
	query, err := queryOf(r)
	if err != nil || len(query) != 1 || len(query["limit"]) != 1 {
		return 0, wrong
	}
	n, err := strconv.Atoi(query["limit"][0])
	if err != nil || n < 1 || n > maxLimit {
		return 0, wrong
	}
	return n, nil
}

// show gives one question, also one that has ended and is remembered.
func (h *Handler) show(r *http.Request, who desk.Viewer) (any, error) {
	v, err := h.look(r, who)
	if err != nil {
		return nil, err
	}
	a := h.askOf(&v, who)
	kept, err := h.kept(r.Context(), &v.Ask, who)
	for i := range kept {
		a.Files = append(a.Files, fileOf(&kept[i]))
	}
	return a, err
}

func (h *Handler) look(r *http.Request, who desk.Viewer) (desk.View, error) {
	id, err := idOf(r)
	if err != nil {
		return desk.View{}, err
	}
	return h.cfg.Desk.Look(r.Context(), id, who, surface)
}

// idOf gives the id in a path, and spares the desk what cannot be one.
func idOf(r *http.Request) (string, error) {
	id := r.PathValue("id")
	if len(id) > maxID {
		return "", errUnknown
	}
	return id, nil
}

// answer takes what somebody did with a question.
func (h *Handler) answer(r *http.Request, who desk.Viewer) (any, error) {
	raw, err := readJSON(r)
	if err != nil {
		return nil, err
	}
	members, err := wire.Object(raw, "action", "content", "files")
	if err != nil {
		return nil, err
	}
	action, err := readAction(members["action"])
	if err != nil {
		return nil, err
	}
	content, given := members["content"]
	if action != ask.Accept {
		if given || members["files"] != nil {
			return nil, bad("Only an accept has content or files.")
		}
		return h.submit(r, who, action, nil)
	}
	v, err := h.look(r, who)
	switch {
	case err != nil:
		return nil, err
	case v.Outcome != nil:
		return nil, errTooLate
	case v.Ask.Kind == ask.Form:
		if !given {
			content = []byte("{}")
		}
		kept, err := h.kept(r.Context(), &v.Ask, who)
		if err != nil {
			return nil, err
		}
		files, err := choose(kept, members["files"])
		if err != nil {
			return nil, err
		}
		if err := h.checkContent(r.Context(), &v.Ask, content, uploadsOf(files)); err != nil {
			return nil, h.attempted(v.Ask.ID, who, err)
		}
		if len(files) > 0 {
			return h.submitFiles(r, who, &v.Ask, content, files)
		}
	case given || members["files"] != nil:
		return nil, bad("An accept of a question in URL mode has no content.")
	}
	return h.submit(r, who, action, content)
}

// attempted counts an answer that was found to be wrong, and says whether
// there may be another. A question that cannot be read has no wrong answers.
func (h *Handler) attempted(id string, who desk.Viewer, wrong error) error {
	p, ok := errors.AsType[*problem](wrong)
	if !ok {
		return wrong
	}
	tries, err := h.cfg.Desk.Attempted(id, who, surface)
	if err != nil {
		return err
	}
	p.Retry = &Retry{Allowed: !tries.Over(), Limit: tries.Limit, Count: tries.Count}
	if tries.Over() {
		p.Message = "The answer does not fit the question, and there were too many of these: the question is over."
	}
	return p
}

// bare is an operation that does one thing with a question, without a body.
func (h *Handler) bare(action ask.Action) operation {
	return func(r *http.Request, who desk.Viewer) (any, error) {
		if err := noBody(r); err != nil {
			return nil, err
		}
		return h.submit(r, who, action, nil)
	}
}

// submit passes an answer on. Content is what the caller wrote, or nil.
func (h *Handler) submit(r *http.Request, who desk.Viewer, action ask.Action, content []byte) (any, error) {
	id, err := idOf(r)
	if err != nil {
		return nil, err
	}
	result := []byte(`{"action":"` + action.String() + `"`)
	if content != nil {
		result = append(append(result, `,"content":`...), content...)
	}
	receipt, err := h.cfg.Desk.Submit(id, who, surface, ask.Answer{Action: action, Result: append(result, '}')})
	if err != nil {
		return nil, err
	}
	return Receipt{
		Status: statusAfter(action), Delivered: receipt.Undelivered == nil, Undelivered: reasonOf(receipt.Undelivered),
	}, nil
}

// extend gives a question more time, counted from its deadline.
func (h *Handler) extend(r *http.Request, who desk.Viewer) (any, error) {
	id, err := idOf(r)
	if err != nil {
		return nil, err
	}
	by, err := readExtension(r)
	if err != nil {
		return nil, err
	}
	v, err := h.cfg.Desk.Extend(id, who, surface, by, 0)
	if err != nil {
		return nil, err
	}
	return Extension{Status: statusOf(&v), NewTimeoutAt: v.Ask.Deadline.UnixMilli(), ExtensionsRemaining: v.Extendable()}, nil
}

// readExtension reads for how long: 0 leaves it to the question.
func readExtension(r *http.Request) (time.Duration, error) {
	if r.ContentLength == 0 {
		return 0, nil
	}
	raw, err := readJSON(r)
	if err != nil {
		return 0, err
	}
	members, err := wire.Object(raw, "seconds")
	if err != nil {
		return 0, err
	}
	seconds, given := members["seconds"]
	if !given {
		return 0, nil
	}
	n, err := strconv.Atoi(string(seconds))
	if by := time.Duration(n) * time.Second; err == nil && n > 0 && n <= int(maxExtension/time.Second) {
		return by, nil
	}
	return 0, bad(fmt.Sprintf("seconds must be a whole number from 1 to %d.", int(maxExtension/time.Second)))
}
