package page

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/form"
	"github.com/answerback/answerback/internal/budget"
	"github.com/answerback/answerback/internal/desk"
	"github.com/answerback/answerback/internal/identity"
	asked "github.com/answerback/answerback/internal/question"
)

// surface is what the desk and the audit call this way to people.
const surface = "page"

// Purposes of form tokens.
const (
	// PurposeSignOut is what the token in the form of every page is for that
	// posts to /signout, in the field TokenField.
	PurposeSignOut = "signout"

	purposeAnswer     = "answer "  // and the ask's id; also to extend it
	purposeConnect    = "connect " // and the backend
	purposeDisconnect = "disconnect"
)

// TokenField is the field of a form that holds its token.
const TokenField = "token"

// Desk holds the questions. *desk.Desk is one.
type Desk interface {
	Look(ctx context.Context, id string, who desk.Viewer, surface string) (desk.View, error)
	Waiting(who desk.Viewer, limit int) []desk.View
	Ended(ctx context.Context, who desk.Viewer, limit int) ([]desk.View, error)
	Submit(id string, who desk.Viewer, surface string, answer ask.Answer) (desk.Receipt, error)
	Attempted(id string, who desk.Viewer, surface string) (desk.Attempts, error)
	Extend(id string, who desk.Viewer, surface string, by time.Duration, least int) (desk.View, error)
}

// People knows who sits at the browser.
type People interface {
	// Person is who sent the request, if they are signed in.
	Person(*http.Request) (identity.Person, bool)
	// Session is a value that stands for this sign-in and no other. Form
	// tokens are bound to it; it is never shown.
	Session(*http.Request) (string, bool)
	// Challenge sends the visitor to sign in, and back to where they were.
	Challenge(http.ResponseWriter, *http.Request)
}

// Guard makes and checks the tokens which show that a form was ours, was made
// for this session, and for this purpose.
type Guard interface {
	Token(session, purpose string) string
	Check(session, purpose, token string) bool
	// LeadTo lets the forms of the page with these headers lead to another
	// address too.
	LeadTo(header http.Header, address string)
}

// Config is what a Handler is made of. Every field but Accounts, Keep,
// Extensions, MaxLength, Names, Files, MaxFile and Budget is required. What it holds is called from many
// goroutines.
type Config struct {
	Desk   Desk
	People People
	Guard  Guard
	Log    *slog.Logger
	Now    func() time.Time
	// Groups gives the configured groups that a person belongs to.
	Groups func(identity.Person) []string
	// Accounts are what people connect. Nil means that there is nothing to
	// connect.
	Accounts Accounts
	// Keep is how long the desk remembers a question that has ended. It is
	// only said.
	Keep time.Duration
	// Extensions is how often a person may give a question more time, at
	// least, where it takes more time at all: ten times, as WCAG 2.2.1 asks.
	Extensions int
	// MaxLength is how many characters a text may have, whatever its form
	// allows; form.DefaultMaxLength where it is 0.
	MaxLength int
	// Files keeps files. Without it a form that asks for one cannot be
	// answered here.
	Files Files
	// Names judges the names in answers to URL fields; nil judges none.
	Names asked.Names
	// MaxFile is how many bytes one file may have; form's default when 0.
	MaxFile int64
	// Budget bounds the memory of posts under way, but for the files in them,
	// of which no more than a part is in memory.
	Budget *budget.Budget
}

func (c *Config) check() error {
	var errs []error
	for _, f := range []struct {
		name    string
		missing bool
	}{
		{"Desk", c.Desk == nil},
		{"People", c.People == nil},
		{"Guard", c.Guard == nil},
		{"Log", c.Log == nil},
		{"Now", c.Now == nil},
		{"Groups", c.Groups == nil},
	} {
		if f.missing {
			errs = append(errs, fmt.Errorf("page: Config.%s is missing", f.name))
		}
	}
	return errors.Join(errs...)
}

// Handler serves the page of a person in three parts: what waits at /, what
// has ended at /history, and accounts at /connections. Each question is at
// /asks/{id}, connecting at /connect/{backend}, and the files of all pages
// under /static/; everything else is not found. It is mounted behind
// webguard's browser rules. Safe for concurrent use.
type Handler struct {
	cfg   Config
	rd    *renderer
	forms *form.Cache
	mux   *http.ServeMux
}

