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

func (b *bench) modern(method string) *bench {
	return b.with("MCP-Protocol-Version", "2026-07-28", "Mcp-Method", method)
}

func modernBody(id, method, members string) string {
	if members != "" {
		members += ","
	}
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"` + method + `","params":{` + members +
		`"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`
}

func TestModernCall(t *testing.T) {
	g := &fakeGateway{modern: func(_ context.Context, at string, who contract.Caller, msg *wire.Message, params http.Header, peer contract.Peer) Response {
		if at != "files" || who != alice || params.Get("Mcp-Param-Region") != "eu" || len(params) != 1 {
			t.Errorf("called at %q by %v with %v", at, who, params)
		}
		if err := peer.Show(&ask.Ask{ID: "a", Method: "roots/list"}); ask.CodeOf(err) != ask.NoClient {
			t.Errorf("show: %v", err)
		}
		peer.Withdraw("a", nil)
		return Response{Body: response(msg, `"error":{"code":-32601,"message":"no"}`), Status: 404}
	}}
	b := serve(t, g, nil).at("/mcp/files").modern("tools/call").with("Mcp-Name", "x", "Mcp-Param-Region", "eu", "Mcp-Session-Id", "ignored")
	resp, body := b.do("POST", modernBody("1", "tools/call", `"name":"x"`))
	if resp.StatusCode != 404 || resp.Header.Get("Content-Type") != "application/json" || !strings.Contains(body, "-32601") || resp.Header.Get("Mcp-Session-Id") != "" {
		t.Errorf("got %d %v %s", resp.StatusCode, resp.Header, body)
	}
}

func TestModernStreamHasNoEventIDs(t *testing.T) {
	g := &fakeGateway{modern: func(_ context.Context, _ string, _ contract.Caller, msg *wire.Message, _ http.Header, peer contract.Peer) Response {
		peer.Notify(note("progress"))
		return echo(msg)
	}}
	b := serve(t, g, nil).modern("tools/list")
	resp, body := b.do("POST", modernBody("1", "tools/list", ""))
	want := "data: " + string(note("progress")) + "\n\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"method\":\"tools/list\"}}\n\n"
	if resp.StatusCode != 200 || body != want {
		t.Errorf("got %d %q", resp.StatusCode, body)
	}
	resp, body = b.with("Accept", "application/json").do("POST", modernBody("1", "tools/list", ""))
	if resp.Header.Get("Content-Type") != "application/json" || strings.Contains(body, "progress") {
		t.Errorf("got %v %s", resp.Header, body)
	}
	g.modern = nil
	_, body = b.with("Accept", "text/event-stream").do("POST", modernBody("1", "tools/list", ""))
	if !strings.HasPrefix(body, "data: {") {
		t.Errorf("got %q", body)
	}
}

func TestModernDisconnectIsCancel(t *testing.T) {
	ended := make(chan error, 1)
	g := &fakeGateway{modern: func(ctx context.Context, _ string, _ contract.Caller, _ *wire.Message, _ http.Header, peer contract.Peer) Response {
		peer.Notify(note("progress"))
		<-ctx.Done()
		peer.Notify(note("progress"))
		ended <- ctx.Err()
		return Response{}
	}}
	b := serve(t, g, nil).modern("tools/list")
	ctx, hangUp := context.WithCancel(t.Context())
	resp := b.open(ctx, "POST", modernBody("1", "tools/list", ""))
	b.events(resp).next()
	hangUp()
	resp.Body.Close()
	if err := <-ended; err == nil {
		t.Error("the call was not ended")
	}
}

func TestModernRefusals(t *testing.T) {
	b := serve(t, &fakeGateway{}, nil)
	good := modernBody("1", "tools/list", "")
	m := b.modern("tools/list")
	m.expect("POST", good, 200, `"result"`)
	m.with("Mcp-Method", "other").expect("POST", good, 400, "-32020")
	b.modern("tools/list").with("MCP-Protocol-Version", "2999-01-01").expect("POST", strings.ReplaceAll(good, "2026-07-28", "2999-01-01"), 400, "-32022")
	m.expect("POST", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`, 202, "")
	m.expect("POST", `{"jsonrpc":"2.0","id":"a","result":{}}`, 400, "Responses are not taken")
	m.expect("POST", "["+good+"]", 400, "-32600")
	m.expect("POST", `{"jsonrpc":"2.0","id":1,`, 400, `{"jsonrpc":"2.0","error":{"code":-32`)
}
