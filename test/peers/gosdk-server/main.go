// Command gosdk-server is an MCP server on go-sdk that asks back: by form,
// URL, sampling and roots, in the way of whichever era it is called in. It
// speaks on standard input and output, or over HTTP with -http, when it
// prints its address as its first line. With -era it is of one era alone,
// which over HTTP it always is: of the legacy era unless told otherwise. With
// -runs it counts the runs of its tools, in files.
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

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const modern = "2026-07-28"

func main() {
	overHTTP := flag.Bool("http", false, "serve Streamable HTTP on a free port of the loopback")
	era := flag.String("era", "", "legacy or modern")
	runs := flag.String("runs", "", "directory to count runs in, a file for each key that grows by a byte for each run")
	flag.Parse()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	p := &peer{
		visit: "http://" + l.Addr().String() + "/visit", runs: *runs,
		ended: make(map[string]chan struct{}), wanted: make(map[string]*mcp.ServerSession), opened: make(map[string]bool),
	}
	s := p.server()
	s.AddReceivingMiddleware(only(*era))
	mux := http.NewServeMux()
	mux.HandleFunc("/visit", p.visited)
	mux.Handle("/mcp", mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s },
		&mcp.StreamableHTTPOptions{Stateless: *era == "modern", PropagateRequestCancellation: true}))
	if *overHTTP {
		fmt.Printf("http://%s/mcp\n", l.Addr())
		log.Fatal(http.Serve(l, mux))
	}
	go func() { log.Fatal(http.Serve(l, mux)) }()
	if err := s.Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
}

// only refuses the beginning of the other era; the SDK serves both on
// standard input and output.
func only(era string) mcp.Middleware {
	refused := map[string]string{"legacy": "server/discover", "modern": "initialize"}[era]
	return func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if method == refused {
				return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "not of the " + era + " era: " + method}
			}
			return next(ctx, method, req)
		}
	}
}

// isModern reports whether a call came in the modern era.
func isModern(req *mcp.CallToolRequest) bool {
	p := req.Session.InitializeParams()
	return p == nil || p.ProtocolVersion >= modern
}

func text(s string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: s}}}
}

// answer is the result of a tool that asked one question.
func answer(reply mcp.InputResponse, state string) (*mcp.CallToolResult, error) {
	raw, err := json.Marshal(map[string]any{"answer": reply, "state": state})
	if err != nil {
		return nil, err
	}
	return text(string(raw)), nil
}
