//go:build matrix

package matrix

import (
	"fmt"
	"strings"
	"testing"

	"github.com/answerback/answerback/test/peer"
)

// server is one column of the table.
type server struct {
	name    string
	era     string
	backend string // its configuration, under the name path
	path    string
	direct  peer.Target // without the gateway
	ours    bool        // has our tools, and counts their runs; a tap counts the calls of others
	agent   bool        // of A2A: its skills are our tools
}

func servers(t testing.TB, w *peer.World) []server {
	at := func(url string) peer.Target { return peer.Target{URL: url} }
	run := func(command ...string) peer.Target { return peer.Target{Command: command} }
	list := []server{
		{name: "go-sdk legacy HTTP", direct: at(w.GoLegacy), ours: true},
		{name: "go-sdk legacy stdio", direct: run(w.Bin("gosdk-server"), "-era", "legacy", "-runs", w.Runs), ours: true},
		{name: "go-sdk modern HTTP", direct: at(w.GoModern), ours: true},
		{name: "go-sdk modern stdio", direct: run(w.Bin("gosdk-server"), "-era", "modern", "-runs", w.Runs), ours: true},
		{name: "mcp-go legacy HTTP", direct: at(w.MCPGoLegacy), ours: true},
		{name: "mcp-go modern HTTP", direct: at(w.MCPGoModern), ours: true},
		{name: "server 2.4.0 modern HTTP", direct: at(w.V2), ours: true},
		{name: "server-everything legacy HTTP", direct: at(w.Tap(t, w.EverythingHTTP))},
		{name: "server-everything legacy stdio", direct: run(w.TapCommand(w.Node, w.Reference, "stdio")...)},
		{name: agentName, direct: at(w.Agent), ours: true, agent: true},
	}
	for i := range list {
		s := &list[i]
		s.era = "legacy"
		if strings.Contains(s.name, " modern") || s.agent {
			s.era = "modern"
		}
		s.path = strings.ToLower(strings.NewReplacer(" ", "-", ".", "-", "everything", "all", "legacy", "old", "modern", "new").Replace(s.name))
		switch {
		case s.agent:
			s.backend = fmt.Sprintf("  %s: { url: %q, transport: a2a }\n", s.path, s.direct.URL)
		case s.direct.URL != "":
			s.backend = peer.Backend(s.path, s.direct.URL)
		default:
			s.backend = peer.Backend(s.path, s.direct.Command[0], s.direct.Command[1:]...)
		}
	}
	return list
}

// agentName is the column of the agent, whose turns are rounds of the modern
// era.
const agentName = "a2a-js 1.3.0 agent"

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
		w.Front("module"),
		w.Front("fetch"),
		w.A2A("JSONRPC"),
		w.A2A("HTTP+JSON"),
		w.A2ACommandLine("JSONRPC"),
		w.A2ACommandLine("HTTP+JSON"),
	}
}

// controls are clients that excuses name, and no rows.
func controls(w *peer.World) []peer.Client {
	var list []peer.Client
	for _, era := range []string{"legacy", "modern"} {
		list = append(list,
			altered(w.Script("client 2.4.0 mute "+era, "client-v2.mjs", era), func(to *peer.Target) { to.Mute = true }),
			altered(w.Script("client 2.4.0 anew "+era, "client-v2.mjs", era), func(to *peer.Target) { to.Anew = true }))
	}
	return list
}

func altered(c peer.Client, alter func(*peer.Target)) peer.Client {
	tour := c.Tour
	c.Tour = func(t testing.TB, targets []peer.Target) []peer.Report {
		for i := range targets {
			alter(&targets[i])
		}
		return tour(t, targets)
	}
	return c
}
