package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"time"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/config"
	"github.com/answerback/answerback/internal/contract"
	"github.com/answerback/answerback/internal/egress"
	"github.com/answerback/answerback/internal/identity"
	"github.com/answerback/answerback/internal/identity/bearer"
	"github.com/answerback/answerback/internal/identity/signin"
	"github.com/answerback/answerback/internal/journal"
	"github.com/answerback/answerback/internal/seal"
	"github.com/answerback/answerback/internal/signins"
	"github.com/answerback/answerback/internal/surface/a2a"
	"github.com/answerback/answerback/internal/surface/api"
	"github.com/answerback/answerback/internal/surface/events"
	"github.com/answerback/answerback/internal/surface/mcp"
	"github.com/answerback/answerback/internal/surface/page"
	"github.com/answerback/answerback/internal/upload"
	"github.com/answerback/answerback/internal/webguard"
)

// doors is who is let in: callers at the endpoint, and people at the pages.
type doors struct {
	public      string
	open        bool // nobody has to authenticate
	anyone      bool // not even from the network
	bearer      *bearer.Bearer
	rules       *identity.Rules
	groups      identity.Groups
	guard       *webguard.Guard
	v1          *webguard.Guard // the same rules, refusing in the words of the API
	stream      *webguard.Guard // the same in those of the event stream
	agent       *webguard.Guard // the same in those of the agent
	pages       *page.Pages
	signin      *signin.Signin
	kept        *signins.Store
	answerScope string
	issues      map[string]bool // the issuers with which people sign in
	http        *http.Client
}

const (
	resourcePath = "/mcp"
	metadataPath = "/.well-known/oauth-protected-resource"
)

// newDoors makes the doors of a gateway that is reached at public. What they
// keep across restarts is in the store.
func newDoors(ctx context.Context, cfg *config.Config, public string, store journal.Journal, log *slog.Logger) (*doors, error) {
	id := &cfg.Identity
	d := &doors{
		public: public, open: !id.Authenticates(), answerScope: id.AnswerScope, anyone: cfg.InsecureOpenToNetwork,
		pages: page.NewPages(log), http: egress.ForIssuers(), issues: map[string]bool{},
	}
	var err error
	if d.rules, err = identity.NewRules(rulesOf(id)); err != nil {
		return nil, fmt.Errorf("identity.access: %w", err)
	}
	for _, name := range slices.Sorted(maps.Keys(id.Groups)) {
		g := id.Groups[name]
		d.groups = append(d.groups, identity.Group{Name: name, Issuer: id.Issuers[g.Issuer].URL, Claim: g.Claim, Value: g.Value})
	}
	if !d.open {
		if d.bearer, err = bearer.New(d.callers(id, log)); err != nil {
			return nil, fmt.Errorf("identity: %w", err)
		}
	}
	ring, err := seal.Open(cfg.DataDir)
	if err != nil {
		return nil, err
	}
	people := d.people(id, log)
	if d.kept, err = keepSignins(ctx, &people, store, ring, log); err != nil {
		return nil, err
	}
	if d.signin, err = signin.New(people); err != nil {
		return nil, fmt.Errorf("identity: %w", err)
	}
	guarded := d.guarded(cfg, log)
	guarded.Signer = formSigner{ring}
	if d.guard, err = webguard.New(guarded); err != nil {
		return nil, err
	}
	guarded.Refuse = api.Refuse
	if d.v1, err = webguard.New(guarded); err != nil {
		return nil, err
	}
	guarded.Refuse = events.Refuse
	if d.stream, err = webguard.New(guarded); err != nil {
		return nil, err
	}
	guarded.Refuse = a2a.Refuse
	if d.agent, err = webguard.New(guarded); err != nil {
		return nil, err
	}
	return d, nil
}

func rulesOf(id *config.Identity) []identity.Rule {
	var rules []identity.Rule
	for _, a := range id.Access {
		rules = append(rules, identity.Rule{
			Issuer: id.Issuers[a.Issuer].URL, Claim: a.Claim, Values: a.Values, Backends: a.Backends, Tools: a.Tools,
		})
	}
	return rules
}

// callers says whose tokens and keys the endpoint takes.
func (d *doors) callers(id *config.Identity, log *slog.Logger) bearer.Config {
	b := bearer.Config{Resource: d.public + resourcePath, MetadataURL: d.public + metadataPath + resourcePath, HTTP: d.http, Log: log}
	for _, name := range slices.Sorted(maps.Keys(id.Issuers)) {
		s := id.Issuers[name]
		i := bearer.Issuer{URL: s.URL, Scopes: s.Scopes, JWKS: s.JWKS}
		if s.Audience != "" {
			i.Audiences = []string{s.Audience}
		}
		b.Issuers = append(b.Issuers, i)
	}
	for _, name := range slices.Sorted(maps.Keys(id.Keys)) {
		k := id.Keys[name]
		claims := identity.Claims{}
		for claim, values := range k.Claims {
			list := make([]any, len(values))
			for i, v := range values {
				list[i] = v
			}
			claims[claim] = list
		}
		key := bearer.Key{Name: name, Key: k.Key, Claims: claims, Display: name}
		if k.Issuer != "" {
			key.Principal = ask.Principal{Issuer: id.Issuers[k.Issuer].URL, Subject: k.Subject}
		}
		b.Keys = append(b.Keys, key)
	}
	return b
}

