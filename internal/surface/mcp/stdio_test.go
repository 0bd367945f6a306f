package mcp

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/contract"
	"github.com/answerback/answerback/internal/wire"
)

// terminal is a client on standard streams.
type terminal struct {
	t    *testing.T
	in   *io.PipeWriter
	out  chan string // lines; closed at the end
	done chan error
}

func attach(t *testing.T, g *fakeGateway, change func(*Config)) *terminal {
	t.Helper()
	return attachTo(t, t.Context(), newSurface(t, g, change))
}

func attachTo(t *testing.T, ctx context.Context, s *Surface) *terminal {
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	k := &terminal{t: t, in: inW, out: make(chan string, 64), done: make(chan error, 1)}
	go func() {
		k.done <- s.ServeStdio(ctx, inR, outW)
		outW.Close()
	}()
	go func() {
		defer close(k.out)
		for lines := bufio.NewScanner(outR); lines.Scan(); {
			k.out <- lines.Text()
		}
	}()
	t.Cleanup(func() {
		inW.Close()
		outR.Close()
	})
	return k
}

func (k *terminal) send(line string) {
	k.t.Helper()
	if _, err := io.WriteString(k.in, line+"\n"); err != nil {
		k.t.Fatalf("sending %s: %v", line, err)
	}
}

func (k *terminal) next() string {
	k.t.Helper()
	l, ok := <-k.out
	if !ok {
		k.t.Fatal("no more output")
	}
	return l
}

func (k *terminal) expect(line, part string) {
	k.t.Helper()
	k.send(line)
	if got := k.next(); !strings.Contains(got, part) {
		k.t.Errorf("%s: got %s, want %s", line, got, part)
	}
}

// end closes the input, and gives what came out after that.
func (k *terminal) end() []string {
	k.t.Helper()
	k.in.Close()
	var rest []string
	for l := range k.out {
		rest = append(rest, l)
	}
	if err := <-k.done; err != nil {
		k.t.Errorf("ended with %v", err)
	}
	return rest
}

