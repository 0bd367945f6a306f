package mcp

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/contract"
	"github.com/answerback/answerback/internal/seal"
	"github.com/answerback/answerback/internal/wire"
)

func TestSessionLifecycle(t *testing.T) {
	b := serve(t, &fakeGateway{}, nil)
	s := b.initialize()
	if _, err := b.surface.cfg.Ring.Verify(seal.Session, s.header.Get("Mcp-Session-Id")); err != nil {
		t.Errorf("the session id does not verify: %v", err)
	}
	behind := b.gateway.last()
	if behind.id != s.header.Get("Mcp-Session-Id") || behind.who != alice || behind.at != "" {
		t.Errorf("the gateway was given %+v", behind)
	}

	s.expect("POST", `{"jsonrpc":"2.0","method":"notifications/initialized"}`, 202, "")
	if got := <-behind.notes; !strings.Contains(got, "initialized") {
		t.Errorf("notified of %s", got)
	}
	resp, body := s.do("POST", request("7", "tools/list"))
	if resp.StatusCode != 200 || resp.Header.Get("Content-Type") != "application/json" || body != `{"jsonrpc":"2.0","id":7,"result":{"method":"tools/list"}}` {
		t.Errorf("got %d %s %s", resp.StatusCode, resp.Header.Get("Content-Type"), body)
	}
	s.expect("POST", `{"jsonrpc":"2.0","id":"ask-1","result":{"action":"accept"}}`, 202, "")
	if got := <-behind.answers; !strings.Contains(got, "ask-1") {
		t.Errorf("answered with %s", got)
	}
	s.expect("POST", `{"jsonrpc":"2.0","id":"late","error":{"code":-1,"message":"no"}}`, 202, "")
	s.expect("POST", initializeBody, 200, `"method":"initialize"`) // the gateway refuses a second one

	s.expect("DELETE", "", 204, "")
	if why := <-behind.closed; why.Code != ask.ClientGone {
		t.Errorf("closed with %v", why)
	}
	for _, method := range []string{"GET", "DELETE"} {
		s.expect(method, "", 404, "no such session")
	}
	s.expect("POST", request("8", "tools/list"), 404, `"id":8`)
	if n := b.surface.sessions.total.Load(); n != 0 {
		t.Errorf("%d sessions are left", n)
	}
}

func TestSessionHeaderRules(t *testing.T) {
	b := serve(t, &fakeGateway{}, nil)
	s := b.initialize()
	list := request("2", "tools/list")

	b.expect("POST", list, 400, "Mcp-Session-Id is missing")
	b.with("Mcp-Session-Id", "made-up").expect("POST", list, 404, "no such session")
	other := b.surface.cfg.Ring.Mint(seal.Session, b.surface.cfg.Home, 0)
	b.with("Mcp-Session-Id", other).expect("POST", list, 404, "no such session")
	ask := b.surface.cfg.Ring.Mint(seal.Ask, b.surface.cfg.Home, 0)
	b.with("Mcp-Session-Id", ask).expect("POST", list, 404, "no such session")
	s.at("/mcp/files").expect("POST", list, 404, "no such session")
	s.with("Authorization", "bob").expect("POST", list, 404, "no such session")
	s.with("Authorization", "alice, with less").expect("POST", list, 404, "no such session")
	s.with("Authorization", "bob").expect("GET", "", 404, "no such session")
	s.with("Authorization", "bob").expect("DELETE", "", 404, "no such session")
	s.with("MCP-Protocol-Version", "2025-06-18").expect("POST", list, 200, `"id":2`)
	s.with("MCP-Protocol-Version", "1999-01-01").expect("POST", list, 400, "MCP-Protocol-Version")
	s.with("MCP-Protocol-Version", "1999-01-01").expect("GET", "", 400, "MCP-Protocol-Version")
	s.expect("POST", list, 200, `"id":2`)
}

