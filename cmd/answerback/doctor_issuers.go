package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/answerback/answerback/internal/config"
	"github.com/answerback/answerback/internal/egress"
	"github.com/answerback/answerback/internal/grant/oauth"
	"github.com/answerback/answerback/internal/identity/bearer"
	"github.com/answerback/answerback/internal/surface/terminal"
)

// examineIssuer asks an issuer for its keys.
func examineIssuer(ctx context.Context, name string, cfg *config.Config, p patience, w *ward) finding {
	s := cfg.Identity.Issuers[name]
	defer w.waits("issuer "+name, s.URL, nil)()
	ctx, cancel := context.WithTimeout(ctx, p.network)
	defer cancel()
	client := egress.ForIssuers()
	defer client.CloseIdleConnections()
	keys, err := bearer.Examine(ctx, bearer.Issuer{URL: s.URL, JWKS: s.JWKS, Audiences: audiences(s.Audience)}, client)
	f := finding{name: name, state: "ok", details: s.URL + ", " + count(keys, "key")}
	switch {
	case err != nil:
		f.state, f.details, f.wrong = "cannot be used", s.URL+": "+because(err), true
	case keys == 0:
		f.state, f.details, f.wrong = "cannot be used", s.URL+": it has no key that tokens can be checked with", true
	case s.ClientID == "":
		f.details += "; nobody signs in at the pages with it (no client_id)"
	}
	return f
}

func audiences(one string) []string {
	if one == "" {
		return nil
	}
	return []string{one}
}

// because is the cause of a failed request, in one line and with the address
// that could not be reached.
func because(err error) string {
	if why := dialProblem(err); why != "" {
		return why
	}
	return terminal.Line(strings.ReplaceAll(err.Error(), "\n", "; "), 400)
}

// examineAccounts looks at the authorization servers of the backends to which
// people connect accounts.
func examineAccounts(ctx context.Context, cfg *config.Config, p patience, w *ward) []finding {
	var found []finding
	for _, name := range cfg.Enabled() {
		b := cfg.Backends[name]
		if b.Grant.Kind != "oauth" {
			continue
		}
		found = append(found, examineAccount(ctx, name, b, p, w))
	}
	slices.SortFunc(found, func(a, b finding) int { return strings.Compare(a.name, b.name) })
	return found
}

func examineAccount(ctx context.Context, name string, b config.Backend, p patience, w *ward) finding {
	defer w.waits("account of "+name, "its authorization server", nil)()
	ctx, cancel := context.WithTimeout(ctx, p.network)
	defer cancel()
	client := egress.ForNamed(b.URL, b.Grant.Issuer)
	defer client.CloseIdleConnections()
	server, err := authorizationServer(ctx, oauth.NewClient(client), b)
	if err != nil {
		return finding{name: name, state: "cannot be used", details: because(err), wrong: true}
	}
	f := finding{name: name, state: "ok", details: server.Issuer}
	if b.Grant.ClientID == "" && !server.Documents && server.Register == "" {
		f.state, f.wrong = "cannot be used", true
		f.details += ": it takes neither client id metadata documents nor registrations; register the gateway there, and give grant.client_id"
	}
	return f
}

// authorizationServer finds the server as the gateway does when somebody
// connects.
func authorizationServer(ctx context.Context, c *oauth.Client, b config.Backend) (oauth.Server, error) {
	issuer := b.Grant.Issuer
	if issuer == "" {
		challenge, err := c.Probe(ctx, b.URL)
		if err != nil {
			return oauth.Server{}, fmt.Errorf("the backend: %w", err)
		}
		resource, err := c.Resource(ctx, b.URL, challenge)
		if errors.Is(err, oauth.ErrNoMetadata) {
			return oauth.Server{}, fmt.Errorf("%w; name its authorization server with grant.issuer", err)
		}
		if err != nil {
			return oauth.Server{}, err
		}
		issuer = resource.Servers[0]
	}
	return c.Server(ctx, issuer)
}
