package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/answerback/answerback/internal/config"
	"github.com/answerback/answerback/internal/egress"
	"github.com/answerback/answerback/internal/grant"
	"github.com/answerback/answerback/internal/grant/oauth"
	"github.com/answerback/answerback/internal/journal"
	"github.com/answerback/answerback/internal/seal"
)

// accounts are what people have connected to backends, and the clients with
// which that is done.
type accounts struct {
	*grant.Grants
	clients []*http.Client
}

// errNoPages means that people cannot safely be sent to this gateway.
var errNoPages = errors.New("accounts are connected on pages, and nobody can be sent to this gateway safely: set public_url to its https address")

// openAccounts opens what people have connected, for a gateway at public. It
// is nil where nobody can be sent there, and nobody needs to be.
func openAccounts(ctx context.Context, cfg *config.Config, public string, store journal.Journal, ring *seal.Ring, audit func(grant.Event), log *slog.Logger) (*accounts, error) {
	if _, err := oauth.CheckIssuer(public); err != nil {
		return nil, (*accounts)(nil).reload(cfg)
	}
	g, err := grant.Open(ctx, grant.Config{
		Store: store, Ring: ring, PublicURL: public, Alone: cfg.Journal.URL == "", Now: time.Now, Log: log, Audit: audit,
	})
	if err != nil {
		return nil, err
	}
	a := &accounts{Grants: g}
	if err := a.reload(cfg); err != nil {
		a.close(ctx)
		return nil, err
	}
	return a, nil
}

// reload changes the backends to those of cfg. Nil accounts take none.
func (a *accounts) reload(cfg *config.Config) error {
	var backends []grant.Backend
	var clients []*http.Client
	for _, name := range cfg.Enabled() {
		b := cfg.Backends[name]
		if b.Grant.IsZero() {
			continue
		}
		next := grant.Backend{Name: name, URL: b.URL, Kind: grant.Kind(b.Grant.Kind)}
		switch next.Kind {
		case grant.Key:
			next.Header, next.Prefix = b.Grant.KeyHeader()
		case grant.OAuth:
			next.ClientID, next.ClientSecret, next.Document = b.Grant.ClientID, b.Grant.ClientSecret, b.Grant.ClientDocument
			next.Scopes, next.Issuer = b.Grant.Scopes, b.Grant.Issuer
			next.HTTP = egress.ForNamed(b.URL, b.Grant.Issuer)
			clients = append(clients, next.HTTP)
		}
		backends = append(backends, next)
	}
	if a == nil {
		if len(backends) > 0 {
			return errNoPages
		}
		return nil
	}
	if err := a.SetBackends(backends); err != nil {
		return fmt.Errorf("backends: %w", err)
	}
	a.idle()
	a.clients = clients
	return nil
}

// idle lets go of connections that are not in use.
func (a *accounts) idle() {
	for _, c := range a.clients {
		c.CloseIdleConnections()
	}
}

// close ends what is under way.
func (a *accounts) close(ctx context.Context) {
	a.Close(ctx)
	a.idle()
}
