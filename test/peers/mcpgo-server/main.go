// Command mcpgo-server is an MCP server on mark3labs/mcp-go that asks back:
// by form, URL, sampling and roots. It is of both eras, on standard input and
// output, or over HTTP with -http, when it prints its address as its first
// line. In the legacy era over HTTP it asks on the session's own stream, not
// on the call's.
//
// It is a peer for tests; what it answers is meant to be compared.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

func main() {
	overHTTP := flag.Bool("http", false, "serve Streamable HTTP on a free port of the loopback")
	flag.Parse()
	s := tools()
	if !*overHTTP {
		if err := server.ServeStdio(s); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		return
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/mcp", server.NewStreamableHTTPServer(s))
	fmt.Printf("http://%s/mcp\n", l.Addr())
	log.Fatal(http.Serve(l, mux))
}

func tools() *server.MCPServer {
	s := server.NewMCPServer("mcpgo-server", "1", server.WithToolCapabilities(false), server.WithElicitation(), server.WithRoots())
	s.EnableSampling()
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
		b.Elicit("form", mcp.ElicitationParams{Message: "Who?", RequestedSchema: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}`)})
	})
	asks("url", func(b *server.InputRequestBuilder) {
		b.Elicit("url", mcp.ElicitationParams{Mode: "url", Message: "Open", URL: "https://example.com/auth?x=1", ElicitationID: "e-1"})
	})
	asks("sampling", func(b *server.InputRequestBuilder) {
		b.Sample("sampling", mcp.CreateMessageParams{MaxTokens: 10, Messages: []mcp.SamplingMessage{{Role: mcp.RoleUser, Content: mcp.NewTextContent("Capital?")}}})
	})
	asks("roots", func(b *server.InputRequestBuilder) { b.Roots("roots") })
	s.AddTool(mcp.NewTool("echo", mcp.WithString("text")), func(_ context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultText(req.GetString("text", "")), nil
	})
	s.AddTool(mcp.NewTool("progress", mcp.WithNumber("steps")), func(ctx context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		n := req.GetInt("steps", 1)
		for i := range n {
			err := s.SendNotificationToClient(ctx, "notifications/progress", map[string]any{
				"progressToken": req.Params.Meta.ProgressToken, "progress": i + 1, "total": n,
			})
			if err != nil {
				return nil, err
			}
		}
		return mcp.NewToolResultText("done"), nil
	})
	return s
}
