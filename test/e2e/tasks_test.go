package e2e

import (
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/answerback/answerback/internal/era"
	"github.com/answerback/answerback/internal/wire"
	"github.com/answerback/answerback/test/rig"
)

// ownTask is the id of the only task of a keeper: one that no header can
// carry as it is.
const ownTask = `jób/1 "a"`

const (
	taskCaps    = `{"extensions":{"io.modelcontextprotocol/tasks":{}}}`
	taskAskCaps = `{"elicitation":{"form":{}},"extensions":{"io.modelcontextprotocol/tasks":{}}}`
)

// keeper is a modern backend with one task, which asks once and is then done.
type keeper struct {
	*rig.Backend
	say chan string // the rest of the params of notifications/tasks

	mu    sync.Mutex
	state string // the rest of the task
}

const (
	taskWorking = `"status":"working","ttlMs":60000,"pollIntervalMs":1.10`
	taskAsking  = `"status":"input_required","inputRequests":{"k":{"method":"elicitation/create","params":` + formParams + `}}`
	taskDone    = `"status":"completed","result":{"content":[{"type":"text","text":"<&>\u00e9"}],"n":1.10}`
)

func newKeeper(t *testing.T) *keeper {
	k := &keeper{say: make(chan string, 4), state: taskWorking}
	own := string(wire.AppendString(nil, ownTask))
	known := func(c *rig.Call) bool {
		if c.Msg.Text(wire.Get(c.Msg.Raw, c.Msg.Params, "taskId")) == ownTask {
			return true
		}
		c.Error(`{"code":-32602,"message":"Task not found"}`)
		return false
	}
	k.Backend = rig.NewBackend(t, map[string]rig.Script{
		"tools/call": func(c *rig.Call) { c.Result(`{"resultType":"task","taskId":` + own + `,` + taskWorking + `}`) },
		"tasks/get": func(c *rig.Call) {
			if known(c) {
				k.mu.Lock()
				defer k.mu.Unlock()
				c.Result(`{"resultType":"complete","taskId":` + own + `,` + k.state + `}`)
			}
		},
		"tasks/update": func(c *rig.Call) {
			if known(c) {
				k.set(taskDone)
				c.Result(`{"resultType":"complete"}`)
			}
		},
		"tasks/cancel": func(c *rig.Call) {
			if known(c) {
				c.Result(`{"resultType":"complete"}`)
			}
		},
		"subscriptions/listen": func(c *rig.Call) {
			meta := `"_meta":{"io.modelcontextprotocol/subscriptionId":` + string(c.Msg.Field(c.Msg.ID)) + `}`
			c.Send(`{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{` + meta + `,"notifications":` + member(*c.Msg, c.Msg.Params, "notifications") + `}}`)
			for {
				select {
				case <-c.Context.Done():
					return
				case rest := <-k.say:
					c.Send(`{"jsonrpc":"2.0","method":"notifications/tasks","params":{` + meta + `,"taskId":` + own + `,` + rest + `}}`)
				}
			}
		},
	})
	k.ModernOnly = true
	k.Capabilities = `{"tools":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}`
	return k
}

func (k *keeper) set(state string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.state = state
}

// startTask calls a tool and gives the id of its task, with its quotes.
func startTask(t *testing.T, c *rig.Client, tool string) string {
	t.Helper()
	m := c.Modern(c.ID(), "tools/call", `{"name":"`+tool+`","arguments":{}}`, taskCaps).Final()
	id := member(m, m.Result, "taskId")
	if m.Text(m.ResultType) != "task" || id == "" {
		t.Fatalf("no task: %s", m.Raw)
	}
	equal(t, "the new task", string(m.Field(m.Result)), `{"resultType":"task","taskId":`+id+`,`+taskWorking+`}`)
	return id
}

