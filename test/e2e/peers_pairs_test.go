//go:build e2e

package e2e

import (
	"slices"
	"strings"
	"testing"

	"github.com/answerback/answerback/test/peer"
	"github.com/answerback/answerback/test/rig"
)

// TestPeers puts real clients and real servers together through the gateway:
// the SDKs of TypeScript (both generations) and two of Go on the one side, and
// on the other the reference server, and servers on the same SDKs.
func TestPeers(t *testing.T) {
	w := peer.NewWorld(t)
	t.Run("legacy", func(t *testing.T) { legacyPeers(t, w) })
	t.Run("modern", func(t *testing.T) { modernPeers(t, w) })
	t.Run("crossed", func(t *testing.T) { crossedPeers(t, w) })
	t.Run("killed", func(t *testing.T) { killedPeers(t, w) })
	t.Run("mute", func(t *testing.T) { mutePeers(t, w) })
}

// stop is a place that a client is sent to, and what it does there.
type stop struct {
	name  string
	to    peer.Target
	steps []step
}

// check sends a client to its stops and checks each in a subtest.
func check(t *testing.T, c peer.Client, stops []stop) []peer.Report {
	t.Helper()
	targets := make([]peer.Target, len(stops))
	for i, s := range stops {
		targets[i] = s.to
		targets[i].Jobs = jobs(s.steps)
	}
	reports := c.Tour(t, targets)
	for i, s := range stops {
		t.Run(s.name, func(t *testing.T) { wantAll(t, reports[i], c.Era, s.steps) })
	}
	return reports
}

// legacyPeers: every client of the legacy era at every server that speaks it,
// over every transport, at all three kinds of door.
func legacyPeers(t *testing.T, w *peer.World) {
	reference := peer.Backend("reference", w.Node, w.Reference, "stdio")
	solo := rig.Start(t, peer.Plenty+"backends:\n"+
		peer.Backend("reference-stdio", w.Node, w.Reference, "stdio")+
		peer.Backend("reference-http", w.EverythingHTTP)+
		peer.Backend("reference-sse", w.EverythingSSE)+
		peer.Backend("gosdk-http", w.GoLegacy)+
		peer.Backend("gosdk-stdio", w.Bin("gosdk-server"))+
		peer.Backend("mcpgo-http", w.MCPGo)+
		peer.Backend("mcpgo-stdio", w.Bin("mcpgo-server")))
	joined := rig.Start(t, peer.Plenty+"backends:\n"+reference+peer.Backend("gosdk", w.GoLegacy)+peer.Backend("mcpgo", w.MCPGo)+peer.Backend("gosdk-stdio", w.Bin("gosdk-server")))
	single := rig.Start(t, peer.Plenty+"backends:\n"+reference)

	at := func(url string) peer.Target { return peer.Target{URL: url} }
	for _, c := range []peer.Client{
		w.Script("client 2.4.0", "client-v2.mjs", "legacy"),
		w.Script("sdk 1.32.2", "client-v1.mjs", "legacy"),
		peer.GoSDK("2025-11-25"),
		peer.GoSDK("2025-06-18"),
		peer.MCPGo("legacy", true),
	} {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			key := strings.ReplaceAll(c.Name, " ", "-")
			reports := check(t, c, []stop{
				{"reference-stdio", at(solo.URL + "/reference-stdio"), everythingSteps("", c)},
				{"reference-http", at(solo.URL + "/reference-http"), everythingSteps("", c)},
				{"reference-sse", at(solo.URL + "/reference-sse"), everythingSteps("", c)},
				{"gosdk-http", at(solo.URL + "/gosdk-http"), goSteps("", c, key)},
				{"gosdk-stdio", at(solo.URL + "/gosdk-stdio"), goSteps("", c, key)},
				{"mcpgo-http", at(solo.URL + "/mcpgo-http"), askSteps("", c)},
				{"mcpgo-stdio", at(solo.URL + "/mcpgo-stdio"), askSteps("", c)},
				{"joined", at(joined.URL), amid(everythingSteps("reference__", c), goSteps("gosdk__", c, key+"-joined"),
					askSteps("mcpgo__", c), goSteps("gosdk-stdio__", c, key+"-stdio"))},
				{"single", at(single.URL), everythingSteps("", c)},
			})
			t.Run("level is kept", func(t *testing.T) { levelKept(t, reports[0]) })
			t.Run("tools follow what the client declared", func(t *testing.T) { toolsFollow(t, reports[0], !c.Lean) })
		})
	}
	t.Run("mcp-go legacy without a stream", func(t *testing.T) {
		t.Parallel()
		c := peer.MCPGo("legacy", false)
		check(t, c, []stop{
			{"gosdk-http", at(solo.URL + "/gosdk-http"), withProgress("", c, askSteps("", c))},
			{"mcpgo-http", at(solo.URL + "/mcpgo-http"), askSteps("", c)},
		})
	})
	for _, c := range []peer.Client{w.Script("sdk 1.32.2 over stdio", "client-v1.mjs", "legacy"), w.Script("client 2.4.0 over stdio", "client-v2.mjs", "legacy")} {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			c.LosesLast = strings.Contains(c.Name, "over stdio")
			check(t, c, []stop{
				{"single", peer.Target{Command: peer.StdioGateway(t, reference)}, everythingSteps("", c)},
				{"joined", peer.Target{Command: peer.StdioGateway(t, reference+peer.Backend("gosdk", w.Bin("gosdk-server")))},
					amid(everythingSteps("reference__", c), goSteps("gosdk__", c, "key"))},
			})
		})
	}
}

