package mcp

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/contract"
	"github.com/answerback/answerback/internal/seal"
	"github.com/answerback/answerback/internal/wire"
	"github.com/answerback/answerback/internal/wire/sse"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fakeGateway is a gateway whose behaviour each test writes down.
type fakeGateway struct {
	version string // of the sessions it opens
	welcome string // the result of initialize, where the version is not enough
	// call serves legacy calls; its default echoes.
	call func(ctx context.Context, msg *wire.Message, peer contract.Peer) Response
	// modern serves modern calls; its default echoes.
	modern func(ctx context.Context, at string, who contract.Caller, msg *wire.Message, params http.Header, peer contract.Peer) Response
	// opening runs inside Initialize; false refuses.
	opening func(ctx context.Context) bool
	// closed is told why a session was closed, where it is not nil.
	closed chan *ask.Error

	mu       sync.Mutex
	sessions []*fakeSession
}

func (g *fakeGateway) Knows(at string, _ contract.Caller) bool { return at == "" || at == "files" }

func (g *fakeGateway) Initialize(ctx context.Context, at, id string, who contract.Caller, msg *wire.Message, peer contract.Peer) (Session, Response) {
	if g.opening != nil && !g.opening(ctx) {
		return nil, Response{Body: response(msg, `"error":{"code":-32000,"message":"no"}`), Status: 200}
	}
	s := &fakeSession{
		gateway: g, at: at, id: id, who: who, peer: peer,
		notes: make(chan string, 16), answers: make(chan string, 16), listens: make(chan struct{}, 16),
		done: make(chan struct{}), closed: make(chan *ask.Error, 1),
	}
	s.life, s.end = context.WithCancel(context.Background())
	g.mu.Lock()
	g.sessions = append(g.sessions, s)
	g.mu.Unlock()
	if g.welcome != "" {
		return s, Response{Body: response(msg, g.welcome), Status: 200}
	}
	return s, Response{Body: response(msg, `"result":{"protocolVersion":"`+g.version+`"}`), Status: 200}
}

func (g *fakeGateway) Call(ctx context.Context, at string, who contract.Caller, msg *wire.Message, params http.Header, peer contract.Peer) Response {
	if g.modern == nil {
		return echo(msg)
	}
	return g.modern(ctx, at, who, msg, params, peer)
}

// last is the session that was opened last.
func (g *fakeGateway) last() *fakeSession {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.sessions[len(g.sessions)-1]
}

type fakeSession struct {
	gateway *fakeGateway
	at, id  string
	who     contract.Caller
	peer    contract.Peer
	notes   chan string
	answers chan string
	listens chan struct{}
	done    chan struct{}
	closed  chan *ask.Error
	life    context.Context
	end     context.CancelFunc
	mu      sync.Mutex
}

func (s *fakeSession) Version() string { return s.gateway.version }

func (s *fakeSession) Call(ctx context.Context, msg *wire.Message, peer contract.Peer) Response {
	if s.gateway.call == nil {
		return echo(msg)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.life, cancel)()
	return s.gateway.call(ctx, msg, peer)
}

func (s *fakeSession) Notify(_ context.Context, msg *wire.Message) { s.notes <- string(msg.Raw) }

func (s *fakeSession) Answer(msg *wire.Message) error {
	if strings.Contains(string(msg.Raw), "late") {
		return ask.Errorf(ask.TooLate, "Too late.")
	}
	s.answers <- string(msg.Raw)
	return nil
}

func (s *fakeSession) Listen()               { s.listens <- struct{}{} }
func (s *fakeSession) Done() <-chan struct{} { return s.done }

func (s *fakeSession) Admit(contract.Access) {}

func (s *fakeSession) Close(_ context.Context, why *ask.Error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.life.Err() != nil {
		return
	}
	s.end()
	s.closed <- why
	if s.gateway.closed != nil {
		s.gateway.closed <- why
	}
}

// response writes a response to msg that has rest besides its id.
func response(msg *wire.Message, rest string) []byte {
	return []byte(`{"jsonrpc":"2.0","id":` + string(msg.Field(msg.ID)) + `,` + rest + `}`)
}

