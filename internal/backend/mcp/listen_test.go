package mcp

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/contract"
	"github.com/answerback/answerback/internal/wire"
)

// listening is a fake whose own stream the test writes to, and whose calls
// stay open until the test lets them go.
func listening(t *testing.T) (f *fake, write func(string), started chan string, finish func()) {
	f = newFake(t)
	lines := make(chan string, 16)
	f.get = func(w http.ResponseWriter, r *http.Request) {
		send := events(w)
		for {
			select {
			case l := <-lines:
				send(l)
			case <-r.Context().Done():
				return
			}
		}
	}
	started = make(chan string, 8)
	gate := make(chan struct{})
	f.post = func(w http.ResponseWriter, r *http.Request, m *wire.Message) {
		send := events(w)
		started <- string(m.Field(m.ID))
		select {
		case <-gate:
			send(data("", okFor(m, "ok")))
		case <-r.Context().Done():
		}
	}
	return f, func(s string) { lines <- s }, started, func() { close(gate) }
}

func TestOwnStreamCarriesWhatBelongsToNoCall(t *testing.T) {
	f, write, _, _ := listening(t)
	ev := newRecorder()
	line := open(t, newBackend(t, Config{URL: serve(t, f).URL}), ev)
	line.Listen()
	line.Listen()
	write(data("", `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`))
	if got := next(t, ev.noted, "notification"); !strings.Contains(got, "list_changed") {
		t.Errorf("got %s", got)
	}
	write(data("", `{"jsonrpc":"2.0","id":7,"method":"roots/list"}`))
	q := next(t, ev.questions, "question")
	if q.Candidates != nil || q.Resume != nil {
		t.Errorf("a question that is nobody's has candidates %v, resume %q", q.Candidates, q.Resume)
	}
	line.Close(t.Context())
	<-q.Gone.Done()
	wantCode(t, context.Cause(q.Gone), ask.BackendLost)
}

// E9: with one call in flight a question without an address is that call's;
// with several, they are named, and the ones that can ask go before others.
func TestQuestionsOnTheOwnStreamAreAttributed(t *testing.T) {
	f, write, started, finish := listening(t)
	ev := newRecorder()
	line := open(t, newBackend(t, Config{URL: serve(t, f).URL}), ev)
	line.Listen()
	question := func(id string) {
		write(data("", `{"jsonrpc":"2.0","id":"`+id+`","method":"elicitation/create","params":{}}`))
	}

	listing := newRecorder()
	done := []<-chan result{start(t, t.Context(), line, outgoing(t, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`), listing)}
	next(t, started, "request")
	question("q0")
	next(t, listing.questions, "question of the only call")

	first := newRecorder()
	done = append(done, start(t, t.Context(), line, toolCall(t, "a", `{}`), first))
	id := next(t, started, "request")
	question("q1")
	if q := next(t, first.questions, "question of the only call that can ask"); q.Candidates != nil {
		t.Error("the only call's question has candidates")
	}
	write(data("", fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":1}}`, id)))
	if got := next(t, first.noted, "progress"); !strings.Contains(got, `"tok-é"`) {
		t.Errorf("progress %s", got)
	}

	second := newRecorder()
	done = append(done, start(t, t.Context(), line, toolCall(t, "b", `{}`), second))
	next(t, started, "request")
	question("q2")
	q := next(t, ev.questions, "question of several")
	if len(q.Candidates) != 2 || q.Candidates[0] != contract.Sink(first) || q.Candidates[1] != contract.Sink(second) {
		t.Errorf("candidates %v, want both tool calls, newest last", q.Candidates)
	}
	finish()
	for _, d := range done {
		if r := next(t, d, "response"); r.err != nil {
			t.Error(r.err)
		}
	}
	<-q.Gone.Done()
	wantCode(t, context.Cause(q.Gone), ask.BackendWithdrew)
}

func TestOwnStreamIsTakenUpAgain(t *testing.T) {
	f := newFake(t)
	var gets atomic.Int32
	cursors := make(chan string, 8)
	f.get = func(w http.ResponseWriter, r *http.Request) {
		cursors <- r.Header.Get("Last-Event-ID")
		switch gets.Add(1) {
		case 1:
			events(w)("retry: 1\n" + data("one", `{"jsonrpc":"2.0","method":"notifications/message","params":{}}`))
		case 2:
			w.WriteHeader(http.StatusServiceUnavailable)
		case 3:
			events(w)("data: " + strings.Repeat("x", 5000) + "\n\n")
		default:
			events(w)(data("two", `{"jsonrpc":"2.0","method":"notifications/message","params":{}}`))
			<-r.Context().Done()
		}
	}
	ev := newRecorder()
	line := open(t, newBackend(t, Config{URL: serve(t, f).URL, Limits: Limits{MessageBytes: 1000}}), ev)
	line.Listen()
	for range 2 {
		next(t, ev.noted, "notification")
	}
	// What was too large would come again if it were asked for again.
	for i, want := range []string{"", "one", "one", ""} {
		if got := next(t, cursors, "GET"); got != want {
			t.Errorf("GET %d has cursor %q, want %q", i+1, got, want)
		}
	}
}

func TestServerWithoutAnOwnStreamIsAskedOnce(t *testing.T) {
	f := newFake(t)
	var gets atomic.Int32
	f.get = func(w http.ResponseWriter, _ *http.Request) {
		gets.Add(1)
		w.WriteHeader(http.StatusMethodNotAllowed)
	}
	line := open(t, newBackend(t, Config{URL: serve(t, f).URL}), nil)
	line.Listen()
	line.(*legacyLine).crew.wg.Wait()
	line.Listen()
	line.(*legacyLine).crew.wg.Wait()
	if gets.Load() != 1 {
		t.Errorf("%d GETs, want 1", gets.Load())
	}
}

func TestSessionLostOnTheOwnStream(t *testing.T) {
	f := newFake(t)
	f.get = func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) }
	ev := newRecorder()
	line := open(t, newBackend(t, Config{URL: serve(t, f).URL}), ev)
	line.Listen()
	wantCode(t, next(t, ev.lost, "loss"), ask.BackendLost)
	<-line.Done()
}
