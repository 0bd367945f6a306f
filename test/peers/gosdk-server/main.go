// Command gosdk-server is an MCP server on go-sdk that asks back: by form,
// URL, sampling and roots, in the way of whichever era it is called in. It
// speaks on standard input and output, or over HTTP with -http, when it
// prints its address as its first line. With -stateless it is of the modern
// era alone, without of the legacy era alone.
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

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const modern = "2026-07-28"

func main() {
	overHTTP := flag.Bool("http", false, "serve Streamable HTTP on a free port of the loopback")
	stateless := flag.Bool("stateless", false, "with -http: the modern era")
	flag.Parse()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	p := &peer{visit: "http://" + l.Addr().String() + "/visit", ended: make(map[string]chan struct{}), wanted: make(map[string]*mcp.ServerSession)}
	s := p.server()
	mux := http.NewServeMux()
	mux.HandleFunc("/visit", p.visited)
	mux.Handle("/mcp", mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s },
		&mcp.StreamableHTTPOptions{Stateless: *stateless, PropagateRequestCancellation: true}))
	if *overHTTP {
		fmt.Printf("http://%s/mcp\n", l.Addr())
		log.Fatal(http.Serve(l, mux))
	}
	go func() { log.Fatal(http.Serve(l, mux)) }()
	if err := s.Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		fmt.Fprintln(os.Stderr, err)
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
