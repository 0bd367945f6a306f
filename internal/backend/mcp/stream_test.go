package mcp

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/wire"
)

// A server may close the stream after a priming event on purpose; the stream
// is taken up after exactly the time that it named, after that event.
func TestClosedStreamIsPolledAfterRetry(t *testing.T) {
	const retry = 300 * time.Millisecond
	f := newFake(t)
	var id atomic.Pointer[wire.Message]
	var closed atomic.Int64
	f.post = func(w http.ResponseWriter, _ *http.Request, m *wire.Message) {
		id.Store(m)
		events(w)(fmt.Sprintf("id: event-1\nretry: %d\ndata: \n\n", retry.Milliseconds()))
		closed.Store(time.Now().UnixNano())
	}
	var gets atomic.Int32
	f.get = func(w http.ResponseWriter, r *http.Request) {
		waited := time.Since(time.Unix(0, closed.Load()))
		if waited < retry-20*time.Millisecond || waited > retry+2*time.Second {
			t.Errorf("the stream was taken up after %v, want %v", waited, retry)
		}
		if got := r.Header.Get("Last-Event-ID"); got != "event-1" {
			t.Errorf("Last-Event-ID is %q", got)
		}
		if got := r.Header.Get(sessionHeader); got != fakeSession {
			t.Errorf("session is %q", got)
		}
		gets.Add(1)
		write := events(w)
		write("id: event-2\nretry: 1\ndata: \n\n")
		write(data("event-3", okFor(id.Load(), "after all")))
	}
	line := open(t, newBackend(t, Config{URL: serve(t, f).URL}), nil)
	reply, err := line.Call(t.Context(), toolCall(t, "x", `{}`), newRecorder())
	if err != nil {
		t.Fatal(err)
	}
	wantText(t, reply.Msg, "after all")
	if gets.Load() != 1 {
		t.Errorf("%d GETs, want 1", gets.Load())
	}
}

func TestBrokenStreamIsResumedThroughFailures(t *testing.T) {
	f := newFake(t)
	var id atomic.Pointer[wire.Message]
	var gets atomic.Int32
	f.post = func(w http.ResponseWriter, _ *http.Request, m *wire.Message) {
		id.Store(m)
		write := events(w)
		write("retry: 1\nid: a\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"n\":1}}\n\n")
		write("id: b\ndata: {\"jsonrpc\":\"2.0\",\"met") // cut in the middle of an event
		panic(http.ErrAbortHandler)
	}
	f.get = func(w http.ResponseWriter, r *http.Request) {
		if got := r.Header.Get("Last-Event-ID"); got != "a" {
			t.Errorf("Last-Event-ID is %q, want the last whole event's", got)
		}
		switch gets.Add(1) {
		case 1:
			w.WriteHeader(http.StatusConflict)
		case 2:
			w.WriteHeader(http.StatusBadGateway)
		case 3:
			panic(http.ErrAbortHandler)
		case 4:
			events(w)
		default:
			write := events(w)
			write(data("b", `{"jsonrpc":"2.0","method":"notifications/message","params":{"n":2}}`))
			write(data("c", okFor(id.Load(), "whole")))
		}
	}
	line := open(t, newBackend(t, Config{URL: serve(t, f).URL}), nil)
	sink := newRecorder()
	reply, err := line.Call(t.Context(), toolCall(t, "x", `{}`), sink)
	if err != nil {
		t.Fatal(err)
	}
	wantText(t, reply.Msg, "whole")
	if got := strings.Join(sink.all(), "\n"); strings.Count(got, `"n":1`) != 1 || strings.Count(got, `"n":2`) != 1 {
		t.Errorf("sink got %s", got)
	}
}

