package mcp

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/contract"
	"github.com/answerback/answerback/internal/secret"
	"github.com/answerback/answerback/internal/wire"
)

func TestHandshakeIsSentAsItStandsAndSessionIsKept(t *testing.T) {
	var first string
	headers := make(chan http.Header, 8)
	f := newFake(t)
	f.post = func(w http.ResponseWriter, r *http.Request, m *wire.Message) {
		headers <- r.Header.Clone()
		sendJSON(w, okFor(m, "hi"))
	}
	srv := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if first == "" && r.Method == http.MethodPost {
			var b bytes.Buffer
			_, _ = b.ReadFrom(r.Body)
			first = b.String()
			if got := r.Header.Get(sessionHeader) + r.Header.Get("Mcp-Protocol-Version"); got != "" {
				t.Errorf("initialize has a session or version header: %q", got)
			}
			r.Body = http.NoBody
			m, _ := wire.Scan(b.Bytes(), wire.Limits{})
			w.Header().Set(sessionHeader, fakeSession)
			sendJSON(w, fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-06-18","capabilities":{"x":1}}}`, m.Field(m.ID)))
			return
		}
		f.ServeHTTP(w, r)
	}))
	b := newBackend(t, Config{URL: srv.URL, Headers: map[string]secret.Text{"Authorization": secret.New("Bearer s3cret")}})
	line := open(t, b, nil)
	if !strings.Contains(first, `"params":`+helloParams+`}`) {
		t.Errorf("initialize was %s", first)
	}
	welcome := line.Welcome()
	wantText(t, welcome, `"capabilities":{"x":1}`)
	next(t, f.got, "initialized")
	reply, err := line.Call(t.Context(), toolCall(t, "x", `{}`), newRecorder())
	if err != nil {
		t.Fatal(err)
	}
	wantText(t, reply.Msg, `"hi"`)
	h := next(t, headers, "request")
	for name, want := range map[string]string{
		sessionHeader: fakeSession, "Mcp-Protocol-Version": "2025-06-18", "Authorization": "Bearer s3cret",
		"Accept": "application/json, text/event-stream", "Content-Type": "application/json",
	} {
		if h.Get(name) != want {
			t.Errorf("header %s is %q, want %q", name, h.Get(name), want)
		}
	}
	line.Close(t.Context())
	if got := next(t, f.deleted, "DELETE"); got != fakeSession {
		t.Errorf("ended session %q", got)
	}
	select {
	case <-line.Done():
	default:
		t.Error("a closed line is not done")
	}
	if _, err := line.Call(t.Context(), toolCall(t, "x", `{}`), newRecorder()); ask.CodeOf(err) != ask.BackendLost {
		t.Errorf("call on a closed line: %v", err)
	}
}

func TestRefusedHandshakeIsPassedOn(t *testing.T) {
	srv := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		sendJSON(w, `{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"no such version","data":{"supported":["2024-11-05"]}}}`)
	}))
	b := newBackend(t, Config{URL: srv.URL})
	_, err := b.Open(t.Context(), contract.Hello{Principal: alice, Params: []byte(helloParams), Events: newRecorder()})
	up, ok := err.(*contract.UpstreamError)
	if !ok {
		t.Fatalf("got %v, want the backend's own error", err)
	}
	wantText(t, up.Reply.Msg, `"no such version"`)
}

