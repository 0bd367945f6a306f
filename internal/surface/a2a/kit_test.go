package a2a

import (
	"context"
	"encoding/json"
	"iter"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"
	"go.uber.org/goleak"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/contract"
	"github.com/answerback/answerback/internal/egress"
	"github.com/answerback/answerback/internal/seal"
	"github.com/answerback/answerback/internal/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const patience = 20 * time.Second

// fakeGateway stands for everything behind the surface: tools are served by
// functions of the test. The real one is in the tests of test/e2e.
type fakeGateway struct {
	tools string // the list, raw
	serve map[string]func(c *served) contract.Response

	mu    sync.Mutex
	calls []string // what was called, as it came
}

// served is one round of a call.
type served struct {
	ctx  context.Context
	msg  *wire.Message
	peer contract.Peer
	who  contract.Caller
}

func (c *served) state() string   { return c.msg.Text(c.msg.RequestState) }
func (c *served) answers() string { return string(c.msg.Field(c.msg.InputResponses)) }
func (c *served) args() string    { return string(c.msg.Field(c.msg.Arguments)) }

func (g *fakeGateway) Knows(at string, _ contract.Caller) bool { return at == "" || at == "one" }

func (g *fakeGateway) Call(ctx context.Context, _ string, who contract.Caller, msg *wire.Message, _ http.Header, peer contract.Peer) contract.Response {
	if msg.Method() == "tools/list" {
		tools := g.tools
		if who.Subject == "nobody" {
			tools = ""
		}
		return body(`"result":{"resultType":"complete","tools":[` + tools + `]}`)
	}
	g.mu.Lock()
	g.calls = append(g.calls, string(msg.Raw))
	g.mu.Unlock()
	serve := g.serve[msg.Text(msg.Name)]
	if serve == nil {
		return body(`"error":{"code":-32602,"message":"There is no such tool.","data":{"reason":"unknown_name"}}`)
	}
	return serve(&served{ctx, msg, peer, who})
}

func (g *fakeGateway) count() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.calls)
}

func body(rest string) contract.Response {
	return contract.Response{Body: []byte(`{"jsonrpc":"2.0","id":1,` + rest + `}`), Status: 200}
}

func text(s string) contract.Response {
	return body(`"result":{"resultType":"complete","content":[{"type":"text","text":` + string(wire.AppendString(nil, s)) + `}]}`)
}

func wants(state, inputs string) contract.Response {
	return body(`"result":{"resultType":"input_required","requestState":"` + state + `","inputRequests":{` + inputs + `}}`)
}

func held(r contract.Response) contract.Response {
	r.Held = true
	return r
}

func input(key, params string) string {
	return `"` + key + `":{"method":"elicitation/create","params":` + params + `}`
}

const (
	nameForm = `{"message":"Your name?","requestedSchema":{"type":"object","properties":{"name":{"type":"string","minLength":2}},"required":["name"]}}`
	twoForm  = `{"message":"Who?","requestedSchema":{"type":"object","properties":{"name":{"type":"string"},"n":{"type":"integer"}},"required":["name","n"]}}`
	urlAsk   = `{"mode":"url","message":"Connect","url":"https://example.com/c","elicitationId":"e"}`
)

// memShelf keeps values in memory.
type memShelf struct {
	mu     sync.Mutex
	values map[string][]byte
	full   bool
	aside  []error
}

func (m *memShelf) Keep(_ context.Context, id string, value []byte, _ time.Duration) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.full {
		return ask.Errorf(ask.StoreFull, "The gateway's store is full.")
	}
	m.values[id] = value
	return nil
}

func (m *memShelf) Kept(_ context.Context, id string) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.values[id], nil
}

func (m *memShelf) Drop(_ context.Context, id string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.values, id)
	return nil
}

func (m *memShelf) Below(_ context.Context, prefix string) iter.Seq2[[]byte, error] {
	m.mu.Lock()
	defer m.mu.Unlock()
	var found [][]byte
	for id, v := range m.values {
		if strings.HasPrefix(id, prefix+".") {
			found = append(found, v)
		}
	}
	return func(yield func([]byte, error) bool) {
		for _, v := range found {
			if !yield(v, nil) {
				return
			}
		}
	}
}

func (m *memShelf) Restore(ctx context.Context, prefix string, take func([]byte) error) error {
	for v := range m.Below(ctx, prefix) {
		if err := take(v); err != nil {
			m.aside = append(m.aside, err)
		}
	}
	return nil
}

// kit is a surface that is served, and a client of one binding.
type kit struct {
	*a2aclient.Client
	t       *testing.T
	surface *Surface
	server  *httptest.Server
	shelf   *memShelf
	ring    *seal.Ring
	home    seal.Home
	g       *fakeGateway
	http    *http.Client
	binding a2a.TransportProtocol
	change  func(*Config)
	trusted []string // receivers of pushes
}

// both runs a test with a client of each binding.
func both(t *testing.T, g func() *fakeGateway, change func(*Config), test func(t *testing.T, k *kit)) {
	for _, binding := range []a2a.TransportProtocol{a2a.TransportProtocolJSONRPC, a2a.TransportProtocolHTTPJSON} {
		t.Run(string(binding), func(t *testing.T) {
			k := &kit{t: t, g: g(), shelf: &memShelf{values: map[string][]byte{}}, ring: seal.Random(), home: seal.RandomHome(), binding: binding, change: change}
			k.open()
			test(t, k)
		})
	}
}

