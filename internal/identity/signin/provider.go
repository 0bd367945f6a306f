package signin

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"sync/atomic"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
)

// retryAfter is how long a provider that failed is left alone: anybody can
// make the gateway try, without signing in.
const retryAfter = 5 * time.Second

// provider finds a Provider when somebody first needs it.
type provider struct {
	cfg      Provider
	client   *http.Client
	redirect string
	now      func() time.Time

	found atomic.Pointer[discovered]
	// turn is held by the one request that asks the provider; it guards
	// what follows. Waiting for it can be given up, which a mutex cannot.
	turn     chan struct{}
	lastErr  error
	failedAt time.Time
}

// discovered is what a provider says of itself, ready to be used.
type discovered struct {
	cfg      Provider
	client   *http.Client
	oauth    oauth2.Config
	verifier *oidc.IDTokenVerifier
	// sendsIssuer is the promise to name the issuer in every answer (RFC 9207).
	sendsIssuer bool
}

func newProvider(cfg Provider, client *http.Client, redirect string, now func() time.Time) *provider {
	return &provider{cfg: cfg, client: bounded(client), redirect: redirect, now: now, turn: make(chan struct{}, 1)}
}

// discover asks the provider where its parts are, once, however many wait for
// it. A failure is remembered for a moment; success for good.
func (p *provider) discover(ctx context.Context) (*discovered, error) {
	if d := p.found.Load(); d != nil {
		return d, nil
	}
	select {
	case p.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { <-p.turn }()
	if d := p.found.Load(); d != nil {
		return d, nil
	}
	if p.lastErr != nil && p.now().Sub(p.failedAt) < retryAfter {
		return nil, p.lastErr
	}
	// Others wait for this answer too, so it is not given up when this
	// request is; the client's timeout ends it.
	d, err := p.ask(context.WithoutCancel(ctx))
	if err != nil {
		p.lastErr, p.failedAt = err, p.now()
		return nil, err
	}
	p.lastErr = nil
	p.found.Store(d)
	return d, nil
}

func (p *provider) ask(ctx context.Context) (*discovered, error) {
	op, err := oidc.NewProvider(oidc.ClientContext(ctx, p.client), p.cfg.Issuer)
	if err != nil {
		return nil, fmt.Errorf("discovery: %w", clip(err))
	}
	var metadata struct {
		JWKS        string   `json:"jwks_uri"`
		AuthMethods []string `json:"token_endpoint_auth_methods_supported"`
		SendsIssuer bool     `json:"authorization_response_iss_parameter_supported"`
	}
	if err := op.Claims(&metadata); err != nil {
		return nil, fmt.Errorf("discovery: %w", clip(err))
	}
	endpoint := op.Endpoint()
	for what, u := range map[string]string{"authorization_endpoint": endpoint.AuthURL, "token_endpoint": endpoint.TokenURL, "jwks_uri": metadata.JWKS} {
		if err := checkEndpoint(u); err != nil {
			return nil, fmt.Errorf("discovery: %s: %w", what, err)
		}
	}
	endpoint.AuthStyle = authStyle(p.cfg, metadata.AuthMethods)
	return &discovered{
		cfg:    p.cfg,
		client: p.client,
		oauth: oauth2.Config{
			ClientID: p.cfg.ClientID, ClientSecret: p.cfg.ClientSecret.Reveal(),
			Endpoint: endpoint, RedirectURL: p.redirect, Scopes: p.cfg.Scopes,
		},
		// It takes what the provider says it signs with, asymmetric
		// algorithms only, and RS256 where it does not say.
		verifier:    op.Verifier(&oidc.Config{ClientID: p.cfg.ClientID, Now: p.now}),
		sendsIssuer: metadata.SendsIssuer,
	}, nil
}

// checkEndpoint is checkURL for addresses that may have a query.
func checkEndpoint(text string) error {
	u, err := url.Parse(text)
	if err != nil {
		return errors.New("not a URL")
	}
	u.RawQuery = ""
	_, err = checkURL(u.String())
	return err
}

// authStyle decides how the client says who it is. Trying one way and then
// the other would show the same code twice, which providers take for theft.
func authStyle(p Provider, supported []string) oauth2.AuthStyle {
	header := len(supported) == 0 || slices.Contains(supported, "client_secret_basic")
	if p.ClientSecret.Reveal() == "" || !header {
		return oauth2.AuthStyleInParams
	}
	return oauth2.AuthStyleInHeader
}

func (d *discovered) authURL(state string, f flow) string {
	return d.oauth.AuthCodeURL(state, oidc.Nonce(f.nonce), oauth2.S256ChallengeOption(f.verifier))
}

func (p *provider) failed(how string, cause error) *refusal {
	return &refusal{
		reason: ProviderFailed, status: http.StatusBadGateway, issuer: p.cfg.Issuer, cause: cause,
		message: "The sign-in provider " + how + ". Try again in a moment.",
	}
}
