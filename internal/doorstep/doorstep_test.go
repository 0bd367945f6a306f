package doorstep

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
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

var ann = ask.Principal{Issuer: "https://login.example.com", Subject: "ann"}

// accounts is one that is connected when connect is called.
type accounts struct {
	mu        sync.Mutex
	connected chan struct{}
	wanted    []error
}

func newAccounts() *accounts { return &accounts{connected: make(chan struct{})} }

func (a *accounts) Want(_ ask.Principal, why error) <-chan struct{} {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.wanted = append(a.wanted, why)
	return a.connected
}

func (a *accounts) Link() string { return "https://gateway.example.com/connections/docs" }

func (a *accounts) connect() { close(a.connected) }

func (a *accounts) has() bool {
	select {
	case <-a.connected:
		return true
	default:
		return false
	}
}

var refused = ask.Wrap(ask.NotConnected, "Not connected.", &contract.Challenge{Status: 401})

// server is a backend that wants an account: for the handshake too, or for
// calls only.
type server struct {
	accounts *accounts
	late     bool // the handshake passes without one
	never    bool // no account is good enough
	mu       sync.Mutex
	ran      int
	notes    []string
	done     chan struct{}
	closed   int
	listens  int
}

func newServer() *server { return &server{accounts: newAccounts(), done: make(chan struct{})} }

func (s *server) open(context.Context, contract.Hello) (contract.Line, error) {
	if !s.late && !s.accounts.has() {
		return nil, refused
	}
	return s, nil
}

func (s *server) Welcome() wire.Message {
	m, _ := wire.Scan([]byte(`{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-06-18","serverInfo":{"name":"real"}}}`), wire.Limits{})
	return m
}

func (s *server) Call(_ context.Context, out contract.Outgoing, _ contract.Sink) (contract.Reply, error) {
	if !s.accounts.has() || s.never {
		return contract.Reply{}, refused
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ran++
	m, err := wire.Scan([]byte(`{"jsonrpc":"2.0","id":`+string(out.Msg.Field(out.Msg.ID))+`,"result":{"ran":"`+out.Msg.Method()+`"}}`), wire.Limits{})
	return contract.Reply{Msg: m, Status: 200}, err
}

func (s *server) Notify(_ context.Context, msg []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.notes = append(s.notes, string(msg))
	return nil
}

func (s *server) Listen()               { s.mu.Lock(); s.listens++; s.mu.Unlock() }
func (s *server) Done() <-chan struct{} { return s.done }
func (s *server) Close(context.Context) { s.mu.Lock(); s.closed++; s.mu.Unlock() }

// client takes what comes for a call, and for the session.
type client struct {
	mu        sync.Mutex
	questions chan *contract.Question
	told      []string
}

func newClient() *client { return &client{questions: make(chan *contract.Question, 8)} }

func (c *client) Notify(msg *wire.Message) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.told = append(c.told, msg.Method())
}
func (c *client) Question(q *contract.Question) {
	context.AfterFunc(q.Gone, q.Over)
	c.questions <- q
}
func (c *client) Lost(*ask.Error) {}

func openLine(t *testing.T, s *server, c *client, change func(*Config)) contract.Line {
	t.Helper()
	return openFor(t, s, c, false, change)
}

func openFor(t *testing.T, s *server, c *client, links bool, change func(*Config)) contract.Line {
	t.Helper()
	cfg := Config{Backend: "docs", Accounts: s.accounts, Log: slog.New(slog.DiscardHandler)}
	if change != nil {
		change(&cfg)
	}
	d, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	l, err := d.Open(t.Context(), contract.Hello{Principal: ann, Params: []byte(`{"protocolVersion":"2025-06-18"}`), Events: c, Links: links}, s.open)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close(context.Background()) })
	return l
}