// maxForms is how many forms are kept ready: a person loads the page of a
// question, and posts it, a few times.
const maxForms = 256

// New makes a Handler. An error names every field that is missing.
func New(cfg Config) (*Handler, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	h := &Handler{cfg: cfg, rd: newRenderer(cfg.Log), forms: form.NewCache(&form.Compiler{MaxLength: cfg.MaxLength, MaxSize: cfg.MaxFile}, maxForms), mux: http.NewServeMux()}
	h.mux.HandleFunc("GET /{$}", h.inbox)
	h.mux.HandleFunc("GET /history", h.history)
	h.mux.HandleFunc("GET /asks/{id}", h.open)
	h.mux.HandleFunc("POST /asks/{id}", h.answer)
	h.mux.HandleFunc("POST /asks/{id}/extend", h.extend)
	h.mux.HandleFunc("POST /asks/{id}/files", h.keep)
	for _, path := range []string{"GET /asks/{id}/extend", "GET /asks/{id}/files"} {
		h.mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
			// Where a reload of a page comes that was posted to.
			http.Redirect(w, r, "/asks/"+url.PathEscape(r.PathValue("id")), http.StatusSeeOther)
		})
	}
	h.mux.HandleFunc("GET /connections", h.account(h.connections))
	h.mux.HandleFunc("POST /connections", h.account(h.disconnect))
	h.mux.HandleFunc("GET /connect/{backend}", h.account(h.connect))
	h.mux.HandleFunc("POST /connect/{backend}", h.account(h.agree))
	h.mux.HandleFunc("GET /connect/{backend}/callback", h.account(h.callback))
	for _, a := range []asset{h.rd.sheet, h.rd.icon, h.rd.script, h.rd.uploader, h.rd.hints} {
		h.mux.HandleFunc("GET "+a.path, a.serve)
	}
	h.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		v, _ := h.visitor(r)
		h.notFound(w, v)
	})
	return h, nil
}

// ServeHTTP serves the pages.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if v, ok := h.visitor(r); ok && r.Method == http.MethodPost {
		hold := h.cfg.Budget.Hold(budget.Of(v.Principal))
		defer hold.Release()
		if err := hold.Grow(weight(r)); err != nil {
			h.crowded(w, v, err)
			return
		}
	}
	h.mux.ServeHTTP(w, r)
}

// weight is how much memory a post takes at most: its values as they came and
// as they are read, without its files.
func weight(r *http.Request) int64 {
	if r.ContentLength < 0 {
		return 2 * maxPost
	}
	return 2 * min(r.ContentLength, maxPost)
}

// Serves reports whether there can be a page at a path to which people are led
// back after signing in.
func Serves(path string) bool {
	switch path {
	case tabWaiting, tabHistory, tabAccounts:
		return true
	}
	return strings.HasPrefix(path, "/asks/") || strings.HasPrefix(path, "/connect/")
}

// visitor is somebody who is signed in; nil is somebody who is not.
type visitor struct {
	desk.Viewer
	session string
	me      *me
}

func (h *Handler) visitor(r *http.Request) (*visitor, bool) {
	p, ok := h.cfg.People.Person(r)
	if !ok || p.Principal.IsZero() {
		return nil, false
	}
	session, ok := h.cfg.People.Session(r)
	if !ok {
		return nil, false
	}
	name := line(p.Name, maxName)
	if name == "" {
		name = line(p.Principal.Subject, maxName)
	}
	return &visitor{
		Viewer:  desk.Viewer{Principal: p.Principal, Groups: h.cfg.Groups(p)},
		session: session,
		me:      &me{Name: name, Token: h.cfg.Guard.Token(session, PurposeSignOut)},
	}, true
}

// bar is what the head of a page says of the visitor.
func (v *visitor) bar() *me {
	if v == nil {
		return nil
	}
	return v.me
}

// notFound is one page for what never was and for what is somebody else's:
// nothing in it comes from the request, so that nobody can tell which.
func (h *Handler) notFound(w http.ResponseWriter, v *visitor) {
	h.rd.note(w, http.StatusNotFound, v.bar(), note{
		Heading: "There is nothing here for you",
		Words: []string{
			"Either this page does not exist, or it is for somebody else.",
			"If somebody sent you this link, they have to answer themselves. If it is yours, check that you are signed in with the right account.",
		},
		Link: "/", LinkText: "Go to your questions",
	})
}
