package relay

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/contract"
	"github.com/answerback/answerback/internal/wire"
)

// A bare HTTP refusal of a method that MCP does not define means that the
// backend does not know it; of one that it defines, that the backend failed.
func TestRefusalOfAMethodThatNobodyDefines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		status := 400
		r := newRelay(t, legacyServer(func(context.Context, *wire.Message, contract.Sink) (string, error) {
			return "", &ask.Error{Code: ask.BackendBroken, Message: "no", Data: map[string]any{"status": status}}
		}))
		do := func(method string) contract.Response {
			m := scan(`{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`)
			return r.Call(context.Background(), "old", alice, &m, nil, newPeer())
		}
		for _, tt := range []struct {
			method, code string
			status, want int
		}{
			{"vendor/thing", "-32601", 400, 404},
			{"vendor/thing", "-32601", 404, 404},
			{"vendor/thing", "-32603", 413, 200},
			{"tools/call", "-32603", 400, 200},
			{"resources/templates/list", "-32603", 400, 200},
		} {
			status = tt.status
			resp := do(tt.method)
			if m := scan(string(resp.Body)); string(m.Field(m.ErrorCode)) != tt.code || resp.Status != tt.want {
				t.Errorf("%s after %d: HTTP %d %s", tt.method, tt.status, resp.Status, m.Raw)
			}
		}
		r.Close()
	})
}

// While a call is under way its session is nobody else's: a second call of
// the same caller gets one of its own.
func TestLeasesAreExclusive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		runs := 0
		f := legacyServer(asksFor(1, &runs))
		r := newRelay(t, f)
		modernCall(r, alice, "1", "", newPeer())
		modernCall(r, alice, "2", "", newPeer())
		if len(f.opened) != 2 || runs != 2 {
			t.Errorf("%d sessions for %d calls under way", len(f.opened), runs)
		}
		r.Close()
	})
}

// A session at a backend is opened with the capabilities of its caller: other
// capabilities are another session, and so is another client session.
func TestSessionsHaveOneKindOfCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := legacyServer(func(_ context.Context, msg *wire.Message, _ contract.Sink) (string, error) {
			return okTo(msg, "{}"), nil
		})
		r := newRelay(t, f)
		for _, caps := range []string{`{"sampling":{}}`, `{"elicitation":{}}`, `{"sampling":{ }}`} {
			m := scan(`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":` + caps + `}}}`)
			r.Call(context.Background(), "old", alice, &m, nil, newPeer())
		}
		if len(f.opened) != 2 || !strings.Contains(string(f.opened[0].Params), `"capabilities":{"sampling":{}}`) || !strings.Contains(string(f.opened[1].Params), `"capabilities":{"elicitation":{}}`) {
			t.Errorf("the sessions are %v", f.opened)
		}
		openSession(t, r, newPeer())
		openSession(t, r, newPeer())
		if len(f.opened) != 4 {
			t.Errorf("%d sessions, want one more for each of two client sessions", len(f.opened))
		}
		r.Close()
	})
}

// Calls that outlive their requests are bounded for each principal.
func TestParkedCallsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		runs := 0
		r := newRelay(t, legacyServer(asksFor(1, &runs)))
		for range r.limits.Parked {
			modernCall(r, alice, "1", "", newPeer())
		}
		if m, _ := modernCall(r, alice, "2", "", newPeer()); !strings.Contains(string(m.Raw), "too_many_open") {
			t.Errorf("one call too many: %s", m.Raw)
		}
		if m, _ := modernCall(r, person("bob"), "3", "", newPeer()); m.Text(m.ResultType) != "input_required" {
			t.Errorf("another principal's call: %s", m.Raw)
		}
		time.Sleep(r.limits.Away + time.Second)
		synctest.Wait()
		if m, _ := modernCall(r, alice, "4", "", newPeer()); m.Text(m.ResultType) != "input_required" {
			t.Errorf("after the others were released: %s", m.Raw)
		}
		r.Close()
	})
}

// A legacy result gets what the modern era demands of one, and an error the
// number that it has there.
func TestRepliesAreModernised(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		body := ""
		r := newRelay(t, legacyServer(func(_ context.Context, msg *wire.Message, _ contract.Sink) (string, error) {
			return `{"jsonrpc":"2.0","id":` + string(msg.Field(msg.ID)) + `,` + body + `}`, nil
		}))
		for _, tt := range []struct{ method, body, want string }{
			{"tools/call", `"result":{"content":[],"n":1.10}`, `"result":{"resultType":"complete","content":[],"n":1.10}`},
			{"tools/list", `"result":{"tools":[]}`, `"result":{"resultType":"complete","ttlMs":0,"cacheScope":"private","tools":[]}`},
			{"resources/read", `"result":{"contents":[]}`, `"result":{"resultType":"complete","ttlMs":0,"cacheScope":"private","contents":[]}`},
			{"resources/read", `"error":{"code":-32002,"message":"none","data":1.10}`, `"error":{"code":-32602,"message":"none","data":1.10}`},
		} {
			body = tt.body
			m := scan(`{"jsonrpc":"2.0","id":1,"method":"` + tt.method + `","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}},"name":"t","uri":"x://r"}}`)
			got := string(r.Call(context.Background(), "old", alice, &m, nil, newPeer()).Body)
			if want := `{"jsonrpc":"2.0","id":1,` + tt.want + `}`; got != want {
				t.Errorf("%s:\n got %s\nwant %s", tt.method, got, want)
			}
		}
		r.Close()
	})
}

// A client that cancels a call is owed nothing, though the end of its
// question makes the backend answer before the cancel reaches it.
func TestCancelledCallIsOwedNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeServer{name: "f", serve: func(_ context.Context, msg *wire.Message, sink contract.Sink) (string, error) {
			q, replies, _ := newQuestion("elicitation/create", anyForm)
			sink.Question(q)
			return okTo(msg, `{"reply":`+<-replies+`}`), nil
		}}
		peer := newPeer()
		s := openSession(t, newRelay(t, f), peer)
		go func() {
			<-peer.shown
			m := scan(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
			s.Notify(context.Background(), &m)
		}()
		msg := scan(toolCall)
		if resp := s.Call(context.Background(), &msg, peer); resp.Body != nil {
			t.Errorf("the client got %s", resp.Body)
		}
	})
}

// At the limit of a client that is away, the backend is told of the end of
// its question while the call still lives.
func TestQuestionEndsBeforeItsCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		alive := make(chan bool, 1)
		r := newRelay(t, legacyServer(func(ctx context.Context, _ *wire.Message, sink contract.Sink) (string, error) {
			gone, leave := context.WithCancel(context.Background())
			defer leave()
			sink.Question(&contract.Question{Method: "elicitation/create", Params: []byte(anyForm), Gone: gone,
				Reply: func(context.Context, []byte, []byte) error {
					alive <- ctx.Err() == nil
					return nil
				}})
			<-ctx.Done()
			return "", context.Cause(ctx)
		}))
		modernCall(r, alice, "1", "", newPeer())
		if !<-alive {
			t.Error("the call was cancelled before its question ended")
		}
		r.Close()
	})
}
