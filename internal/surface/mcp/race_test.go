package mcp

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/contract"
	"github.com/answerback/answerback/internal/wire"
)

// A session whose handshake is still under way when the surface closes is
// closed all the same.
func TestCloseDuringInitialize(t *testing.T) {
	opening := make(chan struct{})
	g := &fakeGateway{closed: make(chan *ask.Error, 1), opening: func(ctx context.Context) bool {
		close(opening)
		<-ctx.Done()
		return true
	}}
	b := serve(t, g, nil)
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		b.do("POST", initializeBody)
	}()
	<-opening
	if err := b.surface.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if why := <-g.closed; why.Code != ask.ShuttingDown {
		t.Errorf("closed with %v", why)
	}
	<-answered
	if n := b.surface.sessions.total.Load(); n != 0 {
		t.Errorf("%d sessions are left", n)
	}
}

func TestRequestBeforeTheHandshakeIsDone(t *testing.T) {
	opening, leave := make(chan struct{}), make(chan struct{})
	g := &fakeGateway{opening: func(context.Context) bool {
		close(opening)
		<-leave
		return true
	}}
	b := serve(t, g, nil)
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		b.do("POST", initializeBody)
	}()
	<-opening
	for _, ss := range b.surface.sessions.all() {
		b.with("Mcp-Session-Id", ss.id).expect("POST", request("1", "x"), 404, "no such session")
		b.with("Mcp-Session-Id", ss.id).expect("POST", string(note("initialized")), 404, `{"jsonrpc":"2.0","error"`)
	}
	close(leave)
	<-answered
}

// A client that went away before anything was sent has no event id to come
// back with: it cannot be asked, and is not waited for.
func TestQuestionToAClientThatIsGone(t *testing.T) {
	gone, asked := make(chan struct{}), make(chan error, 2)
	started := make(chan struct{})
	g := &fakeGateway{call: func(_ context.Context, msg *wire.Message, peer contract.Peer) Response {
		close(started)
		<-gone
		asked <- peer.Show(&ask.Ask{ID: "q", Method: "roots/list"})
		peer.Notify(note("progress"))
		peer.Withdraw("q", nil)
		return echo(msg)
	}}
	b := serve(t, g, nil).initialize()
	b.surface.cfg.Authenticate = func(r *http.Request) (contract.Caller, error) {
		context.AfterFunc(r.Context(), func() { close(gone) })
		return alice, nil
	}
	ctx, hangUp := context.WithCancel(t.Context())
	go func() {
		<-started
		hangUp()
	}()
	req, _ := http.NewRequestWithContext(ctx, "POST", b.url, strings.NewReader(request("1", "x")))
	req.Header = b.header.Clone()
	req.Header.Set("Content-Type", "application/json")
	if _, err := b.client.Do(req); err == nil {
		t.Error("the request was answered")
	}
	if err := <-asked; ask.CodeOf(err) != ask.NoClient {
		t.Errorf("asked: %v", err)
	}
}

// A session's question goes to a call's stream that broke off, where that can
// be taken up again and nothing else can be reached.
func TestSessionQuestionOnABrokenStream(t *testing.T) {
	k := newTalker()
	b := serve(t, &fakeGateway{call: k.call}, nil).initialize()
	ctx, hangUp := context.WithCancel(t.Context())
	opened := make(chan *http.Response, 1)
	go func() { opened <- b.open(ctx, "POST", request("5", "x")) }()
	k.send(note("a"))
	events := b.events(<-opened)
	prime := events.next()
	hangUp()
	events.close()
	peer := b.gateway.last().peer
	if err := peer.Show(&ask.Ask{ID: "q", Method: "roots/list"}); err != nil {
		t.Errorf("show: %v", err)
	}
	back := b.with("Last-Event-ID", prime.id)
	second := back.events(back.open(t.Context(), "GET", ""))
	second.next()
	if e := second.next(); !strings.Contains(e.data, `"id":"q"`) {
		t.Errorf("got %v", e)
	}
	close(k.say)
	second.rest()
	if err := peer.Show(&ask.Ask{ID: "r", Method: "roots/list"}); ask.CodeOf(err) != ask.NoClient {
		t.Errorf("after the call: %v", err)
	}
}
