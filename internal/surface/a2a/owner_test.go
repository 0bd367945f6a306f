package a2a

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/contract"
	"github.com/answerback/answerback/internal/egress"
	"github.com/answerback/answerback/internal/secret"
)

// receiver takes push notifications.
type receiver struct {
	*httptest.Server
	got chan *http.Request // with the body in the header X-Body
}

func newReceiver(t *testing.T) *receiver {
	r := &receiver{got: make(chan *http.Request, 64)}
	r.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
		raw, _ := io.ReadAll(req.Body)
		req.Header.Set("X-Body", string(raw))
		r.got <- req
	}))
	t.Cleanup(r.Close)
	return r
}

// until waits for a push that says something.
func (r *receiver) until(t *testing.T, words string) *http.Request {
	t.Helper()
	for {
		select {
		case req := <-r.got:
			if strings.Contains(req.Header.Get("X-Body"), words) {
				return req
			}
		case <-time.After(patience):
			t.Fatalf("nobody was told %s", words)
		}
	}
}

// TestOwner: another principal's task, and its push configurations, are not
// there: to get, to list, to answer, to follow, to cancel, to configure. Each
// is tried by its owner too. Nor is it there at another endpoint.
func TestOwner(t *testing.T) {
	r := newReceiver(t)
	outward := egress.ForStrangers(r.URL)
	defer outward.CloseIdleConnections()
	both(t, asking, func(c *Config) { c.Outward = outward }, func(t *testing.T, k *kit) {
		task := k.say(nil, toolPart("form"))
		cfg := &a2a.PushConfig{TaskID: task.ID, ID: "p", URL: r.URL}
		if _, err := k.CreateTaskPushConfig(as(t, "alice"), cfg); err != nil {
			t.Fatal(err)
		}
		joined := k.client("/a2a")
		acts := []struct {
			name string
			do   func(ctx context.Context, at *kit) error
		}{
			{"get", func(ctx context.Context, k *kit) error {
				_, err := k.GetTask(ctx, &a2a.GetTaskRequest{ID: task.ID})
				return err
			}},
			{"subscribe", func(ctx context.Context, k *kit) error {
				for _, err := range k.SubscribeToTask(ctx, &a2a.SubscribeToTaskRequest{ID: task.ID}) {
					return err
				}
				return nil
			}},
			{"get push", func(ctx context.Context, k *kit) error {
				_, err := k.GetTaskPushConfig(ctx, &a2a.GetTaskPushConfigRequest{TaskID: task.ID, ID: "p"})
				return err
			}},
			{"list push", func(ctx context.Context, k *kit) error {
				all, err := k.ListTaskPushConfigs(ctx, &a2a.ListTaskPushConfigRequest{TaskID: task.ID})
				if err == nil && len(all) == 0 {
					return errors.New("there is none")
				}
				return err
			}},
			{"set push", func(ctx context.Context, k *kit) error {
				_, err := k.CreateTaskPushConfig(ctx, &a2a.PushConfig{TaskID: task.ID, ID: "q", URL: r.URL})
				return err
			}},
			{"delete push", func(ctx context.Context, k *kit) error {
				return k.DeleteTaskPushConfig(ctx, &a2a.DeleteTaskPushConfigRequest{TaskID: task.ID, ID: "p"})
			}},
			{"send", func(ctx context.Context, k *kit) error {
				_, err := k.SendMessage(ctx, message(task, data(`{"name":"A"}`)))
				return err
			}},
			{"cancel", func(ctx context.Context, k *kit) error {
				_, err := k.CancelTask(ctx, &a2a.CancelTaskRequest{ID: task.ID})
				return err
			}},
		}
		elsewhere := *k
		elsewhere.Client = joined
		for _, a := range acts {
			if err := a.do(as(t, "mallory"), k); !errors.Is(err, a2a.ErrTaskNotFound) {
				t.Errorf("%s by somebody else: %v", a.name, err)
			}
			if err := a.do(as(t, "alice"), &elsewhere); !errors.Is(err, a2a.ErrTaskNotFound) {
				t.Errorf("%s at another endpoint: %v", a.name, err)
			}
			if err := a.do(as(t, "alice"), k); err != nil {
				t.Errorf("%s by its owner: %v", a.name, err)
			}
		}
		for who, want := range map[string]int{"mallory": 0, "alice": 1} {
			all, err := k.ListTasks(as(t, who), &a2a.ListTasksRequest{})
			if err != nil || len(all.Tasks) != want || all.TotalSize != want {
				t.Errorf("%s sees %+v %v", who, all, err)
			}
		}
		if n := k.g.count(); n != 1 {
			t.Errorf("the tool was called %d times", n)
		}
	})
}

