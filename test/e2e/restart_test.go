package e2e

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/answerback/answerback/internal/wire"
	"github.com/answerback/answerback/test/rig"
)

// durable is the configuration of gateways that are started again.
const durable = "journal: { keep: 1h }\n"

// resumable is a real server that keeps its events, with a tool that has a
// side effect, asks for a name, and says what it heard.
func resumable(t *testing.T, runs *atomic.Int64) string {
	s := sdk.NewServer(&sdk.Implementation{Name: "resumable", Version: "1"}, nil)
	sdk.AddTool(s, &sdk.Tool{Name: "ask"}, func(ctx context.Context, req *sdk.CallToolRequest, _ struct{}) (*sdk.CallToolResult, any, error) {
		runs.Add(1)
		got, err := req.Session.Elicit(ctx, &sdk.ElicitParams{
			Message:         "Who are you?",
			RequestedSchema: map[string]any{"type": "object", "properties": map[string]any{"name": map[string]any{"type": "string"}}, "required": []string{"name"}},
		})
		if err != nil {
			return nil, nil, err
		}
		name, _ := got.Content["name"].(string)
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: got.Action + " " + name}}}, nil, nil
	})
	sdk.AddTool(s, &sdk.Tool{Name: "session"}, func(_ context.Context, req *sdk.CallToolRequest, _ struct{}) (*sdk.CallToolResult, any, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: req.Session.ID()}}}, nil, nil
	})
	handler := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, &sdk.StreamableHTTPOptions{EventStore: sdk.NewMemoryEventStore(nil)})
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server.URL
}

// crashed starts a gateway before a resumable server, and runs test at the
// endpoint of that server and at the joined one.
func crashed(t *testing.T, test func(t *testing.T, g *rig.Gateway, path, prefix string, runs *atomic.Int64)) {
	for name, door := range map[string][2]string{"solo": {"/one", ""}, "joined": {"", "one__"}} {
		t.Run(name, func(t *testing.T) {
			runs := &atomic.Int64{}
			other := rig.NewBackend(t, nil)
			g := rig.Start(t, durable+"limits: { drain: 0s }\nbackends:\n  one: { url: "+resumable(t, runs)+" }\n  two: { url: "+other.URL+" }\n")
			test(t, g, door[0], door[1], runs)
		})
	}
}

// A gateway that dies while somebody thinks is started again: the person
// answers on the page that they had open, the same call of the backend
// completes, once, and the legacy client that reconnects gets its result.
func TestLegacyCallSurvivesACrash(t *testing.T) {
	t.Parallel()
	crashed(t, func(t *testing.T, g *rig.Gateway, path, prefix string, runs *atomic.Int64) {
		c := rig.Dial(t, g.URL+path, rig.AllCaps)
		s := c.Tool(prefix+"ask", "{}")
		q := s.Next()
		id, _ := wire.Unquote(q.Field(q.ID))
		person := rig.SignIn(t, g)
		if status, _ := person.Do("GET", "/asks/"+id, nil); status != 200 {
			t.Fatalf("the page: %d", status)
		}
		last := s.LastID
		g.Kill(t)

		g = g.Again(t)
		c.URL = g.URL + path
		person = rig.SignIn(t, g)
		if _, inbox := person.Do("GET", "/", nil); !strings.Contains(inbox, id) {
			t.Errorf("the inbox after the restart lacks the question: %s", inbox)
		}
		s = c.Listen(last)
		if status, body := person.Answer("/asks/"+id, url.Values{"action": {"accept"}, "f0": {"Ann"}}); status != 200 || !strings.Contains(body, "on its way back") {
			t.Fatalf("the answer: %d %s", status, body)
		}
		m := s.Final()
		if !strings.Contains(string(m.Field(m.Result)), "accept Ann") {
			t.Errorf("the result: %s", m.Raw)
		}
		if runs.Load() != 1 {
			t.Errorf("the tool ran %d times", runs.Load())
		}
		// The session goes on as if nothing had been.
		s = c.Tool(prefix+"ask", "{}")
		c.Answer(s.Next(), `{"action":"decline"}`)
		if m := s.Final(); !strings.Contains(string(m.Field(m.Result)), "decline") {
			t.Errorf("the next call of the session: %s", m.Raw)
		}
	})
}

