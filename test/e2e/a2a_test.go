package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/answerback/answerback/internal/wire"
	"github.com/answerback/answerback/test/peer"
	"github.com/answerback/answerback/test/rig"
)

// loginPage is where the agent sends people.
const loginPage = "https://login.example.com/agent"

// newAgent is an agent that asks: for a size by a form, then for a colour in
// words; and that wants somebody to sign in, until finished is closed.
func newAgent(t *testing.T, finished <-chan struct{}) *rig.Agent {
	t.Helper()
	size := map[string]any{"type": "object", "required": []any{"size"}, "properties": map[string]any{
		"size": map[string]any{"type": "string", "title": "Size", "enum": []any{"S", "M"}},
	}}
	return rig.NewAgent(t, rig.AgentKind{Streaming: true}, map[string]rig.AgentScript{
		"order": func(tn *rig.Turn) {
			switch {
			case tn.N == 1:
				tn.Is(a2a.TaskStateWorking, a2a.NewTextPart("Looking"))
				tn.Is(a2a.TaskStateInputRequired, a2a.NewTextPart("Which size?"), a2a.NewDataPart(map[string]any{"requestedSchema": size}))
			case strings.Contains(tn.Data(), "decline"):
				tn.Done(a2a.NewTextPart("Then nothing is ordered."))
			case tn.N == 2:
				tn.Is(a2a.TaskStateInputRequired, a2a.NewTextPart("For "+tn.Data()+": which colour?"))
			default:
				tn.Done(a2a.NewTextPart("Ordered in " + tn.Text() + "."))
			}
		},
		"name": func(tn *rig.Turn) {
			if tn.N == 1 {
				tn.Is(a2a.TaskStateInputRequired, a2a.NewTextPart("Who are you?"))
				return
			}
			tn.Done(a2a.NewTextPart("Hello " + tn.Text()))
		},
		"sign-in": func(tn *rig.Turn) {
			tn.Is(a2a.TaskStateAuthRequired, a2a.NewTextPart("Sign in."), a2a.NewDataPart(map[string]any{"url": loginPage}))
			select {
			case <-finished:
			case <-tn.Context.Done():
			}
			tn.Done(a2a.NewTextPart("Signed in."))
		},
	})
}

// person answers what a client shows, in order, and remembers it.
type person struct {
	mu      sync.Mutex
	shown   []string
	answers []*sdk.ElicitResult
}

func (p *person) elicit(_ context.Context, r *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	schema, _ := json.Marshal(r.Params.RequestedSchema)
	p.shown = append(p.shown, strings.TrimSpace(fmt.Sprintf("%s %s %s", r.Params.Message, r.Params.URL, schema)))
	if len(p.answers) == 0 {
		return nil, fmt.Errorf("asked once more than expected: %s", r.Params.Message)
	}
	a := p.answers[0]
	p.answers = p.answers[1:]
	return a, nil
}

func accept(content map[string]any) *sdk.ElicitResult {
	return &sdk.ElicitResult{Action: "accept", Content: content}
}

// TestAgentsAsk: an A2A agent is called by clients of either era on the
// official SDK: with a form, two rounds, a page, a no, and a cancel.
func TestAgentsAsk(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		t.Run(version, func(t *testing.T) {
			finished := make(chan struct{})
			agent := newAgent(t, finished)
			g := rig.Start(t, "backends:\n  shop: { url: "+agent.URL+", transport: a2a }\n")
			p := &person{}
			ctx, cancel := context.WithTimeout(t.Context(), rig.Patience)
			defer cancel()
			c, err := peer.DialGoSDK(ctx, g.URL, version, &sdk.ClientOptions{
				Capabilities:       &sdk.ClientCapabilities{Elicitation: &sdk.ElicitationCapabilities{Form: &sdk.FormElicitationCapabilities{}, URL: &sdk.URLElicitationCapabilities{}}},
				ElicitationHandler: p.elicit,
			})
			if err != nil {
				t.Fatal(err)
			}
			defer c.Leave()
			var names []string
			for tool, err := range c.Tools(ctx, nil) {
				if err != nil {
					t.Fatal(err)
				}
				names = append(names, tool.Name)
			}
			equal(t, "tools", strings.Join(names, " "), "name order sign-in")
			run := func(tool string, answers ...*sdk.ElicitResult) string {
				p.mu.Lock()
				p.answers, p.shown = answers, nil
				p.mu.Unlock()
				r, err := c.CallTool(ctx, &sdk.CallToolParams{Name: tool, Arguments: map[string]any{"message": "a shirt"}})
				if err != nil {
					return err.Error()
				}
				text := ""
				for _, item := range r.Content {
					if item, ok := item.(*sdk.TextContent); ok {
						text += item.Text
					}
				}
				return fmt.Sprintf("%v %s", r.IsError, text)
			}
			equal(t, "two rounds", run("order", accept(map[string]any{"size": "M"}), accept(map[string]any{"answer": "red"})), "false Ordered in red.")
			equal(t, "asked", strings.Join(p.shown, "\n"),
				`Which size?  {"properties":{"size":{"enum":["S","M"],"title":"Size","type":"string"}},"required":["size"],"type":"object"}`+"\n"+
					`For {"size":"M"}: which colour?  {"properties":{"answer":{"title":"Your answer","type":"string"}},"required":["answer"],"type":"object"}`)
			if n := len(agent.Messages()); n != 3 {
				t.Errorf("%d messages for one call", n)
			}
			equal(t, "declined", run("order", &sdk.ElicitResult{Action: "decline"}), "false Then nothing is ordered.")
			if got := run("order", &sdk.ElicitResult{Action: "cancel"}); !strings.HasPrefix(got, "true The person was asked, and cancelled") {
				t.Errorf("cancelled: %s", got)
			}
			<-agent.Cancelled()
			close(finished)
			equal(t, "a page", run("sign-in", accept(nil)), "false Signed in.")
			if len(p.shown) != 1 || !strings.Contains(p.shown[0], loginPage) {
				t.Errorf("asked %q", p.shown)
			}
		})
	}
}