// A resumed stream may be dead without a sign, or be one that the server does
// not use: it is asked for anew.
func TestSilentResumedStreamIsAskedForAnew(t *testing.T) {
	f := newFake(t)
	var id atomic.Pointer[wire.Message]
	var gets atomic.Int32
	f.post = func(w http.ResponseWriter, _ *http.Request, m *wire.Message) {
		id.Store(m)
		events(w)("id: a\nretry: 1\ndata:\n\n")
	}
	f.get = func(w http.ResponseWriter, r *http.Request) {
		if n := gets.Add(1); n == 1 {
			<-r.Context().Done() // not even headers
			return
		}
		events(w)(data("b", okFor(id.Load(), "at last")))
	}
	line := open(t, newBackend(t, Config{URL: serve(t, f).URL}), nil)
	reply, err := line.Call(t.Context(), toolCall(t, "x", `{}`), newRecorder())
	if err != nil {
		t.Fatal(err)
	}
	wantText(t, reply.Msg, "at last")
}

func TestStreamThatCannotBeResumedIsLost(t *testing.T) {
	for name, get := range map[string]func(w http.ResponseWriter, r *http.Request){
		"no stream offered": nil,
		"bad request":       func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadRequest) },
		"html":              func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>") },
		"nothing, for ever": func(w http.ResponseWriter, _ *http.Request) { events(w) },
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t)
			f.get = get
			f.post = func(w http.ResponseWriter, _ *http.Request, _ *wire.Message) {
				events(w)("id: a\nretry: 1\ndata:\n\n")
			}
			line := open(t, newBackend(t, Config{URL: serve(t, f).URL}), nil)
			_, err := line.Call(t.Context(), toolCall(t, "x", `{}`), newRecorder())
			wantCode(t, err, ask.OutcomeUnknown)
			_, err = line.Call(t.Context(), outgoing(t, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`), newRecorder())
			wantCode(t, err, ask.BackendLost)
		})
	}
}

func TestSessionLostWhileResuming(t *testing.T) {
	f := newFake(t)
	f.get = func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) }
	f.post = func(w http.ResponseWriter, _ *http.Request, _ *wire.Message) { events(w)("id: a\nretry: 1\ndata:\n\n") }
	ev := newRecorder()
	line := open(t, newBackend(t, Config{URL: serve(t, f).URL}), ev)
	_, err := line.Call(t.Context(), toolCall(t, "x", `{}`), newRecorder())
	wantCode(t, err, ask.OutcomeUnknown)
	wantCode(t, next(t, ev.lost, "loss"), ask.BackendLost)
}

// Whatever a server does instead of answering, the call ends with an error
// that names it, and the next call works.
func TestFaultsOfTheServer(t *testing.T) {
	endless := func(w io.Writer, text string) {
		for {
			if _, err := io.WriteString(w, text); err != nil {
				return
			}
		}
	}
	type serverFault struct {
		do    func(w http.ResponseWriter, m *wire.Message)
		tool  ask.Code // for tools/call
		list  ask.Code // for tools/list
		words string
	}
	status := func(code int) func(http.ResponseWriter, *wire.Message) {
		return func(w http.ResponseWriter, _ *wire.Message) { w.WriteHeader(code) }
	}
	faults := map[string]serverFault{
		"401":        {status(401), ask.BackendUnreachable, ask.BackendUnreachable, "401"},
		"403":        {status(403), ask.BackendUnreachable, ask.BackendUnreachable, "403"},
		"429":        {status(429), ask.BackendUnreachable, ask.BackendUnreachable, "429"},
		"500":        {status(500), ask.OutcomeUnknown, ask.BackendUnreachable, "500"},
		"502":        {status(502), ask.OutcomeUnknown, ask.BackendUnreachable, "502"},
		"503":        {status(503), ask.BackendUnreachable, ask.BackendUnreachable, "503"},
		"400":        {status(400), ask.BackendBroken, ask.BackendBroken, "400"},
		"202":        {status(202), ask.BackendBroken, ask.BackendBroken, "202"},
		"no content": {status(204), ask.BackendBroken, ask.BackendBroken, "204"},
		"redirect": {func(w http.ResponseWriter, _ *wire.Message) {
			w.Header().Set("Location", "http://192.0.2.1/elsewhere")
			w.WriteHeader(307)
		}, ask.BackendUnreachable, ask.BackendUnreachable, "redirects"},
		"html": {func(w http.ResponseWriter, _ *wire.Message) {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			fmt.Fprint(w, "<html>welcome")
		}, ask.BackendBroken, ask.BackendBroken, "text/html"},
		"no type": {func(w http.ResponseWriter, _ *wire.Message) {
			w.Header()["Content-Type"] = nil
			fmt.Fprint(w, "{}")
		}, ask.BackendBroken, ask.BackendBroken, "type"},
		"compressed": {func(w http.ResponseWriter, _ *wire.Message) {
			w.Header().Set("Content-Encoding", "gzip")
			sendJSON(w, "\x1f\x8b")
		}, ask.BackendBroken, ask.BackendBroken, "compressed"},
		"garbage":      {func(w http.ResponseWriter, _ *wire.Message) { sendJSON(w, "}{") }, ask.BackendBroken, ask.BackendBroken, "srv"},
		"empty":        {func(w http.ResponseWriter, _ *wire.Message) { sendJSON(w, "") }, ask.BackendBroken, ask.BackendBroken, "srv"},
		"another's id": {func(w http.ResponseWriter, _ *wire.Message) { sendJSON(w, `{"jsonrpc":"2.0","id":999,"result":{}}`) }, ask.BackendBroken, ask.BackendBroken, "srv"},
		"id as a string": {func(w http.ResponseWriter, m *wire.Message) {
			sendJSON(w, fmt.Sprintf(`{"jsonrpc":"2.0","id":"%s","result":{}}`, m.Field(m.ID)))
		}, ask.BackendBroken, ask.BackendBroken, "srv"},
		"ambiguous": {func(w http.ResponseWriter, m *wire.Message) {
			sendJSON(w, fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{},"result":{"x":1}}`, m.Field(m.ID)))
		}, ask.BackendBroken, ask.BackendBroken, "cannot be read"},
		"ambiguous event": {func(w http.ResponseWriter, m *wire.Message) {
			events(w)(data("", fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{},"result":{"x":1}}`, m.Field(m.ID))))
		}, ask.BackendBroken, ask.BackendBroken, "cannot be read"},
		"body cut off": {func(w http.ResponseWriter, m *wire.Message) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Length", "100")
			fmt.Fprint(w, `{"jsonrpc"`)
		}, ask.OutcomeUnknown, ask.BackendLost, "broke off"},
		"connection closed": {func(http.ResponseWriter, *wire.Message) { panic(http.ErrAbortHandler) },
			ask.OutcomeUnknown, ask.BackendLost, "srv"},
		"stream without response": {func(w http.ResponseWriter, _ *wire.Message) { events(w)(": nothing\n\n") },
			ask.OutcomeUnknown, ask.BackendLost, "stream ended"},
		"garbage events": {func(w http.ResponseWriter, _ *wire.Message) {
			events(w)(data("", "}{") + data("", "[]") + data("", "[1,"))
		},
			ask.OutcomeUnknown, ask.BackendLost, "stream ended"},
		"announced body beyond the limit": {func(w http.ResponseWriter, _ *wire.Message) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Length", "10000000000")
			w.WriteHeader(200)
			_ = http.NewResponseController(w).Flush()
		}, ask.TooLarge, ask.TooLarge, "65536"},
		"endless body": {func(w http.ResponseWriter, _ *wire.Message) {
			w.Header().Set("Content-Type", "application/json")
			endless(w, `{"jsonrpc":"2.0",`)
		}, ask.TooLarge, ask.TooLarge, "65536"},
		"endless event": {func(w http.ResponseWriter, _ *wire.Message) { events(w)("id: 1\ndata: "); endless(w, "xxxxxxxx") },
			ask.TooLarge, ask.TooLarge, "65536"},
		"endless error": {func(w http.ResponseWriter, _ *wire.Message) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(400)
			endless(w, `{"jsonrpc":"2.0",`)
		}, ask.BackendBroken, ask.BackendBroken, "400"},
	}
	for name, fault := range faults {
		t.Run(name, func(t *testing.T) {
			var faulty atomic.Bool
			f := newFake(t)
			f.post = func(w http.ResponseWriter, _ *http.Request, m *wire.Message) {
				if faulty.Load() {
					fault.do(w, m)
					return
				}
				sendJSON(w, okFor(m, "fine"))
			}
			line := open(t, newBackend(t, Config{URL: serve(t, f).URL, Limits: Limits{MessageBytes: 64 << 10}}), nil)
			for method, code := range map[string]ask.Code{"tools/call": fault.tool, "tools/list": fault.list} {
				out := outgoing(t, `{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":{"name":"x"}}`)
				faulty.Store(true)
				_, err := line.Call(t.Context(), out, newRecorder())
				e := wantCode(t, err, code)
				if !strings.Contains(e.Message, fault.words) || !strings.Contains(e.Message, "srv") {
					t.Errorf("message %q does not name srv and %q", e.Message, fault.words)
				}
				faulty.Store(false)
				reply, err := line.Call(t.Context(), out, newRecorder())
				if err != nil {
					t.Fatalf("the call after it: %v", err)
				}
				wantText(t, reply.Msg, "fine")
			}
		})
	}
}

func TestErrorResponsesWithAnHTTPErrorAreReplies(t *testing.T) {
	for _, id := range []string{"%s", "null", ""} {
		f := newFake(t)
		f.post = func(w http.ResponseWriter, _ *http.Request, m *wire.Message) {
			body := `{"jsonrpc":"2.0","error":{"code":-32602,"message":"no"}}`
			if id != "" {
				body = `{"jsonrpc":"2.0","id":` + strings.ReplaceAll(id, "%s", string(m.Field(m.ID))) + `,"error":{"code":-32602,"message":"no"}}`
			}
			w.Header().Set("Content-Type", "application/json; charset=utf-8")
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprint(w, body)
		}
		line := open(t, newBackend(t, Config{URL: serve(t, f).URL}), nil)
		reply, err := line.Call(t.Context(), toolCall(t, "x", `{}`), newRecorder())
		if err != nil {
			t.Fatalf("id %q: %v", id, err)
		}
		if reply.Status != http.StatusBadRequest || reply.Msg.Kind != wire.Failure {
			t.Errorf("id %q: status %d, %s", id, reply.Status, reply.Msg.Raw)
		}
	}
}

func TestServerThatIsNotThere(t *testing.T) {
	srv := serve(t, newFake(t))
	b := newBackend(t, Config{URL: srv.URL})
	line := open(t, b, nil)
	b.cfg.Client.CloseIdleConnections() // a kept connection may take the request
	srv.CloseClientConnections()
	srv.Close()
	_, err := line.Call(t.Context(), toolCall(t, "x", `{}`), newRecorder())
	e := wantCode(t, err, ask.BackendUnreachable)
	if !strings.Contains(e.Message, "srv") {
		t.Errorf("message %q does not name the backend", e.Message)
	}
}

func TestSilentServerEndsWithTheCaller(t *testing.T) {
	f := newFake(t)
	arrived := make(chan struct{}, 1)
	f.post = func(_ http.ResponseWriter, r *http.Request, _ *wire.Message) {
		arrived <- struct{}{}
		<-r.Context().Done()
	}
	line := open(t, newBackend(t, Config{URL: serve(t, f).URL}), nil)
	ctx, cancel := context.WithCancel(t.Context())
	done := start(t, ctx, line, toolCall(t, "x", `{}`), newRecorder())
	next(t, arrived, "request")
	cancel()
	if r := next(t, done, "end"); r.err != context.Canceled {
		t.Errorf("call ended with %v", r.err)
	}
}

func TestClosingALineEndsItsCalls(t *testing.T) {
	f := newFake(t)
	arrived := make(chan struct{}, 1)
	f.post = func(w http.ResponseWriter, r *http.Request, _ *wire.Message) {
		events(w)
		arrived <- struct{}{}
		<-r.Context().Done()
	}
	ev := newRecorder()
	line := open(t, newBackend(t, Config{URL: serve(t, f).URL}), ev)
	done := start(t, t.Context(), line, toolCall(t, "x", `{}`), newRecorder())
	next(t, arrived, "request")
	line.Close(t.Context())
	wantCode(t, next(t, done, "end").err, ask.OutcomeUnknown)
	if len(ev.lost) != 0 {
		t.Error("a line that was closed said that it was lost")
	}
}
