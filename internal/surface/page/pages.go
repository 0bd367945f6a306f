package page

import (
	"log/slog"
	"net/http"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/identity/signin"
)

// Pages draws the pages around signing in, and those for requests that are
// refused before anybody knows whose they are. They name nobody and show
// nothing of the request. It is a signin.Pages. Safe for concurrent use.
type Pages struct {
	rd *renderer
}

// NewPages makes Pages that log what cannot be rendered.
func NewPages(log *slog.Logger) *Pages { return &Pages{newRenderer(log)} }

// Choose lets somebody choose where to sign in. The way back is in the links
// of the choices.
func (p *Pages) Choose(w http.ResponseWriter, _ *http.Request, choices []signin.Choice, _ string) {
	doors := make([]signin.Choice, len(choices))
	for i, c := range choices {
		doors[i] = signin.Choice{Name: line(c.Name, maxName), URL: c.URL}
	}
	p.rd.show(w, http.StatusOK, pageChoose, frame{Title: "Sign in", Body: doors})
}

// ConfirmLocal lets somebody post the token of a one-time link.
func (p *Pages) ConfirmLocal(w http.ResponseWriter, _ *http.Request, token string) {
	p.rd.show(w, http.StatusOK, pageLocal, frame{Title: "Sign in", Body: token})
}

// SignedOut tells somebody that they are signed out.
func (p *Pages) SignedOut(w http.ResponseWriter, _ *http.Request) {
	p.rd.note(w, http.StatusOK, nil, note{
		Heading: "You are signed out",
		Words:   []string{"Questions that are for you keep waiting until their time runs out. You can close this page."},
		Link:    "/", LinkText: "Sign in again",
		Mark: true,
	})
}

// Problem tells somebody what went wrong and what to do.
func (p *Pages) Problem(w http.ResponseWriter, _ *http.Request, status int, message string) {
	n := note{Heading: "This did not work", Words: []string{line(message, maxHelp)}, Link: "/", LinkText: "Go to your questions"}
	switch {
	case status == http.StatusUnauthorized:
		n.Heading = "You are not signed in"
		n.Link = "" // it would lead back here
	case status == http.StatusForbidden:
		n.Heading = "This was refused"
	case status == http.StatusNotFound:
		n.Heading = "There is nothing here"
	case status >= 500:
		n.Heading = "This does not work right now"
	}
	p.rd.note(w, status, nil, n)
}

// Refuse tells somebody why their request was not let through.
func (p *Pages) Refuse(w http.ResponseWriter, status int, e *ask.Error) {
	p.Problem(w, nil, status, e.Message)
}
