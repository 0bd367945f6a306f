package mcp

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/budget"
	"github.com/answerback/answerback/internal/contract"
	"github.com/answerback/answerback/internal/entry"
	"github.com/answerback/answerback/internal/flight"
	"github.com/answerback/answerback/internal/seal"
	"github.com/answerback/answerback/internal/wire"
	"github.com/answerback/answerback/internal/wire/sse"
)

// Config is what a Surface needs. Gateway, Authenticate, Ring and Log are
// required; a limit that is zero takes its default.
type Config struct {
	Gateway Gateway

	// Authenticate says who sends a request, from its headers. An error is
	// answered with 401, or with what the error itself says (see
	// entry.Challenger).
	Authenticate func(*http.Request) (contract.Caller, error)

	// Local is who uses the standard streams.
	Local contract.Caller

	Ring *seal.Ring
	Home seal.Home
	// Epoch counts the lives of the gateway. Zero stands for one that takes
	// nothing up from an earlier life.
	Epoch uint64
	Log   *slog.Logger

	// Budget bounds the memory of messages under way, and says when there is
	// none for new calls. Nil bounds nothing.
	Budget *budget.Budget
	// Replays bounds the memory of finished streams that are kept for clients
	// that come back. Beyond it they are not kept. Nil bounds nothing.
	Replays *budget.Budget

	MaxBody                 int           // bytes of one message; 32 MiB
	MaxDepth                int           // nesting of one message; that of package wire
	MaxSessions             int           // 10,000
	MaxSessionsPerPrincipal int           // 100
	MaxCalls                int           // concurrent calls over standard streams; 256
	SessionIdle             time.Duration // 30 minutes
	MaxEvents               int           // events kept per stream; 256
	MaxEventBytes           int           // bytes kept per stream, though its newest event always is; 1 MiB
	KeepAlive               time.Duration // silence after which a stream says something; 15 seconds

	// Kept reports whether an open question survives the gateway: Drain does
	// not wait for calls that wait for such. Nil means that none does.
	Kept func(ask string) bool
	Now  func() time.Time // time.Now
}

func (c *Config) check() error {
	switch {
	case c.Gateway == nil:
		return errors.New("mcp surface: no gateway given")
	case c.Authenticate == nil:
		return errors.New("mcp surface: no authentication given")
	case c.Ring == nil:
		return errors.New("mcp surface: no key ring given")
	case c.Log == nil:
		return errors.New("mcp surface: no logger given")
	}
	return nil
}

func (c *Config) setDefaults() {
	entry.SetDefault(&c.MaxBody, wire.DefaultMaxBytes)
	entry.SetDefault(&c.MaxDepth, wire.DefaultMaxDepth)
	entry.SetDefault(&c.MaxSessions, 10_000)
	entry.SetDefault(&c.MaxSessionsPerPrincipal, 100)
	entry.SetDefault(&c.MaxCalls, 256)
	entry.SetDefault(&c.SessionIdle, 30*time.Minute)
	entry.SetDefault(&c.MaxEvents, 256)
	entry.SetDefault(&c.MaxEventBytes, 1<<20)
	entry.SetDefault(&c.KeepAlive, 15*time.Second)
	c.Epoch = max(c.Epoch, 1)
	if c.Now == nil {
		c.Now = time.Now
	}
}

// Surface serves MCP clients. It is an http.Handler for /mcp and
// /mcp/{backend}, and serves one client on standard streams with ServeStdio.
// Safe for concurrent use.
type Surface struct {
	cfg      Config
	sessions *registry
	beat     []byte // the keep-alive comment
	flight   *flight.Board

	// life ends when the surface closes; modern calls and the standard
	// streams hang on it.
	life context.Context
	end  context.CancelCauseFunc

	returning sync.Mutex // one session at a time is made again after a restart

	inside entry.Inside
}

var _ http.Handler = (*Surface)(nil)

// New makes a Surface. It starts nothing.
func New(cfg Config) (*Surface, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	cfg.setDefaults()
	life, end := context.WithCancelCause(context.Background())
	return &Surface{
		cfg:      cfg,
		sessions: newRegistry(cfg.MaxSessions, cfg.MaxSessionsPerPrincipal),
		beat:     append(sse.AppendComment(nil, "keep-alive"), '\n'),
		flight:   flight.New(cfg.Kept),
		life:     life,
		end:      end,
	}, nil
}

// ServeHTTP serves one HTTP request. What is refused before the message is
// read is refused in this order: the sender, the path, the HTTP method. Host,
// Origin and the speed of the sender are the matter of whoever stands before
// the surface.
func (s *Surface) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !s.inside.Enter() {
		refuse(w, http.StatusServiceUnavailable, shuttingDown)
		return
	}
	defer s.inside.Leave()

	who, err := s.cfg.Authenticate(r)
	if err != nil {
		s.challenge(w, err)
		return
	}
	at, ok := endpoint(r.URL.Path)
	if !ok || !s.cfg.Gateway.Knows(at, who) {
		refuse(w, http.StatusNotFound, unknownEndpoint)
		return
	}
	switch r.Method {
	case http.MethodPost:
		s.post(w, r, at, who)
	case http.MethodGet:
		s.get(w, r, at, who)
	case http.MethodDelete:
		s.delete(w, r, at, who)
	default:
		w.Header()["Allow"] = allowAll
		refuse(w, http.StatusMethodNotAllowed, methodNotAllowed)
	}
}

// Sessions is how many legacy sessions are open.
func (s *Surface) Sessions() int { return int(s.sessions.total.Load()) }

// endpoint reads the name of an endpoint from a path: "" for /mcp.
func endpoint(path string) (string, bool) {
	rest, ok := strings.CutPrefix(path, "/mcp")
	if !ok {
		return "", false
	}
	if rest == "" || rest == "/" {
		return "", true
	}
	name, ok := strings.CutPrefix(rest, "/")
	return name, ok && !strings.Contains(name, "/")
}

// Close refuses all that is new, ends every session and every call, and waits
// until all of it has ended or ctx does.
func (s *Surface) Close(ctx context.Context) error {
	s.inside.Close()
	s.end(shuttingDown)
	if err := entry.End(ctx, &s.inside, slices.Values(s.sessions.all()), func(ss *session) { s.drop(ctx, ss, shuttingDown) }); err != nil {
		return ask.Wrap(ask.ShuttingDown, "Some MCP clients were still being served.", err)
	}
	return nil
}