// Everything but the id and the progress token passes byte for byte, in both
// directions, and the token comes back as the client wrote it.
func TestIDsAndTokensAreTheLinesOwn(t *testing.T) {
	sent := make(chan string, 4)
	f := newFake(t)
	f.post = func(w http.ResponseWriter, _ *http.Request, m *wire.Message) {
		sent <- string(m.Raw)
		write := events(w)
		id := m.Field(m.ID)
		write(data("", fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":1,"x":  1e3}}`, id)))
		write(data("", `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":999,"progress":1}}`))
		write(data("", `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"é\u00e9"}}`))
		write(data("", fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"big":123456789012345678901234567890,"s":"\u00e9"}}`, id)))
	}
	line := open(t, newBackend(t, Config{URL: serve(t, f).URL}), nil)
	sink := newRecorder()
	out := outgoing(t, `{"params":{"_meta":{"progressToken":"tok\u0031","trace":"t"},"name":"pre__x","arguments":{"n":1.10}},"method":"tools/call","id":"cli","jsonrpc":"2.0"}`)
	out.Edits = []wire.Edit{{Span: out.Msg.Name, With: []byte(`"x"`)}}
	reply, err := line.Call(t.Context(), out, sink)
	if err != nil {
		t.Fatal(err)
	}
	raw := next(t, sent, "request")
	m, _ := wire.Scan([]byte(raw), wire.Limits{})
	n := string(m.Field(m.ID))
	want := fmt.Sprintf(`{"params":{"_meta":{"progressToken":%s,"trace":"t"},"name":"x","arguments":{"n":1.10}},"method":"tools/call","id":%s,"jsonrpc":"2.0"}`, n, n)
	if raw != want {
		t.Errorf("sent %s\nwant %s", raw, want)
	}
	wantText(t, reply.Msg, `"big":123456789012345678901234567890,"s":"\u00e9"`)
	got := sink.all()
	wantNotes := []string{
		`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"tok\u0031","progress":1,"x":  1e3}}`,
		`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"é\u00e9"}}`,
	}
	if strings.Join(got, "\n") != strings.Join(wantNotes, "\n") {
		t.Errorf("sink got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(wantNotes, "\n"))
	}
}

func TestBatchesAreSplit(t *testing.T) {
	f := newFake(t)
	f.post = func(w http.ResponseWriter, _ *http.Request, m *wire.Message) {
		batch := `[{"jsonrpc":"2.0","method":"notifications/message","params":{}},` + okFor(m, "b") + `]`
		if m.Method() == "tools/list" {
			sendJSON(w, batch)
			return
		}
		events(w)(data("", batch))
	}
	line := open(t, newBackend(t, Config{URL: serve(t, f).URL}), nil)
	for _, method := range []string{"tools/list", "prompts/list"} {
		sink := newRecorder()
		reply, err := line.Call(t.Context(), outgoing(t, `{"jsonrpc":"2.0","id":1,"method":"`+method+`"}`), sink)
		if err != nil {
			t.Fatalf("%s: %v", method, err)
		}
		wantText(t, reply.Msg, `"text":"b"`)
		if len(sink.all()) != 1 {
			t.Errorf("%s: sink got %q", method, sink.all())
		}
	}
}

// E2, E4: a question on a call's stream is that call's; the answer goes back
// under the server's own id, to the byte.
func TestQuestionOfACallIsAnswered(t *testing.T) {
	f := newFake(t)
	answered := make(chan struct{})
	f.post = func(w http.ResponseWriter, _ *http.Request, m *wire.Message) {
		write := events(w)
		write(data("ev-7", `{"jsonrpc":"2.0","id":"q\u0031","method":"elicitation/create","params":{"message":"Name?","_meta":{"progressToken":5},"x": 1.0}}`))
		<-answered
		write(data("ev-8", okFor(m, "thanks")))
	}
	line := open(t, newBackend(t, Config{URL: serve(t, f).URL}), nil)
	next(t, f.got, "initialized")
	sink := newRecorder()
	done := start(t, t.Context(), line, toolCall(t, "x", `{}`), sink)
	q := next(t, sink.questions, "question")
	if q.Method != "elicitation/create" || string(q.Params) != `{"message":"Name?","_meta":{"progressToken":5},"x": 1.0}` {
		t.Errorf("question is %s %s", q.Method, q.Params)
	}
	if string(q.Token) != "5" || q.Candidates != nil || q.Resume == nil {
		t.Errorf("token %s, candidates %v, resume %d bytes", q.Token, q.Candidates, len(q.Resume))
	}
	if err := q.Progress(t.Context(), 3); err != nil {
		t.Fatal(err)
	}
	if got, want := next(t, f.got, "progress"), `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":5,"progress":3}}`; got != want {
		t.Errorf("progress %s, want %s", got, want)
	}
	if q.Gone.Err() != nil {
		t.Fatal("the question is gone before it was answered")
	}
	if err := q.Reply(t.Context(), []byte(`{"action":"accept","content":{"n": 1.0}}`), nil); err != nil {
		t.Fatal(err)
	}
	if got, want := next(t, f.got, "answer"), `{"jsonrpc":"2.0","id":"q\u0031","result":{"action":"accept","content":{"n": 1.0}}}`; got != want {
		t.Errorf("answer %s, want %s", got, want)
	}
	if err := q.Reply(t.Context(), []byte(`{}`), nil); err != nil {
		t.Errorf("second reply: %v", err)
	}
	<-q.Gone.Done()
	close(answered)
	if r := next(t, done, "response"); r.err != nil {
		t.Fatal(r.err)
	}
	select {
	case extra := <-f.got:
		t.Errorf("a second answer was sent: %s", extra)
	default:
	}
}

