// Package signin says who sits at a browser: it sends people to an OpenID
// Connect provider and back, keeps their sessions, and on a gateway without
// any provider signs the local person in through a one-time link.
//
// It does not say what people may do, draws no page (Pages does), and knows
// nothing of callers of the MCP endpoint: package bearer checks those. Limits
// on requests, the Host header and the headers of pages belong to webguard;
// what is refused here is refused without it.
package signin

import (
	"log/slog"
	"net/http"
	"net/url"
	"time"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/identity"
	"github.com/answerback/answerback/internal/secret"
)

// Config says who may sign in and how long that holds. Zero durations and
// counts mean the defaults.
type Config struct {
	// PublicURL is where browsers find this gateway, without a path. It is
	// https, or http on loopback.
	PublicURL string
	// Providers are who vouches for people. With none, and without Local,
	// nobody can sign in.
	Providers []Provider
	// HTTP reaches the providers. Its own redirect policy and timeout are
	// replaced by stricter ones.
	HTTP *http.Client
	// Local lets whoever holds a link of LocalLink sign in as
	// identity.Local. It needs a PublicURL on loopback and no providers.
	Local bool
	// Pages draws what people see.
	Pages Pages
	// Serves reports whether a path is one that people can be sent back to
	// after signing in. Nil means every well-formed path.
	Serves func(path string) bool
	// Store keeps the sessions; nil means in memory, until the process ends.
	Store Store

	// SessionAge is the time from signing in to having to do so again: 12 h,
	// and 30 days for Local.
	SessionAge time.Duration
	// Idle is the time without a request after which a session ends: 1 h, and
	// SessionAge for Local.
	Idle        time.Duration
	MaxSessions int // of everybody together, 10,000; only without Store
	PerPerson   int // of one person, 16; only without Store
	MaxFlows    int // sign-ins under way, 10,000

	Now   func() time.Time // nil means time.Now
	Log   *slog.Logger
	Audit func(Event) // called for every sign-in, sign-out and refusal; may be nil
}

// Provider is an OpenID Connect provider at which this gateway is a client.
type Provider struct {
	// Issuer is the provider's URL, exactly as it calls itself.
	Issuer   string
	ClientID string
	// ClientSecret is empty for a public client.
	ClientSecret secret.Text
	Scopes       []string // openid and profile when empty
	// Name is what people choose by where there are several providers; the
	// issuer's host when empty.
	Name string
}

// Pages draws what people see. Every message is safe to show; the query of
// the request is not, because it may hold a secret.
type Pages interface {
	// Choose lets somebody choose the provider to sign in with.
	Choose(w http.ResponseWriter, r *http.Request, choices []Choice, returnTo string)
	// ConfirmLocal lets somebody post the token, in a form field of that
	// name, to /signin/local.
	ConfirmLocal(w http.ResponseWriter, r *http.Request, token string)
	// SignedOut tells somebody that they are signed out.
	SignedOut(w http.ResponseWriter, r *http.Request)
	// Problem tells somebody what went wrong and what to do.
	Problem(w http.ResponseWriter, r *http.Request, status int, message string)
}

// Choice is a provider to sign in with, and the link that does it.
type Choice struct {
	Name string
	URL  string
}

// Signin knows who is signed in. Its methods may be called concurrently. It
// runs no goroutines and needs no closing.
type Signin struct {
	cfg       Config
	origin    string // of PublicURL
	providers []*provider
	store     Store
	flows     *oneTime[flow]
	browsers  *oneTime[struct{}] // the flow cookies given out
	links     *oneTime[struct{}] // the local links made
}

// New checks the configuration. It reaches no provider: that happens when
// somebody first signs in, so the gateway starts without them.
func New(cfg Config) (*Signin, error) {
	origin, err := checkConfig(&cfg)
	if err != nil {
		return nil, err
	}
	s := &Signin{
		cfg:      cfg,
		origin:   origin,
		store:    cfg.Store,
		flows:    newOneTime[flow](cfg.MaxFlows, flowAge, cfg.Now),
		browsers: newOneTime[struct{}](cfg.MaxFlows, flowAge, cfg.Now),
		links:    newOneTime[struct{}](maxLinks, linkAge, cfg.Now),
	}
	if s.store == nil {
		s.store = newMemory(cfg.MaxSessions, cfg.PerPerson, cfg.Idle, cfg.Now)
	}
	for _, p := range cfg.Providers {
		s.providers = append(s.providers, newProvider(p, cfg.HTTP, origin+callbackPath, cfg.Now))
	}
	return s, nil
}

// Person gives who is signed in at the browser that sent r.
func (s *Signin) Person(r *http.Request) (identity.Person, bool) {
	_, record, ok := s.session(r)
	if !ok {
		return identity.Person{}, false
	}
	return record.person()
}

// Session gives a value that stands for the session of r: the same for every
// request of that session and for no other. It opens nothing, so a form may
// carry what is derived from it.
func (s *Signin) Session(r *http.Request) (string, bool) {
	value, _, ok := s.session(r)
	if !ok {
		return "", false
	}
	return standFor(value), true
}

// Challenge answers a request of somebody who is not signed in and must be:
// it sends a reader to sign in and back, and refuses everything else, because
// what was posted would be lost on the way.
func (s *Signin) Challenge(w http.ResponseWriter, r *http.Request) {
	private(w)
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		message := "You are not signed in, so nothing was changed. Sign in, then try again."
		if s.cfg.Local {
			s.remember(w, r.URL.Path)
			message = "You are not signed in, so nothing was changed. " + localHelp
		}
		s.cfg.Pages.Problem(w, r, http.StatusUnauthorized, message)
		return
	}
	seeOther(w, signinPath+"?"+url.Values{"return": {s.returnPath(r.URL.RequestURI())}}.Encode())
}

func (s *Signin) audit(e Event) {
	if s.cfg.Audit == nil {
		return
	}
	e.At = s.cfg.Now()
	s.cfg.Audit(e)
}

func (s *Signin) signedIn(how string, who ask.Principal) {
	s.cfg.Log.Info("signed in", "principal", who.String(), "how", how)
	s.audit(Event{Kind: SignedIn, Principal: who})
}
