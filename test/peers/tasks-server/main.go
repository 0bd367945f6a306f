// Command tasks-server is an MCP server of the legacy era on go-sdk, with the
// tools that the conformance suite calls to see tasks. It knows nothing of
// tasks: the gateway makes one of a call in which somebody is asked, so tools
// that take long ask whether they may stop early, and take the question back
// when they are through.
//
// It is a peer for tests, over Streamable HTTP on a free port of the loopback.
package main

import (
	"log"
	"log/slog"
	"net"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func main() {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	s := server()
	mux := http.NewServeMux()
	mux.Handle("/mcp", mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, nil))
	slog.New(slog.NewTextHandler(log.Writer(), nil)).Info("serving", "url", "http://"+l.Addr().String()+"/mcp")
	log.Fatal(http.Serve(l, mux))
}