// config is that of a surface over what the kit has.
func (k *kit) config(outward Outward) Config {
	return Config{
		Gateway: k.g, Shelf: k.shelf, Outward: outward,
		Authenticate: func(r *http.Request) (contract.Caller, error) {
			who := r.Header.Get("Authorization")
			if who == "wrong" {
				return contract.Caller{}, ask.Errorf(ask.NotAllowed, "no")
			}
			return contract.Caller{Principal: ask.Principal{Issuer: "test", Subject: who}}, nil
		},
		Patience:  func(ask.Kind) time.Duration { return time.Hour },
		PublicURL: "http://gw.example", Version: "1", Ring: k.ring, Home: k.home, Log: slog.New(slog.DiscardHandler),
	}
}

// bare makes a surface that is not served.
func (k *kit) bare() *Surface {
	k.ring, k.home = seal.Random(), seal.RandomHome()
	s, err := New(k.config(egress.ForStrangers()))
	if err != nil {
		k.t.Fatal(err)
	}
	return s
}

// open serves a surface over what the kit has.
func (k *kit) open() {
	k.t.Helper()
	k.http = &http.Client{Transport: &http.Transport{}}
	k.server = httptest.NewUnstartedServer(nil)
	outward := egress.ForStrangers(k.trusted...)
	cfg := k.config(outward)
	if k.change != nil {
		k.change(&cfg)
	}
	var err error
	if k.surface, err = New(cfg); err != nil {
		k.t.Fatal(err)
	}
	if err := k.surface.Restore(context.Background()); err != nil {
		k.t.Fatal(err)
	}
	k.server.Config.Handler = k.surface
	k.server.Start()
	k.Client = k.client("/a2a/one")
	surface, server, conns := k.surface, k.server, k.http
	k.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := surface.Close(ctx); err != nil {
			k.t.Error(err)
		}
		conns.CloseIdleConnections()
		server.Close()
		outward.CloseIdleConnections()
	})
}

func (k *kit) client(path string) *a2aclient.Client {
	k.t.Helper()
	at := a2a.NewAgentInterface(k.server.URL+path, k.binding)
	c, err := a2aclient.NewFromEndpoints(context.Background(), []*a2a.AgentInterface{at}, a2aclient.WithJSONRPCTransport(k.http), a2aclient.WithRESTTransport(k.http))
	if err != nil {
		k.t.Fatal(err)
	}
	return c
}

// as gives a context in which somebody calls.
func as(t *testing.T, who string) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return a2aclient.AttachServiceParams(ctx, a2aclient.ServiceParams{"Authorization": {who}})
}

func data(raw string) *a2a.Part { return a2a.NewDataPart(json.RawMessage(raw)) }

func toolPart(name string) *a2a.Part { return data(`{"tool":"` + name + `"}`) }

func message(to *a2a.Task, parts ...*a2a.Part) *a2a.SendMessageRequest {
	m := a2a.NewMessage(a2a.MessageRoleUser, parts...)
	if to != nil {
		m.TaskID, m.ContextID = to.ID, to.ContextID
	}
	return &a2a.SendMessageRequest{Message: m}
}

// say sends a message as alice, and gives the task that comes of it.
func (k *kit) say(to *a2a.Task, parts ...*a2a.Part) *a2a.Task {
	k.t.Helper()
	r, err := k.SendMessage(as(k.t, "alice"), message(to, parts...))
	if err != nil {
		k.t.Fatal(err)
	}
	return r.(*a2a.Task)
}

func (k *kit) want(task *a2a.Task, state a2a.TaskState, words ...string) *a2a.Task {
	k.t.Helper()
	all := ""
	if task.Status.Message != nil {
		all = textOf(task.Status.Message.Parts)
	}
	for _, a := range task.Artifacts {
		all += textOf(a.Parts)
	}
	if task.Status.State != state {
		k.t.Fatalf("the task is %s: %s", task.Status.State, all)
	}
	for _, w := range words {
		if !strings.Contains(all, w) {
			k.t.Errorf("the task says %q, without %q", all, w)
		}
	}
	return task
}

// asked gives the questions of a task as its data parts have them.
func asked(t *testing.T, task *a2a.Task) []shown {
	t.Helper()
	var all []shown
	for _, p := range task.Status.Message.Parts {
		if d, ok := p.Content.(a2a.Data); ok {
			raw, _ := json.Marshal(d.Value)
			var s shown
			if err := json.Unmarshal(raw, &s); err != nil {
				t.Fatal(err)
			}
			if _, marked := p.Metadata[FormsExtension]; !marked {
				t.Error("the data part is not marked with the extension")
			}
			all = append(all, s)
		}
	}
	return all
}

// until follows a task to a state.
func (k *kit) until(id a2a.TaskID, state a2a.TaskState) *a2a.Task {
	k.t.Helper()
	ctx := as(k.t, "alice")
	for {
		task, err := k.GetTask(ctx, &a2a.GetTaskRequest{ID: id})
		if err != nil {
			k.t.Fatal(err)
		}
		if task.Status.State == state {
			return task
		}
		if task.Status.State.Terminal() {
			k.t.Fatalf("the task is %s", task.Status.State)
		}
		select {
		case <-time.After(5 * time.Millisecond):
		case <-ctx.Done():
			k.t.Fatalf("the task is %s, and does not become %s", task.Status.State, state)
		}
	}
}