// echo answers with the method that was called.
func echo(msg *wire.Message) Response {
	return Response{Body: response(msg, `"result":{"method":"`+msg.Method()+`"}`), Status: 200}
}

var (
	alice = contract.Caller{Principal: ask.Principal{Issuer: "test", Subject: "alice"}}
	bob   = contract.Caller{Principal: ask.Principal{Issuer: "test", Subject: "bob"}}
)

// byToken takes the subject from the Authorization header; alice without one.
func byToken(r *http.Request) (contract.Caller, error) {
	switch r.Header.Get("Authorization") {
	case "", "alice":
		return alice, nil
	case "bob":
		return bob, nil
	case "alice, with less":
		return contract.Caller{Principal: alice.Principal, Access: less{}}, nil
	case "expired":
		return contract.Caller{}, expired{}
	}
	return contract.Caller{}, ask.Errorf(ask.NotAllowed, "No.")
}

// less is an access to nothing.
type less struct{}

func (less) Backend(string) bool      { return false }
func (less) Tool(string, string) bool { return false }
func (less) Key() string              { return "" }

type expired struct{}

func (expired) Error() string            { return "expired" }
func (expired) Challenge() (int, string) { return 403, `Bearer error="insufficient_scope"` }

// bench is a surface over a fake gateway, served over HTTP.
type bench struct {
	t       *testing.T
	gateway *fakeGateway
	surface *Surface
	url     string
	client  *http.Client
	header  http.Header // sent with each request
}

