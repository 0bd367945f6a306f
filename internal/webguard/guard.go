package webguard

import (
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/answerback/answerback/ask"
)

// Config says what a Guard lets through. PublicURL, Refuse and Log are
// required; limits that are zero get the defaults given with them.
type Config struct {
	// PublicURL is where people and clients reach the gateway: scheme, host
	// and perhaps a port, no path. Its host is served.
	PublicURL string
	// AllowedHosts are further values of Host to serve: a name stands for
	// all its ports, a name with a port for that one. Loopback names need
	// no entry on loopback connections.
	AllowedHosts []string
	// AllowedOrigins are the web origins whose pages may call the API.
	AllowedOrigins []string
	// FormTargets are the origins to which a page's form may lead by a
	// redirect, such as those of the sign-in issuers.
	FormTargets []string
	// TrustedProxies are the peers whose forwarded headers are believed.
	TrustedProxies []netip.Prefix

	// Refuse answers a request to the API that is not let through.
	Refuse func(w http.ResponseWriter, status int, e *ask.Error)
	// RefusePage does so for pages and public documents. Without it they
	// get the message as plain text.
	RefusePage func(w http.ResponseWriter, status int, e *ask.Error)
	Log        *slog.Logger
	Now        func() time.Time // time.Now

	// Key signs form tokens: at least 32 bytes, or none for a random key
	// that lasts as long as the Guard does.
	Key []byte
	// Signer signs them in place of Key, so that an open form outlives the
	// Guard.
	Signer    Signer
	TokenLife time.Duration // how long a form may stay open; 12 h

	HeaderBytes int           // bytes of a request's headers; 64 KiB
	HeaderTime  time.Duration // to send them; 10 s
	IdleTime    time.Duration // to keep a connection without a request; 2 min
	BodyTime    time.Duration // to send a body, beside the time that BodyRate gives; 30 s
	BodyRate    int           // bytes per second that earn a body more time; 32 KiB
	BodyCap     time.Duration // the longest that a body may earn; 30 min
	PageBody    int64         // bytes of a body sent to a page; 1 MiB
	PageTime    time.Duration // to take a page's response; 1 min
}

// Signer signs messages with a key that it does not give away. Safe for
// concurrent use.
type Signer interface {
	// Sign gives the signature of a message: 32 bytes.
	Sign(msg []byte) []byte
	// Signed reports whether a signature is one of this message, also by a key
	// that signs no more. It takes the same time for each that is not.
	Signed(msg, signature []byte) bool
}

// Guard wraps handlers. It is safe for concurrent use and holds nothing that
// needs closing.
type Guard struct {
	cfg     Config
	log     quiet
	hosts   map[string]bool
	origin  string // of PublicURL
	secure  bool   // PublicURL is https
	origins map[string][]string
	forged  http.CrossOriginProtection
	csp     []string
}

// New checks cfg and makes a Guard of it.
func New(cfg Config) (*Guard, error) {
	switch {
	case cfg.Refuse == nil:
		return nil, errors.New("webguard: Refuse is missing: nothing could say no")
	case cfg.Log == nil:
		return nil, errors.New("webguard: the logger is missing")
	case cfg.Key != nil && len(cfg.Key) < 32:
		return nil, fmt.Errorf("webguard: the key has %d bytes, give it at least 32", len(cfg.Key))
	}
	cfg.setDefaults()
	g := &Guard{
		cfg:     cfg,
		log:     quiet{log: cfg.Log, now: cfg.Now},
		hosts:   make(map[string]bool),
		origins: make(map[string][]string),
	}
	if err := g.setPublic(cfg.PublicURL); err != nil {
		return nil, err
	}
	for _, h := range cfg.AllowedHosts {
		if err := g.addHost(h); err != nil {
			return nil, err
		}
	}
	for _, o := range cfg.AllowedOrigins {
		origin, err := parseOrigin(o)
		if err != nil {
			return nil, fmt.Errorf("webguard: allowed origin: %w", err)
		}
		if origin != "" {
			g.origins[origin] = []string{origin}
		}
	}
	targets := ""
	for _, t := range cfg.FormTargets {
		origin, err := parseOrigin(t)
		if err != nil {
			return nil, fmt.Errorf("webguard: form target: %w", err)
		}
		if origin != "" {
			targets += " " + origin
		}
	}
	g.csp = []string{strings.Replace(contentPolicy, formSelf, formSelf+targets, 1)}
	return g, nil
}

func (c *Config) setDefaults() {
	if c.Key == nil {
		c.Key = make([]byte, 32)
		rand.Read(c.Key)
	}
	if c.Signer == nil {
		c.Signer = oneKey(c.Key)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.RefusePage == nil {
		c.RefusePage = refusePlain
	}
	setDefault(&c.TokenLife, 12*time.Hour)
	setDefault(&c.HeaderBytes, 64<<10)
	setDefault(&c.HeaderTime, 10*time.Second)
	setDefault(&c.IdleTime, 2*time.Minute)
	setDefault(&c.BodyTime, 30*time.Second)
	setDefault(&c.BodyRate, 32<<10)
	setDefault(&c.BodyCap, 30*time.Minute)
	setDefault(&c.PageBody, 1<<20)
	setDefault(&c.PageTime, time.Minute)
}

func setDefault[T int | int64 | time.Duration](v *T, otherwise T) {
	if *v <= 0 {
		*v = otherwise
	}
}
