package mcp

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/contract"
	"github.com/answerback/answerback/internal/egress"
	"github.com/answerback/answerback/internal/seal"
	"github.com/answerback/answerback/internal/wire"
)

// peerMode names the variable that makes the test binary a stdio server.
const peerMode = "ANSWERBACK_TEST_PEER"

func TestMain(m *testing.M) {
	if mode := os.Getenv(peerMode); mode != "" {
		os.Exit(peer(mode))
	}
	goleak.VerifyTestMain(m)
}

var alice = ask.Principal{Issuer: "test", Subject: "alice"}

const helloParams = `{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{"form":{}},"sampling":{},"roots":{}},"clientInfo":{"name":"t","version":"0"}}`

// newBackend makes a backend that the test closes.
func newBackend(t testing.TB, cfg Config) *Backend {
	t.Helper()
	if cfg.Name == "" {
		cfg.Name = "srv"
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	if cfg.URL != "" && cfg.Client == nil {
		cfg.Client = egress.ForBackends(egress.Config{})
		t.Cleanup(cfg.Client.CloseIdleConnections)
	}
	if cfg.Ring == nil {
		cfg.Ring = seal.Random()
	}
	b, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		b.Close(ctx)
	})
	return b
}

// serve runs a handler as a server for the length of a test.
func serve(t testing.TB, h http.Handler) *httptest.Server {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(func() {
		srv.CloseClientConnections()
		srv.Close()
	})
	return srv
}

func open(t *testing.T, b *Backend, events *recorder) contract.Line {
	t.Helper()
	if events == nil {
		events = newRecorder()
	}
	line, err := b.Open(t.Context(), contract.Hello{Principal: alice, Params: []byte(helloParams), Events: events})
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	if err := line.Notify(t.Context(), []byte(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)); err != nil {
		t.Fatalf("initialized: %v", err)
	}
	return line
}

// outgoing makes a request of JSON text.
func outgoing(t testing.TB, raw string) contract.Outgoing {
	t.Helper()
	m, err := wire.Scan([]byte(raw), wire.Limits{})
	if err != nil {
		t.Fatalf("test request: %v", err)
	}
	return contract.Outgoing{Msg: &m}
}

func toolCall(t testing.TB, name, args string) contract.Outgoing {
	t.Helper()
	out := outgoing(t, fmt.Sprintf(`{"jsonrpc":"2.0","id":"mine","method":"tools/call","params":{"name":%q,"arguments":%s,"_meta":{"progressToken":"tok-é"}}}`, name, args))
	out.Name = name
	return out
}

// recorder takes what comes for a call, or for a line.
type recorder struct {
	mu        sync.Mutex
	notes     []string
	noted     chan string
	questions chan *contract.Question
	lost      chan *ask.Error
}

func newRecorder() *recorder {
	return &recorder{noted: make(chan string, 4096), questions: make(chan *contract.Question, 4096), lost: make(chan *ask.Error, 8)}
}

func (r *recorder) Notify(m *wire.Message) {
	r.mu.Lock()
	r.notes = append(r.notes, string(m.Raw))
	r.mu.Unlock()
	r.noted <- string(m.Raw)
}

func (r *recorder) Question(q *contract.Question) { r.questions <- q }

func (r *recorder) Lost(err *ask.Error) { r.lost <- err }

func (r *recorder) all() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string(nil), r.notes...)
}

// next takes one value, or fails when none comes.
func next[T any](t *testing.T, from <-chan T, what string) T {
	t.Helper()
	select {
	case v := <-from:
		return v
	case <-time.After(10 * time.Second):
		t.Fatalf("no %s came", what)
		panic("unreachable")
	}
}

// eventually waits for what only the outside can bring about.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.After(10 * time.Second)
	for !ok() {
		select {
		case <-deadline:
			t.Fatalf("it never came about that %s", what)
		case <-time.After(time.Millisecond):
		}
	}
}

type result struct {
	reply contract.Reply
	err   error
}

// start makes a call on a goroutine that the test waits for.
func start(t *testing.T, ctx context.Context, line contract.Line, out contract.Outgoing, sink contract.Sink) <-chan result {
	t.Helper()
	done := make(chan result, 1)
	var wg sync.WaitGroup
	wg.Go(func() {
		reply, err := line.Call(ctx, out, sink)
		done <- result{reply, err}
	})
	t.Cleanup(wg.Wait)
	return done
}

func wantCode(t *testing.T, err error, code ask.Code) *ask.Error {
	t.Helper()
	if got := ask.CodeOf(err); got != code {
		t.Fatalf("error %v has code %q, want %q", err, got, code)
	}
	return ask.From(err)
}

func wantText(t *testing.T, m wire.Message, part string) {
	t.Helper()
	if !strings.Contains(string(m.Raw), part) {
		t.Fatalf("got %s, want it to have %s", m.Raw, part)
	}
}

// fake is a scripted legacy server: it answers the handshake, and gives each
// other request to its handlers.
type fake struct {
	t    testing.TB
	post func(w http.ResponseWriter, r *http.Request, m *wire.Message)
	get  func(w http.ResponseWriter, r *http.Request)

	got     chan string // notifications and responses of the client
	deleted chan string
}

const fakeSession = "session-1"

func newFake(t testing.TB) *fake {
	return &fake{t: t, got: make(chan string, 4096), deleted: make(chan string, 8)}
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.Method {
	case http.MethodDelete:
		f.deleted <- r.Header.Get(sessionHeader)
		return
	case http.MethodGet:
		if f.get == nil {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		f.get(w, r)
		return
	}
	body, _ := io.ReadAll(r.Body)
	m, err := wire.Scan(body, wire.Limits{})
	if err != nil {
		f.t.Errorf("server got %s: %v", body, err)
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	switch {
	case m.Method() == "initialize":
		w.Header().Set(sessionHeader, fakeSession)
		sendJSON(w, fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"fake","version":"0"}}}`, m.Field(m.ID)))
	case m.Kind == wire.Request:
		f.post(w, r, &m)
	default:
		f.got <- string(body)
		w.WriteHeader(http.StatusAccepted)
	}
}

func sendJSON(w http.ResponseWriter, body string) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	_, _ = io.WriteString(w, body)
}

// events starts a stream and gives what writes to it.
func events(w http.ResponseWriter) func(text string) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.WriteHeader(http.StatusOK)
	rc := http.NewResponseController(w)
	_ = rc.Flush()
	return func(text string) {
		_, _ = io.WriteString(w, text)
		_ = rc.Flush()
	}
}

func okFor(m *wire.Message, text string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":%q}]}}`, m.Field(m.ID), text)
}

func data(id, msg string) string {
	if id != "" {
		return "id: " + id + "\ndata: " + msg + "\n\n"
	}
	return "data: " + msg + "\n\n"
}
