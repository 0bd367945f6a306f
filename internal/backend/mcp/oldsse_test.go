package mcp

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/contract"
	"github.com/answerback/answerback/internal/wire"
)

func TestOldTransportIsFoundAndRemembered(t *testing.T) {
	s := sdkServer()
	posts := 0
	old := sdk.NewSSEHandler(func(*http.Request) *sdk.Server { return s }, nil)
	srv := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost && r.URL.RawQuery == "" {
			posts++
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		old.ServeHTTP(w, r)
	}))
	b := newBackend(t, Config{URL: srv.URL})
	for range 2 {
		line := open(t, b, nil)
		sink := newRecorder()
		done := start(t, t.Context(), line, toolCall(t, "ask", `{"text":"Name?"}`), sink)
		q := next(t, sink.questions, "question")
		if err := q.Reply(t.Context(), []byte(`{"action":"accept","content":{"name":"Ada"}}`), nil); err != nil {
			t.Fatal(err)
		}
		r := next(t, done, "response")
		if r.err != nil {
			t.Fatal(r.err)
		}
		wantText(t, r.reply.Msg, "accept Ada")
		line.Close(t.Context())
	}
	if posts != 1 {
		t.Errorf("the new transport was tried %d times, want once", posts)
	}
	if _, err := b.Stateless(t.Context(), alice); ask.CodeOf(err) != ask.BackendBroken {
		t.Errorf("a server of the old transport takes modern requests: %v", err)
	}
	if m, err := b.probe(t.Context(), ask.Principal{}); m.Kind != 0 || err != nil {
		t.Errorf("discover: %s %v", m.Raw, err)
	}
}

// old is a scripted server of the old transport.
func old(t *testing.T, endpoint string, after func(write func(string))) *Backend {
	srv := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			body, _ := io.ReadAll(r.Body)
			m, _ := wire.Scan(body, wire.Limits{})
			lines := replies
			if m.Method() == "initialize" {
				lines <- fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2024-11-05","capabilities":{}}}`, m.Field(m.ID))
			}
			w.WriteHeader(http.StatusAccepted)
			if m.Method() == "tools/call" {
				_ = http.NewResponseController(w).Flush()
				select {
				case called <- struct{}{}:
				default:
				}
			}
			return
		}
		write := events(w)
		write("event: endpoint\ndata: " + endpoint + "\n\n")
		select {
		case l := <-replies:
			write("event: message\n" + data("", l))
		case <-r.Context().Done():
			return
		}
		after(write)
	}))
	return newBackend(t, Config{URL: srv.URL + "/sse", Transport: SSE, Limits: Limits{MessageBytes: 4 << 10}})
}

var (
	replies = make(chan string, 8)
	called  = make(chan struct{}, 1)
)

func TestOldStreamThatEndsIsALostLine(t *testing.T) {
	gate := make(chan struct{})
	ev := newRecorder()
	b := old(t, "/messages?s=1", func(func(string)) { <-gate })
	line, err := b.Open(t.Context(), contract.Hello{Principal: alice, Params: []byte(helloParams), Events: ev})
	if err != nil {
		t.Fatal(err)
	}
	done := start(t, t.Context(), line, toolCall(t, "x", "{}"), newRecorder())
	next(t, called, "call at the server")
	eventually(t, "the call is in flight", func() bool { return len(line.(*duplexLine).inFlight()) == 1 })
	close(gate)
	wantCode(t, next(t, done, "end").err, ask.OutcomeUnknown)
	wantCode(t, next(t, ev.lost, "loss"), ask.BackendLost)
	line.Close(t.Context())
}

func TestOldEventBeyondTheLimit(t *testing.T) {
	gate := make(chan struct{})
	b := old(t, "/messages", func(write func(string)) {
		<-gate
		write(data("", `{"jsonrpc":"2.0","result":{"x":"`+strings.Repeat("x", 8<<10)))
	})
	line, err := b.Open(t.Context(), contract.Hello{Principal: alice, Params: []byte(helloParams), Events: newRecorder()})
	if err != nil {
		t.Fatal(err)
	}
	done := start(t, t.Context(), line, toolCall(t, "x", "{}"), newRecorder())
	eventually(t, "the call is in flight", func() bool { return len(line.(*duplexLine).inFlight()) == 1 })
	close(gate)
	wantCode(t, next(t, done, "end").err, ask.TooLarge)
}

func TestOldEndpointMustBeOnTheSameOrigin(t *testing.T) {
	for _, endpoint := range []string{"http://192.0.2.1/messages", "//192.0.2.1/x", "https:/x", "ftp://a/b", "http://u:p@127.0.0.1/x", "%zz"} {
		b := old(t, endpoint, func(func(string)) {})
		_, err := b.Open(t.Context(), contract.Hello{Params: []byte(helloParams), Events: newRecorder()})
		wantCode(t, err, ask.BackendBroken)
	}
}

func TestOldTransportFaults(t *testing.T) {
	for name, test := range map[string]struct {
		do   http.HandlerFunc
		code ask.Code
	}{
		"html":        {func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>") }, ask.BackendBroken},
		"404":         {http.NotFound, ask.BackendBroken},
		"no endpoint": {func(w http.ResponseWriter, _ *http.Request) { events(w)(strings.Repeat(data("", "{}"), 200)) }, ask.BackendBroken},
		"empty":       {func(w http.ResponseWriter, _ *http.Request) { events(w) }, ask.BackendUnreachable},
	} {
		b := newBackend(t, Config{URL: serve(t, test.do).URL, Transport: SSE})
		_, err := b.Open(t.Context(), contract.Hello{Params: []byte(helloParams), Events: newRecorder()})
		if ask.CodeOf(err) != test.code {
			t.Errorf("%s: %v, want %s", name, err, test.code)
		}
	}
	silent := newBackend(t, Config{Transport: SSE, URL: serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		events(w)
		<-r.Context().Done()
	})).URL})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := silent.Open(ctx, contract.Hello{Params: []byte(helloParams), Events: newRecorder()}); err != context.Canceled {
		t.Errorf("a silent server: %v", err)
	}
}

// What the preferred transport says is the better hint when neither works.
func TestNeitherTransport(t *testing.T) {
	b := newBackend(t, Config{URL: serve(t, http.HandlerFunc(http.NotFound)).URL})
	_, err := b.Open(t.Context(), contract.Hello{Params: []byte(helloParams), Events: newRecorder()})
	e := wantCode(t, err, ask.BackendBroken)
	if !strings.Contains(e.Message, "404") || !strings.Contains(e.Message, "MCP endpoint") {
		t.Errorf("message %q", e.Message)
	}
}