// A gateway that is restarted in good order loses as little: neither the
// backend nor the client is told of an end that is none.
func TestCallsSurviveARestart(t *testing.T) {
	t.Parallel()
	crashed(t, func(t *testing.T, g *rig.Gateway, path, prefix string, runs *atomic.Int64) {
		legacy, modern := rig.Dial(t, g.URL+path, rig.AllCaps), rig.NewClient(t, g.URL+path)
		s := legacy.Tool(prefix+"ask", "{}")
		q := s.Next()
		id, _ := wire.Unquote(q.Field(q.ID))
		if status, _ := rig.SignIn(t, g).Do("GET", "/asks/"+id, nil); status != 200 {
			t.Fatalf("the page: %d", status)
		}
		call := func(id, rest string) wire.Message {
			return modern.Modern(id, "tools/call", `{"name":"`+prefix+`ask","arguments":{}`+rest+`}`, `{"elicitation":{"form":{}}}`).Final()
		}
		away := call("1", "")
		if err := g.Stop(); err != nil {
			t.Fatal(err)
		}
		s.Ended()
		last := s.LastID
		g = g.Again(t)
		legacy.URL, modern.URL = g.URL+path, g.URL+path
		s = legacy.Listen(last)
		legacy.Answer(q, `{"action":"accept","content":{"name":"Eve"}}`)
		if m := s.Final(); !strings.Contains(string(m.Field(m.Result)), "accept Eve") {
			t.Errorf("the legacy client: %s", m.Raw)
		}
		m := call("2", `,"inputResponses":{"q1":{"action":"accept","content":{"name":"Fay"}}},"requestState":`+string(away.Field(away.ResultState)))
		if !strings.Contains(string(m.Field(m.Result)), "accept Fay") {
			t.Errorf("the modern client: %s", m.Raw)
		}
		if runs.Load() != 2 {
			t.Errorf("the tool ran %d times for two calls", runs.Load())
		}
	})
}

// The client's own answer is taken after the restart as well.
func TestLegacyClientAnswersAfterACrash(t *testing.T) {
	t.Parallel()
	crashed(t, func(t *testing.T, g *rig.Gateway, path, prefix string, runs *atomic.Int64) {
		c := rig.Dial(t, g.URL+path, rig.AllCaps)
		s := c.Tool(prefix+"ask", "{}")
		q := s.Next()
		id, _ := wire.Unquote(q.Field(q.ID))
		if status, _ := rig.SignIn(t, g).Do("GET", "/asks/"+id, nil); status != 200 {
			t.Fatalf("the page: %d", status)
		}
		last := s.LastID
		g.Kill(t)
		g = g.Again(t)
		c.URL = g.URL + path
		s = c.Listen(last)
		c.Answer(q, `{"action":"accept","content":{"name":"Ben"}}`)
		if m := s.Final(); !strings.Contains(string(m.Field(m.Result)), "accept Ben") || runs.Load() != 1 {
			t.Errorf("the result after %d runs: %s", runs.Load(), m.Raw)
		}
	})
}

// A modern client that was sent away with a question comes back to a gateway
// that was restarted in between.
func TestModernCallSurvivesACrash(t *testing.T) {
	t.Parallel()
	crashed(t, func(t *testing.T, g *rig.Gateway, path, prefix string, runs *atomic.Int64) {
		c := rig.NewClient(t, g.URL+path)
		call := func(id, rest string) wire.Message {
			return c.Modern(id, "tools/call", `{"name":"`+prefix+`ask","arguments":{}`+rest+`}`, `{"elicitation":{"form":{}}}`).Final()
		}
		m := call("1", "")
		equal(t, "the type", m.Text(m.ResultType), "input_required")
		g.Kill(t)
		g = g.Again(t)
		c.URL = g.URL + path
		m = call("2", `,"inputResponses":{"q1":{"action":"accept","content":{"name":"Cleo"}}},"requestState":`+string(m.Field(m.ResultState)))
		if !strings.Contains(string(m.Field(m.Result)), "accept Cleo") || runs.Load() != 1 {
			t.Errorf("the result after %d runs: %s", runs.Load(), m.Raw)
		}
	})
}

