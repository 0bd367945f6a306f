package bridge

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/contract"
	"github.com/answerback/answerback/internal/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// server is a modern server that a test answers for.
type server struct {
	serve func(ctx context.Context, m *wire.Message, h http.Header, sink contract.Sink) string

	mu   sync.Mutex
	seen []wire.Message
}

func (s *server) Call(ctx context.Context, out contract.Outgoing, sink contract.Sink) (contract.Reply, error) {
	m := scan(string(wire.Splice(nil, out.Msg.Raw, out.Edits...)))
	s.mu.Lock()
	s.seen = append(s.seen, m)
	s.mu.Unlock()
	raw := s.serve(ctx, &m, out.Params, sink)
	if ctx.Err() != nil {
		return contract.Reply{}, context.Cause(ctx)
	}
	return contract.Reply{Msg: scan(raw), Status: 200}, nil
}

func (s *server) Welcome() wire.Message                { return wire.Message{} }
func (s *server) Notify(context.Context, []byte) error { return nil }
func (s *server) Listen()                              {}
func (s *server) Done() <-chan struct{}                { return nil }
func (s *server) Close(context.Context)                {}

// client is the sink and the events of a legacy client.
type client struct {
	answer func(q *contract.Question) (result, fault string)

	mu       sync.Mutex
	asked    []string
	notified []string
}

func (c *client) Notify(m *wire.Message) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.notified = append(c.notified, string(m.Raw))
}

func (c *client) Question(q *contract.Question) {
	c.mu.Lock()
	c.asked = append(c.asked, q.Method+" "+string(q.Params))
	c.mu.Unlock()
	result, fault := c.answer(q)
	var f []byte
	if fault != "" {
		f = []byte(fault)
	}
	_ = q.Reply(context.Background(), []byte(result), f)
}

func (c *client) Lost(*ask.Error) {}

func (c *client) heard() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]string(nil), c.notified...)
}

func scan(raw string) wire.Message {
	m, err := wire.Scan([]byte(raw), wire.Limits{})
	if err != nil {
		panic(raw + ": " + err.Error())
	}
	return m
}

func reply(m *wire.Message, result string) string {
	return `{"jsonrpc":"2.0","id":` + string(m.Field(m.ID)) + `,"result":` + result + `}`
}

const discovered = `{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true},"resources":{"subscribe":true},"extensions":{"x/y":{}}},"instructions":"be kind","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"new","version":"9"}}}}`

const hello = `{"protocolVersion":"2025-06-18","capabilities":{"elicitation":{},"sampling":{}},"clientInfo":{"name":"old","version":"1"}}`

func open(t *testing.T, s *server, c *client) *Line {
	t.Helper()
	l, err := Open(Config{
		Crossing: contract.Crossing{Backend: "b", Far: s, Discovered: scan(discovered), Hello: contract.Hello{Params: []byte(hello), Events: c}},
		Log:      slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close(context.Background()) })
	return l
}

func call(t *testing.T, l *Line, c *client, raw string) wire.Message {
	t.Helper()
	m := scan(raw)
	r, err := l.Call(context.Background(), contract.Outgoing{Msg: &m, Name: "t"}, c)
	if err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return r.Msg
}

const toolCall = `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"t","arguments":{"n":1.10},"_meta":{"vendor/x":1.10}}}`

