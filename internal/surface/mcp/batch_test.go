package mcp

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/answerback/answerback/internal/contract"
	"github.com/answerback/answerback/internal/wire"
)

func TestBatchRunsSideBySide(t *testing.T) {
	var both sync.WaitGroup
	both.Add(2)
	g := &fakeGateway{version: "2025-03-26", call: func(_ context.Context, msg *wire.Message, peer contract.Peer) Response {
		both.Done()
		both.Wait() // neither ends before both have begun
		if msg.Method() == "loud" {
			peer.Notify(note("progress"))
		}
		return echo(msg)
	}}
	b := serve(t, g, nil).initialize()
	resp, body := b.do("POST", `[`+request("1", "a")+`, `+string(note("x"))+`,`+request("2", "b")+`]`)
	if resp.StatusCode != 200 || resp.Header.Get("Content-Type") != "application/json" ||
		!strings.HasPrefix(body, "[{") || !strings.HasSuffix(body, "}]") || !strings.Contains(body, `"id":1`) || !strings.Contains(body, `"id":2`) {
		t.Errorf("got %d %s", resp.StatusCode, body)
	}
	<-g.last().notes

	both.Add(2)
	events := b.events(b.open(t.Context(), "POST", `[`+request("3", "quiet")+`,`+request("4", "loud")+`]`)).rest()
	got := data(events)
	if len(events) != 3 || !strings.Contains(got, "progress") || !strings.Contains(got, `"id":3`) || !strings.Contains(got, `"id":4`) {
		t.Errorf("got %v", events)
	}
	both.Add(2)
	sse := b.with("Accept", "text/event-stream")
	if events := sse.events(sse.open(t.Context(), "POST", `[`+request("5", "a")+`,`+request("6", "b")+`]`)).rest(); len(events) != 2 {
		t.Errorf("got %v", events)
	}
}

func TestBatchRefusals(t *testing.T) {
	b := serve(t, &fakeGateway{version: "2025-03-26"}, nil)
	b.expect("POST", "["+initializeBody+"]", 400, "-32600")
	s := b.initialize()
	s.expect("POST", "["+initializeBody+"]", 400, "-32600")
	s.expect("POST", "[]", 400, "-32600")
	s.expect("POST", "[1]", 400, "-32600")
	s.expect("POST", "["+strings.Repeat(request("1", "x")+",", batchMax)+request("2", "x")+"]", 400, `"error"`)
	s.expect("POST", "["+string(note("a"))+`,{"jsonrpc":"2.0","id":"q","result":{}}]`, 202, "")
	<-b.gateway.last().notes
	<-b.gateway.last().answers
	s.with("Mcp-Session-Id", "made-up").expect("POST", "["+request("1", "x")+"]", 404, "")

	b.gateway.version = "2025-06-18"
	b.initialize().expect("POST", "["+request("1", "x")+"]", 400, "has no batches")
}