// TestTasksPassThrough: a task lives its life through the gateway: made,
// read, asked for input, answered, read and ended. The client has one id for
// it, the backend its own, in the body and in Mcp-Name; all else passes as it
// is.
func TestTasksPassThrough(t *testing.T) {
	t.Parallel()
	k := newKeeper(t)
	doors(t, k.Backend, "", func(t *testing.T, d door, _ *rig.Gateway) {
		k.set(taskWorking)
		c := rig.NewClient(t, d.URL)
		id := startTask(t, c, d.Prefix+"x")
		if id == string(wire.AppendString(nil, ownTask)) || strings.ContainsAny(id, " /") {
			t.Errorf("the id is the backend's own, or not fit for a header: %s", id)
		}
		get := func(what, caps, want string) {
			t.Helper()
			m := c.Modern(c.ID(), "tasks/get", `{"taskId":`+id+`}`, caps).Final()
			equal(t, what, string(m.Field(m.Result)), `{"resultType":"complete","taskId":`+id+`,`+want+`}`)
		}
		get("while it works", taskCaps, taskWorking)
		k.set(taskAsking)
		get("while it asks", taskAskCaps, taskAsking)
		m := c.Modern(c.ID(), "tasks/get", `{"taskId":`+id+`}`, taskCaps).Final()
		wantError(t, "a client that cannot be asked", m, "-32021", "missing_capability")
		const answers = `{"k":{"action":"accept","content":{"n":1.10}}}`
		m = c.Modern(c.ID(), "tasks/update", `{"taskId":`+id+`,"inputResponses":`+answers+`}`, taskAskCaps).Final()
		equal(t, "the answer's acknowledgement", string(m.Field(m.Result)), `{"resultType":"complete"}`)
		get("when it is done", taskCaps, taskDone)
		m = c.Modern(c.ID(), "tasks/cancel", `{"taskId":`+id+`}`, taskCaps).Final()
		equal(t, "the end's acknowledgement", string(m.Field(m.Result)), `{"resultType":"complete"}`)

		for _, method := range []string{"tasks/get", "tasks/update", "tasks/cancel"} {
			all := k.Received(func(r rig.Received) bool { return r.Msg.Method() == method })
			if len(all) == 0 {
				t.Fatalf("the backend got no %s", method)
			}
			r := all[len(all)-1]
			equal(t, method+" with Mcp-Name", r.Header.Get("Mcp-Name"), era.EncodeHeader(ownTask))
			equal(t, method+" with taskId", r.Msg.Text(wire.Get(r.Msg.Raw, r.Msg.Params, "taskId")), ownTask)
			if method == "tasks/update" {
				equal(t, "the answers", string(r.Msg.Field(r.Msg.InputResponses)), answers)
			}
		}
	})
}

// TestTasksRefused: what names no task of the caller, or comes from a client
// that did not declare tasks, is refused and reaches no backend.
func TestTasksRefused(t *testing.T) {
	t.Parallel()
	k := newKeeper(t)
	doors(t, k.Backend, "", func(t *testing.T, d door, g *rig.Gateway) {
		c := rig.NewClient(t, d.URL)
		id := startTask(t, c, d.Prefix+"x")
		before := k.Count("tasks/get")
		own := string(wire.AppendString(nil, ownTask))
		wantError(t, "an id of nobody", c.Modern("1", "tasks/get", `{"taskId":"made-up"}`, taskCaps).Final(), "-32602", "unknown_name")
		wantError(t, "two ids", c.Modern("2", "tasks/get", `{"taskId":`+own+`,"taskId":`+id+`}`, taskCaps).Final(), "-32600", "ambiguous_message")
		s := c.Modern("3", "tasks/get", `{"taskId":`+id+`}`, `{}`)
		m := s.Final()
		wantError(t, "not declared", m, "-32021", "missing_capability")
		equal(t, "what it takes", member(m, wire.Get(m.Raw, m.Error, "data"), "requiredCapabilities"), taskCaps)
		if s.Status != 400 {
			t.Errorf("status %d, want 400", s.Status)
		}
		elsewhere := rig.NewClient(t, g.URL+"/two")
		wantError(t, "another endpoint", elsewhere.Modern("4", "tasks/get", `{"taskId":`+id+`}`, taskCaps).Final(), "-32602", "unknown_name")
		wantError(t, "a removed method", c.Modern("5", "tasks/result", `{"taskId":`+id+`}`, taskCaps).Final(), "-32601", "unknown_method")
		if n := k.Count("tasks/get") - before; n != 0 {
			t.Errorf("the backend got %d of them", n)
		}
		m = c.Modern("6", "tools/call", `{"name":"`+d.Prefix+`x"}`, `{"extensions":{"v/x":{}}}`).Final()
		wantError(t, "a task for a client that did not declare them", m, "-32603", "backend_broken")
	})
}

// TestTasksOfTwoBackends: two backends have a task of the same id. At the
// joined endpoint each is found again, also in a subscription, where the
// client hears of each under the id that it has for it.
func TestTasksOfTwoBackends(t *testing.T) {
	t.Parallel()
	one, two := newKeeper(t), newKeeper(t)
	two.set(taskDone)
	g := rig.Start(t, "backends:\n  one: { url: "+one.URL+" }\n  two: { url: "+two.URL+" }\n")
	c := rig.NewClient(t, g.URL)
	ids := []string{startTask(t, c, "one__x"), startTask(t, c, "two__x")}
	for i, state := range []string{taskWorking, taskDone} {
		m := c.Modern(c.ID(), "tasks/get", `{"taskId":`+ids[i]+`}`, taskCaps).Final()
		equal(t, "the task", string(m.Field(m.Result)), `{"resultType":"complete","taskId":`+ids[i]+`,`+state+`}`)
	}

	s := c.Modern(`"sub"`, "subscriptions/listen", `{"notifications":{"taskIds":["made-up",`+ids[0]+`,`+ids[1]+`]}}`, taskCaps)
	const meta = `"_meta":{"io.modelcontextprotocol/subscriptionId":"sub"}`
	ack := s.Next()
	var agreed []string
	for at := range wire.Elements(ack.Raw, wire.Get(ack.Raw, wire.Get(ack.Raw, ack.Params, "notifications"), "taskIds")) {
		agreed = append(agreed, string(at.Of(ack.Raw)))
	}
	slices.Sort(agreed)
	equal(t, "what is listened to", strings.Join(agreed, " "), strings.Join(slices.Sorted(slices.Values(ids)), " "))
	for i, k := range []*keeper{one, two} {
		asked := k.Await("subscriptions/listen").Msg
		equal(t, "the backend's share", member(asked, asked.Params, "notifications"), `{"taskIds":[`+string(wire.AppendString(nil, ownTask))+`]}`)
		k.say <- taskAsking // the client cannot be asked that, and is not told
		k.say <- taskDone
		n := s.Next()
		equal(t, "the news", n.Method()+string(n.Field(n.Params)), `notifications/tasks{`+meta+`,"taskId":`+ids[i]+`,`+taskDone+`}`)
	}
}