// TestAgentsAskOnAPage: a client of either era that can show nothing is told
// the page at which its person answers an agent, and gets the result when it
// calls again; the agent has begun one task.
func TestAgentsAskOnAPage(t *testing.T) {
	t.Parallel()
	agent := newAgent(t, nil)
	g := rig.Start(t, "backends:\n  shop: { url: "+agent.URL+", transport: a2a }\n")
	ann := rig.SignIn(t, g)
	dulls(t, g.URL, func(t *testing.T, call dull) {
		before := len(agent.Messages())
		args := `{"message":"` + t.Name() + `"}`
		m := call("name", args)
		page := told(m)
		if page == "" || !strings.Contains(string(m.Raw), "Who are you?") {
			t.Fatalf("%s", m.Raw)
		}
		if status, body := ann.Answer(page, url.Values{"action": {"accept"}, "f0": {"Ann"}}); status != 200 {
			t.Fatalf("the answer: %d %s", status, body)
		}
		if m := call("name", args); !strings.Contains(string(m.Raw), "Hello Ann") {
			t.Errorf("%s", m.Raw)
		}
		if n := len(agent.Messages()) - before; n != 2 {
			t.Errorf("%d messages for one call", n)
		}
	})
}

// TestAgentsWaitForAnAccount: an agent that knows nobody is called when its
// person has connected an account, once; its skills are shown before.
func TestAgentsWaitForAnAccount(t *testing.T) {
	t.Parallel()
	agent := newAgent(t, nil)
	agent.Guard = func(w http.ResponseWriter, r *http.Request) bool {
		if r.Header.Get("Authorization") == "Bearer anns-key" {
			return true
		}
		w.Header().Set("WWW-Authenticate", "Bearer")
		w.WriteHeader(http.StatusUnauthorized)
		return false
	}
	g := guard(t, "", "  shop: { url: "+agent.URL+", transport: a2a, grant: { kind: key } }\n")
	browser := g.signIn("ann")
	ann := rig.DialAs(t, g.Gateway.URL, rig.AllCaps, g.token("ann"))
	if list := ann.Request("tools/list", "{}"); !strings.Contains(string(list.Raw), `"order"`) {
		t.Errorf("tools before: %s", list.Raw)
	}
	s := ann.Tool("name", `{"message":"hi"}`)
	for _, key := range []string{"wrong", "anns-key"} {
		q := s.Next()
		for q.Kind == wire.Notification {
			q = s.Next()
		}
		ann.Answer(q, `{"action":"accept"}`)
		if r := browser.enter(linkIn(q, q.Params), key); r.status != http.StatusOK {
			t.Errorf("key %s: %d %s", key, r.status, r.body)
		}
	}
	q := s.Next()
	for q.Kind == wire.Notification {
		q = s.Next()
	}
	ann.Answer(q, `{"action":"accept","content":{"answer":"Ann"}}`)
	if m := s.Final(); !strings.Contains(string(m.Raw), "Hello Ann") || len(agent.Messages()) != 2 {
		t.Errorf("%s, %d messages", m.Raw, len(agent.Messages()))
	}
}

// TestDoctorTellsOfAgents: doctor says what an agent is, and what is wrong
// with a card.
func TestDoctorTellsOfAgents(t *testing.T) {
	t.Parallel()
	agent, stray := newAgent(t, nil), newAgent(t, nil)
	stray.Change(func(c *a2a.AgentCard) { c.SupportedInterfaces[0].URL = "https://evil.example/" })
	g := rig.Start(t, "backends:\n  shop: { url: "+agent.URL+", transport: a2a }\n  stray: { url: "+stray.URL+", transport: a2a }\n")
	cmd := exec.Command(rig.Binary(t), "doctor", "--config", g.File)
	cmd.Env = append(os.Environ(), "GORACE=atexit_sleep_ms=0")
	out, err := cmd.CombinedOutput()
	if err == nil {
		t.Error("doctor found nothing wrong")
	}
	for _, want := range []string{"shop   A2A 1.0 agent, JSONRPC  rig agent 7, 3 skills: name order sign-in", "stray  cannot be reached", "card_origins"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("doctor does not say %q:\n%s", want, out)
		}
	}
}
