package main

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/config"
	"github.com/answerback/answerback/internal/contract"
	"github.com/answerback/answerback/internal/door"
	"github.com/answerback/answerback/internal/doorstep"
	"github.com/answerback/answerback/internal/grant"
	"github.com/answerback/answerback/internal/grant/oauth"
	"github.com/answerback/answerback/internal/observe"
	"github.com/answerback/answerback/internal/surface/page"
)

// account is what people connect to one backend: to the backend its
// credentials, to the doorstep what calls wait for.
type account struct {
	grants  *grant.Grants
	backend string
}

// Authorize gives the header to send for somebody.
func (a account) Authorize(ctx context.Context, who ask.Principal) (door.Authorization, error) {
	use, err := a.grants.For(ctx, who, a.backend)
	return door.Authorization{Header: use.Header, Value: use.Value}, err
}

// Refused says that the backend did not take one.
func (a account) Refused(ctx context.Context, who ask.Principal, used door.Authorization, why contract.Challenge) bool {
	challenge := oauth.ParseChallenge(http.Header{"Www-Authenticate": why.Authenticate})
	return a.grants.Refused(ctx, who, a.backend, grant.Use{Header: used.Header, Value: used.Value}, challenge)
}

// Want says that somebody has to connect.
func (a account) Want(who ask.Principal, _ error) <-chan struct{} {
	return a.grants.Wanted(who, a.backend)
}

// Link is where somebody connects.
func (a account) Link() string { return a.grants.Link(a.backend) }

// credentials are what people's requests to a backend are authorized with, nil
// where none are needed.
func (g *gateway) credentials(name string, c config.Backend) door.Credentials {
	if g.accounts == nil || c.Grant.IsZero() {
		return nil
	}
	return account{g.accounts.Grants, name}
}

// doorstep is where calls to a backend wait for an account, nil where none is
// needed.
func (g *gateway) doorstep(name string, c config.Backend) (contract.Doorstep, error) {
	if g.accounts == nil || c.Grant.IsZero() {
		return nil, nil
	}
	return doorstep.New(doorstep.Config{
		Backend: name, Accounts: account{g.accounts.Grants, name}, NoPause: c.Grant.WhenMissing == "error", Log: g.log,
	})
}

// auditAccount puts on file what happened to somebody's account.
func (g *gateway) auditAccount(e grant.Event) {
	g.auditor.Account(observe.AccountRecord{
		At: e.At, Transition: string(e.Kind), Ask: e.Ask, Backend: e.Backend, By: e.Principal, Issuer: e.Issuer, Reason: string(e.Why),
	})
}

// serveDocument serves the client id metadata document of a backend, which its
// authorization server fetches.
func (a *accounts) serveDocument(w http.ResponseWriter, r *http.Request) {
	d, ok := a.Document(r.PathValue("backend"))
	if !ok {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "max-age=3600")
	_ = json.NewEncoder(w).Encode(d) // whoever went away does not want it
}

// connectable are the accounts as pages show them, nil where there are none.
func (g *gateway) connectable() page.Accounts {
	if g.accounts == nil {
		return nil
	}
	return g.accounts.Grants
}
