package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/desk"
	"github.com/answerback/answerback/internal/era"
	"github.com/answerback/answerback/internal/office"
	"github.com/answerback/answerback/internal/wire"
)

// Forms runs the forms that programs create. *office.Office is one.
type Forms interface {
	Create(by office.Creator, params []byte) (office.Form, error)
	Look(ctx context.Context, who desk.Viewer, id string) (office.Form, error)
	Submit(ctx context.Context, who desk.Viewer, surface, id string, s office.Submission) error
	Collect(ctx context.Context, who desk.Viewer, surface, id string) (office.Form, error)
	Extend(ctx context.Context, who desk.Viewer, surface, id string, by time.Duration) (office.Extension, error)
}

// Submitted is what somebody is told whose submission was taken.
type Submitted struct {
	Status string `json:"status"`
}

// create puts a form before the caller's own person.
func (h *Handler) create(r *http.Request, who desk.Viewer) (any, error) {
	raw, err := readJSON(r)
	if err != nil {
		return nil, err
	}
	if _, err := wire.Object(raw, "mode", "message", "formDefinition"); err != nil {
		return nil, err
	}
	// The creator can collect the secrets through this API.
	return h.cfg.Forms.Create(office.Creator{Principal: who.Principal, Client: surface, Via: surface, Secrets: true}, raw)
}

// form gives a form, for a while also after it has ended.
func (h *Handler) form(r *http.Request, who desk.Viewer) (any, error) {
	id, err := idOf(r)
	if err != nil {
		return nil, err
	}
	return h.cfg.Forms.Look(r.Context(), who, id)
}

// collectForm returns a completed form with its secrets, once.
func (h *Handler) collectForm(r *http.Request, who desk.Viewer) (any, error) {
	id, err := idOf(r)
	if err != nil {
		return nil, err
	}
	if err := noBody(r); err != nil {
		return nil, err
	}
	return h.cfg.Forms.Collect(r.Context(), who, surface, id)
}

// submitForm answers a form.
func (h *Handler) submitForm(r *http.Request, who desk.Viewer) (any, error) {
	id, err := idOf(r)
	if err != nil {
		return nil, err
	}
	raw, err := readJSON(r)
	if err != nil {
		return nil, err
	}
	members, err := wire.Object(raw, "responses", "form_id", "metadata")
	if err != nil {
		return nil, err
	}
	sent := office.Submission{Responses: members["responses"], FormID: members["form_id"], Metadata: members["metadata"]}
	if sent.Responses == nil {
		return nil, bad("The body has no responses.")
	}
	if err := h.cfg.Forms.Submit(r.Context(), who, surface, id, sent); err != nil {
		return nil, err
	}
	return Submitted{office.Completed}, nil
}

// extendForm gives a form more time, counted from its end.
func (h *Handler) extendForm(r *http.Request, who desk.Viewer) (any, error) {
	id, err := idOf(r)
	if err != nil {
		return nil, err
	}
	by := 0
	if r.ContentLength != 0 {
		raw, err := readJSON(r)
		if err != nil {
			return nil, err
		}
		members, err := wire.Object(raw, "extensionDuration")
		if err != nil {
			return nil, err
		}
		if ms, given := members["extensionDuration"]; given {
			by, err = strconv.Atoi(string(ms))
			if most := int(office.MaxExtension.Milliseconds()); err != nil || by < 1 || by > most {
				return nil, bad(fmt.Sprintf("extensionDuration must be a whole number of milliseconds from 1 to %d.", most))
			}
		}
	}
	return h.cfg.Forms.Extend(r.Context(), who, surface, id, time.Duration(by)*time.Millisecond)
}

// fault is an error of the form API in its own shape: a number, a sentence,
// and data that says of what kind it is.
type fault struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data"`
}

// kinded makes the errors of an operation those of the form API.
func kinded(do operation) operation {
	return func(r *http.Request, who desk.Viewer) (any, error) {
		body, err := do(r, who)
		if err == nil {
			return body, nil
		}
		p := problemOf(err)
		e := ask.From(err)
		if _, ours := errors.AsType[*problem](err); ours {
			e = ask.Errorf(ask.Code(p.Code), p.Message)
		}
		number := func(e *ask.Error) int { return era.Number(e, era.Legacy) }
		var f fault
		if err := json.Unmarshal(era.ErrorObject(office.Fault(e, number), era.Legacy), &f); err != nil {
			return nil, err
		}
		return nil, &problem{Problem: p.Problem, status: p.status, retry: p.retry, fault: &f, cause: err}
	}
}
