package a2a

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/budget"
	"github.com/answerback/answerback/internal/contract"
	"github.com/answerback/answerback/internal/door"
	"github.com/answerback/answerback/internal/seal"
	"github.com/answerback/answerback/internal/secret"
	"github.com/answerback/answerback/internal/wire"
)

// Config describes one agent.
type Config struct {
	Name string
	// URL is below which the agent card is found, or that of the card itself.
	URL string
	// Origins are those beside that of URL to which the card may send
	// requests, and with them headers and credentials.
	Origins []string
	Headers map[string]secret.Text // sent with every request
	Client  *http.Client           // required; see the egress package
	// Credentials authorize each person's requests, where the agent wants to
	// know who they are. Nil means that Headers are enough. The card is read
	// without them.
	Credentials door.Credentials
	Limits      Limits
	// Budget bounds the memory of responses of this agent and of all other
	// backends. Nil bounds nothing.
	Budget *budget.Budget
	Ring   *seal.Ring   // required; seals what a task is found by
	Log    *slog.Logger // required
}

// Limits bound what one agent can make the gateway hold. Zero fields mean the
// defaults.
type Limits struct {
	MessageBytes int           // one response of the agent, and one result, wire.DefaultMaxBytes
	Artifacts    int           // artifacts of one task, 256
	Parts        int           // parts of one result, 4096
	Settle       time.Duration // how long an agent may tell the status on which it was answered, before that is a question again, 5 s
	Round        time.Duration // how long a call waits for a page to be finished before the client is asked to call again, 50 s
}

func (l Limits) withDefaults() Limits {
	if l.MessageBytes <= 0 {
		l.MessageBytes = wire.DefaultMaxBytes
	}
	if l.Artifacts <= 0 {
		l.Artifacts = 256
	}
	if l.Parts <= 0 {
		l.Parts = 4096
	}
	if l.Settle <= 0 {
		l.Settle = 5 * time.Second
	}
	if l.Round <= 0 {
		l.Round = 50 * time.Second
	}
	return l
}

// Backend is one agent. It implements contract.Backend and is safe for concurrent
// use. Close releases it.
type Backend struct {
	cfg    Config
	log    *slog.Logger
	header func() http.Header // a function, because functions do not print the secrets they hold
	cards  *cards

	life context.Context // ends with the backend
	kill context.CancelCauseFunc
	once sync.Once
}

var _ contract.Backend = (*Backend)(nil)

// New checks cfg and makes a Backend. It connects to nothing.
func New(cfg Config) (*Backend, error) {
	if cfg.Name == "" {
		return nil, errors.New("backend: no name given")
	}
	fail := func(what string) (*Backend, error) { return nil, fmt.Errorf("backend %s: %s", cfg.Name, what) }
	if cfg.Log == nil || cfg.Client == nil || cfg.Ring == nil {
		return fail("Log, Client and Ring are all required")
	}
	u, err := url.Parse(cfg.URL)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return fail("the url must be absolute, with http or https")
	case u.User != nil:
		return fail("the url must not hold a password; use headers")
	}
	origins := []string{originOf(u)}
	for _, o := range cfg.Origins {
		u, err := url.Parse(o)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil {
			return fail("a further origin must be absolute, with http or https")
		}
		origins = append(origins, originOf(u))
	}
	header, err := door.Header(cfg.Headers)
	if err != nil {
		return fail(err.Error())
	}
	cfg.Limits = cfg.Limits.withDefaults()
	b := &Backend{cfg: cfg, log: cfg.Log.With("backend", cfg.Name), header: func() http.Header { return header }}
	b.life, b.kill = context.WithCancelCause(context.Background())
	b.cards = newCards(b, u, origins)
	return b, nil
}

// Name is the configured name.
func (b *Backend) Name() string { return b.cfg.Name }

// Format prints the name only: what the backend holds may be secret.
func (b *Backend) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, "backend "+b.cfg.Name) }

// LogValue logs the name only.
func (b *Backend) LogValue() slog.Value { return slog.StringValue(b.cfg.Name) }

// Open refuses: an agent holds no sessions. Where its card cannot be read that
// is the error.
func (b *Backend) Open(ctx context.Context, _ contract.Hello) (contract.Line, error) {
	if _, err := b.card(ctx); err != nil {
		return nil, err
	}
	return nil, ask.Errorf(ask.UnknownMethod, "Backend "+b.cfg.Name+" is an A2A agent and holds no sessions.")
}

// Discover answers server/discover from the agent's card.
func (b *Backend) Discover(ctx context.Context, _ ask.Principal) (wire.Message, error) {
	c, err := b.card(ctx)
	if err != nil {
		return wire.Message{}, err
	}
	return b.scan(respond([]byte("1"), c.discovery))
}

// Stateless gives the line for one principal's requests.
func (b *Backend) Stateless(_ context.Context, who ask.Principal) (contract.Line, error) {
	if b.life.Err() != nil {
		return nil, b.shut()
	}
	return line{b: b, who: who}, nil
}

// Resume refuses: a task waits with its own requestState, and no call blocks.
func (b *Backend) Resume(contract.Hello, contract.Sink, ...[]byte) (*contract.Resumed, error) {
	return nil, ask.Errorf(ask.BadState, "An A2A agent has no calls that could be resumed.")
}

// Card describes the agent for its operator.
type Card struct {
	Name, Version string
	Protocol      string   // the binding that is spoken, such as JSONRPC
	Streaming     bool     // whether it tells of progress
	Tools         []string // the names of its skills
}

// Describe reads the agent's card.
func (b *Backend) Describe(ctx context.Context) (Card, error) {
	c, err := b.card(ctx)
	if err != nil {
		return Card{}, err
	}
	d := Card{Name: c.Name, Version: c.Version, Protocol: string(c.way.ProtocolBinding), Streaming: c.Capabilities.Streaming}
	for i := range c.tools {
		d.Tools = append(d.Tools, c.tools[i].name)
	}
	return d, nil
}

// Close ends every call. Tasks under way are left to the agent.
func (b *Backend) Close(context.Context) {
	b.once.Do(func() {
		b.kill(b.shut())
		b.cfg.Client.CloseIdleConnections()
	})
}

func (b *Backend) card(ctx context.Context) (*card, error) {
	if b.life.Err() != nil {
		return nil, b.shut()
	}
	return b.cards.get(ctx)
}

func (b *Backend) shut() *ask.Error {
	return ask.Errorf(ask.ShuttingDown, "Backend "+b.cfg.Name+" is being closed.")
}

// scan reads a message of our own making, which may hold an agent's words.
func (b *Backend) scan(raw []byte) (wire.Message, error) {
	if len(raw) > b.cfg.Limits.MessageBytes {
		return wire.Message{}, b.tooLarge()
	}
	m, err := wire.Scan(raw, wire.Limits{Bytes: b.cfg.Limits.MessageBytes})
	if err != nil {
		return wire.Message{}, b.broken("what it sent cannot be passed on", err)
	}
	return m, nil
}

// respond builds a response.
func respond(id, result []byte) []byte {
	raw := append([]byte(`{"jsonrpc":"2.0","id":`), id...)
	raw = append(append(raw, `,"result":`...), result...)
	return append(raw, '}')
}

func originOf(u *url.URL) string {
	host := u.Host
	if port := u.Port(); port == "443" && u.Scheme == "https" || port == "80" && u.Scheme == "http" {
		host = host[:len(host)-len(port)-1]
	}
	return u.Scheme + "://" + strings.ToLower(host)
}
