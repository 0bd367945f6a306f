package relay

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/contract"
	"github.com/answerback/answerback/internal/wire"
)

// legacyServer is a fake server that speaks the legacy era only.
func legacyServer(serve func(context.Context, *wire.Message, contract.Sink) (string, error)) *fakeServer {
	return &fakeServer{name: "old", serve: serve, legacy: true}
}

// asksFor serves a call that asks n questions at once and reports the replies.
func asksFor(n int, runs *int) func(context.Context, *wire.Message, contract.Sink) (string, error) {
	return func(ctx context.Context, msg *wire.Message, sink contract.Sink) (string, error) {
		*runs++
		replies := make([]<-chan string, n)
		for i := range n {
			var q *contract.Question
			q, replies[i], _ = newQuestion("elicitation/create", fmt.Sprintf(`{"message":"m%d","requestedSchema":{"type":"object","properties":{}}}`, i))
			sink.Question(q)
		}
		var got []string
		for _, r := range replies {
			select {
			case reply := <-r:
				got = append(got, reply)
			case <-ctx.Done():
				return "", context.Cause(ctx)
			}
		}
		return okTo(msg, `{"got":[`+strings.Join(got, ",")+`]}`), nil
	}
}

// modernCall makes one round of a modern call at the fake server.
func modernCall(r *Relay, who contract.Caller, id, rest string, peer contract.Peer) (wire.Message, contract.Response) {
	m := scan(`{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"_meta":{"progressToken":"p` + strings.Trim(id, `"`) + `","io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{"form":{},"url":{}}}},"name":"t","arguments":{"a":1}` + rest + `}}`)
	resp := r.Call(context.Background(), "old", who, &m, nil, peer)
	return scan(string(resp.Body)), resp
}

func stateOf(m wire.Message) string { return string(m.Field(m.ResultState)) }

// A call that asks is parked: the client gets the questions of one round
// together, answers one of them, is asked the other again, and gets the
// result of the one run under the id of its last request.
func TestParkedCallRunsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		runs := 0
		r := newRelay(t, legacyServer(asksFor(2, &runs)))
		m, _ := modernCall(r, alice, "1", "", newPeer())
		if m.Text(m.ResultType) != "input_required" || strings.Count(string(m.Field(m.InputRequests)), "elicitation/create") != 2 {
			t.Fatalf("the first round: %s", m.Raw)
		}
		m, _ = modernCall(r, alice, "2", `,"inputResponses":{"q1":{"action":"accept","content":{"n":1.10}},"unknown":{"action":"accept"}},"requestState":`+stateOf(m), newPeer())
		if inputs := string(m.Field(m.InputRequests)); !strings.Contains(inputs, `"q2"`) || strings.Contains(inputs, `"q1"`) {
			t.Fatalf("the second round does not ask for what is missing: %s", m.Raw)
		}
		m, _ = modernCall(r, alice, `"three"`, `,"inputResponses":{"q2":{"action":"decline"}},"requestState":`+stateOf(m), newPeer())
		if want := `{"resultType":"complete","got":[{"action":"accept","content":{"n":1.10}},{"action":"decline"}]}`; string(m.Field(m.Result)) != want {
			t.Errorf("the result is %s, want %s", m.Field(m.Result), want)
		}
		if string(m.Field(m.ID)) != `"three"` || runs != 1 {
			t.Errorf("id %s after %d runs", m.Field(m.ID), runs)
		}
		r.Close()
	})
}

// A state is good for one retry, by its own principal, for its own call: each
// other use is refused and the call goes on undisturbed.
func TestParkedStateIsUsedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		runs := 0
		r := newRelay(t, legacyServer(asksFor(1, &runs)))
		first, _ := modernCall(r, alice, "1", "", newPeer())
		retry := `,"inputResponses":{"q1":{"action":"decline"}},"requestState":` + stateOf(first)
		refused := func(what string, m wire.Message) {
			t.Helper()
			if !strings.Contains(string(m.Raw), "bad_request_state") {
				t.Errorf("%s: %s", what, m.Raw)
			}
		}
		m, _ := modernCall(r, person("mallory"), "2", retry, newPeer())
		refused("another principal", m)
		m, _ = modernCall(r, alice, "3", strings.Replace(retry, `"requestState":"`, `"requestState":"A`, 1), newPeer())
		refused("a tampered state", m)
		m, _ = modernCall(r, alice, "4", retry, newPeer())
		if m.Kind != wire.Result {
			t.Errorf("the right retry: %s", m.Raw)
		}
		m, _ = modernCall(r, alice, "5", retry, newPeer())
		refused("a replay", m)
		if runs != 1 {
			t.Errorf("the call ran %d times", runs)
		}
		r.Close()
	})
}

// A client that never returns has its call released at the limit: the backend
// hears the end of the question before the end of the call.
func TestParkedCallIsReleased(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		order := make(chan string, 2)
		r := newRelay(t, legacyServer(func(ctx context.Context, msg *wire.Message, sink contract.Sink) (string, error) {
			q, replies, _ := newQuestion("elicitation/create", anyForm)
			sink.Question(q)
			order <- <-replies
			<-ctx.Done()
			order <- "cancelled"
			return "", context.Cause(ctx)
		}))
		start := time.Now()
		modernCall(r, alice, "1", "", newPeer())
		if first := <-order; !strings.Contains(first, "client_gone") {
			t.Errorf("the question ended with %s", first)
		}
		if second := <-order; second != "cancelled" || time.Since(start) < 5*time.Minute {
			t.Errorf("then %s after %v", second, time.Since(start))
		}
		r.Close()
	})
}