// The handshake is answered from what the server says of itself, at the
// version that the client offered.
func TestWelcomeIsMadeFromDiscover(t *testing.T) {
	l := open(t, &server{}, &client{})
	w := l.Welcome()
	want := `{"protocolVersion":"2025-06-18","capabilities":{"tools":{"listChanged":true},"resources":{"subscribe":true}},"serverInfo":{"name":"new","version":"9"},"instructions":"be kind"}`
	if got := string(w.Field(w.Result)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// Every request carries what the modern era demands, and the result loses
// only what the legacy era does not have.
func TestRequestsAreModernised(t *testing.T) {
	s := &server{serve: func(_ context.Context, m *wire.Message, _ http.Header, _ contract.Sink) string {
		return reply(m, `{"resultType":"complete","x":1.10}`)
	}}
	l, c := open(t, s, &client{}), &client{}
	call(t, l, c, `{"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{"level":"warning"}}`)
	for _, raw := range []string{toolCall, `{"jsonrpc":"2.0","id":8,"method":"tools/list"}`, `{"jsonrpc":"2.0","id":9,"method":"tools/list","params":{}}`} {
		r := call(t, l, c, raw)
		if got := string(r.Field(r.Result)); got != `{"x":1.10}` {
			t.Errorf("the result is %s", got)
		}
		m := s.seen[len(s.seen)-1]
		if m.Text(m.MetaVersion) != "2026-07-28" || string(m.Field(m.MetaClientInfo)) != `{"name":"old","version":"1"}` ||
			string(m.Field(m.MetaCapabilities)) != `{"elicitation":{},"sampling":{}}` || m.Text(m.MetaLogLevel) != "warning" {
			t.Errorf("the request lacks its _meta: %s", m.Raw)
		}
	}
	if m := s.seen[0]; string(m.Field(m.Arguments)) != `{"n":1.10}` || !strings.Contains(string(m.Field(m.Meta)), `"vendor/x":1.10`) {
		t.Errorf("the request was changed beyond its _meta: %s", m.Raw)
	}
}

// The questions of a round are asked together; the retry has an id of its
// own, the answers byte for byte, and exactly the state that the server gave,
// or none.
func TestRoundsUntilComplete(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		s.serve = func(_ context.Context, m *wire.Message, _ http.Header, _ contract.Sink) string {
			switch len(s.seen) {
			case 1:
				return reply(m, `{"resultType":"input_required","inputRequests":{"a<":{"method":"elicitation/create","params":{"message":"m","requestedSchema":{"type":"object","properties":{}},"x":1.10}},"b":{"method":"sampling/createMessage","params":{"messages":[],"maxTokens":1}}},"requestState":"s\u00e9<"}`)
			case 2:
				return reply(m, `{"resultType":"input_required","inputRequests":{"c":{"method":"roots/list"}}}`)
			case 3:
				return reply(m, `{"resultType":"input_required","requestState":"busy"}`)
			}
			return reply(m, `{"resultType":"complete","ok":true}`)
		}
		c := &client{answer: func(q *contract.Question) (string, string) { return `{"for":"` + q.Method + `","n":1.10}`, "" }}
		l := open(t, s, c)
		start := time.Now()
		if r := call(t, l, c, toolCall); string(r.Field(r.Result)) != `{"ok":true}` {
			t.Errorf("the result is %s", r.Raw)
		}
		if len(s.seen) != 4 || len(c.asked) != 3 {
			t.Fatalf("%d requests, %d questions", len(s.seen), len(c.asked))
		}
		second, third, fourth := s.seen[1], s.seen[2], s.seen[3]
		if got := string(second.Field(second.InputResponses)); got != `{"a<":{"for":"elicitation/create","n":1.10},"b":{"for":"sampling/createMessage","n":1.10}}` {
			t.Errorf("the answers are %s", got)
		}
		if got := string(second.Field(second.RequestState)); got != `"s\u00e9<"` {
			t.Errorf("the state is %s", got)
		}
		if !third.RequestState.IsZero() || string(third.Field(third.InputResponses)) != `{"c":{"for":"roots/list","n":1.10}}` {
			t.Errorf("the third request is %s", third.Raw)
		}
		if string(fourth.Field(fourth.RequestState)) != `"busy"` || !fourth.InputResponses.IsZero() || time.Since(start) < firstWait {
			t.Errorf("after %v the fourth request is %s", time.Since(start), fourth.Raw)
		}
		ids := map[string]bool{}
		for _, m := range s.seen {
			ids[string(m.Field(m.ID))] = true
		}
		if len(ids) != 4 {
			t.Errorf("ids were used twice: %v", ids)
		}
	})
}

// A client that refuses a question with an error ends the call with it: the
// modern era has no place for it.
func TestClientErrorEndsTheCall(t *testing.T) {
	s := &server{serve: func(_ context.Context, m *wire.Message, _ http.Header, _ contract.Sink) string {
		return reply(m, `{"resultType":"input_required","inputRequests":{"b":{"method":"sampling/createMessage","params":{}}}}`)
	}}
	c := &client{answer: func(*contract.Question) (string, string) { return "", `{"code":-1,"message":"no","data":1.10}` }}
	r := call(t, open(t, s, c), c, toolCall)
	if string(r.Field(r.Error)) != `{"code":-1,"message":"no","data":1.10}` || len(s.seen) != 1 {
		t.Errorf("after %d requests: %s", len(s.seen), r.Raw)
	}
}

