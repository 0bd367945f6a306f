package e2e

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/answerback/answerback/test/rig"
)

// numbered is a server that keeps its events, whose tool asks a question that
// names its argument.
func numbered(t *testing.T, runs *atomic.Int64) string {
	s := sdk.NewServer(&sdk.Implementation{Name: "numbered", Version: "1"}, nil)
	sdk.AddTool(s, &sdk.Tool{Name: "ask"}, func(ctx context.Context, req *sdk.CallToolRequest, in struct{ N int }) (*sdk.CallToolResult, any, error) {
		runs.Add(1)
		got, err := req.Session.Elicit(ctx, &sdk.ElicitParams{
			Message:         fmt.Sprintf("Question %d", in.N),
			RequestedSchema: map[string]any{"type": "object", "properties": map[string]any{"name": map[string]any{"type": "string"}}, "required": []string{"name"}},
		})
		if err != nil {
			return nil, nil, err
		}
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: fmt.Sprintf("%d %s %v", in.N, got.Action, got.Content["name"])}}}, nil, nil
	})
	server := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, &sdk.StreamableHTTPOptions{EventStore: sdk.NewMemoryEventStore(nil)}))
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return server.URL
}

// Three calls of one client that can show nothing wait at one session of their
// server when the gateway dies. After it each is answered in turn: the end of
// one must not end the session of the others.
func TestToldCallsOfASessionSurviveACrash(t *testing.T) {
	t.Parallel()
	runs := &atomic.Int64{}
	g := rig.Start(t, durable+"limits: { drain: 0s }\nbackends:\n  one: { url: "+numbered(t, runs)+" }\n")
	c := rig.Dial(t, g.URL+"/one", `{}`)
	pages := make([]string, 3)
	for n := range pages {
		if pages[n] = told(c.Tool("ask", fmt.Sprintf(`{"N":%d}`, n)).Final()); pages[n] == "" {
			t.Fatal("the client was not told to call again")
		}
	}
	g.Kill(t)
	g = g.Again(t)
	person := rig.SignIn(t, g)
	c = rig.Dial(t, g.URL+"/one", `{}`)
	for n, page := range pages {
		if status, body := person.Answer(page, url.Values{"action": {"accept"}, "f0": {fmt.Sprint("Ann", n)}}); status != http.StatusOK || !strings.Contains(body, "on its way back") {
			t.Fatalf("the answer to question %d: %d %s", n, status, body)
		}
		want := fmt.Sprintf("%d accept Ann%d", n, n)
		rig.Eventually(t, func() bool {
			return strings.Contains(string(c.Tool("ask", fmt.Sprintf(`{"N":%d}`, n)).Final().Raw), want)
		}, "the repeated call does not get "+want)
	}
	if runs.Load() != 3 {
		t.Errorf("the tool ran %d times for three calls", runs.Load())
	}
}
