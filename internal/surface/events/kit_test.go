package events

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"log/slog"
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
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fakeGateway stands for everything behind the surface: each call is served
// by a function of the test. The real one is in the tests of test/e2e.
type fakeGateway struct {
	serve func(ctx context.Context, msg *wire.Message, peer contract.Peer) string

	mu     sync.Mutex
	closed []ask.Code // why sessions were closed
}

func (g *fakeGateway) Knows(at string, _ contract.Caller) bool { return at == "" || at == "one" }

func (g *fakeGateway) Initialize(context.Context, string, string, contract.Caller, *wire.Message, contract.Peer) (Session, contract.Response) {
	s := &fakeSession{gateway: g}
	s.life, s.end = context.WithCancelCause(context.Background())
	return s, contract.Response{Body: []byte("{}")}
}

type fakeSession struct {
	gateway *fakeGateway
	life    context.Context
	end     context.CancelCauseFunc
	flight  sync.WaitGroup
	once    sync.Once
}

func (s *fakeSession) Call(_ context.Context, msg *wire.Message, peer contract.Peer) contract.Response {
	s.flight.Add(1)
	defer s.flight.Done()
	return contract.Response{Body: []byte(s.gateway.serve(s.life, msg, peer))}
}

func (s *fakeSession) Notify(context.Context, *wire.Message) {}
func (s *fakeSession) Answer(*wire.Message) error            { return nil }

func (s *fakeSession) Close(_ context.Context, why *ask.Error) {
	s.once.Do(func() {
		s.gateway.mu.Lock()
		s.gateway.closed = append(s.gateway.closed, why.Code)
		s.gateway.mu.Unlock()
		s.end(why)
		s.flight.Wait()
	})
}

const done = `{"jsonrpc":"2.0","id":1,"result":{"content":[]}}`

// waiting serves a call that ends when it is stopped.
func waiting(ctx context.Context, _ *wire.Message, _ contract.Peer) string {
	<-ctx.Done()
	return `{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"stopped","data":{"reason":"` + string(ask.CodeOf(context.Cause(ctx))) + `"}}}`
}

func newSurface(t *testing.T, g *fakeGateway, change func(*Config)) *Surface {
	t.Helper()
	cfg := Config{
		Gateway: g,
		Authenticate: func(r *http.Request) (contract.Caller, error) {
			return contract.Caller{Principal: ask.Principal{Issuer: "test", Subject: r.Header.Get("Authorization")}}, nil
		},
		Ring: seal.Random(), Home: seal.RandomHome(), Log: slog.New(slog.DiscardHandler),
	}
	if change != nil {
		change(&cfg)
	}
	s, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return s
}

// consumer is one request to a surface whose response is read as it comes.
type consumer struct {
	t      *testing.T
	cancel context.CancelFunc
	body   *bufio.Reader
	status chan int
}

// pipeWriter is a response that is read while it is written.
type pipeWriter struct {
	*io.PipeWriter
	header http.Header
	status chan int
}

func (w *pipeWriter) Header() http.Header    { return w.header }
func (w *pipeWriter) WriteHeader(status int) { w.status <- status }
func (w *pipeWriter) Flush()                 {}

// open sends a request and gives the consumer of its response.
func open(t *testing.T, s *Surface, method, path, body string, headers ...string) *consumer {
	t.Helper()
	r, w := io.Pipe()
	ctx, cancel := context.WithCancel(context.Background())
	out := &pipeWriter{w, http.Header{}, make(chan int, 1)}
	req := newRequest(method, path, body, headers...).WithContext(ctx)
	var served sync.WaitGroup
	served.Go(func() {
		s.ServeHTTP(out, req)
		w.Close()
	})
	t.Cleanup(func() {
		cancel()
		r.Close()
		served.Wait()
	})
	return &consumer{t: t, cancel: func() { cancel(); r.Close() }, body: bufio.NewReader(r), status: out.status}
}

func newRequest(method, path, body string, headers ...string) *http.Request {
	req := httptest.NewRequest(method, "/events"+path, strings.NewReader(body))
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	return req
}

// next reads lines up to the next event, and gives it; nil at the end.
func (c *consumer) next() map[string]any {
	c.t.Helper()
	for {
		line, err := c.body.ReadString('\n')
		if err != nil {
			return nil
		}
		if data, ok := strings.CutPrefix(line, "data: "); ok {
			var e map[string]any
			if err := json.Unmarshal([]byte(data), &e); err != nil {
				c.t.Fatal(err)
			}
			return e
		}
	}
}

func (c *consumer) types() (all []string) {
	for e := c.next(); e != nil; e = c.next() {
		all = append(all, e["type"].(string))
	}
	return all
}

// say sends a request that is answered at once.
func say(s *Surface, method, path, body string, headers ...string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	s.ServeHTTP(w, newRequest(method, path, body, headers...))
	return w
}

const tool = `{"name":"t"}`
