package a2a

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/contract"
)

const echoTool = `{"name":"echo","title":"Echo","description":"Says it again.","inputSchema":{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}}`

func echoing() *fakeGateway {
	return &fakeGateway{tools: echoTool, serve: map[string]func(*served) contract.Response{
		"echo": func(c *served) contract.Response {
			return body(`"result":{"resultType":"complete","content":[{"type":"text","text":"said"},{"type":"image","data":"AAEC","mimeType":"image/png"},` +
				`{"type":"resource_link","uri":"https://example.com/f","name":"f"},{"type":"resource","resource":{"uri":"x:y","text":"inside"}},{"type":"new","k":1.10}],"structuredContent":` + c.args() + `}`)
		},
		"bad": func(*served) contract.Response {
			return body(`"result":{"content":[{"type":"text","text":"it broke"}],"isError":true}`)
		},
		"fail": func(*served) contract.Response { return body(`"error":{"code":-32603,"message":"no luck"}`) },
		"args": func(*served) contract.Response { return body(`"error":{"code":-32602,"message":"bad arguments"}`) },
		"slow": func(c *served) contract.Response {
			c.peer.Notify([]byte(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"1","progress":1,"total":2,"message":"half"}}`))
			<-c.ctx.Done()
			return body(`"error":{"code":-32000,"message":"stopped","data":{"reason":"` + string(ask.CodeOf(context.Cause(c.ctx))) + `"}}`)
		},
	}}
}

// TestCall: a message that names a tool is a call of it, its result is an
// artifact, numbers to the digit, and how a call ends is how its task does.
func TestCall(t *testing.T) {
	both(t, echoing, nil, func(t *testing.T, k *kit) {
		task := k.want(k.say(nil, data(`{"tool":"echo","arguments":{"big":12345678901234567890,"f":1.10}}`)), a2a.TaskStateCompleted, "said")
		if got := k.g.calls[0]; !strings.Contains(got, `"arguments":{"big":12345678901234567890,"f":1.10}`) ||
			!strings.Contains(got, `"elicitation":{"form":{},"url":{}}`) || strings.Contains(got, "sampling") {
			t.Errorf("the relay got %s", got)
		}
		parts := task.Artifacts[0].Parts
		if len(parts) != 6 || string(parts[1].Raw()) != "\x00\x01\x02" || parts[1].MediaType != "image/png" || parts[2].URL() != "https://example.com/f" || parts[3].Text() != "inside" {
			t.Errorf("the parts are %v", parts)
		}
		if raw := k.fetch("GET", "/a2a/one/tasks/"+string(task.ID)); !strings.Contains(raw, `{"big":12345678901234567890,"f":1.10}`) || !strings.Contains(raw, `"k":1.10`) {
			t.Errorf("numbers changed: %s", raw)
		}
		k.want(k.say(nil, toolPart("bad")), a2a.TaskStateFailed, "it broke")
		k.want(k.say(nil, toolPart("fail")), a2a.TaskStateFailed, "no luck")
		k.want(k.say(nil, toolPart("args")), a2a.TaskStateRejected, "bad arguments")
		k.want(k.say(nil, toolPart("other")), a2a.TaskStateRejected, "no such tool")
		if _, err := k.SendMessage(as(t, "alice"), message(task, a2a.NewTextPart("more"))); !errors.Is(err, a2a.ErrUnsupportedOperation) {
			t.Errorf("a message to an ended task: %v", err)
		}
	})
}

// fetch makes a plain request as alice.
func (k *kit) fetch(method, path string) string {
	k.t.Helper()
	r, err := http.NewRequestWithContext(as(k.t, ""), method, k.server.URL+path, nil)
	if err != nil {
		k.t.Fatal(err)
	}
	r.Header.Set("Authorization", "alice")
	resp, err := k.http.Do(r)
	if err != nil {
		k.t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		k.t.Fatal(err)
	}
	return string(raw)
}

// TestText: plain text is a call where it can mean one thing only, and is asked
// about otherwise.
func TestText(t *testing.T) {
	both(t, echoing, nil, func(t *testing.T, k *kit) {
		k.want(k.say(nil, a2a.NewTextPart("hello")), a2a.TaskStateCompleted, "said")
		if !strings.Contains(k.g.calls[0], `"arguments":{"text":"hello"}`) {
			t.Errorf("the call was %s", k.g.calls[0])
		}
		k.g.tools += `,{"name":"two","inputSchema":{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"string"}},"required":["a"]}}`
		k.g.serve["two"] = func(c *served) contract.Response { return text("two " + c.args()) }

		task := k.want(k.say(nil, a2a.NewTextPart("again")), a2a.TaskStateInputRequired, "Which tool", "echo, two")
		k.want(k.say(task, a2a.NewTextPart("neither")), a2a.TaskStateInputRequired)
		k.want(k.say(task, a2a.NewTextPart("echo")), a2a.TaskStateCompleted, "said")
		if got := k.g.calls[1]; !strings.Contains(got, `"arguments":{"text":"again"}`) {
			t.Errorf("the call was %s", got)
		}

		task = k.say(nil, a2a.NewTextPart("again"))
		task = k.want(k.say(task, data(`{"tool":"two"}`)), a2a.TaskStateInputRequired, "With what shall two be called?")
		k.want(k.say(task, data(`{"a":7}`)), a2a.TaskStateCompleted, `two {"a":7}`)

		m := message(nil, a2a.NewTextPart("by skill"))
		m.Message.Metadata = map[string]any{"skillId": "echo"}
		r, err := k.SendMessage(as(t, "alice"), m)
		if err != nil {
			t.Fatal(err)
		}
		k.want(r.(*a2a.Task), a2a.TaskStateCompleted)
		task = k.say(nil, a2a.NewTextPart("no"))
		k.want(k.say(task, data(`{"action":"decline"}`)), a2a.TaskStateCanceled, "No tool")
		if n := k.g.count(); n != 4 {
			t.Errorf("%d calls were made", n)
		}
	})
}

// TestStream: a stream begins with the task, tells of progress and ends with
// the result. One that is left does not end the task, which can be followed
// again, and cancelled.
func TestStream(t *testing.T) {
	both(t, echoing, nil, func(t *testing.T, k *kit) {
		var got []string
		for e, err := range k.SendStreamingMessage(as(t, "alice"), message(nil, toolPart("echo"))) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, describe(e))
		}
		if all := strings.Join(got, ";"); !strings.HasPrefix(all, "task ") || !strings.HasSuffix(all, ";artifact;TASK_STATE_COMPLETED ") {
			t.Errorf("the events were %s", all)
		}

		ctx, leave := context.WithCancel(as(t, "alice"))
		var id a2a.TaskID
		for e, err := range k.SendStreamingMessage(ctx, message(nil, toolPart("slow"))) {
			if err != nil {
				break
			}
			id = e.TaskInfo().TaskID
			if strings.Contains(describe(e), "half") {
				leave()
			}
		}
		leave()
		for e, err := range k.SubscribeToTask(as(t, "alice"), &a2a.SubscribeToTaskRequest{ID: id}) {
			if err != nil {
				t.Fatal(err)
			}
			if task, ok := e.(*a2a.Task); ok {
				k.want(task, a2a.TaskStateWorking, "half")
				if _, err := k.CancelTask(as(t, "alice"), &a2a.CancelTaskRequest{ID: id}); err != nil {
					t.Fatal(err)
				}
				continue
			}
			if got := describe(e); !strings.HasPrefix(got, "TASK_STATE_CANCELED") {
				t.Errorf("it ended with %s", got)
			}
		}
		if _, err := k.CancelTask(as(t, "alice"), &a2a.CancelTaskRequest{ID: id}); !errors.Is(err, a2a.ErrTaskNotCancelable) {
			t.Errorf("a second cancel: %v", err)
		}
	})
}

func describe(e a2a.Event) string {
	switch e := e.(type) {
	case *a2a.Task:
		return "task " + string(e.Status.State)
	case *a2a.TaskArtifactUpdateEvent:
		return "artifact"
	case *a2a.TaskStatusUpdateEvent:
		words := ""
		if e.Status.Message != nil {
			words = textOf(e.Status.Message.Parts)
		}
		return string(e.Status.State) + " " + words
	}
	return fmt.Sprintf("%T", e)
}

// TestReturnImmediately: a client that does not want to wait gets the task as
// it begins.
func TestReturnImmediately(t *testing.T) {
	both(t, echoing, nil, func(t *testing.T, k *kit) {
		m := message(nil, toolPart("slow"))
		m.Config = &a2a.SendMessageConfig{ReturnImmediately: true}
		r, err := k.SendMessage(as(t, "alice"), m)
		if err != nil {
			t.Fatal(err)
		}
		task := r.(*a2a.Task)
		if task.Status.State.Terminal() {
			t.Errorf("the task is %s", task.Status.State)
		}
		if _, err := k.SendMessage(as(t, "alice"), message(task, a2a.NewTextPart("x"))); !errors.Is(err, a2a.ErrUnsupportedOperation) {
			t.Errorf("a message to a task that asks nothing: %v", err)
		}
	})
}

// TestCard: the card has the tools of whoever asks as skills, with links from
// the public address. Where callers must authenticate, others learn how to, and
// no tool; whoever comes with a wrong token is refused.
func TestCard(t *testing.T) {
	secured := func(c *Config) { c.Secured, c.PublicURL = true, "https://gw.example" }
	both(t, echoing, secured, func(t *testing.T, k *kit) {
		card := func(path, who string) (int, *a2a.AgentCard) {
			r, _ := http.NewRequestWithContext(as(t, ""), "GET", k.server.URL+path+cardPath, nil)
			if who != "" {
				r.Header.Set("Authorization", who)
			}
			resp, err := k.http.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			c := &a2a.AgentCard{}
			_ = json.NewDecoder(resp.Body).Decode(c)
			return resp.StatusCode, c
		}
		for path, url := range map[string]string{"": "/a2a", "/a2a": "/a2a", "/a2a/one": "/a2a/one"} {
			status, public := card(path, "")
			if status != 200 || len(public.Skills) != 0 || public.SecuritySchemes[bearer] == nil || !public.Capabilities.ExtendedAgentCard {
				t.Errorf("%s: the public card: %d %+v", path, status, public)
			}
			status, full := card(path, "alice")
			if status != 200 || len(full.Skills) != 1 || full.Skills[0].ID != "echo" || full.Skills[0].Name != "Echo" ||
				full.SupportedInterfaces[0].URL != "https://gw.example"+url || !full.Capabilities.Streaming || !full.Capabilities.PushNotifications {
				t.Errorf("%s: the card: %d %+v", path, status, full)
			}
			if schemas, _ := full.Capabilities.Extensions[0].Params["inputSchemas"].(map[string]any); schemas["echo"] == nil {
				t.Errorf("%s: the schemas: %v", path, full.Capabilities.Extensions)
			}
		}
		if _, c := card("/a2a/one", "nobody"); len(c.Skills) != 0 {
			t.Errorf("somebody without tools sees %v", c.Skills)
		}
		if status, _ := card("/a2a/one", "wrong"); status != 401 {
			t.Errorf("a wrong token: %d", status)
		}
		if status, _ := card("/a2a/other", "alice"); status != 404 {
			t.Errorf("an unknown backend: %d", status)
		}
		if status, c := card("/a2a/other", ""); status != 200 || len(c.Skills) != 0 {
			t.Errorf("whether a backend exists is told to strangers: %d", status)
		}
		c, err := k.GetExtendedAgentCard(as(t, "alice"), &a2a.GetExtendedAgentCardRequest{})
		if err != nil || len(c.Skills) != 1 {
			t.Errorf("the extended card: %v %v", c, err)
		}
	})
}