func request(t *testing.T, method, name string) contract.Outgoing {
	t.Helper()
	m, err := wire.Scan([]byte(`{"jsonrpc":"2.0","id":"7","method":"`+method+`","params":{"name":"`+name+`"}}`), wire.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return contract.Outgoing{Msg: &m, Name: name}
}

type ended struct {
	reply contract.Reply
	err   error
}

func call(t *testing.T, l contract.Line, c *client, out contract.Outgoing) chan ended {
	t.Helper()
	end := make(chan ended, 1)
	go func() {
		reply, err := l.Call(t.Context(), out, c)
		end <- ended{reply, err}
	}()
	return end
}

// TestTheSameCallGoesOn: a call waits on the doorstep, its person connects,
// and it runs once, whether the backend refused the handshake or the call.
func TestTheSameCallGoesOn(t *testing.T) {
	for _, late := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			s, c := newServer(), newClient()
			s.late = late
			l := openLine(t, s, c, nil)
			if err := l.Notify(t.Context(), []byte(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)); err != nil {
				t.Fatal(err)
			}
			l.Listen()
			end := call(t, l, c, request(t, "tools/call", "search"))
			q := <-c.questions
			if q.Kind != ask.Connect || !strings.Contains(string(q.Params), "docs") {
				t.Errorf("asked %v %s", q.Kind, q.Params)
			}
			synctest.Wait()
			if s.ran != 0 {
				t.Error("it ran before there was an account")
			}
			s.accounts.connect()
			got := <-end
			if got.err != nil || !strings.Contains(string(got.reply.Msg.Raw), `"ran":"tools/call"`) || s.ran != 1 {
				t.Errorf("%s %v, ran %d times", got.reply.Msg.Raw, got.err, s.ran)
			}
			if code := ask.CodeOf(context.Cause(q.Gone)); code != ask.BackendWithdrew {
				t.Errorf("the question ended with %s", code)
			}
			if len(s.notes) != 1 || s.listens != 1 {
				t.Errorf("the backend heard %q and was listened to %d times", s.notes, s.listens)
			}
			if !late && strings.Join(c.told, " ") != "notifications/tools/list_changed notifications/prompts/list_changed notifications/resources/list_changed" {
				t.Errorf("the client was told %q", c.told)
			}
		})
	}
}