// TestTasksAreAdvertised: the joined endpoint says that it has tasks where a
// backend does, a backend's own endpoint says what the backend says.
func TestTasksAreAdvertised(t *testing.T) {
	t.Parallel()
	k, plain := newKeeper(t), rig.NewBackend(t, nil)
	g := rig.Start(t, "backends:\n  one: { url: "+k.URL+" }\n  two: { url: "+plain.URL+" }\n")
	for at, has := range map[string]bool{"": true, "/one": true, "/two": false} {
		m := rig.NewClient(t, g.URL+at).Modern("1", "server/discover", "{}", "{}").Final()
		if caps := member(m, m.Result, "capabilities"); era.Extends([]byte(caps), era.Tasks) != has {
			t.Errorf("at %q: %s", at, caps)
		}
	}
	without := rig.Start(t, "backends:\n  two: { url: "+plain.URL+" }\n  three: { url: "+plain.URL+" }\n")
	m := rig.NewClient(t, without.URL).Modern("1", "server/discover", "{}", "{}").Final()
	equal(t, "the extensions where no backend has tasks", member(m, wire.Get(m.Raw, m.Result, "capabilities"), "extensions"), "")
}

// TestTaskIDsOutliveTheGateway: a client that kept the id of a task finds the
// task again after the gateway was restarted.
func TestTaskIDsOutliveTheGateway(t *testing.T) {
	t.Parallel()
	k, other := newKeeper(t), rig.NewBackend(t, nil)
	g := rig.Start(t, "backends:\n  one: { url: "+k.URL+" }\n  two: { url: "+other.URL+" }\n")
	id := startTask(t, rig.NewClient(t, g.URL), "one__x")
	if err := g.Stop(); err != nil {
		t.Fatal(err)
	}
	again := rig.StartFile(t, g.File)
	m := rig.NewClient(t, again.URL).Modern("1", "tasks/get", `{"taskId":`+id+`}`, taskCaps).Final()
	equal(t, "the task", string(m.Field(m.Result)), `{"resultType":"complete","taskId":`+id+`,`+taskWorking+`}`)
}

// TestLegacyTasksPassAtTheirBackend: the tasks of 2025-11-25 pass untouched
// at their backend's own endpoint, and are unknown at the joined one and to
// modern clients.
func TestLegacyTasksPassAtTheirBackend(t *testing.T) {
	t.Parallel()
	b := rig.NewBackend(t, map[string]rig.Script{
		"tools/call": func(c *rig.Call) { c.Result(`{"task":{"taskId":"own","ttl":1.10}}`) },
		"tasks/get":  func(c *rig.Call) { c.Result(`{"taskId":"own","ttl":1.10}`) },
	})
	b.LegacyOnly = true
	b.Capabilities = `{"tools":{},"tasks":{"list":{}}}`
	other := rig.NewBackend(t, nil)
	g := rig.Start(t, "backends:\n  one: { url: "+b.URL+" }\n  two: { url: "+other.URL+" }\n")
	const caps = `{"tasks":{"list":{}}}`

	c := rig.Dial(t, g.URL+"/one", caps)
	m := c.Request("tools/call", `{"name":"x","task":{"ttl":1.10}}`)
	equal(t, "the task", string(m.Field(m.Result)), `{"task":{"taskId":"own","ttl":1.10}}`)
	asked := b.Await("tools/call").Msg
	equal(t, "the wish for it", member(asked, asked.Params, "task"), `{"ttl":1.10}`)
	m = c.Request("tasks/get", `{"taskId":"own"}`)
	equal(t, "the task again", string(m.Field(m.Result)), `{"taskId":"own","ttl":1.10}`)

	joined := rig.Dial(t, g.URL, caps)
	equal(t, "the joined endpoint's tasks", member(joined.Welcome, wire.Get(joined.Welcome.Raw, joined.Welcome.Result, "capabilities"), "tasks"), "")
	wantError(t, "tasks/get at the joined endpoint", joined.Request("tasks/get", `{"taskId":"own"}`), "-32601", "unknown_method")

	modern := rig.NewClient(t, g.URL+"/one")
	m = modern.Modern("1", "server/discover", "{}", "{}").Final()
	equal(t, "what a modern client is told", member(m, m.Result, "capabilities"), `{"tools":{}}`)
	wantError(t, "tasks/get of a modern client", modern.Modern("2", "tasks/get", `{"taskId":"own"}`, taskCaps).Final(), "-32602", "unknown_name")
}
