//go:build crash

package crash

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// asked is the argument of the backend's tool: the number of its question.
type asked struct {
	N int `json:"n"`
}

// newBackend runs a real server that keeps its events, so that a call can be
// taken up after a crash of the gateway. Its tool asks question n; every
// answer that arrives is put in the ledger, as it stands on the wire.
func newBackend(t testing.TB, l *ledger) string {
	life, end := context.WithCancel(context.Background()) // calls whose gateway died wait for ever
	s := sdk.NewServer(&sdk.Implementation{Name: "resumable", Version: "1"}, nil)
	sdk.AddTool(s, &sdk.Tool{Name: "plain"}, func(context.Context, *sdk.CallToolRequest, asked) (*sdk.CallToolResult, any, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "done"}}}, nil, nil
	})
	sdk.AddTool(s, &sdk.Tool{Name: "ask"}, func(ctx context.Context, req *sdk.CallToolRequest, in asked) (*sdk.CallToolResult, any, error) {
		l.note(in.N, func(q *question) { q.runs++ })
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(life, cancel)()
		got, err := req.Session.Elicit(ctx, &sdk.ElicitParams{
			Message:         fmt.Sprintf("Question %d", in.N),
			RequestedSchema: map[string]any{"type": "object", "properties": map[string]any{"value": map[string]any{"type": "string"}}, "required": []string{"value"}},
		})
		if err != nil {
			return nil, nil, err
		}
		value, _ := got.Content["value"].(string)
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: got.Action + " " + value}}}, nil, nil
	})
	handler := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, &sdk.StreamableHTTPOptions{EventStore: sdk.NewMemoryEventStore(nil)})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				return
			}
			hear(l, body)
			r.Body = io.NopCloser(bytes.NewReader(body))
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		end()
		server.CloseClientConnections()
		server.Close()
	})
	return server.URL
}

// answerValue is how the answers of these tests look: the question's number,
// and what tells them apart.
var answerValue = regexp.MustCompile(`^(\d+):`)

// hear puts an answer in the ledger.
func hear(l *ledger, body []byte) {
	var m struct {
		Method string
		Result struct {
			Content struct{ Value string }
		}
	}
	if json.Unmarshal(body, &m) != nil || m.Method != "" {
		return
	}
	value := m.Result.Content.Value
	if of := answerValue.FindStringSubmatch(value); of != nil {
		n, _ := strconv.Atoi(of[1])
		l.note(n, func(q *question) { q.heard = append(q.heard, value) })
	}
}
