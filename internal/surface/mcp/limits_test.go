package mcp

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/contract"
	"github.com/answerback/answerback/internal/entry"
	"github.com/answerback/answerback/internal/wire"
)

func TestKeepAliveTurnsASilentCallIntoAStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &fakeGateway{call: func(_ context.Context, msg *wire.Message, _ contract.Peer) Response {
			time.Sleep(40 * time.Second)
			return echo(msg)
		}}
		b := serveInMemory(t, g, nil).initialize()
		start := time.Now()
		resp, body := b.do("POST", request("5", "x"))
		if took := time.Since(start); took != 40*time.Second {
			t.Errorf("took %v", took)
		}
		if resp.Header.Get("Content-Type") != "text/event-stream" || strings.Count(body, ": keep-alive\n\n") != 2 {
			t.Errorf("got %s %s", resp.Header.Get("Content-Type"), body)
		}
		if !strings.HasPrefix(body, "retry: 1000\nid: 1.1\ndata: \n\n") || !strings.HasSuffix(body, "id: 1.2\ndata: {\"jsonrpc\":\"2.0\",\"id\":5,\"result\":{\"method\":\"x\"}}\n\n") {
			t.Errorf("got %s", body)
		}

		resp, _ = b.with("Accept", "application/json").do("POST", request("6", "x"))
		if resp.Header.Get("Content-Type") != "application/json" {
			t.Errorf("a client that takes no events got %s", resp.Header.Get("Content-Type"))
		}
	})
}

func TestKeepAliveOnTheOwnStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := serveInMemory(t, &fakeGateway{version: "2025-06-18"}, nil).initialize()
		ctx, cancel := context.WithCancel(t.Context())
		resp := b.open(ctx, "GET", "")
		time.Sleep(31 * time.Second)
		buf := make([]byte, 1000)
		n, _ := resp.Body.Read(buf)
		if got := string(buf[:n]); !strings.HasPrefix(got, ": keep-alive\n\n") {
			t.Errorf("got %q", got)
		}
		cancel()
		resp.Body.Close()
	})
}

func TestIdleSessionEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &fakeGateway{call: func(_ context.Context, msg *wire.Message, _ contract.Peer) Response {
			time.Sleep(time.Hour)
			return echo(msg)
		}}
		b := serveInMemory(t, g, func(c *Config) { c.SessionIdle = 10 * time.Minute }).initialize()
		behind := g.last()

		time.Sleep(9 * time.Minute)
		b.expect("POST", `{"jsonrpc":"2.0","method":"notifications/initialized"}`, 202, "")
		time.Sleep(9 * time.Minute)
		b.expect("POST", request("1", "an hour"), 200, `"id":1`) // a call in flight is use

		ctx, cancel := context.WithCancel(t.Context())
		resp := b.open(ctx, "GET", "")
		go func() { _, _ = io.Copy(io.Discard, resp.Body) }()
		time.Sleep(time.Hour) // so is an open stream
		cancel()
		synctest.Wait()

		time.Sleep(10*time.Minute - time.Second)
		select {
		case why := <-behind.closed:
			t.Fatalf("ended too early: %v", why)
		default:
		}
		time.Sleep(11 * time.Minute)
		synctest.Wait()
		select {
		case why := <-behind.closed:
			if why.Code != ask.SessionExpired { // F11
				t.Errorf("ended with %v", why)
			}
		default:
			t.Fatal("the session lives on")
		}
		b.expect("POST", request("2", "x"), 404, "no such session")
	})
}

func TestSessionLimits(t *testing.T) {
	b := serve(t, &fakeGateway{}, func(c *Config) { c.MaxSessions, c.MaxSessionsPerPrincipal = 3, 2 })
	one, two := b.initialize(), b.initialize()
	one.expect("POST", request("1", "x"), 200, "") // two is idle longer now
	three := b.initialize()
	two.expect("POST", request("1", "x"), 404, "")
	three.expect("POST", request("1", "x"), 200, "")

	// Sessions in use are not ended for a new one.
	var own []*eventReader
	for _, s := range []*bench{one, three} {
		e := s.events(s.open(t.Context(), "GET", ""))
		e.next()
		own = append(own, e)
	}
	b.expect("POST", initializeBody, 429, "too_many_open")
	bobs := b.with("Authorization", "bob")
	bobs.initialize()
	b.with("Authorization", "carol").expect("POST", initializeBody, 401, "")
	bobs.expect("POST", initializeBody, 429, "too_many_open")
	for _, e := range own {
		e.close()
	}
	if n := b.surface.sessions.total.Load(); n != 3 {
		t.Errorf("%d sessions are counted", n)
	}
}