// TestPush: what happens to a task is posted, in order, with what its receiver
// knows us by. Addresses that are not public are refused, also where a name
// leads to one; one that the operator trusts is the control.
func TestPush(t *testing.T) {
	r, inside := newReceiver(t), newReceiver(t)
	outward := egress.ForStrangers(r.URL)
	defer outward.CloseIdleConnections()
	both(t, asking, func(c *Config) { c.Outward = outward }, func(t *testing.T, k *kit) {
		m := message(nil, toolPart("form"))
		m.Config = &a2a.SendMessageConfig{PushConfig: &a2a.PushConfig{
			ID: "p", URL: r.URL + "/hook", Token: "t-1", Auth: &a2a.PushAuthInfo{Scheme: "Bearer", Credentials: "c-1"},
		}}
		res, err := k.SendMessage(as(t, "alice"), m)
		if err != nil {
			t.Fatal(err)
		}
		task := res.(*a2a.Task)
		req := r.until(t, "TASK_STATE_INPUT_REQUIRED")
		if req.URL.Path != "/hook" || req.Header.Get("A2A-Notification-Token") != "t-1" || req.Header.Get("Authorization") != "Bearer c-1" {
			t.Errorf("the receiver got %v", req.Header)
		}
		var e a2a.StreamResponse
		if err := json.Unmarshal([]byte(req.Header.Get("X-Body")), &e); err != nil || e.TaskInfo().TaskID != task.ID {
			t.Errorf("the push is %s: %v", req.Header.Get("X-Body"), err)
		}
		got, err := k.GetTaskPushConfig(as(t, "alice"), &a2a.GetTaskPushConfigRequest{TaskID: task.ID, ID: "p"})
		if err != nil || got.Token != "t-1" || got.Auth.Credentials != "" {
			t.Errorf("the configuration is %+v %v", got, err)
		}
		for _, bad := range []string{
			inside.URL, strings.Replace(inside.URL, "127.0.0.1", "localhost", 1), "https://169.254.169.254/latest", "https://[::1]/", "https://10.0.0.1/",
			"http://example.com/", "ftp://example.com/", "https://u:p@example.com/", "file:///etc/passwd", "",
		} {
			if _, err := k.CreateTaskPushConfig(as(t, "alice"), &a2a.PushConfig{TaskID: task.ID, ID: "x", URL: bad}); !errors.Is(err, a2a.ErrInvalidParams) {
				t.Errorf("%s was taken: %v", bad, err)
			}
		}
		k.want(k.say(task, a2a.NewTextPart("Ann")), a2a.TaskStateCompleted)
		r.until(t, "artifactUpdate")
		r.until(t, "TASK_STATE_COMPLETED")
		if len(inside.got) != 0 {
			t.Error("somebody inside was reached")
		}
	})
}

// TestRestart: tasks that wait are answered after a restart, and complete; one
// whose call was under way has failed with the reason; ended ones are there.
// Held calls are come back to without calling anything again.
func TestRestart(t *testing.T) {
	both(t, asking, nil, func(t *testing.T, k *kit) {
		h := newHolder("q1", nameForm)
		k.g.serve["held"] = h.serve
		entered := make(chan struct{}, 1)
		k.g.serve["slow"] = func(c *served) contract.Response {
			entered <- struct{}{}
			<-c.ctx.Done()
			return body(`"error":{"code":-32000,"message":"x"}`)
		}
		form, page := k.say(nil, toolPart("form")), k.say(nil, toolPart("held"))
		done := k.say(nil, toolPart("form"))
		done = k.say(done, a2a.NewTextPart("Zoe"))
		m := message(nil, toolPart("slow"))
		m.Config = &a2a.SendMessageConfig{ReturnImmediately: true}
		r, err := k.SendMessage(as(t, "alice"), m)
		if err != nil {
			t.Fatal(err)
		}
		slow := r.(*a2a.Task)
		<-entered

		// What the next life finds is what was kept at this moment.
		k.shelf = k.shelf.copy()
		k.open()
		k.want(k.until(slow.ID, a2a.TaskStateFailed), a2a.TaskStateFailed, "not known")
		k.want(k.until(done.ID, a2a.TaskStateCompleted), a2a.TaskStateCompleted, "Zoe")
		k.want(k.say(form, a2a.NewTextPart("Ann")), a2a.TaskStateCompleted, `one{"k":`)
		k.want(k.say(page, a2a.NewTextPart("Ben")), a2a.TaskStateCompleted, "Ben")
		all, err := k.ListTasks(as(t, "alice"), &a2a.ListTasksRequest{PageSize: 3})
		if err != nil || all.TotalSize != 4 || len(all.Tasks) != 3 || all.NextPageToken == "" {
			t.Fatalf("the list: %+v %v", all, err)
		}
		rest, err := k.ListTasks(as(t, "alice"), &a2a.ListTasksRequest{PageSize: 3, PageToken: all.NextPageToken})
		if err != nil || len(rest.Tasks) != 1 || rest.NextPageToken != "" {
			t.Errorf("the rest of the list: %+v %v", rest, err)
		}
	})
}