func TestBackendThatEndsItsSessionEndsOurs(t *testing.T) {
	b := serve(t, &fakeGateway{}, nil)
	waiting, asking := b.initialize(), b.initialize()
	resp := waiting.open(t.Context(), "GET", "")
	events := waiting.events(resp)
	events.next()
	close(b.gateway.sessions[0].done)
	if rest := events.rest(); len(rest) != 0 {
		t.Errorf("got %v", rest)
	}
	waiting.expect("POST", request("2", "tools/list"), 404, "no such session")

	close(b.gateway.sessions[1].done)
	asking.expect("POST", request("2", "tools/list"), 404, "no such session")
	if why := <-b.gateway.sessions[1].closed; why.Code != ask.BackendLost {
		t.Errorf("closed with %v", why)
	}
}

func TestRefusedInitializeLeavesNoSession(t *testing.T) {
	b := serve(t, &fakeGateway{opening: func(context.Context) bool { return false }}, nil)
	resp, body := b.do("POST", initializeBody)
	if resp.StatusCode != 200 || !strings.Contains(body, `"code":-32000`) || resp.Header.Get("Mcp-Session-Id") != "" {
		t.Errorf("got %d %q %s", resp.StatusCode, resp.Header.Get("Mcp-Session-Id"), body)
	}
	if n := b.surface.sessions.total.Load(); n != 0 {
		t.Errorf("%d sessions are left", n)
	}
}

func TestClientGoneDuringInitializeLeavesNoSession(t *testing.T) {
	opening, leave := make(chan struct{}), make(chan struct{})
	g := &fakeGateway{closed: make(chan *ask.Error, 1), opening: func(context.Context) bool {
		close(opening)
		<-leave
		return true
	}}
	b := serve(t, g, nil)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-opening
		cancel()
	}()
	req, _ := http.NewRequestWithContext(ctx, "POST", b.url, strings.NewReader(initializeBody))
	req.Header.Set("Content-Type", "application/json")
	gone := make(chan struct{})
	b.surface.cfg.Authenticate = func(r *http.Request) (contract.Caller, error) {
		context.AfterFunc(r.Context(), func() { close(gone) })
		return alice, nil
	}
	if _, err := b.client.Do(req); err == nil {
		t.Error("the request was answered")
	}
	<-gone
	close(leave)
	if why := <-g.closed; why.Code != ask.ClientGone {
		t.Errorf("closed with %v", why)
	}
}

func TestGetAndDeleteWithoutSession(t *testing.T) {
	b := serve(t, &fakeGateway{}, nil)
	for _, method := range []string{"GET", "DELETE"} {
		resp, _ := b.do(method, "")
		if resp.StatusCode != 405 || resp.Header.Get("Allow") != "POST" {
			t.Errorf("%s: got %d, Allow %q", method, resp.StatusCode, resp.Header.Get("Allow"))
		}
		b.with("MCP-Protocol-Version", "2026-07-28", "Mcp-Session-Id", "x").expect(method, "", 405, "")
		b.with("MCP-Protocol-Version", "2025-11-25").expect(method, "", 400, "Mcp-Session-Id is missing")
	}
	resp, _ := b.do("PUT", "{}")
	if resp.StatusCode != 405 || resp.Header.Get("Allow") != "POST, GET, DELETE" {
		t.Errorf("PUT: got %d, Allow %q", resp.StatusCode, resp.Header.Get("Allow"))
	}
}