func TestCloseEndsEverything(t *testing.T) {
	g := &fakeGateway{
		call: func(ctx context.Context, msg *wire.Message, peer contract.Peer) Response {
			peer.Notify(note("waiting"))
			<-ctx.Done()
			return Response{Body: response(msg, `"error":{"code":-32000,"message":"ended"}`)}
		},
		modern: func(ctx context.Context, _ string, _ contract.Caller, msg *wire.Message, _ http.Header, peer contract.Peer) Response {
			peer.Notify(note("waiting"))
			<-ctx.Done()
			if ask.CodeOf(context.Cause(ctx)) != ask.ShuttingDown {
				t.Errorf("ended by %v", context.Cause(ctx))
			}
			return Response{Body: response(msg, `"error":{"code":-32603,"message":"ended"}`)}
		},
	}
	b := serve(t, g, nil)
	s := b.initialize()
	call := s.events(s.open(t.Context(), "POST", request("1", "x")))
	own := s.events(s.open(t.Context(), "GET", ""))
	modern := b.modern("tools/list").events(b.modern("tools/list").open(t.Context(), "POST", modernBody("2", "tools/list", "")))
	for _, e := range []*eventReader{call, own, modern} {
		e.next()
	}
	if err := b.surface.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, e := range []*eventReader{call, modern} {
		if got := data(e.rest()); !strings.Contains(got, `"ended"`) {
			t.Errorf("a call ended with %s", got)
		}
	}
	own.rest()
	s.expect("POST", request("1", "x"), 503, "shutting_down")
	if why := <-g.last().closed; why.Code != ask.ShuttingDown {
		t.Errorf("closed with %v", why)
	}
	if err := b.surface.ServeStdio(t.Context(), strings.NewReader(""), nil); ask.CodeOf(err) != ask.ShuttingDown {
		t.Errorf("standard streams after the end: %v", err)
	}
}

func TestCloseGivesUpWithItsContext(t *testing.T) {
	stuck := make(chan struct{})
	started := make(chan struct{})
	g := &fakeGateway{call: func(context.Context, *wire.Message, contract.Peer) Response {
		close(started)
		<-stuck
		return Response{}
	}}
	b := serve(t, g, nil).initialize()
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		b.do("POST", request("1", "x"))
	}()
	<-started
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := b.surface.Close(ctx); ask.CodeOf(err) != ask.ShuttingDown {
		t.Errorf("got %v", err)
	}
	close(stuck)
	<-answered
}

func TestSlowInitializeIsKeptAlive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &fakeGateway{opening: func(context.Context) bool {
			time.Sleep(20 * time.Second)
			return true
		}}
		b := serveInMemory(t, g, nil)
		resp, body := b.do("POST", initializeBody)
		id := resp.Header.Get("Mcp-Session-Id")
		if resp.Header.Get("Content-Type") != "text/event-stream" || id == "" || !strings.Contains(body, `"protocolVersion"`) {
			t.Errorf("got %s %q %s", resp.Header.Get("Content-Type"), id, body)
		}
		b.with("Mcp-Session-Id", id).expect("POST", request("1", "x"), 200, `"id":1`)
	})
}

func TestClientThatDoesNotReadHoldsUpNobodyForLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// No keep-alive: it would wait for a lock, and fake time with it.
		b := serveInMemory(t, &fakeGateway{}, func(c *Config) { c.KeepAlive = time.Hour }).initialize()
		resp := b.open(t.Context(), "GET", "")
		defer resp.Body.Close()
		peer := b.gateway.last().peer
		big := []byte(`{"jsonrpc":"2.0","method":"` + strings.Repeat("x", 64<<10) + `"}`)
		start := time.Now()
		peer.Notify(big)
		if took := time.Since(start); took != entry.PushTime {
			t.Errorf("the first message took %v", took)
		}
		start = time.Now()
		for range 10 {
			peer.Notify(big)
		}
		if took := time.Since(start); took != 0 {
			t.Errorf("later messages took %v", took)
		}
		b.expect("POST", request("1", "x"), 200, `"id":1`)
	})
}
