package grant

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/grant/oauth"
	"github.com/answerback/answerback/internal/journal"
	"github.com/answerback/answerback/internal/seal"
	"github.com/answerback/answerback/internal/secret"
)

// The shelves on which everything is kept.
const (
	ShelfGrants  = "grants"
	ShelfClients = "grant-clients"
	ShelfFlows   = "grant-flows"

	shelfGrants  = ShelfGrants
	shelfClients = ShelfClients
	shelfFlows   = ShelfFlows
)

// Kind is how somebody lets the gateway use a backend in their name.
type Kind string

// Every kind of grant.
const (
	OAuth Kind = "oauth" // by signing in at the backend's authorization server
	Key   Kind = "key"   // by entering a key on a page
)

// Backend is a backend that needs a grant.
type Backend struct {
	Name string
	URL  string // of the server; what tokens are asked for
	Kind Kind
	// HTTP reaches the server's metadata and its authorization server. It is
	// made by package egress, which decides what may be reached.
	HTTP *http.Client

	// Of OAuth: the gateway's own id at the authorization server, where it has
	// one; scopes to ask for in any case; the authorization server, where the
	// backend need not say; and the client id metadata document, where it is
	// kept elsewhere than at this gateway.
	ClientID     string
	ClientSecret secret.Text
	Scopes       []string
	Issuer       string
	Document     string

	// Of a key: the header that it is sent in, and what stands before it.
	Header string
	Prefix string
}

// Config is what Grants are made of. Audit may be nil, and Alone false;
// everything else is required.
type Config struct {
	Store interface {
		Shelf(name string) journal.Shelf
	}
	Ring *seal.Ring
	// PublicURL is where browsers find this gateway, without a path.
	PublicURL string
	// Alone says that no other process writes to the store while this one
	// does: a refresh that is announced there and not made here is nobody's.
	Alone bool
	Now   func() time.Time
	Log   *slog.Logger
	Audit func(Event)
}

// Grants are the grants of everybody. Safe for concurrent use. Errors are
// *ask.Error and *Needed, which wraps one.
type Grants struct {
	cfg     Config
	grants  journal.Shelf
	clients journal.Shelf
	flows   journal.Shelf

	life      context.Context // of everything that outlives one request
	end       context.CancelFunc
	work      sync.WaitGroup
	unwatch   func()
	cache     cache
	waiting   waiting
	mu        sync.Mutex
	closed    bool
	flights   map[string]*flight
	backends  map[string]*backend
	publicTLS bool
}

// backend is a Backend with its client.
type backend struct {
	Backend
	oauth *oauth.Client
}

// Open makes Grants over a store, which must outlive them. Close must be
// called.
func Open(ctx context.Context, cfg Config) (*Grants, error) {
	switch {
	case cfg.Store == nil, cfg.Ring == nil, cfg.Now == nil, cfg.Log == nil:
		return nil, errors.New("grant: Store, Ring, Now and Log are needed")
	}
	public, err := oauth.CheckIssuer(cfg.PublicURL)
	if err != nil || public.Path != "" {
		return nil, fmt.Errorf("grant: the public URL %q is not an https origin, nor one of this machine", cfg.PublicURL)
	}
	g := &Grants{
		cfg: cfg, grants: cfg.Store.Shelf(shelfGrants), clients: cfg.Store.Shelf(shelfClients), flows: cfg.Store.Shelf(shelfFlows),
		flights: map[string]*flight{}, backends: map[string]*backend{}, publicTLS: public.Scheme == "https",
	}
	g.life, g.end = context.WithCancel(context.WithoutCancel(ctx))
	g.unwatch, err = g.grants.Watch(g.life, "", g.changed)
	if err != nil {
		g.end()
		return nil, fmt.Errorf("grant: watching the grants: %w", err)
	}
	return g, nil
}

// SetBackends says which backends need a grant, all of them at once. Those of
// before are forgotten; their grants are kept.
func (g *Grants) SetBackends(backends []Backend) error {
	next := map[string]*backend{}
	for _, b := range backends {
		switch {
		case b.Kind == OAuth && b.HTTP != nil && b.URL != "":
			next[b.Name] = &backend{b, oauth.NewClient(b.HTTP)}
		case b.Kind == Key && b.Header != "" && b.URL != "":
			next[b.Name] = &backend{Backend: b}
		default:
			return fmt.Errorf("grant: backend %s lacks its kind, URL, HTTP client or header", b.Name)
		}
	}
	g.mu.Lock()
	g.backends = next
	g.mu.Unlock()
	return nil
}