// people says who signs in at the pages: with an issuer, or, where nobody has
// to authenticate, through the local link.
func (d *doors) people(id *config.Identity, log *slog.Logger) signin.Config {
	c := signin.Config{
		PublicURL: d.public, HTTP: d.http, Pages: d.pages, Log: log,
		Local:  d.open && isLoopback(d.public),
		Serves: page.Serves,
	}
	if !c.Local {
		c.SessionAge = id.SessionAge
	}
	for _, name := range slices.Sorted(maps.Keys(id.Issuers)) {
		if s := id.Issuers[name]; s.ClientID != "" {
			d.issues[s.URL] = true
			c.Providers = append(c.Providers, signin.Provider{
				Issuer: s.URL, ClientID: s.ClientID, ClientSecret: s.ClientSecret, Scopes: s.SignInScopes, Name: s.Title,
			})
		}
	}
	return c
}

func (d *doors) guarded(cfg *config.Config, log *slog.Logger) webguard.Config {
	c := webguard.Config{
		PublicURL: d.public, AllowedHosts: cfg.AllowedHosts, AllowedOrigins: cfg.AllowedOrigins,
		Refuse: mcp.Refuse, RefusePage: d.pages.Refuse, Log: log,
		BodyCap: cfg.Limits.BodyTime,
	}
	for issuer := range d.issues {
		if u, err := url.Parse(issuer); err == nil {
			c.FormTargets = append(c.FormTargets, u.Scheme+"://"+u.Host)
		}
	}
	for _, p := range cfg.TrustedProxies {
		if prefix, err := config.ParsePrefix(p); err == nil {
			c.TrustedProxies = append(c.TrustedProxies, prefix)
		}
	}
	return c
}

// isLoopback reports whether an address is one of this machine alone.
func isLoopback(address string) bool {
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	if u.Hostname() == "localhost" {
		return true
	}
	addr, err := netip.ParseAddr(u.Hostname())
	return err == nil && addr.Unmap().IsLoopback()
}

// errNotLocal is what somebody hears who comes from elsewhere to a gateway
// that is open to this machine.
var errNotLocal = errors.New("nobody has to authenticate here, but only programs on this machine are let in")

// authenticate says who calls, and what they may use.
func (d *doors) authenticate(r *http.Request) (contract.Caller, error) {
	if d.open {
		if from := d.guard.Client(r); !d.anyone && from.IsValid() && !from.IsLoopback() {
			return contract.Caller{}, errNotLocal
		}
		return contract.Caller{Principal: identity.Local}, nil
	}
	person, err := d.bearer.Authenticate(r)
	if err != nil {
		return contract.Caller{}, err
	}
	caller := contract.Caller{Principal: person.Principal}
	if access := d.rules.For(person); !access.Everything() {
		caller.Access = access
	}
	return caller, nil
}

// Link is the address of an ask's page.
func (d *doors) Link(id string) string { return d.public + "/asks/" + id }

// Opens reports whether somebody can sign in to open their pages.
func (d *doors) Opens(who ask.Principal) bool {
	return d.issues[who.Issuer] || d.open && who == identity.Local && isLoopback(d.public)
}

// handler puts the endpoint and the pages behind the guard, each on a mux of
// its own.
func (d *doors) handler(g *gateway) (http.Handler, error) {
	mux := http.NewServeMux()
	api := d.guard.API(g.surface)
	mux.Handle(resourcePath, api)
	mux.Handle(resourcePath+"/{backend}", api)
	if d.bearer != nil {
		metadata := d.guard.Public(d.bearer.Metadata())
		mux.Handle(metadataPath, metadata)
		mux.Handle(metadataPath+resourcePath, metadata)
		mux.Handle(metadataPath+resourcePath+"/{backend}", metadata)
	}
	mux.Handle("GET /healthz", d.guard.Public(http.HandlerFunc(g.health.Live)))
	mux.Handle("GET /readyz", d.guard.Public(http.HandlerFunc(g.health.Ready)))
	v1, err := newAPI(g, d.viewer)
	if err != nil {
		return nil, err
	}
	mux.Handle("/v1/", d.v1.API(v1))
	mux.Handle("/events/", d.stream.API(g.events))
	g.agent.handle(mux, d)
	mux.Handle(events.SchemaPath, d.guard.Public(http.HandlerFunc(events.ServeSchema)))
	if g.desk == nil {
		return mux, nil
	}
	pages, err := page.New(page.Config{
		Accounts: g.connectable(), Desk: g.desk, People: d.signin, Guard: d.guard, Log: g.log, Now: time.Now,
		Groups:     func(p identity.Person) []string { return d.groups.Of(p) },
		Keep:       g.cfg.Journal.Keep,
		Extensions: g.cfg.Asks.MaxPageExtensions, MaxLength: g.cfg.Asks.MaxFieldLength, Names: lookup,
		Files: g.files, MaxFile: int64(g.given.MaxSize), Budget: g.requests,
	})
	if err != nil {
		return nil, err
	}
	signing := d.guard.Browser(d.signin.Handler())
	for _, path := range []string{"/signin", "/signin/", "/signout"} {
		mux.Handle(path, signing)
	}
	if g.accounts != nil {
		mux.Handle("GET /connect/{backend}/client.json", d.guard.Public(http.HandlerFunc(g.accounts.serveDocument)))
	}
	mux.Handle("/static/", d.guard.Static(pages))
	mux.Handle("/", d.guard.Browser(pages))
	posts := d.guard.Upload(pages, int64(g.given.MaxPerAsk)+fileForm)
	mux.Handle("POST /asks/{id}", posts)
	mux.Handle("POST /asks/{id}/{what}", posts)
	mux.Handle(upload.Path, d.guard.API(g.files))
	return mux, nil
}

// close ends what the doors have under way.
func (d *doors) close() {
	if d.bearer != nil {
		d.bearer.Close()
	}
	d.http.CloseIdleConnections()
}