func (m *memShelf) copy() *memShelf {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := &memShelf{values: map[string][]byte{}}
	for id, v := range m.values {
		c.values[id] = v
	}
	return c
}

// TestLimits: tasks under way are bounded for each principal, ended ones are
// kept up to a number, results up to a size, and what cannot be stored is not
// asked.
func TestLimits(t *testing.T) {
	limits := func(c *Config) { c.MaxTasksPerPrincipal, c.MaxPast, c.MaxTask, c.MaxBody = 2, 2, 8<<10, 64<<10 }
	both(t, asking, limits, func(t *testing.T, k *kit) {
		k.g.serve["large"] = func(*served) contract.Response { return text(strings.Repeat("x", 10<<10)) }
		large := k.want(k.say(nil, toolPart("large")), a2a.TaskStateCompleted, "xxx")
		if kept := k.until(large.ID, a2a.TaskStateCompleted); len(kept.Artifacts) != 0 || !strings.Contains(textOf(kept.Status.Message.Parts), "too large") {
			t.Errorf("what is kept is %+v", kept)
		}
		first, second := k.say(nil, toolPart("form")), k.say(nil, toolPart("form"))
		if _, err := k.SendMessage(as(t, "alice"), message(nil, toolPart("form"))); err == nil || !strings.Contains(err.Error(), "as many tasks") {
			t.Errorf("a third task: %v", err)
		}
		if _, err := k.SendMessage(as(t, "bob"), message(nil, toolPart("form"))); err != nil {
			t.Errorf("somebody else's: %v", err)
		}
		k.say(first, a2a.NewTextPart("Ann"))
		k.say(second, a2a.NewTextPart("Ann"))
		// It goes a moment after whoever waits for the newest was told of it.
		for ctx := as(t, "alice"); ; {
			_, err := k.GetTask(ctx, &a2a.GetTaskRequest{ID: large.ID})
			if errors.Is(err, a2a.ErrTaskNotFound) {
				break
			}
			if err != nil {
				t.Fatalf("the oldest ended task: %v", err)
			}
		}
		k.until(second.ID, a2a.TaskStateCompleted)
		if _, err := k.SendMessage(as(t, "alice"), message(nil, a2a.NewTextPart(strings.Repeat("x", 80<<10)))); err == nil {
			t.Error("a body that is too large was taken")
		}
		k.shelf.mu.Lock()
		k.shelf.full = true
		k.shelf.mu.Unlock()
		if _, err := k.SendMessage(as(t, "alice"), message(nil, toolPart("form"))); err == nil || !strings.Contains(err.Error(), "full") {
			t.Errorf("with a full store: %v", err)
		}
		k.shelf.mu.Lock()
		k.shelf.full = false
		k.shelf.mu.Unlock()
	})
}

