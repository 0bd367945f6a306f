package mcp

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/contract"
	"github.com/answerback/answerback/internal/secret"
	"github.com/answerback/answerback/internal/wire"
)

const modernMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"progressToken":"t"}`

func stateless(t *testing.T, b *Backend) contract.Line {
	t.Helper()
	line, err := b.Stateless(t.Context(), alice)
	if err != nil {
		t.Fatal(err)
	}
	return line
}

func TestModernRequestPassesUntouched(t *testing.T) {
	type seen struct {
		body   string
		header http.Header
	}
	got := make(chan seen, 2)
	srv := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got <- seen{string(body), r.Header.Clone()}
		sendJSON(w, `{"jsonrpc":"2.0","id":"mine","result":{"resultType":"complete"}}`)
	}))
	line := stateless(t, newBackend(t, Config{URL: srv.URL, Headers: map[string]secret.Text{"X-Key": secret.New("k")}}))
	raw := `{"jsonrpc":"2.0","id":"mine","method":"tools/call","params":{"name":"pre__é","arguments":{},` + modernMeta + `}}`
	out := outgoing(t, raw)
	out.Edits = []wire.Edit{{Span: out.Msg.Name, With: []byte(`"é"`)}}
	out.Name = "é"
	out.Params = http.Header{"Mcp-Param-Region": {"eu"}}
	reply, err := line.Call(t.Context(), out, newRecorder())
	if err != nil {
		t.Fatal(err)
	}
	if reply.Status != 200 {
		t.Errorf("status %d", reply.Status)
	}
	s := next(t, got, "request")
	if want := strings.Replace(raw, "pre__", "", 1); s.body != want {
		t.Errorf("sent %s, want %s", s.body, want)
	}
	for name, want := range map[string]string{
		"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "=?base64?w6k=?=",
		"Mcp-Param-Region": "eu", "X-Key": "k", "Mcp-Session-Id": "",
	} {
		if s.header.Get(name) != want {
			t.Errorf("header %s is %q, want %q", name, s.header.Get(name), want)
		}
	}
	// A version that only the edits bring must be the header's as well.
	out = outgoing(t, `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}`)
	out.Edits = []wire.Edit{{Span: out.Msg.Params, With: []byte(`{"_meta":{"io.modelcontextprotocol/protocolVersion":"2030-01-01"}}`)}}
	if _, err := line.Call(t.Context(), out, newRecorder()); err != nil {
		t.Fatal(err)
	}
	if v := next(t, got, "request").header.Get("Mcp-Protocol-Version"); v != "2030-01-01" {
		t.Errorf("version header is %q, which is not what the body says", v)
	}
	out = outgoing(t, raw)
	out.Edits = []wire.Edit{{Span: out.Msg.MetaVersion, With: []byte(`"2031-01-01"`)}}
	if _, err := line.Call(t.Context(), out, newRecorder()); err != nil {
		t.Fatal(err)
	}
	if v := next(t, got, "request").header.Get("Mcp-Protocol-Version"); v != "2031-01-01" {
		t.Errorf("version header is %q, which is not what the body says", v)
	}
}

func TestModernStream(t *testing.T) {
	srv := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		write := events(w)
		write(": hello\n\n")
		write(data("", `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"t","progress":1}}`))
		write(data("", `{"jsonrpc":"2.0","id":9,"method":"elicitation/create","params":{}}`)) // not allowed any more
		write(data("", `not JSON`))
		write(data("", `{"jsonrpc":"2.0","id":"mine","result":{"resultType":"complete","n":1}}`))
	}))
	line := stateless(t, newBackend(t, Config{URL: srv.URL}))
	sink := newRecorder()
	reply, err := line.Call(t.Context(), toolCall(t, "x", "{}"), sink)
	if err != nil {
		t.Fatal(err)
	}
	wantText(t, reply.Msg, `"n":1`)
	if got := sink.all(); len(got) != 1 || !strings.Contains(got[0], `"progressToken":"t"`) {
		t.Errorf("sink got %q", got)
	}
	if len(sink.questions) != 0 {
		t.Error("a request on a modern stream became a question")
	}
	line.Close(t.Context())
	if _, err := line.Call(t.Context(), toolCall(t, "x", "{}"), sink); err != nil {
		t.Errorf("the shared line was closed by one of its users: %v", err)
	}
}

func TestModernFaults(t *testing.T) {
	for name, test := range map[string]struct {
		do   http.HandlerFunc
		tool ask.Code
	}{
		"no response": {func(w http.ResponseWriter, _ *http.Request) { events(w)("id: 1\nretry: 1\ndata:\n\n") }, ask.OutcomeUnknown},
		"aborted":     {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, ask.OutcomeUnknown},
		"html":        {func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>") }, ask.BackendBroken},
		"404":         {http.NotFound, ask.BackendBroken},
		"500":         {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) }, ask.OutcomeUnknown},
		"a request":   {func(w http.ResponseWriter, _ *http.Request) { sendJSON(w, `{"jsonrpc":"2.0","id":1,"method":"x"}`) }, ask.BackendBroken},
		"too large":   {func(w http.ResponseWriter, _ *http.Request) { sendJSON(w, `"`+strings.Repeat("x", 2000)+`"`) }, ask.TooLarge},
		"event too large": {func(w http.ResponseWriter, _ *http.Request) {
			events(w)(data("", strings.Repeat("x", 2000)))
		}, ask.TooLarge},
		"compressed": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "br")
			sendJSON(w, "x")
		}, ask.BackendBroken},
		"cut off": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Length", "50")
			fmt.Fprint(w, "{")
		}, ask.OutcomeUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBackend(t, Config{URL: serve(t, test.do).URL, Limits: Limits{MessageBytes: 1000}})
			_, err := stateless(t, b).Call(t.Context(), toolCall(t, "x", "{}"), newRecorder())
			wantCode(t, err, test.tool)
		})
	}
}

func TestModernErrorKeepsItsStatus(t *testing.T) {
	srv := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprint(w, `{"jsonrpc":"2.0","id":"mine","error":{"code":-32601,"message":"no"}}`)
	}))
	reply, err := stateless(t, newBackend(t, Config{URL: srv.URL})).Call(t.Context(), toolCall(t, "x", "{}"), newRecorder())
	if err != nil || reply.Status != 404 || reply.Msg.Kind != wire.Failure {
		t.Fatalf("reply %d %s, error %v", reply.Status, reply.Msg.Raw, err)
	}
}

func TestModernCancelClosesTheStream(t *testing.T) {
	arrived, closed := make(chan struct{}), make(chan struct{})
	srv := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		events(w)
		close(arrived)
		<-r.Context().Done()
		close(closed)
	}))
	ctx, cancel := context.WithCancelCause(t.Context())
	line := stateless(t, newBackend(t, Config{URL: srv.URL}))
	done := start(t, ctx, line, toolCall(t, "x", "{}"), newRecorder())
	<-arrived
	why := ask.Errorf(ask.ClientGone, "gone")
	cancel(why)
	if r := next(t, done, "end"); r.err != why {
		t.Errorf("ended with %v", r.err)
	}
	next(t, closed, "end of the stream at the server")
}

func TestClosingTheBackendEndsModernCalls(t *testing.T) {
	arrived := make(chan struct{})
	srv := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		events(w)
		close(arrived)
		<-r.Context().Done()
	}))
	b := newBackend(t, Config{URL: srv.URL})
	done := start(t, t.Context(), stateless(t, b), toolCall(t, "x", "{}"), newRecorder())
	<-arrived
	b.Close(t.Context())
	wantCode(t, next(t, done, "end").err, ask.OutcomeUnknown)
	if _, err := b.Stateless(t.Context(), alice); ask.CodeOf(err) != ask.ShuttingDown {
		t.Errorf("a closed backend gave a line: %v", err)
	}
	if _, err := b.Open(t.Context(), contract.Hello{Params: []byte(helloParams), Events: newRecorder()}); ask.CodeOf(err) != ask.ShuttingDown {
		t.Errorf("a closed backend opened a session: %v", err)
	}
}

func TestModernNotify(t *testing.T) {
	got := make(chan string, 1)
	srv := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got <- string(body)
		w.WriteHeader(http.StatusAccepted)
	}))
	msg := `{"jsonrpc":"2.0","method":"notifications/x"}`
	if err := stateless(t, newBackend(t, Config{URL: srv.URL})).Notify(t.Context(), []byte(msg)); err != nil {
		t.Fatal(err)
	}
	if s := next(t, got, "notification"); s != msg {
		t.Errorf("sent %s", s)
	}
}

func TestDiscoverTellsNoAnswerFromNoServer(t *testing.T) {
	for name, test := range map[string]struct {
		do   http.HandlerFunc
		kind wire.Kind
		code ask.Code
	}{
		"modern": {func(w http.ResponseWriter, _ *http.Request) {
			sendJSON(w, `{"jsonrpc":"2.0","id":1,"result":{"supportedVersions":["2026-07-28"]}}`)
		}, wire.Result, ""},
		"modern error": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(400)
			fmt.Fprint(w, `{"jsonrpc":"2.0","id":1,"error":{"code":-32022,"message":"v"}}`)
		}, wire.Failure, ""},
		"404":     {http.NotFound, 0, ""},
		"405":     {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(405) }, 0, ""},
		"html":    {func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>") }, 0, ""},
		"refused": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(401) }, 0, ask.BackendUnreachable},
		"failing": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(502) }, 0, ask.BackendUnreachable},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := newBackend(t, Config{URL: serve(t, test.do).URL}).probe(t.Context(), ask.Principal{})
			if m.Kind != test.kind || ask.CodeOf(err) != test.code {
				t.Errorf("got %v %q, want %v %q", m.Kind, ask.CodeOf(err), test.kind, test.code)
			}
		})
	}
}

// A server may turn a first request down and name the versions to try: it is
// asked again, and is a modern one either way.
func TestDiscoverTriesAgainWhereAVersionIsTurnedDown(t *testing.T) {
	asked := 0
	srv := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked++
		w.Header().Set("Content-Type", "application/json")
		if asked == 1 {
			w.WriteHeader(http.StatusBadRequest)
			io.WriteString(w, `{"jsonrpc":"2.0","id":1,"error":{"code":-32022,"message":"no","data":{"supported":["2026-07-28"],"requested":"2026-07-28"}}}`)
			return
		}
		io.WriteString(w, `{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{}}}`)
	}))
	b := newBackend(t, Config{URL: srv.URL})
	for range 2 {
		if m, err := b.Discover(t.Context(), ask.Principal{}); err != nil || m.Kind != wire.Result {
			t.Fatalf("got %s %v", m.Raw, err)
		}
	}
	if asked != 2 {
		t.Errorf("asked %d times, want twice and then remembered", asked)
	}
}
