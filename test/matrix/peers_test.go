//go:build matrix

package matrix

import (
	"strings"

	"github.com/answerback/answerback/test/peer"
)

// server is one column of the table.
type server struct {
	name    string
	era     string
	backend string // its configuration, under the name door
	door    string
	direct  string // its address without the gateway; of its HTTP sibling over stdio
	twin    string // the column whose direct runs are also its own
	ours    bool   // has our tools, and counts their runs
}

func servers(w *peer.World) []server {
	list := []server{
		{name: "go-sdk legacy HTTP", direct: w.GoLegacy, ours: true},
		{name: "go-sdk legacy stdio", twin: "go-sdk legacy HTTP", ours: true},
		{name: "go-sdk modern HTTP", direct: w.GoModern, ours: true},
		{name: "go-sdk modern stdio", twin: "go-sdk modern HTTP", ours: true},
		{name: "mcp-go legacy HTTP", direct: w.MCPGoLegacy, ours: true},
		{name: "mcp-go modern HTTP", direct: w.MCPGoModern, ours: true},
		{name: "server 2.4.0 modern HTTP", direct: w.V2, ours: true},
		{name: "server-everything legacy HTTP", direct: w.EverythingHTTP},
		{name: "server-everything legacy stdio", twin: "server-everything legacy HTTP"},
	}
	for i := range list {
		s := &list[i]
		s.era = "legacy"
		if strings.Contains(s.name, " modern") {
			s.era = "modern"
		}
		s.door = strings.ToLower(strings.NewReplacer(" ", "-", ".", "-", "everything", "all", "legacy", "old", "modern", "new").Replace(s.name))
		switch {
		case s.direct != "":
			s.backend = peer.Backend(s.door, s.direct)
		case s.ours:
			s.backend = peer.Backend(s.door, w.Bin("gosdk-server"), "-era", s.era, "-runs", w.Runs)
		default:
			s.backend = peer.Backend(s.door, w.Node, w.Reference, "stdio")
		}
	}
	return list
}

func clients(w *peer.World) []peer.Client {
	named := func(c peer.Client, name string) peer.Client {
		c.Name = name
		return c
	}
	return []peer.Client{
		w.Script("client 2.4.0 legacy", "client-v2.mjs", "legacy"),
		w.Script("client 2.4.0 modern", "client-v2.mjs", "modern"),
		w.Script("sdk 1.32.2 legacy", "client-v1.mjs", "legacy"),
		named(peer.GoSDK("2025-11-25"), "go-sdk legacy"),
		named(peer.GoSDK("2026-07-28"), "go-sdk modern"),
		peer.MCPGo("legacy", true),
		peer.MCPGo("modern", false),
		w.MCPDo("legacy"),
		w.MCPDo("modern"),
	}
}
