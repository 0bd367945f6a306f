package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/budget"
	"github.com/answerback/answerback/internal/contract"
	"github.com/answerback/answerback/internal/door"
	"github.com/answerback/answerback/internal/era"
	"github.com/answerback/answerback/internal/seal"
	"github.com/answerback/answerback/internal/secret"
	"github.com/answerback/answerback/internal/wire"
)

// Transport says how a server is spoken to.
type Transport string

// The transports. Auto is stdio for a command; for a URL it is Streamable
// HTTP, and HTTP+SSE where the server turns out to know only that.
const (
	Auto  Transport = "auto"
	HTTP  Transport = "http"
	SSE   Transport = "sse"
	Stdio Transport = "stdio"
)

// Config describes one server: by URL, or by the command that starts it.
type Config struct {
	Name      string
	Transport Transport // "" means Auto

	URL     string
	Headers map[string]secret.Text // sent with every request
	Client  *http.Client           // required with URL; see the egress package
	// Credentials authorize each person's requests, where the server wants to
	// know who they are. Nil means that Headers are enough.
	Credentials door.Credentials

	Command string
	Args    []string
	// Env is the server's environment, beside the few harmless variables
	// (PATH, HOME, LANG and the like) that it inherits.
	Env map[string]secret.Text
	Dir string

	Limits Limits
	// Budget bounds the memory of messages of this server and of all others.
	// Nil bounds nothing.
	Budget *budget.Budget
	// Ring seals resume handles. Without one no question can be resumed.
	Ring *seal.Ring
	// Epoch counts the lives of the gateway: the ids of requests on a session
	// from an earlier life begin beyond those of all earlier ones. Zero stands
	// for a gateway that takes nothing up from an earlier life.
	Epoch uint64
	Log   *slog.Logger // required
}

// Limits bound what one server can make the gateway hold. Zero fields mean
// the defaults.
type Limits struct {
	MessageBytes int           // one message of the server, wire.DefaultMaxBytes
	Questions    int           // open questions of one line, 1024
	Processes    int           // processes of one command, 256
	Idle         time.Duration // how long an unused process is kept, 10 min
}

func (l Limits) withDefaults() Limits {
	if l.MessageBytes <= 0 {
		l.MessageBytes = wire.DefaultMaxBytes
	}
	if l.Questions <= 0 {
		l.Questions = 1024
	}
	if l.Processes <= 0 {
		l.Processes = 256
	}
	if l.Idle <= 0 {
		l.Idle = 10 * time.Minute
	}
	return l
}

// Backend is one MCP server. It implements contract.Backend and is safe for
// concurrent use. Close releases it.
type Backend struct {
	cfg Config
	log *slog.Logger
	url *url.URL // nil for a command
	// headers gives those of every request. It is a function because they
	// hold secrets, and functions do not print what they hold.
	headers func() *headers

	// old is set once an Auto server turned out to speak HTTP+SSE only.
	old        atomic.Bool
	prober     *era.Prober
	discovered atomic.Pointer[wire.Message] // the last response to server/discover
	modern     *modernLine                  // nil for a command
	children   children
	lanes      lanes // stateless processes of a command
	procs      chan struct{}

	crew crew

	mu       sync.Mutex
	closed   bool
	lines    map[contract.Line]struct{}
	sessions map[string]*legacyLine // by upstream session id
}

var _ contract.Backend = (*Backend)(nil)

// New checks cfg and makes a Backend. It connects to nothing.
func New(cfg Config) (*Backend, error) {
	if cfg.Name == "" {
		return nil, errors.New("backend: no name given")
	}
	fail := func(format string, args ...any) (*Backend, error) {
		return nil, fmt.Errorf("backend %s: %s", cfg.Name, fmt.Sprintf(format, args...))
	}
	if cfg.Log == nil {
		return fail("no logger given")
	}
	if cfg.Transport == "" {
		cfg.Transport = Auto
	}
	cfg.Limits = cfg.Limits.withDefaults()
	b := &Backend{
		cfg: cfg, log: cfg.Log.With("backend", cfg.Name),
		lines:    make(map[contract.Line]struct{}),
		sessions: make(map[string]*legacyLine),
		lanes:    lanes{quit: make(chan struct{}), live: make(map[ask.Principal]*lane)},
	}
	switch {
	case (cfg.URL == "") == (cfg.Command == ""):
		return fail("give either a url or a command")
	case cfg.Command != "":
		if cfg.Transport != Auto && cfg.Transport != Stdio {
			return fail("transport %q needs a url, not a command", cfg.Transport)
		}
		b.procs = make(chan struct{}, cfg.Limits.Processes)
		b.prober = b.newProber()
		return b, nil
	}
	if cfg.Transport != Auto && cfg.Transport != HTTP && cfg.Transport != SSE {
		return fail("transport %q is not one of auto, http, sse for a url", cfg.Transport)
	}
	if cfg.Client == nil {
		return fail("no HTTP client given")
	}
	u, err := url.Parse(cfg.URL)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return fail("the url must be absolute, with http or https")
	}
	if u.User != nil {
		return fail("the url must not hold a password; use headers")
	}
	u.Fragment = ""
	b.url = u
	header, err := door.Header(cfg.Headers)
	if err != nil {
		return fail("%v", err)
	}
	h := &headers{
		post: with(header, "Accept", typeJSON+", "+typeStream, "Content-Type", typeJSON),
		get:  with(header, "Accept", typeStream),
	}
	b.headers = func() *headers { return h }
	b.modern = newModernLine(b)
	b.prober = b.newProber()
	return b, nil
}

