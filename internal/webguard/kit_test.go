package webguard

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/answerback/answerback/ask"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	ourHost = "mcp.example.com"
	ourURL  = "https://mcp.example.com"
	appURL  = "https://app.example.com"
)

var (
	loopback = &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8080}
	outside  = &net.TCPAddr{IP: net.IPv4(192, 0, 2, 7), Port: 8080}
	proxyNet = netip.MustParsePrefix("10.0.0.0/8")
)

// newGuard makes a Guard as one stands on the internet.
func newGuard(t testing.TB, change func(*Config)) *Guard {
	t.Helper()
	cfg := Config{
		PublicURL:      ourURL,
		AllowedOrigins: []string{appURL},
		TrustedProxies: []netip.Prefix{proxyNet},
		Refuse:         refuseRPC,
		Log:            slog.New(slog.DiscardHandler),
	}
	if change != nil {
		change(&cfg)
	}
	g, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// refuseRPC stands for the writer of the MCP surface.
func refuseRPC(w http.ResponseWriter, status int, e *ask.Error) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, `{"jsonrpc":"2.0","error":{"code":-32600,"message":"refused","data":{"reason":"`+string(e.Code)+`"}}}`)
}

// spy is a handler that keeps what reached it.
type spy struct {
	mu    sync.Mutex
	calls []*http.Request
	body  []byte
	err   error
}

func (s *spy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	s.mu.Lock()
	s.calls = append(s.calls, r)
	s.body, s.err = body, err
	s.mu.Unlock()
	if err != nil {
		http.Error(w, "unreadable", http.StatusBadRequest)
		return
	}
	_, _ = io.WriteString(w, "reached")
}

func (s *spy) reached() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.calls)
}

func (s *spy) last(t testing.TB) *http.Request {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.calls) == 0 {
		t.Fatal("the handler was not reached")
	}
	return s.calls[len(s.calls)-1]
}

// kinds are the ways in which a Guard wraps a handler.
var kinds = map[string]func(*Guard, http.Handler) http.Handler{
	"api":     (*Guard).API,
	"browser": (*Guard).Browser,
	"public":  (*Guard).Public,
	"static":  (*Guard).Static,
}

// request is one that every kind takes, from the internet.
func request(method string) *http.Request {
	var body io.Reader
	if method == http.MethodPost {
		body = strings.NewReader("a=b")
	}
	r := httptest.NewRequest(method, "/some/path", body)
	r.Host = ourHost
	r.RemoteAddr = "198.51.100.9:4711"
	return from(r, outside)
}

func from(r *http.Request, local net.Addr) *http.Request {
	return r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, local))
}

func with(pairs ...string) func(*http.Request) {
	return func(r *http.Request) {
		for i := 0; i < len(pairs); i += 2 {
			r.Header.Add(pairs[i], pairs[i+1])
		}
	}
}

// trial is an attack beside a request that differs from it in the attack only.
type trial struct {
	name    string
	kind    string
	method  string
	control func(*http.Request) // on top of request(method)
	attack  func(*http.Request) // on top of the control, or instead of it
	instead bool
	status  int // of the attack
	g       *Guard
}

func (c trial) run(t *testing.T) {
	t.Run(c.name, func(t *testing.T) {
		t.Parallel()
		g := c.g
		if g == nil {
			g = newGuard(t, nil)
		}
		try := func(changes ...func(*http.Request)) (*httptest.ResponseRecorder, int) {
			r := request(c.method)
			for _, change := range changes {
				if change != nil {
					change(r)
				}
			}
			inner := &spy{}
			w := httptest.NewRecorder()
			kinds[c.kind](g, inner).ServeHTTP(w, r)
			return w, inner.reached()
		}
		if w, n := try(c.control); w.Code/100 != 2 || n != 1 && c.method != http.MethodOptions {
			t.Errorf("control: status %d, handler reached %d times", w.Code, n)
		}
		changes := []func(*http.Request){c.control, c.attack}
		if c.instead {
			changes = changes[1:]
		}
		w, n := try(changes...)
		if w.Code != c.status || n != 0 {
			t.Errorf("attack: status %d, want %d; handler reached %d times", w.Code, c.status, n)
		}
		if w.Header().Get("Access-Control-Allow-Origin") != "" && c.kind != "public" && c.status == http.StatusForbidden {
			t.Errorf("attack: CORS allows %q", w.Header()["Access-Control-Allow-Origin"])
		}
	})
}

// memory is a listener without a network, whose connections come from where
// the test says.
type memory struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func newMemory() *memory {
	return &memory{conns: make(chan net.Conn), done: make(chan struct{})}
}

func (m *memory) Accept() (net.Conn, error) {
	select {
	case c := <-m.conns:
		return c, nil
	case <-m.done:
		return nil, net.ErrClosed
	}
}

func (m *memory) Close() error   { m.once.Do(func() { close(m.done) }); return nil }
func (m *memory) Addr() net.Addr { return outside }

// dial gives the client's end of a connection that was accepted, if only to be
// closed.
func (m *memory) dial(from net.Addr) net.Conn {
	client, server := net.Pipe()
	m.conns <- &addressed{Conn: server, remote: from}
	return client
}

type addressed struct {
	net.Conn
	remote net.Addr
}

func (a *addressed) LocalAddr() net.Addr  { return outside }
func (a *addressed) RemoteAddr() net.Addr { return a.remote }

func peerAt(ip string) net.Addr { return &net.TCPAddr{IP: net.ParseIP(ip), Port: 4711} }

// serve runs a handler in the Guard's server over memory, until the test or
// its bubble ends.
func serve(t *testing.T, g *Guard, h http.Handler) (*memory, func()) {
	t.Helper()
	m := newMemory()
	server := g.Server(h)
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(m) }()
	return m, func() {
		t.Helper()
		if err := server.Close(); err != nil {
			t.Error(err)
		}
		if err := <-ended; err != http.ErrServerClosed {
			t.Error(err)
		}
	}
}

// send writes raw bytes, without waiting for them to be taken, and gives what
// comes back until the server closes the connection or want responses are in.
func send(t *testing.T, c net.Conn, raw string, want int) []*http.Response {
	t.Helper()
	wrote := make(chan struct{})
	go func() {
		defer close(wrote)
		_, _ = io.WriteString(c, raw)
	}()
	defer func() { c.Close(); <-wrote }()
	var got []*http.Response
	for in := bufio.NewReader(c); len(got) < want; {
		resp, err := http.ReadResponse(in, nil)
		if err != nil {
			break
		}
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Errorf("body of the response: %v", err)
		}
		resp.Body = io.NopCloser(bytes.NewReader(body))
		got = append(got, resp)
	}
	return got
}