// amid puts the steps at other servers after the first ones at the reference
// server, which wait until that has asked for roots by itself.
func amid(reference []step, others ...[]step) []step {
	return slices.Concat(reference[:2], slices.Concat(others...), reference[2:])
}

// levelKept checks that no log below the level came.
func levelKept(t *testing.T, rep peer.Report) {
	// It subscribes twice, the second time at a level at which that is said.
	said := strings.Count(strings.Join(rep.Notes, "\n"), "Received Subscribe Resource request")
	if said != 1 {
		t.Errorf("the log of subscribing came %d times, want once: %q", said, rep.Notes)
	}
}

// toolsFollow checks that the server was told what the client declared: it
// offers its tools by that.
func toolsFollow(t *testing.T, rep peer.Report, url bool) {
	for _, tool := range []string{"trigger-elicitation-request", "trigger-sampling-request", "get-roots-list"} {
		if !slices.Contains(rep.Tools, tool) {
			t.Errorf("%s is not offered: %q", tool, rep.Tools)
		}
	}
	if slices.Contains(rep.Tools, "trigger-url-elicitation") != url {
		t.Errorf("the tool that asks by URL: want offered %v: %q", url, rep.Tools)
	}
}

// modernPeers: the same for the modern era.
func modernPeers(t *testing.T, w *peer.World) {
	v2 := peer.Backend("v2", w.V2)
	g := rig.Start(t, peer.Plenty+"backends:\n"+v2+
		peer.Backend("gosdk", w.GoModern)+
		peer.Backend("gosdk-stdio", w.Bin("gosdk-server"))+
		peer.Backend("mcpgo", w.MCPGo)+
		peer.Backend("mcpgo-stdio", w.Bin("mcpgo-server")))
	single := rig.Start(t, peer.Plenty+"backends:\n"+v2)
	v2Steps := func(prefix string, c peer.Client, key string) []step {
		return slices.Concat(withProgress(prefix, c, askSteps(prefix, c)), cancelSteps(prefix, key))
	}
	at := func(url string) peer.Target { return peer.Target{URL: url} }
	for _, c := range []peer.Client{
		w.Script("client 2.4.0", "client-v2.mjs", "modern"),
		peer.GoSDK("2026-07-28"),
		peer.MCPGo("modern", false),
	} {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			key := strings.ReplaceAll(c.Name, " ", "-")
			check(t, c, []stop{
				{"v2", at(g.URL + "/v2"), v2Steps("", c, key)},
				{"gosdk-http", at(g.URL + "/gosdk"), goSteps("", c, key)},
				{"gosdk-stdio", at(g.URL + "/gosdk-stdio"), goSteps("", c, key)},
				{"mcpgo-http", at(g.URL + "/mcpgo"), mcpGoSteps("", c)},
				{"mcpgo-stdio", at(g.URL + "/mcpgo-stdio"), mcpGoSteps("", c)},
				{"joined", at(g.URL), slices.Concat(v2Steps("v2__", c, key+"-joined"), goSteps("gosdk__", c, key+"-joined"),
					goSteps("gosdk-stdio__", c, key+"-joined"), mcpGoSteps("mcpgo__", c), mcpGoSteps("mcpgo-stdio__", c))},
				{"single", at(single.URL), v2Steps("", c, key+"-single")},
			})
		})
	}
	for _, c := range []peer.Client{w.Script("client 2.4.0 over stdio", "client-v2.mjs", "modern"), peer.GoSDK("2026-07-28")} {
		t.Run(strings.TrimSuffix(c.Name, " over stdio")+" over stdio", func(t *testing.T) {
			t.Parallel()
			c.LosesLast = strings.Contains(c.Name, "over stdio")
			key := strings.ReplaceAll(c.Name, " ", "-") + "-stdio"
			check(t, c, []stop{
				{"single", peer.Target{Command: peer.StdioGateway(t, v2)}, v2Steps("", c, key)},
				{"joined", peer.Target{Command: peer.StdioGateway(t, v2+peer.Backend("gosdk", w.Bin("gosdk-server")))},
					slices.Concat(v2Steps("v2__", c, key+"-joined"), goSteps("gosdk__", c, key))},
			})
		})
	}
}
