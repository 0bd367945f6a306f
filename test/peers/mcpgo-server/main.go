// Command mcpgo-server is an MCP server on mark3labs/mcp-go that asks back:
// by form, URL, sampling and roots. It is of both eras, on standard input and
// output, or over HTTP with -http, when it prints its address as its first
// line and can be of one era alone, with -era. In the legacy era over HTTP it
// asks on the session's own stream, not on the call's. With -runs it counts
// the runs of its tools, in files.
//
// It is a peer for tests; what it answers is meant to be compared.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

func main() {
	overHTTP := flag.Bool("http", false, "serve Streamable HTTP on a free port of the loopback")
	era := flag.String("era", "", "with -http: legacy or modern")
	runs := flag.String("runs", "", "directory to count runs in, a file for each key that grows by a byte for each run")
	flag.Parse()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	p := &peer{
		visit: "http://" + l.Addr().String() + "/visit", runs: *runs,
		ended: make(map[string]chan struct{}), wanted: make(map[string]context.Context), opened: make(map[string]bool),
	}
	p.tools(*era)
	s := p.server
	if !*overHTTP {
		if err := server.ServeStdio(s); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		return
	}
	var opts []server.StreamableHTTPOption
	switch *era {
	case "legacy":
		opts = append(opts, server.WithStreamableHTTPProtocolVersions(mcp.LATEST_LEGACY_PROTOCOL_VERSION))
	case "modern":
		opts = append(opts, server.WithStreamableHTTPProtocolVersions(mcp.LATEST_PROTOCOL_VERSION))
	}
	mux := http.NewServeMux()
	mux.Handle("/mcp", server.NewStreamableHTTPServer(s, opts...))
	mux.HandleFunc("/visit", p.visited)
	fmt.Printf("http://%s/mcp\n", l.Addr())
	log.Fatal(http.Serve(l, mux))
}

func (p *peer) tools(era string) {
	hooks := &server.Hooks{}
	hooks.AddOnRequestInitialization(func(_ context.Context, _ any, message any) error {
		// The transport's versions do not keep the legacy handshake out.
		if raw, ok := message.(json.RawMessage); ok && era == "modern" && bytes.Contains(raw, []byte(`"initialize"`)) {
			return errors.New("not of the modern era: initialize")
		}
		return nil
	})
	s := server.NewMCPServer("mcpgo-server", "1", server.WithHooks(hooks), server.WithToolCapabilities(false), server.WithElicitation(), server.WithRoots())
	s.EnableSampling()
	p.server = s
	p.asking()
	asks := func(name string, question func(*server.InputRequestBuilder)) {
		s.AddTool(mcp.NewTool(name), func(_ context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			reply, ok := server.InputResponse(req.Params.InputResponses, name)
			if !ok {
				b := server.NewInputRequestBuilder("state-" + name)
				question(b)
				return b.ToolResult(), nil
			}
			raw, err := json.Marshal(map[string]any{"answer": reply, "state": req.Params.RequestState})
			if err != nil {
				return nil, err
			}
			return mcp.NewToolResultText(string(raw)), nil
		})
	}
	asks("form", func(b *server.InputRequestBuilder) {
		b.Elicit("form", form("Who?"))
	})
	asks("url", func(b *server.InputRequestBuilder) {
		b.Elicit("url", open())
	})
	asks("sampling", func(b *server.InputRequestBuilder) {
		b.Sample("sampling", complete())
	})
	asks("roots", func(b *server.InputRequestBuilder) { b.Roots("roots") })
	s.AddTool(mcp.NewTool("echo", mcp.WithString("text")), func(_ context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultText(req.GetString("text", "")), nil
	})
	s.AddTool(mcp.NewTool("progress", mcp.WithNumber("steps"), mcp.WithNumber("pause")), func(ctx context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		n := req.GetInt("steps", 1)
		for i := range n {
			if err := p.advance(ctx, req, i+1, n); err != nil {
				return nil, err
			}
			time.Sleep(time.Duration(req.GetInt("pause", 0)) * time.Millisecond)
		}
		return mcp.NewToolResultText("done"), nil
	})
}
