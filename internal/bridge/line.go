package bridge

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/catalog"
	"github.com/answerback/answerback/internal/contract"
	"github.com/answerback/answerback/internal/era"
	"github.com/answerback/answerback/internal/wire"
)

// Config is what a Line needs. All of it is required.
type Config struct {
	contract.Crossing
	Log  *slog.Logger
	Scan wire.Limits
}

// Line is one legacy session over a modern server. Safe for concurrent use.
type Line struct {
	cfg     Config
	welcome wire.Message
	info    []byte
	caps    []byte

	ids   atomic.Int64
	level atomic.Pointer[string]
	tools atomic.Pointer[catalog.View] // for headers that mirror arguments; nil until needed

	life context.Context
	end  context.CancelFunc

	mu     sync.Mutex
	uris   map[string]struct{} // resources that the client subscribed to
	heard  *subscription       // nil while nobody listens
	wanted bool
	closed bool
	wg     sync.WaitGroup
}

var _ contract.Line = (*Line)(nil)

// maxSubscriptions bounds the resources that one session subscribes to.
const maxSubscriptions = 1000

// Open makes the line. It sends nothing.
func Open(cfg Config) (*Line, error) {
	params := cfg.Hello.Params
	at, err := wire.Value(params)
	if err != nil {
		return nil, ask.Wrap(ask.BadMessage, "The parameters of initialize cannot be read.", err)
	}
	version := era.LatestLegacy
	offered, _ := wire.Unquote(wire.Get(params, at, "protocolVersion").Of(params))
	if e, ok := era.Of(offered); ok && e == era.Legacy {
		version = offered
	}
	raw := append([]byte(`{"jsonrpc":"2.0","id":0,"result":`), era.Welcome(&cfg.Discovered, version, cfg.Backend)...)
	welcome, err := wire.Scan(append(raw, '}'), cfg.Scan)
	if err != nil {
		return nil, ask.Wrap(ask.BackendBroken, "Backend "+cfg.Backend+" answered server/discover with something unreadable.", err)
	}
	l := &Line{
		cfg: cfg, welcome: welcome,
		info: wire.Get(params, at, "clientInfo").Of(params),
		caps: era.WithoutTasks(wire.Get(params, at, "capabilities").Of(params)),
		uris: make(map[string]struct{}),
	}
	l.life, l.end = context.WithCancel(context.Background())
	return l, nil
}

// Welcome is the answer to initialize.
func (l *Line) Welcome() wire.Message { return l.welcome }

// Done is never closed: a modern server holds no session that could end.
func (l *Line) Done() <-chan struct{} { return nil }

// Notify drops what has no place in the modern era: that the handshake is
// over, that roots changed, and progress on questions.
func (l *Line) Notify(context.Context, []byte) error { return nil }

// Call carries one request through as many rounds as it takes.
func (l *Line) Call(ctx context.Context, out contract.Outgoing, sink contract.Sink) (contract.Reply, error) {
	switch method := out.Msg.Method(); {
	case strings.HasPrefix(method, "tasks/"):
		// The two eras have different tasks under the same names.
		return contract.Reply{}, ask.Errorf(ask.UnknownMethod, "There is no "+method+" between a legacy client and a modern backend.")
	case method == "logging/setLevel":
		level := out.Msg.Text(out.Msg.Level)
		l.level.Store(&level)
		return l.done(out.Msg)
	case method == "resources/subscribe", method == "resources/unsubscribe":
		if err := l.subscribe(out.Msg.Text(out.Msg.URI), method == "resources/subscribe"); err != nil {
			return contract.Reply{}, err
		}
		return l.done(out.Msg)
	}
	c, err := l.newConversation(out, sink)
	if err != nil {
		return contract.Reply{}, err
	}
	return c.run(ctx)
}

// done answers a request that the line itself serves.
func (l *Line) done(msg *wire.Message) (contract.Reply, error) {
	raw := append([]byte(`{"jsonrpc":"2.0","id":`), msg.Field(msg.ID)...)
	m, err := wire.Scan(append(raw, `,"result":{}}`...), l.cfg.Scan)
	return contract.Reply{Msg: m, Status: 200}, err
}

// client is how the client is described to the server.
func (l *Line) client() era.Client {
	c := era.Client{Info: l.info, Caps: l.caps}
	if level := l.level.Load(); level != nil {
		c.Level = *level
	}
	return c
}

// Close ends what the line started and waits for it. The server's own line is
// shared and stays.
func (l *Line) Close(context.Context) {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.end()
	l.wg.Wait()
}
