package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"path"
	"time"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/form"
	"github.com/answerback/answerback/internal/budget"
	"github.com/answerback/answerback/internal/desk"
	"github.com/answerback/answerback/internal/entry"
	"github.com/answerback/answerback/internal/question"
)

// surface is what the desk and the audit call this way to questions.
const surface = "api"

// Desk holds the questions. *desk.Desk is one.
type Desk interface {
	Look(ctx context.Context, id string, who desk.Viewer, surface string) (desk.View, error)
	Waiting(who desk.Viewer, limit int) []desk.View
	Submit(id string, who desk.Viewer, surface string, answer ask.Answer) (desk.Receipt, error)
	Attempted(id string, who desk.Viewer, surface string) (desk.Attempts, error)
	Extend(id string, who desk.Viewer, surface string, by time.Duration, least int) (desk.View, error)
}

// Config is what a Handler is made of. Every field but MaxLength, Files,
// MaxFile and Budget is required. What it holds is called from many goroutines.
type Config struct {
	Desk  Desk
	Forms Forms
	// Who says who sent a request, by its credential. An error that is a
	// entry.Challenger says how to answer it; every other is a 401.
	Who func(*http.Request) (desk.Viewer, error)
	Log *slog.Logger
	// MaxLength is how many characters a text may have, whatever its form
	// allows; form.DefaultMaxLength where it is 0.
	MaxLength int
	// Files keeps files. Without it none are taken.
	Files Files
	// Names judges the names in answers to URL fields; nil judges none.
	Names question.Names
	// MaxFile is how many bytes one file may have; form's default when 0.
	MaxFile int64
	// Budget bounds the memory of requests under way. Files are not counted:
	// no more than a part of them is in memory.
	Budget *budget.Budget
}

func (c *Config) check() error {
	var errs []error
	for _, f := range []struct {
		name    string
		missing bool
	}{
		{"Desk", c.Desk == nil},
		{"Forms", c.Forms == nil},
		{"Who", c.Who == nil},
		{"Log", c.Log == nil},
	} {
		if f.missing {
			errs = append(errs, fmt.Errorf("api: Config.%s is missing", f.name))
		}
	}
	return errors.Join(errs...)
}

// Handler serves /v1/asks and /v1/forms, what is below them, and
// /v1/openapi.json; everything else is not found. It is mounted behind webguard's rules for programs. Safe
// for concurrent use.
type Handler struct {
	cfg   Config
	forms *form.Cache
	mux   *http.ServeMux
}

// maxForms is how many forms are kept ready: a program looks at a question and
// answers it soon after.
const maxForms = 256

// New makes a Handler. An error names every field that is missing.
func New(cfg Config) (*Handler, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	h := &Handler{cfg: cfg, forms: form.NewCache(&form.Compiler{MaxLength: cfg.MaxLength, MaxSize: cfg.MaxFile}, maxForms), mux: http.NewServeMux()}
	for _, r := range h.routes() {
		h.mux.HandleFunc(r.method+" "+r.path, r.serve)
		allow := r.method
		if r.method == http.MethodGet {
			allow += ", " + http.MethodHead
		}
		h.mux.HandleFunc(r.path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Allow", allow)
			refuse(w, errBadMethod)
		})
	}
	h.mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { refuse(w, errNoPath) })
	return h, nil
}

// route is one operation. No two have the same path.
type route struct {
	method, path string
	serve        http.HandlerFunc
}

func (h *Handler) routes() []route {
	return []route{
		{http.MethodGet, "/v1/openapi.json", serveDocument},
		{http.MethodGet, "/v1/asks", h.known(h.list)},
		{http.MethodGet, "/v1/asks/{id}", h.known(h.show)},
		{http.MethodPost, "/v1/asks/{id}/answer", h.known(h.answer)},
		{http.MethodPost, "/v1/asks/{id}/decline", h.known(h.bare(ask.Decline))},
		{http.MethodPost, "/v1/asks/{id}/cancel", h.known(h.bare(ask.Cancel))},
		{http.MethodPost, "/v1/asks/{id}/extend", h.known(h.extend)},
		{http.MethodPost, "/v1/asks/{id}/files", h.knownUpTo(cmp.Or(h.cfg.MaxFile, form.DefaultMaxSize)+1, h.keepFile)},
		{http.MethodPost, "/v1/forms", h.known(kinded(h.create))},
		{http.MethodGet, "/v1/forms/{id}", h.known(kinded(h.form))},
		{http.MethodPost, "/v1/forms/{id}/submit", h.known(kinded(h.submitForm))},
		{http.MethodPost, "/v1/forms/{id}/extend", h.known(kinded(h.extendForm))},
		{http.MethodPost, "/v1/forms/{id}/collect", h.known(kinded(h.collectForm))},
	}
}

// ServeHTTP serves the API.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	// The mux would redirect other spellings of a path, with a page.
	if path.Clean(r.URL.Path) != r.URL.Path {
		refuse(w, errNoPath)
		return
	}
	h.mux.ServeHTTP(w, r)
}

// operation does what somebody asks for, and gives the body of the response.
type operation func(r *http.Request, who desk.Viewer) (any, error)

// known lets those in whose credential says who they are.
func (h *Handler) known(do operation) http.HandlerFunc {
	return h.knownUpTo(maxBody, func(r *http.Request, who desk.Viewer) (any, error) {
		hold := h.cfg.Budget.Hold(budget.Of(who.Principal))
		defer hold.Release()
		return do(hold.Attach(r), who)
	})
}

// knownUpTo is known with a limit of its own for the body.
func (h *Handler) knownUpTo(limit int64, do operation) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		who, err := h.cfg.Who(r)
		if err != nil || who.Principal.IsZero() {
			h.challenge(w, err)
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, limit)
		body, err := do(r, who)
		if err != nil {
			p := problemOf(err)
			if p.status >= http.StatusInternalServerError {
				h.cfg.Log.Error("request failed", "surface", surface, "principal", who.Principal.String(), "path", r.Pattern, "code", p.Code, "err", err)
			}
			refuse(w, p)
			return
		}
		entry.WriteJSON(w, http.StatusOK, body)
	}
}

func (h *Handler) challenge(w http.ResponseWriter, err error) {
	p := *errNobody
	p.status = entry.Challenge(w.Header(), err)
	if p.status != http.StatusUnauthorized { // who they are is known, or is not the point
		p.Message = ask.From(err).Message
	}
	h.cfg.Log.Info("request not authenticated", "surface", surface, "status", p.status, "err", err)
	refuse(w, &p)
}