// When the question could not be sent the call is cancelled at once: the
// client will call anew.
func TestUnsentQuestionCancels(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		runs := 0
		r := newRelay(t, legacyServer(asksFor(1, &runs)))
		m, resp := modernCall(r, alice, "1", "", newPeer())
		if resp.Unsent == nil {
			t.Fatal("nothing to call when the response is not sent")
		}
		resp.Unsent()
		m, _ = modernCall(r, alice, "2", `,"inputResponses":{"q1":{"action":"decline"}},"requestState":`+stateOf(m), newPeer())
		if !strings.Contains(string(m.Raw), "bad_request_state") {
			t.Errorf("the call is still there: %s", m.Raw)
		}
		modernCall(r, alice, "3", "", newPeer())
		if runs != 2 {
			t.Errorf("%d runs, want 2", runs)
		}
		r.Close()
	})
}

// A modern client that closes its stream while it waits has cancelled.
func TestClosedStreamCancelsParkedCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := make(chan error, 1)
		r := newRelay(t, legacyServer(func(ctx context.Context, _ *wire.Message, _ contract.Sink) (string, error) {
			<-ctx.Done()
			ended <- context.Cause(ctx)
			return "", context.Cause(ctx)
		}))
		m := scan(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}},"name":"t","arguments":{}}}`)
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan struct{})
		go func() {
			defer close(done)
			r.Call(ctx, "old", alice, &m, nil, newPeer())
		}()
		synctest.Wait()
		cancel()
		if err := <-ended; ask.CodeOf(err) != ask.ClientCancelled {
			t.Errorf("the backend's call ended with %v", err)
		}
		<-done
		r.Close()
	})
}

// Before a client's own patience ends it is asked to call again, and its
// retry finds the same call; what happened meanwhile it hears first, under
// its own progress token.
func TestLongCallKeepsItsClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		runs := 0
		r := newRelay(t, legacyServer(func(_ context.Context, msg *wire.Message, sink contract.Sink) (string, error) {
			runs++
			time.Sleep(55 * time.Second)
			for _, n := range []string{"1", "2"} {
				p := scan(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"p1","progress":` + n + `}}`)
				sink.Notify(&p)
			}
			time.Sleep(3 * time.Second)
			return okTo(msg, `{}`), nil
		}))
		m, _ := modernCall(r, alice, "1", "", newPeer())
		if m.Text(m.ResultType) != "input_required" || !m.InputRequests.IsZero() || m.ResultState.IsZero() {
			t.Fatalf("after 50 seconds: %s", m.Raw)
		}
		time.Sleep(6 * time.Second)
		peer := newPeer()
		m, _ = modernCall(r, alice, "2", `,"requestState":`+stateOf(m), peer)
		if m.Text(m.ResultType) != "complete" || runs != 1 {
			t.Errorf("%d runs, result %s", runs, m.Raw)
		}
		if len(peer.notified) != 1 {
			t.Fatalf("%d notifications, want the latest progress only", len(peer.notified))
		}
		if got := <-peer.notified; !strings.Contains(got, `"progressToken":"p2","progress":2`) {
			t.Errorf("the progress is %s", got)
		}
		r.Close()
	})
}

// Sessions at the backend are kept for the next call of the same caller, and
// for nobody else.
func TestLeasesAreNotShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := legacyServer(func(_ context.Context, msg *wire.Message, _ contract.Sink) (string, error) {
			return okTo(msg, "{}"), nil
		})
		r := newRelay(t, f)
		for range 3 {
			modernCall(r, alice, "1", "", newPeer())
		}
		if len(f.opened) != 1 {
			t.Errorf("%d sessions for one caller", len(f.opened))
		}
		modernCall(r, person("bob"), "2", "", newPeer())
		if len(f.opened) != 2 {
			t.Errorf("%d sessions for two callers", len(f.opened))
		}
		synctest.Wait()
		time.Sleep(time.Hour)
		synctest.Wait()
		if f.closed != 2 {
			t.Errorf("%d idle sessions were closed, want 2", f.closed)
		}
		r.Close()
	})
}

// A legacy question may have no params; there are modern clients that cannot
// read one without, so it gets empty ones.
func TestParkedQuestionAlwaysHasParams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRelay(t, legacyServer(func(ctx context.Context, msg *wire.Message, sink contract.Sink) (string, error) {
			q, reply, _ := newQuestion("roots/list", "")
			sink.Question(q)
			select {
			case got := <-reply:
				return okTo(msg, got), nil
			case <-ctx.Done():
				return "", context.Cause(ctx)
			}
		}))
		m := scan(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"roots":{}}},"name":"t"}}`)
		got := scan(string(r.Call(context.Background(), "old", alice, &m, nil, newPeer()).Body))
		if want := `{"q1":{"method":"roots/list","params":{}}}`; string(got.Field(got.InputRequests)) != want {
			t.Errorf("the client is asked %s, want %s", got.Field(got.InputRequests), want)
		}
		r.Close()
	})
}