// TestACallThatHasBegunGoesOn: a backend that had begun on a call before it
// wanted another account is sent the state from which it goes on, and else the
// same request.
func TestACallThatHasBegunGoesOn(t *testing.T) {
	c := newClient()
	b := &begun{server: newServer()}
	b.accounts.connect()
	d, err := New(Config{Backend: "docs", Accounts: b.accounts, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	l, err := d.Open(t.Context(), contract.Hello{Principal: ann, Events: c}, func(context.Context, contract.Hello) (contract.Line, error) { return b, nil })
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close(context.Background())
	out := request(t, "tools/call", "search")
	out.Edits = []wire.Edit{{Span: out.Msg.Name, With: []byte(`"find"`)}}
	if got := <-call(t, l, c, out); got.err != nil {
		t.Error(got.err)
	}
	want := []string{
		`{"jsonrpc":"2.0","id":"7","method":"tools/call","params":{"name":"find"}}`,
		`{"jsonrpc":"2.0","id":"7","method":"tools/call","params":{"requestState":"one","name":"find"}}`,
		`{"jsonrpc":"2.0","id":"7","method":"tools/call","params":{"requestState":"two","name":"find"}}`,
	}
	if strings.Join(b.got, "\n") != strings.Join(want, "\n") {
		t.Errorf("sent\n%s", strings.Join(b.got, "\n"))
	}
	// After a restart it goes on from there as well.
	for _, again := range want[1:] {
		var k kept
		if err := json.Unmarshal((<-c.questions).Resume, &k); err != nil || string(k.Call) != again {
			t.Errorf("kept %s: %v", k.Call, err)
		}
	}
}

// begun is a backend that wants another account twice in the middle of a call.
type begun struct {
	*server
	got []string
}

func (b *begun) Call(ctx context.Context, out contract.Outgoing, sink contract.Sink) (contract.Reply, error) {
	b.got = append(b.got, string(wire.Splice(nil, out.Msg.Raw, out.Edits...)))
	if n := len(b.got); n < 3 {
		return contract.Reply{}, ask.Wrap(ask.NotConnected, "More.", &contract.Challenge{State: []string{"one", "two"}[n-1]})
	}
	return b.server.Call(ctx, out, sink)
}

// TestACallThatDoesNotGoOnSaysWhy: each way in which nobody connects has its
// own words, as a result that a model can read.
func TestACallThatDoesNotGoOnSaysWhy(t *testing.T) {
	for name, each := range map[string]struct{ result, fault, want string }{
		"declined":  {result: `{"action":"decline"}`, want: "declined to connect"},
		"cancelled": {result: `{"action":"cancel"}`, want: "put off connecting"},
		"timed out": {fault: `{"code":-32000,"message":"Nobody answered in time."}`, want: "Nobody answered in time."},
		"wordless":  {fault: `{}`, want: "nobody could be asked"},
		"garbled":   {result: `[`, want: "cannot be read"},
	} {
		t.Run(name, func(t *testing.T) {
			s, c := newServer(), newClient()
			l := openLine(t, s, c, nil)
			end := call(t, l, c, request(t, "tools/call", "search"))
			q := <-c.questions
			for range 2 { // the second answer does nothing
				if err := q.Reply(t.Context(), raw(each.result), raw(each.fault)); err != nil {
					t.Error(err)
				}
			}
			got := <-end
			body := string(got.reply.Msg.Raw)
			if got.err != nil || !strings.Contains(body, each.want) || !strings.Contains(body, `"isError":true`) || !strings.Contains(body, `"id":"7"`) {
				t.Errorf("%s %v", body, got.err)
			}
		})
	}
}

func raw(s string) []byte {
	if s == "" {
		return nil
	}
	return []byte(s)
}

// TestOtherRequestsHaveOnlyErrors: a prompt has no result that says no.
func TestOtherRequestsHaveOnlyErrors(t *testing.T) {
	s, c := newServer(), newClient()
	l := openLine(t, s, c, nil)
	end := call(t, l, c, request(t, "prompts/get", "x"))
	_ = (<-c.questions).Reply(t.Context(), []byte(`{"action":"decline"}`), nil)
	if got := <-end; ask.CodeOf(got.err) != ask.NotConnected {
		t.Errorf("%v", got.err)
	}
}

// TestAnAccountThatIsRefusedEndsTheCall: nobody is asked for ever.
func TestAnAccountThatIsRefusedEndsTheCall(t *testing.T) {
	s, c := newServer(), newClient()
	s.never = true
	s.accounts.connect()
	l := openLine(t, s, c, nil)
	got := <-call(t, l, c, request(t, "tools/call", "search"))
	if got.err != nil || !strings.Contains(string(got.reply.Msg.Raw), "still refuses it") {
		t.Errorf("%s %v", got.reply.Msg.Raw, got.err)
	}
	if len(s.accounts.wanted) != maxTries-1 || !errors.Is(s.accounts.wanted[0], refused.Cause) {
		t.Errorf("wanted %v", s.accounts.wanted)
	}
}

// TestACallerThatLeavesTakesTheQuestionAlong.
func TestACallerThatLeavesTakesTheQuestionAlong(t *testing.T) {
	s, c := newServer(), newClient()
	l := openLine(t, s, c, nil)
	ctx, cancel := context.WithCancelCause(t.Context())
	end := make(chan error, 1)
	go func() {
		_, err := l.Call(ctx, request(t, "tools/call", "search"), c)
		end <- err
	}()
	q := <-c.questions
	left := ask.Errorf(ask.ClientCancelled, "Left.")
	cancel(left)
	if err := <-end; err != left {
		t.Errorf("%v", err)
	}
	<-q.Gone.Done()
}

// TestBeforeAnAccountThereIsOneTool: lists are answered, the tool asks, and
// afterwards it says that all is well.
func TestBeforeAnAccountThereIsOneTool(t *testing.T) {
	s, c := newServer(), newClient()
	l := openLine(t, s, c, nil)
	w := l.Welcome()
	if body := string(w.Raw); !strings.Contains(body, `"2025-06-18"`) || !strings.Contains(body, toolName) {
		t.Errorf("welcomed with %s", body)
	}
	for method, want := range map[string]string{
		"tools/list": toolName, "prompts/list": `"prompts":[]`, "resources/list": `"resources":[]`, "resources/templates/list": `"resourceTemplates":[]`,
	} {
		if got := <-call(t, l, c, request(t, method, "")); got.err != nil || !strings.Contains(string(got.reply.Msg.Raw), want) {
			t.Errorf("%s: %s %v", method, got.reply.Msg.Raw, got.err)
		}
	}
	if got := <-call(t, l, c, request(t, "completion/complete", "")); ask.CodeOf(got.err) != ask.NotConnected {
		t.Errorf("completion: %v", got.err)
	}
	end := call(t, l, c, request(t, "tools/call", toolName))
	<-c.questions
	s.accounts.connect()
	for range 2 {
		if got := <-end; got.err != nil || !strings.Contains(string(got.reply.Msg.Raw), "is connected to docs") || s.ran != 0 {
			t.Errorf("%s %v", got.reply.Msg.Raw, got.err)
		}
		end = call(t, l, c, request(t, "tools/call", toolName))
	}
	<-end
	if got := <-call(t, l, c, request(t, "tools/list", "")); got.err != nil || !strings.Contains(string(got.reply.Msg.Raw), `"ran":"tools/list"`) {
		t.Errorf("%s %v", got.reply.Msg.Raw, got.err)
	}
}

// TestNoPauseGivesTheAddress: the call ends at once with the error that names
// where to connect. A client that cannot be told so is asked, and waits.
func TestNoPauseGivesTheAddress(t *testing.T) {
	s, c := newServer(), newClient()
	noPause := func(cfg *Config) { cfg.NoPause = true }
	end := call(t, openFor(t, s, c, false, noPause), c, request(t, "tools/call", "search"))
	_ = (<-c.questions).Reply(t.Context(), []byte(`{"action":"decline"}`), nil)
	<-end
	l := openFor(t, s, c, true, noPause)
	got := <-call(t, l, c, request(t, "tools/call", "search"))
	var failure struct {
		Error struct {
			Code int
			Data struct {
				Elicitations []struct{ Mode, URL, ElicitationID string }
			}
		}
	}
	if err := json.Unmarshal(got.reply.Msg.Raw, &failure); err != nil || got.err != nil {
		t.Fatal(err, got.err)
	}
	if e := failure.Error; e.Code != -32042 || len(e.Data.Elicitations) != 1 || e.Data.Elicitations[0].URL != s.accounts.Link() || e.Data.Elicitations[0].ElicitationID == "" {
		t.Errorf("%s", got.reply.Msg.Raw)
	}
}

// TestTheLineEndsWithTheBackends.
func TestTheLineEndsWithTheBackends(t *testing.T) {
	s, c := newServer(), newClient()
	l := openLine(t, s, c, nil)
	s.accounts.connect()
	<-call(t, l, c, request(t, "tools/list", ""))
	select {
	case <-l.Done():
		t.Error("it ended before the backend's")
	default:
	}
	close(s.done)
	select {
	case <-l.Done():
	case <-time.After(10 * time.Second):
		t.Error("it did not end with the backend's")
	}
	l.Close(t.Context())
	if s.closed != 1 {
		t.Errorf("closed %d times", s.closed)
	}
}

// TestAClosedLineOpensNothing.
func TestAClosedLineOpensNothing(t *testing.T) {
	s, c := newServer(), newClient()
	l := openLine(t, s, c, nil)
	l.Close(t.Context())
	s.accounts.connect()
	if got := <-call(t, l, c, request(t, "tools/call", "x")); ask.CodeOf(got.err) != ask.ClientGone || s.closed != 1 {
		t.Errorf("%v, closed %d times", got.err, s.closed)
	}
}

// TestOtherErrorsOfTheHandshakePass.
func TestOtherErrorsOfTheHandshakePass(t *testing.T) {
	d, err := New(Config{Backend: "docs", Accounts: newAccounts(), Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	down := ask.Errorf(ask.BackendUnreachable, "Down.")
	if _, err := d.Open(t.Context(), contract.Hello{}, func(context.Context, contract.Hello) (contract.Line, error) { return nil, down }); err != down {
		t.Errorf("%v", err)
	}
	if _, err := New(Config{}); err == nil {
		t.Error("an empty Config was taken")
	}
}