// A page that the person agreed to open is not asked for again while the
// server waits for it; it gets the id that the legacy era demands, and the
// client hears when it is done.
func TestPagesAreAskedForOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		s.serve = func(_ context.Context, m *wire.Message, _ http.Header, _ contract.Sink) string {
			if len(s.seen) < 4 {
				return reply(m, `{"resultType":"input_required","inputRequests":{"u":{"method":"elicitation/create","params":{"mode":"url","message":"m","url":"https://example.com/"}}}}`)
			}
			return reply(m, `{"resultType":"complete"}`)
		}
		c := &client{answer: func(*contract.Question) (string, string) { return `{"action":"accept"}`, "" }}
		call(t, open(t, s, c), c, toolCall)
		if len(c.asked) != 1 {
			t.Fatalf("asked %d times", len(c.asked))
		}
		_, id, _ := strings.Cut(c.asked[0], `"elicitationId":"`)
		id, _, _ = strings.Cut(id, `"`)
		if id == "" || len(c.notified) != 1 || c.notified[0] != `{"jsonrpc":"2.0","method":"notifications/elicitation/complete","params":{"elicitationId":"`+id+`"}}` {
			t.Errorf("asked %s, told %v", c.asked[0], c.notified)
		}
	})
}

// A refusal for missing headers makes the line read the schemas that name
// them, once, and send again.
func TestHeadersAreDerivedFromSchemas(t *testing.T) {
	var got http.Header
	s := &server{}
	s.serve = func(_ context.Context, m *wire.Message, h http.Header, _ contract.Sink) string {
		switch {
		case m.Method() == "tools/list":
			return reply(m, `{"tools":[{"name":"t","inputSchema":{"properties":{"n":{"type":"integer","x-mcp-header":"Count"},"deep":{"properties":{"s":{"x-mcp-header":"text"}}}}}}]}`)
		case h == nil:
			return `{"jsonrpc":"2.0","id":` + string(m.Field(m.ID)) + `,"error":{"code":-32020,"message":"headers"}}`
		}
		got = h
		return reply(m, `{"resultType":"complete"}`)
	}
	c := &client{}
	l := open(t, s, c)
	request := `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"t","arguments":{"n":42,"deep":{"s":"é"}}}}`
	for range 2 {
		if r := call(t, l, c, request); r.Kind != wire.Result {
			t.Fatalf("got %s", r.Raw)
		}
	}
	if got.Get("Mcp-Param-Count") != "42" || got.Get("Mcp-Param-Text") != "=?base64?w6k=?=" || len(s.seen) != 4 {
		t.Errorf("after %d requests the headers are %v", len(s.seen), got)
	}
}

// Subscriptions become one listen stream, opened anew before the old one
// ends, and its notifications lose the id that the client knows nothing of.
func TestSubscriptionsListen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		streams := make(chan contract.Sink, 4)
		ended := make(chan string, 4)
		s := &server{serve: func(ctx context.Context, m *wire.Message, _ http.Header, sink contract.Sink) string {
			ack := scan(`{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"notifications":{}}}`)
			sink.Notify(&ack)
			streams <- sink
			<-ctx.Done()
			ended <- string(wire.Get(m.Raw, m.Params, "notifications").Of(m.Raw))
			return ""
		}}
		c := &client{}
		l := open(t, s, c)
		l.Listen()
		<-streams
		call(t, l, c, `{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"x://r"}}`)
		second := <-streams
		if first := <-ended; first != `{"toolsListChanged":true}` {
			t.Errorf("the first stream was for %s", first)
		}
		n := scan(`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":"l2"},"uri":"x://r"}}`)
		second.Notify(&n)
		if got := c.heard(); len(got) != 1 || got[0] != `{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"_meta":{},"uri":"x://r"}}` {
			t.Errorf("the client heard %v", got)
		}
		l.Close(context.Background())
		if last := <-ended; last != `{"toolsListChanged":true,"resourceSubscriptions":["x://r"]}` {
			t.Errorf("the second stream was for %s", last)
		}
	})
}