func TestQuestionOnTheStreamOfItsCall(t *testing.T) {
	answered := make(chan struct{})
	params := `{"message":"Sure?",  "n":12345678901234567890}`
	g := &fakeGateway{call: func(_ context.Context, msg *wire.Message, peer contract.Peer) Response {
		if err := peer.Show(&ask.Ask{ID: "ask-9", Method: "elicitation/create", Params: []byte(params)}); err != nil {
			t.Errorf("show: %v", err)
		}
		if err := peer.Show(&ask.Ask{ID: "ask-10", Method: "roots/list"}); err != nil {
			t.Errorf("show: %v", err)
		}
		peer.Withdraw("ask-10", ask.Errorf(ask.Timeout, "Nobody came."))
		<-answered
		return echo(msg)
	}}
	b := serve(t, g, nil).initialize()
	resp := b.open(t.Context(), "POST", request("3", "tools/call"))
	events := b.events(resp)
	if resp.Header.Get("Cache-Control") != "no-cache, no-transform" || resp.Header.Get("X-Accel-Buffering") != "no" {
		t.Errorf("headers: %v", resp.Header)
	}
	if e := events.next(); e != (gotEvent{"1.1", ""}) {
		t.Errorf("the priming event is %v", e)
	}
	want := []gotEvent{
		{"1.2", `{"jsonrpc":"2.0","id":"ask-9","method":"elicitation/create","params":` + params + `}`},
		{"1.3", `{"jsonrpc":"2.0","id":"ask-10","method":"roots/list"}`},
		{"1.4", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"ask-10","reason":"Nobody came."}}`},
	}
	for _, w := range want {
		if e := events.next(); e != w {
			t.Errorf("got %v, want %v", e, w)
		}
	}
	b.expect("POST", `{"jsonrpc":"2.0","id":"ask-9","result":{"action":"accept"}}`, 202, "")
	<-g.last().answers
	close(answered)
	rest := events.rest()
	if len(rest) != 1 || rest[0] != (gotEvent{"1.5", `{"jsonrpc":"2.0","id":3,"result":{"method":"tools/call"}}`}) {
		t.Errorf("the end is %v", rest)
	}
}

func TestOlderVersionsGetNoPrimingEvent(t *testing.T) {
	g := &fakeGateway{version: "2025-06-18", call: func(_ context.Context, msg *wire.Message, peer contract.Peer) Response {
		peer.Notify(note("message"))
		return echo(msg)
	}}
	b := serve(t, g, nil).initialize()
	events := b.events(b.open(t.Context(), "POST", request("3", "tools/call"))).rest()
	if len(events) != 2 || events[0].id != "1.1" || events[0].data != string(note("message")) || events[1].id != "1.2" {
		t.Errorf("got %v", events)
	}
}

func TestClientThatTakesOneFormOnly(t *testing.T) {
	g := &fakeGateway{call: func(_ context.Context, msg *wire.Message, peer contract.Peer) Response {
		peer.Notify(note("progress"))
		if err := peer.Show(&ask.Ask{ID: "a", Method: "roots/list"}); (err == nil) != (msg.Method() == "shown") {
			t.Errorf("%s: show gave %v", msg.Method(), err)
		}
		peer.Withdraw("a", nil)
		return echo(msg)
	}}
	b := serve(t, g, nil).initialize()
	resp, body := b.with("Accept", "application/json").do("POST", request("3", "not-shown"))
	if resp.Header.Get("Content-Type") != "application/json" || !strings.Contains(body, `"id":3`) {
		t.Errorf("got %s %s", resp.Header.Get("Content-Type"), body)
	}

	// With its own stream open, the client can be reached after all.
	own := b.events(b.open(t.Context(), "GET", ""))
	own.next()
	b.with("Accept", "application/json").expect("POST", request("4", "shown"), 200, `"id":4`)
	if got := []string{own.next().data, own.next().data, own.next().data}; got[0] != string(note("progress")) ||
		!strings.Contains(got[1], `"roots/list"`) || !strings.Contains(got[2], "cancelled") {
		t.Errorf("the own stream had %v", got)
	}
	own.close()

	g.call = nil
	events := b.with("Accept", "text/event-stream").events(b.with("Accept", "text/event-stream").open(t.Context(), "POST", request("5", "x"))).rest()
	if len(events) != 2 || events[0].data != "" || !strings.Contains(events[1].data, `"id":5`) {
		t.Errorf("got %v", events)
	}
}

func TestCancelledCallGetsNoMessage(t *testing.T) {
	g := &fakeGateway{call: func(_ context.Context, msg *wire.Message, peer contract.Peer) Response {
		if msg.Method() == "streaming" {
			peer.Notify(note("progress"))
		}
		return Response{}
	}}
	b := serve(t, g, nil).initialize()
	b.expect("POST", request("1", "quiet"), 202, "")
	events := b.events(b.open(t.Context(), "POST", request("2", "streaming"))).rest()
	if data(events) != string(note("progress"))+"\n" {
		t.Errorf("got %v", events)
	}
}
