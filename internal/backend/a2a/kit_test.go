package a2a

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/contract"
	"github.com/answerback/answerback/internal/egress"
	"github.com/answerback/answerback/internal/seal"
	"github.com/answerback/answerback/internal/wire"
	"github.com/answerback/answerback/test/rig"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	ann = ask.Principal{Issuer: "test", Subject: "ann"}
	bob = ask.Principal{Issuer: "test", Subject: "bob"}
)

// kinds are the ways in which an agent can be spoken to.
var kinds = map[string]rig.AgentKind{
	"streaming":      {Streaming: true},
	"polling":        {},
	"REST streaming": {Streaming: true, REST: true},
	"REST polling":   {REST: true},
}

func newBackend(t testing.TB, url string, change func(*Config)) *Backend {
	t.Helper()
	cfg := Config{
		Name: "agent", URL: url, Client: egress.ForBackends(egress.Config{}), Ring: seal.Random(),
		Log: slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	if change != nil {
		change(&cfg)
	}
	b, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close(context.Background()) })
	return b
}

// patience is how long a test waits for anything.
const patience = 20 * time.Second

// client is one who calls: what comes for its calls is kept.
type client struct {
	t    testing.TB
	line contract.Line
	caps string

	mu    sync.Mutex
	notes []string
	wake  chan struct{}
}

func newClient(t testing.TB, b *Backend, who ask.Principal) *client {
	t.Helper()
	l, err := b.Stateless(t.Context(), who)
	if err != nil {
		t.Fatal(err)
	}
	return &client{t: t, line: l, caps: `{"elicitation":{"form":{},"url":{}}}`, wake: make(chan struct{}, 1)}
}

func (c *client) Notify(m *wire.Message) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.notes = append(c.notes, string(m.Raw))
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

func (c *client) Question(*contract.Question) { c.t.Error("an agent asked by a question") }

func (c *client) told() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]string(nil), c.notes...)
}

func (c *client) request(method, params string) contract.Outgoing {
	meta := `"_meta":{"progressToken":"p","io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":` + c.caps + `}`
	if params != "" {
		meta += ","
	}
	m, err := wire.Scan([]byte(`{"jsonrpc":"2.0","id":7,"method":"`+method+`","params":{`+meta+params+`}}`), wire.Limits{})
	if err != nil {
		c.t.Fatal(err)
	}
	return contract.Outgoing{Msg: &m}
}

// call makes one round of tools/call; more are members of its params.
func (c *client) call(skill string, more ...string) (wire.Message, error) {
	return c.callIn(c.t.Context(), skill, more...)
}

func (c *client) callIn(ctx context.Context, skill string, more ...string) (wire.Message, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("the call took too long"))
	defer cancel()
	params := append([]string{`"name":"` + skill + `","arguments":{"message":"go","data":{"n":1}}`}, more...)
	reply, err := c.line.Call(ctx, c.request("tools/call", strings.Join(params, ",")), c)
	return reply.Msg, err
}

// result makes a round that must end with a result.
func (c *client) result(skill string, more ...string) wire.Message {
	c.t.Helper()
	m, err := c.call(skill, more...)
	if err != nil {
		c.t.Fatal(err)
	}
	if m.Kind != wire.Result || string(m.Field(m.ID)) != "7" {
		c.t.Fatalf("%s", m.Raw)
	}
	return m
}

// asked makes a round in which the client is asked, and gives the parameters
// of the question, and the state as a member of params.
func (c *client) asked(skill string, more ...string) (params, state string) {
	c.t.Helper()
	m := c.result(skill, more...)
	return question(c.t, m)
}

func question(t testing.TB, m wire.Message) (params, state string) {
	t.Helper()
	if m.Text(m.ResultType) != "input_required" || m.ResultState.IsZero() {
		t.Fatalf("nothing was asked: %s", m.Raw)
	}
	q := wire.Get(m.Raw, m.InputRequests, inputKey)
	if method := string(wire.Get(m.Raw, q, "method").Of(m.Raw)); method != `"elicitation/create"` {
		t.Fatalf("asked with %s: %s", method, m.Raw)
	}
	return string(wire.Get(m.Raw, q, "params").Of(m.Raw)), `"requestState":` + string(m.Field(m.ResultState))
}

func answers(response string) string {
	return `"inputResponses":{"` + inputKey + `":` + response + `}`
}

func equal(t testing.TB, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s:\n got %s\nwant %s", what, got, want)
	}
}

func contains(t testing.TB, what, got string, want ...string) {
	t.Helper()
	for _, w := range want {
		if !strings.Contains(got, w) {
			t.Errorf("%s:\n got %s\nwant %s in it", what, got, w)
		}
	}
}

func result(m wire.Message) string { return string(m.Field(m.Result)) }

// await waits until what the client was told meets a condition.
func (c *client) await(met func() bool) {
	c.t.Helper()
	deadline := time.After(patience)
	for !met() {
		select {
		case <-c.wake:
		case <-deadline:
			c.t.Fatal("it did not happen")
		}
	}
}