func newSurface(t *testing.T, g *fakeGateway, change func(*Config)) *Surface {
	t.Helper()
	if g.version == "" {
		g.version = "2025-11-25"
	}
	cfg := Config{
		Gateway: g, Authenticate: byToken, Local: alice,
		Ring: seal.Random(), Home: seal.RandomHome(),
		Log: slog.New(slog.NewTextHandler(t.Output(), nil)),
	}
	if change != nil {
		change(&cfg)
	}
	s, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// serve starts a real HTTP server on the loopback.
func serve(t *testing.T, g *fakeGateway, change func(*Config)) *bench {
	t.Helper()
	s := newSurface(t, g, change)
	server := httptest.NewServer(s)
	t.Cleanup(func() {
		if err := s.Close(context.Background()); err != nil {
			t.Errorf("close: %v", err)
		}
		server.CloseClientConnections()
		server.Close()
	})
	return &bench{t: t, gateway: g, surface: s, url: server.URL + "/mcp", client: server.Client(), header: http.Header{}}
}

// serveInMemory starts an HTTP server on connections that exist only inside
// the test, for tests in which time is faked.
func serveInMemory(t *testing.T, g *fakeGateway, change func(*Config)) *bench {
	t.Helper()
	s := newSurface(t, g, change)
	l := &memListener{conns: make(chan net.Conn), closed: make(chan struct{})}
	server := &http.Server{Handler: s}
	go func() { _ = server.Serve(l) }()
	transport := &http.Transport{DialContext: l.dial}
	t.Cleanup(func() {
		if err := s.Close(context.Background()); err != nil {
			t.Errorf("close: %v", err)
		}
		transport.CloseIdleConnections()
		_ = server.Close()
	})
	return &bench{t: t, gateway: g, surface: s, url: "http://gateway.test/mcp", client: &http.Client{Transport: transport}, header: http.Header{}}
}

type memListener struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func (l *memListener) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	near, far := net.Pipe()
	select {
	case l.conns <- far:
		return near, nil
	case <-l.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (l *memListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *memListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

func (l *memListener) Addr() net.Addr { return &net.UnixAddr{Name: "mem", Net: "unix"} }

// with gives a copy of the bench that sends further headers: name, value, ...
func (b *bench) with(pairs ...string) *bench {
	c := *b
	c.header = b.header.Clone()
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] == "" {
			c.header.Del(pairs[i])
			continue
		}
		c.header.Set(pairs[i], pairs[i+1])
	}
	return &c
}

// at gives a copy of the bench for another path.
func (b *bench) at(path string) *bench {
	c := *b
	c.url = strings.TrimSuffix(b.url, "/mcp") + path
	return &c
}

// open sends a request and gives the response with its body unread.
func (b *bench) open(ctx context.Context, method, body string) *http.Response {
	b.t.Helper()
	var in io.Reader
	if body != "" {
		in = strings.NewReader(body)
	}
	req, err := http.NewRequestWithContext(ctx, method, b.url, in)
	if err != nil {
		b.t.Fatal(err)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	if method != http.MethodDelete {
		req.Header.Set("Accept", "application/json, text/event-stream")
	}
	for k, v := range b.header {
		req.Header[k] = v
	}
	if b.header.Get("Host") != "" {
		req.Host = b.header.Get("Host")
	}
	resp, err := b.client.Do(req)
	if err != nil {
		b.t.Fatal(err)
	}
	return resp
}

// do sends a request and reads the whole response.
func (b *bench) do(method, body string) (*http.Response, string) {
	b.t.Helper()
	resp := b.open(b.t.Context(), method, body)
	defer resp.Body.Close()
	all, err := io.ReadAll(resp.Body)
	if err != nil {
		b.t.Fatalf("reading the response: %v", err)
	}
	return resp, string(all)
}

const initializeBody = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`

// initialize opens a session, and gives the bench that works in it.
func (b *bench) initialize() *bench {
	b.t.Helper()
	resp, body := b.do(http.MethodPost, initializeBody)
	id := resp.Header.Get("Mcp-Session-Id")
	if resp.StatusCode != http.StatusOK || id == "" {
		b.t.Fatalf("initialize: %d %q %s", resp.StatusCode, id, body)
	}
	return b.with("Mcp-Session-Id", id)
}

// expect sends a request and checks the status and a part of the body.
func (b *bench) expect(method, body string, status int, part string) {
	b.t.Helper()
	resp, got := b.do(method, body)
	if resp.StatusCode != status || !strings.Contains(got, part) {
		b.t.Errorf("%s %s: got %d %s, want %d with %s", method, body, resp.StatusCode, got, status, part)
	}
}

type gotEvent struct{ id, data string }

// stream reads events of an open response.
type eventReader struct {
	t    *testing.T
	body io.ReadCloser
	r    *sse.Reader
}

func (b *bench) events(resp *http.Response) *eventReader {
	b.t.Helper()
	if ct := resp.Header.Get("Content-Type"); ct != "text/event-stream" || resp.StatusCode != http.StatusOK {
		all, _ := io.ReadAll(resp.Body)
		b.t.Fatalf("not a stream: %d %s %s", resp.StatusCode, ct, all)
	}
	return &eventReader{t: b.t, body: resp.Body, r: sse.NewReader(resp.Body, 1<<20)}
}

func (e *eventReader) next() gotEvent {
	e.t.Helper()
	ev, err := e.r.Next()
	if err != nil {
		e.t.Fatalf("reading an event: %v", err)
	}
	return gotEvent{ev.ID, string(ev.Data)}
}

// rest reads all events up to the end of the stream.
func (e *eventReader) rest() []gotEvent {
	e.t.Helper()
	var all []gotEvent
	for {
		ev, err := e.r.Next()
		if err == io.EOF {
			return all
		}
		if err != nil {
			e.t.Fatalf("reading an event: %v", err)
		}
		all = append(all, gotEvent{ev.ID, string(ev.Data)})
	}
}

func (e *eventReader) close() { e.body.Close() }

// data joins what events carry, priming events left out.
func data(events []gotEvent) string {
	var b bytes.Buffer
	for _, e := range events {
		if e.data != "" {
			b.WriteString(e.data + "\n")
		}
	}
	return b.String()
}

func request(id, method string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"` + method + `","params":{}}`
}

func note(name string) []byte {
	return []byte(`{"jsonrpc":"2.0","method":"notifications/` + name + `"}`)
}
