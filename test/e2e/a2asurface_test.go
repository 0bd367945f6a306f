package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/answerback/answerback/test/rig"
)

// agentClient is an A2A client of the gateway, of one binding.
type agentClient struct {
	*a2aclient.Client
	t    *testing.T
	auth string
}

var bindings = []a2a.TransportProtocol{a2a.TransportProtocolJSONRPC, a2a.TransportProtocolHTTPJSON}

func newAgentClient(t *testing.T, g *rig.Gateway, path string, binding a2a.TransportProtocol, auth string) *agentClient {
	t.Helper()
	conns := &http.Client{Transport: &http.Transport{}}
	t.Cleanup(conns.CloseIdleConnections)
	at := a2a.NewAgentInterface(strings.TrimSuffix(g.URL, "/mcp")+path, binding)
	c, err := a2aclient.NewFromEndpoints(context.Background(), []*a2a.AgentInterface{at}, a2aclient.WithJSONRPCTransport(conns), a2aclient.WithRESTTransport(conns))
	if err != nil {
		t.Fatal(err)
	}
	return &agentClient{c, t, auth}
}

func (c *agentClient) ctx() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), rig.Patience)
	c.t.Cleanup(cancel)
	if c.auth == "" {
		return ctx
	}
	return a2aclient.AttachServiceParams(ctx, a2aclient.ServiceParams{"Authorization": {"Bearer " + c.auth}})
}

func agentMessage(to *a2a.Task, part *a2a.Part) *a2a.SendMessageRequest {
	m := a2a.NewMessage(a2a.MessageRoleUser, part)
	if to != nil {
		m.TaskID, m.ContextID = to.ID, to.ContextID
	}
	return &a2a.SendMessageRequest{Message: m}
}

func (c *agentClient) say(to *a2a.Task, part *a2a.Part) *a2a.Task {
	c.t.Helper()
	r, err := c.SendMessage(c.ctx(), agentMessage(to, part))
	if err != nil {
		c.t.Fatal(err)
	}
	return r.(*a2a.Task)
}

func (c *agentClient) call(tool string) *a2a.Task {
	c.t.Helper()
	return c.say(nil, a2a.NewDataPart(map[string]any{"tool": tool}))
}

// until follows a task to its end.
func (c *agentClient) until(id a2a.TaskID, state a2a.TaskState) *a2a.Task {
	c.t.Helper()
	var last *a2a.Task
	rig.Eventually(c.t, func() bool {
		var err error
		if last, err = c.GetTask(c.ctx(), &a2a.GetTaskRequest{ID: id}); err != nil {
			c.t.Fatal(err)
		}
		return last.Status.State == state || last.Status.State.Terminal()
	}, "the task does not become "+string(state))
	return c.want(last, state)
}

// want checks the state of a task, and what its words and results say.
func (c *agentClient) want(task *a2a.Task, state a2a.TaskState, words ...string) *a2a.Task {
	c.t.Helper()
	raw, err := json.Marshal(task)
	if err != nil {
		c.t.Fatal(err)
	}
	if task.Status.State != state {
		c.t.Fatalf("the task is not %s: %s", state, raw)
	}
	for _, w := range words {
		quoted, _ := json.Marshal(w)
		if !strings.Contains(string(raw), strings.Trim(string(quoted), `"`)) {
			c.t.Errorf("the task lacks %q: %s", w, raw)
		}
	}
	return task
}