// backend gives the backend of this name, nil where it needs no grant.
func (g *Grants) backend(name string) *backend {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.backends[name]
}

// Close lets refreshes under way end, because a token that a server gave and
// nobody stored is lost, and ends everything else. When ctx ends it waits no
// longer for servers.
func (g *Grants) Close(ctx context.Context) {
	g.mu.Lock()
	g.closed = true
	g.mu.Unlock()
	stop := context.AfterFunc(ctx, g.end)
	g.work.Wait()
	stop()
	g.unwatch()
	g.end()
}

// Link is where somebody connects their account for a backend. It carries no
// right: who opens it is found out there.
func (g *Grants) Link(backend string) string { return g.cfg.PublicURL + Path(backend) }

// Path is the path of Link.
func Path(backend string) string { return "/connect/" + backend }

// redirect is where the authorization server of a backend sends browsers
// back to. It differs for each backend, so that the answer of one server does
// not pass for another's, even where it does not say whose it is.
func (g *Grants) redirect(backend string) string { return g.Link(backend) + "/callback" }

// document is the client id metadata document for a backend, "" where none
// can be had: the standard demands https.
func (g *Grants) document(b *backend) string {
	if b.Document != "" {
		return b.Document
	}
	if !g.publicTLS {
		return ""
	}
	return g.Link(b.Name) + "/client.json"
}

// Document is the client id metadata document for a backend that its
// authorization server fetches at Link with /client.json; false where there is
// none.
func (g *Grants) Document(name string) (oauth.Document, bool) {
	b := g.backend(name)
	if b == nil || b.Kind != OAuth || b.Document != "" || !g.publicTLS {
		return oauth.Document{}, false
	}
	d := g.describe(name)
	d.ClientID = g.document(b)
	return d, true
}

func (g *Grants) describe(backend string) oauth.Document {
	return oauth.NewDocument("Answerback", g.cfg.PublicURL, g.redirect(backend))
}

// Use is what to send to a backend. The zero Use sends nothing. It cannot
// print what it holds.
type Use struct {
	Header string
	Value  secret.Text
}

// Apply sets the header in h.
func (u Use) Apply(h http.Header) {
	if u.Header != "" {
		h.Set(u.Header, u.Value.Reveal())
	}
}

// Needed means that somebody must connect their account before a backend can
// be used in their name.
type Needed struct {
	Backend string
	Link    string // where they do that
	Why     Reason
	Scopes  []string // what will be asked for, where that is known
}

// Reason is why somebody has to connect. The set is closed.
type Reason string

// Every reason.
const (
	Never       Reason = "never_connected"     // they never did, or disconnected
	Expired     Reason = "expired"             // the token is too old and cannot be refreshed
	Rejected    Reason = "rejected"            // the backend does not take the token or key any more
	Withdrawn   Reason = "withdrawn"           // the authorization server does not refresh the token any more
	Interrupted Reason = "refresh_interrupted" // the gateway ended in the middle of a refresh
	Moved       Reason = "moved"               // the backend, its authorization server or the gateway's id there has changed
	MoreScopes  Reason = "more_scopes"         // what they agreed to is not enough
	Suspended   Reason = "suspended"           // the store was restored from a backup, and nobody confirmed it since
)

var words = map[Reason]string{
	Never:       "is not connected to your account yet",
	Expired:     "was connected too long ago",
	Rejected:    "does not accept your connection any more",
	Withdrawn:   "had its access to your account ended",
	Interrupted: "lost its connection while it was being renewed",
	Moved:       "has changed how it is signed in to",
	MoreScopes:  "needs more access than you gave it",
	Suspended:   "is suspended since the gateway was restored from a backup",
}

func (n *Needed) Error() string { return n.Unwrap().Error() }

// Unwrap gives the *ask.Error, with the code NotConnected.
func (n *Needed) Unwrap() error {
	return &ask.Error{
		Code: ask.NotConnected, Message: n.Backend + " " + words[n.Why] + ".",
		Data: map[string]any{"backend": n.Backend, "url": n.Link, "why": string(n.Why)},
	}
}

func (g *Grants) needed(b *backend, why Reason, scopes []string) *Needed {
	return &Needed{Backend: b.Name, Link: g.Link(b.Name), Why: why, Scopes: scopes}
}