// TestRefused: who is not let in hears so in HTTP, with a challenge.
func TestRefused(t *testing.T) {
	both(t, echoing, nil, func(t *testing.T, k *kit) {
		for _, c := range []struct {
			method, path, who, version string
			want                       int
		}{
			{"POST", "/a2a/one", "wrong", "", 401},
			{"GET", "/a2a/one/tasks", "wrong", "", 401},
			{"GET", "/a2a/one/tasks", "alice", "", 200},
			{"GET", "/a2a/two/tasks", "alice", "", 404},
			{"GET", "/a2a/one", "alice", "", 405},
			{"GET", "/a2a/one/tasks", "alice", "0.3", 400},
			{"GET", "/a2a/one/tasks", "alice", "1.0", 200},
			{"GET", "/a2a/tasks", "alice", "", 200},
		} {
			r, _ := http.NewRequestWithContext(as(t, ""), c.method, k.server.URL+c.path, strings.NewReader("{}"))
			r.Header.Set("Authorization", c.who)
			if c.version != "" {
				r.Header.Set(a2a.SvcParamVersion, c.version)
			}
			resp, err := k.http.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if resp.StatusCode != c.want || (c.want == 401) != (resp.Header.Get("WWW-Authenticate") != "") {
				t.Errorf("%+v: %d %v", c, resp.StatusCode, resp.Header)
			}
		}
	})
}

// TestSurfaceName: the relay is told by which way a caller comes.
func TestSurfaceName(t *testing.T) {
	both(t, asking, nil, func(t *testing.T, k *kit) {
		k.g.serve["who"] = func(c *served) contract.Response { return text(c.who.Surface + " " + c.who.String()) }
		k.want(k.say(nil, toolPart("who")), a2a.TaskStateCompleted, "a2a "+ask.Principal{Issuer: "test", Subject: "alice"}.String())
	})
}

// TestAttackOddMessages: what a client can write and no program of this
// protocol would is refused in words, and by no panic.
func TestAttackOddMessages(t *testing.T) {
	both(t, echoing, nil, func(t *testing.T, k *kit) {
		head := `{"message":{"messageId":"1","role":"ROLE_USER","parts":`
		for name, body := range map[string]string{
			"a part that is null":     head + `[null]}}`,
			"null beside another":     head + `[{"text":"hi"},null]}}`,
			"a part of nothing":       head + `[{}]}}`,
			"a part of two kinds":     head + `[{"text":"a","data":{}}]}}`,
			"parts twice":             head + `[{"data":{"tool":"echo"}}],"parts":[]}}`,
			"no parts":                head + `null}}`,
			"no message":              `{"message":null}`,
			"nothing":                 `null`,
			"a list":                  `[]`,
			"a configuration of null": head + `[null]},"configuration":null}`,
		} {
			for path, raw := range map[string]string{
				"/a2a/one/message:send": body,
				"/a2a/one":              `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":` + body + `}`,
			} {
				r, _ := http.NewRequestWithContext(as(t, ""), http.MethodPost, k.server.URL+path, strings.NewReader(raw))
				r.Header.Set("Authorization", "alice")
				r.Header.Set("Content-Type", "application/json")
				resp, err := k.http.Do(r)
				if err != nil {
					t.Errorf("%s at %s: %v", name, path, err)
					continue
				}
				said, _ := io.ReadAll(resp.Body)
				resp.Body.Close()
				if !strings.Contains(string(said), `"error"`) || strings.Contains(string(said), "panic") {
					t.Errorf("%s at %s: %d %s", name, path, resp.StatusCode, said)
				}
			}
		}
		// The control: the same way takes a message that is in order.
		k.want(k.say(nil, toolPart("echo")), a2a.TaskStateCompleted)
	})
}

// TestPushSecretsDoNotPrint: a record is logged, printed and written without
// what its receivers know us by, but for where it is kept.
func TestPushSecretsDoNotPrint(t *testing.T) {
	r := &record{
		Task: &a2a.Task{ID: "t"},
		Push: []push{{ID: "p", URL: "https://example.com", Token: secret.New("canary-token"), Scheme: "Bearer", Credentials: secret.New("canary-credentials")}},
	}
	written, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	push, err := json.Marshal(r.Push)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{string(written), string(push), fmt.Sprintf("%v %+v %#v", r.Push, r.Push, r.Push)} {
		if strings.Contains(text, "canary") {
			t.Errorf("it prints %s", text)
		}
	}
	raw, err := r.write()
	if err != nil {
		t.Fatal(err)
	}
	back, err := readRecord(raw)
	if err != nil || len(back.Push) != 1 || back.Push[0].Token.Reveal() != "canary-token" || back.Push[0].Credentials.Reveal() != "canary-credentials" {
		t.Errorf("what is kept comes back as %+v, %v", back, err)
	}
}