// modernAsker is a real server of the modern era, whose tools ask and say what
// they heard.
func modernAsker(t *testing.T, runs *atomic.Int64) string {
	s := sdk.NewServer(&sdk.Implementation{Name: "modern", Version: "1"}, nil)
	asks := func(name string, q *sdk.ElicitParams) {
		sdk.AddTool(s, &sdk.Tool{Name: name}, func(_ context.Context, req *sdk.CallToolRequest, _ struct{}) (*sdk.CallToolResult, any, error) {
			reply, ok := req.Params.InputResponses["k"]
			if !ok {
				return &sdk.CallToolResult{InputRequests: sdk.InputRequestMap{"k": q}, RequestState: "state-" + name}, nil, nil
			}
			runs.Add(1)
			raw, err := json.Marshal(reply)
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: req.Params.RequestState + " " + string(raw)}}}, nil, err
		})
	}
	asks("ask", &sdk.ElicitParams{Mode: "form", Message: "Who are you?", RequestedSchema: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}`)})
	asks("visit", &sdk.ElicitParams{Mode: "url", Message: "Open", URL: "https://example.com/a?b=1"})
	handler := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, &sdk.StreamableHTTPOptions{Stateless: true})
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server.URL
}

const agentOn = "a2a: { enabled: true }\n"

// TestA2AAsks: an A2A client is asked what servers of both eras want to know,
// and its answers reach them: a form, filled in, declined, put off, and first
// filled in wrongly; an address. The tool runs once for each (C3).
func TestA2AAsks(t *testing.T) {
	t.Parallel()
	var old, fresh atomic.Int64
	g := rig.Start(t, agentOn+"backends:\n  old: { url: "+resumable(t, &old)+" }\n  new: { url: "+modernAsker(t, &fresh)+" }\n")
	for _, binding := range bindings {
		for _, c := range []struct{ name, path, prefix string }{
			{"legacy", "/a2a/old", ""}, {"modern", "/a2a/new", ""}, {"legacy joined", "/a2a", "old__"}, {"modern joined", "/a2a", "new__"},
		} {
			t.Run(string(binding)+" "+c.name, func(t *testing.T) {
				old.Store(0)
				fresh.Store(0)
				a := newAgentClient(t, g, c.path, binding, "")
				task := a.want(a.call(c.prefix+"ask"), a2a.TaskStateInputRequired, "Who are you?", "requestedSchema")
				a.want(a.say(task, a2a.NewDataPart(map[string]any{"name": 7})), a2a.TaskStateInputRequired, "does not fit", "errors")
				a.want(a.say(task, a2a.NewTextPart("Ann")), a2a.TaskStateCompleted, "accept", "Ann")
				task = a.call(c.prefix + "ask")
				a.want(a.say(task, a2a.NewDataPart(map[string]any{"action": "decline"})), a2a.TaskStateCompleted, "decline")
				task = a.call(c.prefix + "ask")
				a.want(a.say(task, a2a.NewDataPart(map[string]any{"action": "cancel"})), a2a.TaskStateCompleted, "cancel")
				if n := old.Load() + fresh.Load(); n != 3 {
					t.Errorf("the tool ran %d times", n)
				}
				if strings.HasPrefix(c.name, "modern") {
					task = a.want(a.call(c.prefix+"visit"), a2a.TaskStateAuthRequired, "https://example.com/a?b=1")
					a.want(a.say(task, a2a.NewDataPart(map[string]any{"action": "accept"})), a2a.TaskStateCompleted, "state-visit", "accept")
				}
			})
		}
	}
	a := newAgentClient(t, g, "/a2a", bindings[0], "")
	a.want(a.say(nil, a2a.NewTextPart("hello")), a2a.TaskStateInputRequired, "Which tool", "old__ask", "new__visit")
}

// TestA2AGoesOnByItself: a task goes on when its person has answered elsewhere:
// a form in their list, and one that asks for a secret on its page, whose
// address is all that the agent's client learns. Nobody answered for them.
func TestA2AGoesOnByItself(t *testing.T) {
	t.Parallel()
	var runs atomic.Int64
	secrets := formAsker(t, passwordForm)
	secrets.LegacyOnly = true
	g := rig.Start(t, durable+agentOn+"backends:\n  one: { url: "+resumable(t, &runs)+" }\n  two: { url: "+secrets.URL+" }\n")
	person := rig.SignIn(t, g)
	a := newAgentClient(t, g, "/a2a/one", bindings[0], "")
	task := a.want(a.call("ask"), a2a.TaskStateInputRequired)
	_, inbox := person.Do("GET", "/", nil)
	page := askPath.FindString(inbox)
	if status, body := person.Answer(page, url.Values{"action": {"accept"}, "f0": {"Ann"}}); status != 200 {
		t.Fatalf("the answer: %d %s", status, body)
	}
	a.want(a.until(task.ID, a2a.TaskStateCompleted), a2a.TaskStateCompleted, "accept Ann")

	a = newAgentClient(t, g, "/a2a/two", bindings[1], "")
	task = a.want(a.call("ask"), a2a.TaskStateAuthRequired, "/asks/")
	raw, _ := json.Marshal(task)
	if strings.Contains(string(raw), "requestedSchema") {
		t.Errorf("the agent's client was shown the form: %s", raw)
	}
	page = askPath.FindString(string(raw))
	if status, body := person.Answer(page, url.Values{"action": {"accept"}, "f0": {"ann"}, "f1": {"42"}, "f2": {typedPassword}}); status != 200 {
		t.Fatalf("the answer: %d %s", status, body)
	}
	a.until(task.ID, a2a.TaskStateCompleted)

	task = a.call("ask")
	if got, err := a.CancelTask(a.ctx(), &a2a.CancelTaskRequest{ID: task.ID}); err != nil || got.Status.State != a2a.TaskStateCanceled {
		t.Errorf("the cancel: %v %v", got, err)
	}
	g.WaitLog(t, "code=client_cancelled")
}

// TestA2ASurvivesAKill: a task that waits when the gateway is killed is answered
// after it was started again, and completes, with one run of its tool; one that
// was being worked on has failed, and says that nobody knows.
func TestA2ASurvivesAKill(t *testing.T) {
	t.Parallel()
	var old, fresh atomic.Int64
	blocks := rig.NewBackend(t, map[string]rig.Script{"tools/call block": func(c *rig.Call) { <-c.Context.Done() }})
	g := rig.Start(t, durable+agentOn+"backends:\n  old: { url: "+resumable(t, &old)+" }\n  new: { url: "+modernAsker(t, &fresh)+" }\n  block: { url: "+blocks.URL+" }\n")
	client := func(path string) *agentClient { return newAgentClient(t, g, path, bindings[0], "") }
	legacy, modern := client("/a2a/old").call("ask"), client("/a2a/new").call("ask")
	m := agentMessage(nil, a2a.NewDataPart(map[string]any{"tool": "block"}))
	m.Config = &a2a.SendMessageConfig{ReturnImmediately: true}
	a := client("/a2a/block")
	r, err := a.SendMessage(a.ctx(), m)
	if err != nil {
		t.Fatal(err)
	}
	blocks.Await("tools/call")
	g.Kill(t)
	g = g.Again(t)
	client("/a2a/block").want(client("/a2a/block").until(r.(*a2a.Task).ID, a2a.TaskStateFailed), a2a.TaskStateFailed, "not known whether")
	for path, task := range map[string]*a2a.Task{"/a2a/old": legacy, "/a2a/new": modern} {
		a := client(path)
		a.until(task.ID, a2a.TaskStateInputRequired)
		a.want(a.say(task, a2a.NewTextPart("Eve")), a2a.TaskStateCompleted, "accept", "Eve")
	}
	if old.Load() != 1 || fresh.Load() != 1 {
		t.Errorf("the tools ran %d and %d times", old.Load(), fresh.Load())
	}

	// In good order nothing is lost either.
	legacy = client("/a2a/old").call("ask")
	if err := g.Stop(); err != nil {
		t.Fatal(err)
	}
	g = g.Again(t)
	client("/a2a/old").want(client("/a2a/old").say(legacy, a2a.NewTextPart("Fay")), a2a.TaskStateCompleted, "accept Fay")
	if old.Load() != 2 {
		t.Errorf("the tool ran %d times for two calls", old.Load())
	}
}

// TestA2AWho: callers authenticate as they do for MCP, and are told how to;
// strangers see a card without skills, and another's task is not there.
func TestA2AWho(t *testing.T) {
	t.Parallel()
	var runs atomic.Int64
	g := guard(t, agentOn, "  one: { url: "+resumable(t, &runs)+" }\n")
	ann := newAgentClient(t, g.Gateway, "/a2a/one", bindings[0], g.token("ann"))
	task := ann.want(ann.call("ask"), a2a.TaskStateInputRequired)
	bob := newAgentClient(t, g.Gateway, "/a2a/one", bindings[0], g.token("bob"))
	if _, err := bob.SendMessage(bob.ctx(), agentMessage(task, a2a.NewTextPart("Bob"))); !errors.Is(err, a2a.ErrTaskNotFound) {
		t.Errorf("somebody else's answer: %v", err)
	}
	if _, err := bob.GetTask(bob.ctx(), &a2a.GetTaskRequest{ID: task.ID}); !errors.Is(err, a2a.ErrTaskNotFound) {
		t.Errorf("somebody else's look: %v", err)
	}
	ann.want(ann.say(task, a2a.NewTextPart("Ann")), a2a.TaskStateCompleted, "accept Ann")

	fetch := func(path, token string) (*http.Response, *a2a.AgentCard) {
		req, _ := http.NewRequestWithContext(ann.ctx(), "GET", g.base+path, nil)
		if token != "" {
			req.Header.Set("Authorization", "Bearer "+token)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		card := &a2a.AgentCard{}
		_ = json.NewDecoder(resp.Body).Decode(card)
		return resp, card
	}
	for _, path := range []string{"/.well-known/agent-card.json", "/a2a/one/.well-known/agent-card.json"} {
		if resp, card := fetch(path, ""); resp.StatusCode != 200 || len(card.Skills) != 0 || len(card.SecuritySchemes) == 0 {
			t.Errorf("%s for a stranger: %d %+v", path, resp.StatusCode, card)
		}
		if resp, card := fetch(path, g.token("ann")); resp.StatusCode != 200 || len(card.Skills) == 0 {
			t.Errorf("%s for ann: %d %+v", path, resp.StatusCode, card)
		}
	}
	if resp, _ := fetch("/a2a/one/tasks", ""); resp.StatusCode != 401 || !strings.Contains(resp.Header.Get("WWW-Authenticate"), "resource_metadata") {
		t.Errorf("a stranger's list: %d %v", resp.StatusCode, resp.Header)
	}
	off := rig.Start(t, "backends:\n  one: { url: "+resumable(t, &runs)+" }\n")
	stranger := newAgentClient(t, off, "/a2a/one", bindings[0], "")
	if _, err := stranger.SendMessage(stranger.ctx(), agentMessage(nil, a2a.NewTextPart("x"))); err == nil {
		t.Error("an agent is served that nobody switched on")
	}
}

// TestA2AWaitsWhileItsPersonConnects: a task whose person has no account at the
// server is auth-required with the address of the page. When they have connected
// one there it goes on by itself, and the tool has run once.
func TestA2AWaitsWhileItsPersonConnects(t *testing.T) {
	t.Parallel()
	for _, side := range []string{"legacy", "modern"} {
		t.Run(side, func(t *testing.T) {
			b := newAsker(t)
			b.LegacyOnly, b.ModernOnly = side == "legacy", side == "modern"
			g := guard(t, agentOn, "  one: { url: "+keyed(t, b, "anns-key")+", grant: { kind: key } }\n")
			browser := g.signIn("ann")
			ann := newAgentClient(t, g.Gateway, "/a2a/one", bindings[0], g.token("ann"))
			task := ann.want(ann.call("echo"), a2a.TaskStateAuthRequired, "connect your account with one")
			raw, _ := json.Marshal(task)
			if r := browser.enter(g.base+askPath.FindString(string(raw)), "anns-key"); r.status != http.StatusOK {
				t.Fatalf("the key: %d %s", r.status, r.body)
			}
			ann.until(task.ID, a2a.TaskStateCompleted)
			if n := b.Count("tools/call"); n != 1 {
				t.Errorf("the tool ran %d times", n)
			}
		})
	}
}