// Name is the configured name.
func (b *Backend) Name() string { return b.cfg.Name }

// Format prints the name only: what the backend holds may be secret.
func (b *Backend) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, "backend "+b.cfg.Name) }

// LogValue logs the name only.
func (b *Backend) LogValue() slog.Value { return slog.StringValue(b.cfg.Name) }

// Open performs the legacy handshake and returns a line for one session.
// With a command it starts a process for that session.
func (b *Backend) Open(ctx context.Context, hello contract.Hello) (contract.Line, error) {
	if b.isClosed() {
		return nil, b.shut()
	}
	line, err := b.open(ctx, hello)
	if err != nil {
		return nil, err
	}
	if !b.keep(line) {
		line.Close(ctx)
		return nil, b.shut()
	}
	select {
	case <-line.Done(): // it died before it was kept, and nobody would drop it
		b.drop(line)
	default:
	}
	return line, nil
}

func (b *Backend) open(ctx context.Context, hello contract.Hello) (contract.Line, error) {
	switch {
	case b.url == nil:
		return b.openStdio(ctx, hello)
	case b.cfg.Transport == SSE:
		return b.openOld(ctx, hello)
	case b.cfg.Transport == HTTP:
		return b.openLegacy(ctx, hello)
	case b.old.Load():
		line, err := b.openOld(ctx, hello)
		if err != nil {
			b.old.Store(false) // it may have been upgraded
		}
		return line, err
	}
	line, err := b.openLegacy(ctx, hello)
	if err == nil || !perhapsOld(err) {
		return line, err
	}
	old, oldErr := b.openOld(ctx, hello)
	if oldErr != nil {
		return nil, err // what the preferred transport said is the better hint
	}
	b.old.Store(true)
	b.log.Info("backend speaks the HTTP+SSE transport of 2024-11-05")
	return old, nil
}

// Stateless returns the line for modern requests of one principal. Its Close
// does nothing: it lives as long as the backend.
func (b *Backend) Stateless(_ context.Context, who ask.Principal) (contract.Line, error) {
	switch {
	case b.isClosed():
		return nil, b.shut()
	case b.url == nil:
		return laneLine{b: b, who: who}, nil
	case b.cfg.Transport == SSE || b.old.Load():
		return nil, ask.Errorf(ask.BackendBroken, fmt.Sprintf(
			"Backend %s speaks the HTTP+SSE transport of 2024-11-05 only and takes no modern requests.", b.cfg.Name))
	}
	if b.cfg.Credentials == nil {
		return b.modern, nil
	}
	return &personalLine{modernLine: b.modern, door: b.door(who)}, nil
}

// Close ends every line and process and waits for them, at most until ctx
// ends.
func (b *Backend) Close(ctx context.Context) {
	b.mu.Lock()
	b.closed = true
	lines := make([]contract.Line, 0, len(b.lines))
	for l := range b.lines {
		lines = append(lines, l)
	}
	b.mu.Unlock()
	var wg sync.WaitGroup
	for _, l := range lines {
		wg.Go(func() { l.Close(ctx) })
	}
	wg.Go(func() { b.lanes.close(ctx) })
	wg.Go(func() {
		if b.modern != nil {
			b.modern.shut(ctx)
		}
	})
	wg.Wait()
	b.crew.dismiss(ctx)
}

func (b *Backend) isClosed() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.closed
}

func (b *Backend) shut() *ask.Error {
	return ask.Errorf(ask.ShuttingDown, fmt.Sprintf("Backend %s is being closed.", b.cfg.Name))
}

func (b *Backend) keep(l contract.Line) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return false
	}
	b.lines[l] = struct{}{}
	return true
}

func (b *Backend) drop(l contract.Line) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.lines, l)
	if l, ok := l.(*legacyLine); ok && b.sessions[l.session] == l {
		delete(b.sessions, l.session)
	}
}

// door gives the one of a principal.
func (b *Backend) door(who ask.Principal) door.Door {
	return door.Door{Client: b.cfg.Client, Credentials: b.cfg.Credentials, Backend: b.cfg.Name, Who: who}
}