// E6: a question that the server takes back is gone, and a late answer stays here.
func TestWithdrawnQuestionIsGone(t *testing.T) {
	f := newFake(t)
	release := make(chan struct{})
	f.post = func(w http.ResponseWriter, _ *http.Request, m *wire.Message) {
		write := events(w)
		write(data("", `{"jsonrpc":"2.0","id":41,"method":"sampling/createMessage","params":{}}`))
		write(data("", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":41,"reason":"too slow"}}`))
		<-release
		write(data("", okFor(m, "without you")))
	}
	line := open(t, newBackend(t, Config{URL: serve(t, f).URL}), nil)
	next(t, f.got, "initialized")
	sink := newRecorder()
	done := start(t, t.Context(), line, toolCall(t, "x", `{}`), sink)
	q := next(t, sink.questions, "question")
	<-q.Gone.Done()
	wantCode(t, context.Cause(q.Gone), ask.BackendWithdrew)
	if err := q.Reply(t.Context(), []byte(`{}`), nil); err != nil {
		t.Error(err)
	}
	close(release)
	if r := next(t, done, "response"); r.err != nil {
		t.Fatal(r.err)
	}
	select {
	case late := <-f.got:
		t.Errorf("a late answer was sent: %s", late)
	default:
	}
	if len(sink.all()) != 0 {
		t.Errorf("the cancellation was passed on: %q", sink.all())
	}
}

func TestQuestionEndsWithItsCall(t *testing.T) {
	f := newFake(t)
	asked := make(chan struct{})
	f.post = func(w http.ResponseWriter, _ *http.Request, m *wire.Message) {
		write := events(w)
		write(data("", `{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{}}`))
		<-asked
		if strings.Contains(string(m.Raw), "break") {
			panic(http.ErrAbortHandler)
		}
		write(data("", okFor(m, "never mind")))
	}
	line := open(t, newBackend(t, Config{URL: serve(t, f).URL}), nil)
	for _, test := range []struct {
		tool string
		call ask.Code
		gone ask.Code
	}{{"finish", "", ask.BackendWithdrew}, {"break", ask.OutcomeUnknown, ask.BackendLost}} {
		asked = make(chan struct{})
		if test.tool == "break" {
			// The protocol forbids to use an id twice, so this needs a new session.
			line = open(t, newBackend(t, Config{URL: serve(t, f).URL}), nil)
		}
		sink := newRecorder()
		done := start(t, t.Context(), line, toolCall(t, test.tool, `{}`), sink)
		q := next(t, sink.questions, "question")
		close(asked)
		r := next(t, done, "response")
		if ask.CodeOf(r.err) != test.call {
			t.Errorf("%s: call ended with %v", test.tool, r.err)
		}
		<-q.Gone.Done()
		wantCode(t, context.Cause(q.Gone), test.gone)
	}
}

func TestRepeatedQuestionIsAskedOnce(t *testing.T) {
	f := newFake(t)
	f.post = func(w http.ResponseWriter, _ *http.Request, m *wire.Message) {
		write := events(w)
		for range 2 {
			write(data("", `{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{}}`))
		}
		write(data("", `{"jsonrpc":"2.0","id":1.0,"method":"elicitation/create","params":{}}`))
		write(data("", okFor(m, "ok")))
	}
	line := open(t, newBackend(t, Config{URL: serve(t, f).URL}), nil)
	sink := newRecorder()
	if _, err := line.Call(t.Context(), toolCall(t, "x", `{}`), sink); err != nil {
		t.Fatal(err)
	}
	if n := len(sink.questions); n != 1 {
		t.Errorf("asked %d times, want once", n)
	}
}

func TestTooManyQuestionsAreRefusedAtOnce(t *testing.T) {
	f := newFake(t)
	refused := make(chan struct{})
	f.post = func(w http.ResponseWriter, _ *http.Request, m *wire.Message) {
		write := events(w)
		for i := range 3 {
			write(data("", fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"elicitation/create","params":{}}`, 100+i)))
		}
		<-refused
		write(data("", okFor(m, "ok")))
	}
	line := open(t, newBackend(t, Config{URL: serve(t, f).URL, Limits: Limits{Questions: 2}}), nil)
	next(t, f.got, "initialized")
	sink := newRecorder()
	done := start(t, t.Context(), line, toolCall(t, "x", `{}`), sink)
	got := next(t, f.got, "refusal")
	if !strings.Contains(got, `"id":102,"error":`) || !strings.Contains(got, string(ask.TooManyOpen)) {
		t.Errorf("got %s", got)
	}
	close(refused)
	if r := next(t, done, "response"); r.err != nil {
		t.Fatal(r.err)
	}
	if len(sink.questions) != 2 {
		t.Errorf("%d questions came through, want 2", len(sink.questions))
	}
}

func TestPingOfTheServerIsAnsweredHere(t *testing.T) {
	f := newFake(t)
	ponged := make(chan struct{})
	f.post = func(w http.ResponseWriter, _ *http.Request, m *wire.Message) {
		write := events(w)
		write(data("", `{"jsonrpc":"2.0","id":"p","method":"ping"}`))
		<-ponged
		write(data("", okFor(m, "ok")))
	}
	line := open(t, newBackend(t, Config{URL: serve(t, f).URL}), nil)
	next(t, f.got, "initialized")
	done := start(t, t.Context(), line, toolCall(t, "x", `{}`), newRecorder())
	if got := next(t, f.got, "pong"); got != `{"jsonrpc":"2.0","id":"p","result":{}}` {
		t.Errorf("got %s", got)
	}
	close(ponged)
	next(t, done, "response")
}

// E7: a caller that leaves: the server is told, under the id that it knows.
func TestCancelledCallIsToldToTheServer(t *testing.T) {
	f := newFake(t)
	id := make(chan string, 1)
	f.post = func(w http.ResponseWriter, r *http.Request, m *wire.Message) {
		events(w)
		id <- string(m.Field(m.ID))
		<-r.Context().Done()
	}
	line := open(t, newBackend(t, Config{URL: serve(t, f).URL}), nil)
	next(t, f.got, "initialized")
	ctx, cancel := context.WithCancelCause(t.Context())
	done := start(t, ctx, line, toolCall(t, "x", `{}`), newRecorder())
	n := next(t, id, "request")
	why := ask.Errorf(ask.ClientCancelled, "The user cancelled.")
	cancel(why)
	if r := next(t, done, "end"); r.err != why {
		t.Errorf("call ended with %v, want the cause of its context", r.err)
	}
	want := `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":` + n + `,"reason":"The user cancelled."}}`
	if got := next(t, f.got, "cancellation"); got != want {
		t.Errorf("server was told %s, want %s", got, want)
	}
}

func TestLostSessionEndsTheLine(t *testing.T) {
	for name, refuse := range map[string]func(http.ResponseWriter, *wire.Message){
		"404": func(w http.ResponseWriter, _ *wire.Message) { w.WriteHeader(http.StatusNotFound) },
		"404 with error": func(w http.ResponseWriter, _ *wire.Message) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprint(w, `{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"Session not found"}}`)
		},
		"400 of the TypeScript examples": func(w http.ResponseWriter, _ *wire.Message) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprint(w, `{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Bad Request: No valid session ID provided"}}`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t)
			f.post = func(w http.ResponseWriter, _ *http.Request, m *wire.Message) { refuse(w, m) }
			ev := newRecorder()
			b := newBackend(t, Config{URL: serve(t, f).URL})
			line := open(t, b, ev)
			_, err := line.Call(t.Context(), outgoing(t, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`), newRecorder())
			wantCode(t, err, ask.BackendLost)
			<-line.Done()
			wantCode(t, next(t, ev.lost, "loss"), ask.BackendLost)
			if err := line.Notify(t.Context(), []byte(`{"jsonrpc":"2.0","method":"notifications/x"}`)); ask.CodeOf(err) != ask.BackendLost {
				t.Errorf("notify on a lost line: %v", err)
			}
			line.Close(t.Context())
			if len(f.deleted) != 0 {
				t.Error("a lost session was ended once more")
			}
			if len(b.lines)+len(b.sessions) != 0 {
				t.Error("the lost line is still kept")
			}
		})
	}
}

func TestResponseOnAnotherStreamIsRouted(t *testing.T) {
	f := newFake(t)
	var held atomic.Pointer[string]
	ready := make(chan struct{})
	f.post = func(w http.ResponseWriter, r *http.Request, m *wire.Message) {
		write := events(w)
		if strings.Contains(string(m.Raw), `"name":"slow"`) {
			answer := okFor(m, "from elsewhere")
			held.Store(&answer)
			close(ready)
			<-r.Context().Done()
			return
		}
		write(data("", *held.Load()))
		write(data("", `{"jsonrpc":"2.0","id":12345,"result":{}}`))
		write(data("", okFor(m, "own")))
	}
	line := open(t, newBackend(t, Config{URL: serve(t, f).URL}), nil)
	slow := start(t, t.Context(), line, toolCall(t, "slow", `{}`), newRecorder())
	<-ready
	reply, err := line.Call(t.Context(), toolCall(t, "quick", `{}`), newRecorder())
	if err != nil {
		t.Fatal(err)
	}
	wantText(t, reply.Msg, `"own"`)
	r := next(t, slow, "routed response")
	if r.err != nil {
		t.Fatal(r.err)
	}
	wantText(t, r.reply.Msg, `"from elsewhere"`)
}

func TestConnectionIsUsedAgainAfterAStream(t *testing.T) {
	var addrs []string
	f := newFake(t)
	returned := make(chan struct{})
	f.post = func(w http.ResponseWriter, r *http.Request, m *wire.Message) {
		addrs = append(addrs, r.RemoteAddr)
		events(w)(data("", okFor(m, "ok")))
		<-returned // the stream ends after the call
	}
	line := open(t, newBackend(t, Config{URL: serve(t, f).URL}), nil)
	for range 5 {
		ctx, cancel := context.WithCancel(t.Context())
		if _, err := line.Call(ctx, toolCall(t, "x", `{}`), newRecorder()); err != nil {
			t.Fatal(err)
		}
		cancel()
		returned <- struct{}{}
		line.(*legacyLine).crew.wg.Wait()
	}
	for _, a := range addrs {
		if a != addrs[0] {
			t.Fatalf("calls came from %q", addrs)
		}
	}
}

func TestStreamThatNeverEndsIsLetGo(t *testing.T) {
	f := newFake(t)
	f.post = func(w http.ResponseWriter, r *http.Request, m *wire.Message) {
		events(w)(data("", okFor(m, "ok")))
		<-r.Context().Done()
	}
	line := open(t, newBackend(t, Config{URL: serve(t, f).URL}), nil)
	if _, err := line.Call(t.Context(), toolCall(t, "x", `{}`), newRecorder()); err != nil {
		t.Fatal(err)
	}
	line.(*legacyLine).crew.wg.Wait()
}

func TestProgressThatNobodyAskedForIsDropped(t *testing.T) {
	f := newFake(t)
	f.post = func(w http.ResponseWriter, _ *http.Request, m *wire.Message) {
		write := events(w)
		write(data("", fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":1}}`, m.Field(m.ID))))
		write(data("", okFor(m, "ok")))
	}
	line := open(t, newBackend(t, Config{URL: serve(t, f).URL}), nil)
	sink := newRecorder()
	if _, err := line.Call(t.Context(), outgoing(t, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`), sink); err != nil {
		t.Fatal(err)
	}
	if got := sink.all(); len(got) != 0 {
		t.Errorf("sink got %q", got)
	}
}

func TestPauseHonoursTheServersTimeAndGrowsWithFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, test := range []struct {
			retry    time.Duration
			failures int
			want     time.Duration
		}{
			{500 * time.Millisecond, 0, 500 * time.Millisecond},
			{-1, 0, defaultRetry},
			{0, 0, minRetry},
			{time.Second, 3, 8 * time.Second},
			{time.Second, 100, maxRetry},
			{time.Minute, 2, time.Minute},
			{1000 * time.Hour, 5, maxNamed},
		} {
			from := time.Now()
			if !pause(t.Context(), test.retry, test.failures) {
				t.Fatal("the pause was cut short")
			}
			if got := time.Since(from); got != test.want {
				t.Errorf("retry %v after %d failures: waited %v, want %v", test.retry, test.failures, got, test.want)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if pause(ctx, time.Hour, 0) {
			t.Error("an ended context did not end the pause")
		}
	})
}