// A call that became a task is polled across a crash.
func TestTaskSurvivesACrash(t *testing.T) {
	t.Parallel()
	for name, door := range map[string][2]string{"solo": {"/one", ""}, "joined": {"", "one__"}} {
		t.Run(name, func(t *testing.T) {
			runs := &atomic.Int64{}
			other := rig.NewBackend(t, nil)
			g := rig.Start(t, durable+"backends:\n  one: { url: "+resumable(t, runs)+", task_when_asked: true }\n  two: { url: "+other.URL+" }\n")
			c := rig.NewClient(t, g.URL+door[0])
			caps := `{"elicitation":{"form":{}},"extensions":{"io.modelcontextprotocol/tasks":{}}}`
			m := c.Modern("1", "tools/call", `{"name":"`+door[1]+`ask","arguments":{}}`, caps).Final()
			equal(t, "the type", m.Text(m.ResultType), "task")
			id := member(m, m.Result, "taskId")
			about := func(method, rest string) wire.Message {
				return c.Modern("2", method, `{"taskId":`+id+rest+`}`, caps).Final()
			}
			g.Kill(t)
			g = g.Again(t)
			c.URL = g.URL + door[0]
			m = about("tasks/get", "")
			equal(t, "the status", member(m, m.Result, "status"), `"input_required"`)
			about("tasks/update", `,"inputResponses":{"q1":{"action":"accept","content":{"name":"Dan"}}}`)
			rig.Eventually(t, func() bool {
				m = about("tasks/get", "")
				return member(m, m.Result, "status") == `"completed"`
			}, "the task is not completed")
			if got := member(m, m.Result, "result"); !strings.Contains(got, "accept Dan") || runs.Load() != 1 {
				t.Errorf("the result after %d runs: %s", runs.Load(), got)
			}
			g.Kill(t)
			g = g.Again(t)
			c.URL = g.URL + door[0]
			if m = about("tasks/get", ""); !strings.Contains(member(m, m.Result, "result"), "accept Dan") {
				t.Errorf("the result after another crash: %s", m.Raw)
			}
		})
	}
}

// A program that the gateway started dies with it: its question is abandoned,
// and everybody is told.
func TestQuestionOverStdioIsLostWithItsBackend(t *testing.T) {
	t.Parallel()
	g := rig.Start(t, durable+"backends:\n  one: { command: "+rig.StdioPeer(t)+" }\n")
	c := rig.Dial(t, g.URL+"/one", rig.AllCaps)
	s := c.Tool("ask", `{"method":"elicitation/create","params":`+nameForm+`}`)
	q := s.Next()
	id, _ := wire.Unquote(q.Field(q.ID))
	if status, body := rig.SignIn(t, g).Do("GET", "/asks/"+id, nil); status != 200 {
		t.Fatalf("the page: %d %s", status, body)
	}
	last := s.LastID
	g.Kill(t)
	g = g.Again(t)
	c.URL = g.URL + "/one"
	m := c.Listen(last).Final()
	wantError(t, "what the client hears", m, "-32000", "backend_lost")
	person := rig.SignIn(t, g)
	rig.Eventually(t, func() bool {
		status, body := person.Do("GET", "/asks/"+id, nil)
		return status == 410 && strings.Contains(body, "could not be taken up again")
	}, "the page does not say that the question is lost")
	m = c.Tool("echo", "{}").Final()
	wantError(t, "the next call", m, "-32000", "backend_lost")
	if s := c.Tool("echo", "{}"); s.Status != 404 {
		t.Errorf("the session is still there: %d", s.Status)
	}
}

// The same for a modern client that was sent away.
func TestModernCallOverStdioIsLostWithItsBackend(t *testing.T) {
	t.Parallel()
	g := rig.Start(t, durable+"backends:\n  one: { command: "+rig.StdioPeer(t)+" }\n")
	c := rig.NewClient(t, g.URL+"/one")
	call := func(id, rest string) wire.Message {
		return c.Modern(id, "tools/call", `{"name":"ask","arguments":{"method":"elicitation/create","params":`+nameForm+`}`+rest+`}`, `{"elicitation":{"form":{}}}`).Final()
	}
	m := call("1", "")
	equal(t, "the type", m.Text(m.ResultType), "input_required")
	g.Kill(t)
	g = g.Again(t)
	c.URL = g.URL + "/one"
	m = call("2", `,"inputResponses":{"q1":{"action":"accept","content":{"name":"Cleo"}}},"requestState":`+string(m.Field(m.ResultState)))
	wantError(t, "the retry", m, "-32603", "backend_lost")
}