func TestStdioLegacy(t *testing.T) {
	answered := make(chan struct{})
	g := &fakeGateway{call: func(_ context.Context, msg *wire.Message, peer contract.Peer) Response {
		switch msg.Method() {
		case "asks":
			if err := peer.Show(&ask.Ask{ID: "q", Method: "roots/list", Params: []byte("{\n\t\"a\": \"b c\"\r\n}")}); err != nil {
				t.Errorf("show: %v", err)
			}
			<-answered
		case "cancelled":
			return Response{}
		}
		return echo(msg)
	}}
	k := attach(t, g, nil)
	k.expect(request("0", "tools/list"), "initialize first")
	k.expect(initializeBody, `"protocolVersion"`)
	s := g.last()
	if s.who != alice || s.at != "" {
		t.Errorf("opened by %v at %q", s.who, s.at)
	}
	k.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	<-s.notes
	<-s.listens
	s.peer.Notify(note("tools/list_changed"))
	if got := k.next(); got != string(note("tools/list_changed")) {
		t.Errorf("got %s", got)
	}
	k.expect(request("1", "asks"), `{"jsonrpc":"2.0","id":"q","method":"roots/list","params":{"a":"b c"}}`)
	k.expect(request("2", "tools/list"), `"id":2`) // while the other one waits
	k.send(`{"jsonrpc":"2.0","id":"q","result":{}}`)
	<-s.answers
	close(answered)
	if got := k.next(); !strings.Contains(got, `"id":1`) {
		t.Errorf("got %s", got)
	}
	k.send(`{"jsonrpc":"2.0","id":"late","result":{}}`)
	k.send(request("3", "cancelled"))
	k.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3}}`)
	if got := <-s.notes; !strings.Contains(got, "cancelled") {
		t.Errorf("notified of %s", got)
	}
	s.peer.Withdraw("q", nil)
	if got := k.next(); !strings.Contains(got, `"requestId":"q"`) {
		t.Errorf("got %s", got)
	}
	k.expect(initializeBody, `"method":"initialize"`) // for the session to refuse
	if rest := k.end(); len(rest) != 0 {
		t.Errorf("at the end: %v", rest)
	}
	if why := <-s.closed; why.Code != ask.ClientGone {
		t.Errorf("closed with %v", why)
	}
	if err := s.peer.Show(&ask.Ask{ID: "x", Method: "roots/list"}); err == nil {
		t.Error("shown to nobody")
	}
}

func TestStdioModern(t *testing.T) {
	begun := make(chan struct{})
	g := &fakeGateway{modern: func(ctx context.Context, at string, who contract.Caller, msg *wire.Message, params http.Header, peer contract.Peer) Response {
		if at != "" || who != alice || params != nil {
			t.Errorf("called at %q by %v with %v", at, who, params)
		}
		if err := peer.Show(&ask.Ask{ID: "q", Method: "roots/list"}); err == nil {
			t.Error("a question was shown to a modern client")
		}
		peer.Withdraw("q", nil)
		if msg.Method() == "tools/call" {
			close(begun)
			<-ctx.Done()
			if ask.CodeOf(context.Cause(ctx)) != ask.ClientCancelled {
				t.Errorf("cancelled with %v", context.Cause(ctx))
			}
			peer.Notify(note("too late"))
			return Response{Body: []byte("too late")}
		}
		peer.Notify(note("progress"))
		return echo(msg)
	}}
	k := attach(t, g, nil)
	k.expect(modernBody("1", "server/discover", ""), "progress")
	if got := k.next(); got != `{"jsonrpc":"2.0","id":1,"result":{"method":"server/discover"}}` {
		t.Errorf("got %s", got)
	}
	k.expect(strings.ReplaceAll(modernBody("2", "tools/list", ""), "2026-07-28", "2999-01-01"), "-32022")
	k.send(modernBody(`"c"`, "tools/call", `"name":"wörk"`))
	<-begun
	k.expect(modernBody(`"c"`, "tools/call", `"name":"x"`), "in flight already")
	k.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"c"}}`)
	k.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"unknown"}}`)
	k.send(`{"jsonrpc":"2.0","id":"q","result":{}}`)
	if rest := k.end(); len(rest) != 0 {
		t.Errorf("after the cancel: %v", rest)
	}
}

func TestStdioEndOfInputEndsCalls(t *testing.T) {
	begun, ended := make(chan struct{}), make(chan struct{})
	g := &fakeGateway{call: func(ctx context.Context, _ *wire.Message, _ contract.Peer) Response {
		close(begun)
		<-ctx.Done()
		close(ended)
		return Response{}
	}}
	k := attach(t, g, nil)
	k.expect(initializeBody, `"result"`)
	k.send(request("1", "x"))
	<-begun
	k.end()
	select {
	case <-ended:
	default:
		t.Error("ServeStdio returned before its call had ended")
	}
}

func TestStdioLimits(t *testing.T) {
	leave := make(chan struct{})
	g := &fakeGateway{call: func(_ context.Context, msg *wire.Message, _ contract.Peer) Response {
		<-leave
		return echo(msg)
	}}
	k := attach(t, g, func(c *Config) { c.MaxCalls = 1; c.MaxBody = 1000 })
	k.expect(initializeBody, `"result"`)
	k.send(request("1", "x"))
	k.expect(request("2", "x"), "too_many_open")
	k.expect(modernBody("3", "tools/list", ""), "too_many_open")
	k.expect(`{"jsonrpc":"2.0","id":4,"method":"`+strings.Repeat("x", 200<<10)+`"}`, `"id":4,`)
	k.expect(`not json`, `{"jsonrpc":"2.0","error"`)
	k.expect(`[]`, "-32600")
	k.send("   \r")
	close(leave)
	if got := k.next(); !strings.Contains(got, `"id":1`) {
		t.Errorf("got %s", got)
	}
	k.end()
}

func TestStdioBatch(t *testing.T) {
	g := &fakeGateway{version: "2025-03-26", call: func(_ context.Context, msg *wire.Message, _ contract.Peer) Response {
		if msg.Method() == "cancelled" {
			return Response{}
		}
		return echo(msg)
	}}
	k := attach(t, g, nil)
	k.expect("["+initializeBody+"]", "-32600")
	k.expect(initializeBody, `"result"`)
	k.expect("["+initializeBody+"]", "-32600")
	k.expect("["+request("1", "a")+","+string(note("x"))+","+request("2", "cancelled")+","+request("3", "b")+"]",
		`[{"jsonrpc":"2.0","id":1,"result":{"method":"a"}},{"jsonrpc":"2.0","id":3,"result":{"method":"b"}}]`)
	<-g.last().notes
	k.send("[" + string(note("y")) + `,{"jsonrpc":"2.0","id":"q","result":{}}]`)
	<-g.last().notes
	<-g.last().answers
	k.end()
}

func TestStdioEndsWithItsContext(t *testing.T) {
	s := newSurface(t, &fakeGateway{}, nil)
	ctx, cancel := context.WithCancelCause(t.Context())
	k := attachTo(t, ctx, s)
	k.expect(initializeBody, `"result"`)
	stop := errors.New("stop")
	cancel(stop)
	if err := <-k.done; !errors.Is(err, stop) {
		t.Errorf("ended with %v", err)
	}

	k = attachTo(t, t.Context(), s)
	k.expect(initializeBody, `"result"`)
	if err := s.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if err := <-k.done; ask.CodeOf(err) != ask.ShuttingDown {
		t.Errorf("ended with %v", err)
	}
}

type broken struct{}

func (broken) Read([]byte) (int, error)  { return 0, errors.New("broken") }
func (broken) Write([]byte) (int, error) { return 0, errors.New("broken") }

func TestStdioThatBreaks(t *testing.T) {
	s := newSurface(t, &fakeGateway{}, nil)
	if err := s.ServeStdio(t.Context(), broken{}, io.Discard); err == nil || !strings.Contains(err.Error(), "input") {
		t.Errorf("broken input: %v", err)
	}
	in, feed := io.Pipe()
	go func() { _, _ = io.WriteString(feed, initializeBody+"\n") }()
	if err := s.ServeStdio(t.Context(), in, broken{}); err == nil || !strings.Contains(err.Error(), "output") {
		t.Errorf("broken output: %v", err)
	}
}

func TestLastLineNeedsNoEnd(t *testing.T) {
	r := newLineReader(strings.NewReader("a\n\n  b"), 10)
	for _, want := range []string{"a", "b"} {
		if l, err := r.next(); err != nil || string(l.text) != want || l.cut {
			t.Errorf("got %q %v, want %q", l.text, err, want)
		}
	}
	if _, err := r.next(); err != io.EOF {
		t.Errorf("got %v", err)
	}
}
