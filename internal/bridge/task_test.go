package bridge

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/contract"
	"github.com/answerback/answerback/internal/wire"
)

// Tasks do not cross: the server is told of no client that could take one, a
// client is told of no server that has them, and what comes all the same does
// not reach it.
func TestTasksDoNotCross(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		result := `{"resultType":"complete"}`
		s := &server{serve: func(ctx context.Context, m *wire.Message, _ http.Header, sink contract.Sink) string {
			if m.Method() == "subscriptions/listen" {
				for _, raw := range []string{
					`{"jsonrpc":"2.0","method":"notifications/tasks","params":{"taskId":"x","status":"working"}}`,
					`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`,
				} {
					n := scan(raw)
					sink.Notify(&n)
				}
				<-ctx.Done()
				return ""
			}
			return reply(m, result)
		}}
		c := &client{}
		l, err := Open(Config{
			Crossing: contract.Crossing{
				Backend: "b", Far: s,
				Discovered: scan(`{"jsonrpc":"2.0","id":1,"result":{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true},"tasks":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}}}`),
				Hello:      contract.Hello{Params: []byte(`{"protocolVersion":"2025-11-25","capabilities":{"tasks":{"list":{}},"roots":{},"extensions":{"io.modelcontextprotocol/tasks":{},"v/x":{}}}}`), Events: c},
			},
			Log: slog.New(slog.DiscardHandler),
		})
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close(context.Background())
		if w := l.Welcome(); !strings.Contains(string(w.Raw), `"capabilities":{"tools":{"listChanged":true}},`) {
			t.Errorf("the client is told %s", w.Raw)
		}
		call(t, l, c, toolCall)
		if m := s.seen[0]; string(m.Field(m.MetaCapabilities)) != `{"roots":{},"extensions":{"v/x":{}}}` {
			t.Errorf("the server is told %s", m.Raw)
		}

		for _, unfit := range []string{`{"resultType":"task","taskId":"x"}`, `{"resultType":"vendor"}`} {
			result = unfit
			m := scan(toolCall)
			if r, err := l.Call(context.Background(), contract.Outgoing{Msg: &m, Name: "t"}, c); ask.CodeOf(err) != ask.BackendBroken {
				t.Errorf("%s came through: %s, %v", unfit, r.Msg.Raw, err)
			}
		}
		calls := len(s.seen)
		for _, method := range []string{"tasks/get", "tasks/list", "tasks/result", "tasks/cancel"} {
			m := scan(`{"jsonrpc":"2.0","id":7,"method":"` + method + `","params":{"taskId":"x"}}`)
			if _, err := l.Call(context.Background(), contract.Outgoing{Msg: &m}, c); ask.CodeOf(err) != ask.UnknownMethod {
				t.Errorf("%s: %v", method, err)
			}
		}
		if len(s.seen) != calls {
			t.Errorf("the server got %s", s.seen[calls].Raw)
		}

		l.Listen()
		synctest.Wait()
		if got := c.heard(); len(got) != 1 || !strings.Contains(got[0], "notifications/tools/list_changed") {
			t.Errorf("the client heard %v", got)
		}
	})
}
