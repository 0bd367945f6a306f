//go:build e2e

package e2e

import (
	"slices"
	"strings"
	"testing"

	"github.com/answerback/answerback/test/rig"
)

// TestPeers puts real clients and real servers together through the gateway:
// the SDKs of TypeScript (both generations) and two of Go on the one side, and
// on the other the reference server, and servers on the same SDKs.
func TestPeers(t *testing.T) {
	w := newWorld(t)
	t.Run("legacy", func(t *testing.T) { legacyPeers(t, w) })
	t.Run("modern", func(t *testing.T) { modernPeers(t, w) })
	t.Run("crossed", func(t *testing.T) { crossedPeers(t, w) })
	t.Run("killed", func(t *testing.T) { killedPeers(t, w) })
}

// stop is a place that a client is sent to, and what it does there.
type stop struct {
	name  string
	to    target
	steps []step
}

// check sends one client to its stops and checks each in a subtest.
func (c client) check(t *testing.T, stops []stop) []report {
	t.Helper()
	targets := make([]target, len(stops))
	for i, s := range stops {
		targets[i] = s.to
		targets[i].Jobs = jobs(s.steps)
	}
	reports := c.tour(t, targets)
	for i, s := range stops {
		t.Run(s.name, func(t *testing.T) { wantAll(t, reports[i], c.era, s.steps) })
	}
	return reports
}

// legacyPeers: every client of the legacy era at every server that speaks it,
// over every transport, at all three kinds of door.
func legacyPeers(t *testing.T, w *world) {
	reference := backend("reference", w.node, w.server, "stdio")
	solo := rig.Start(t, plenty+"backends:\n"+
		backend("reference-stdio", w.node, w.server, "stdio")+
		backend("reference-http", w.everythingHTTP)+
		backend("reference-sse", w.everythingSSE)+
		backend("gosdk-http", w.goLegacy)+
		backend("gosdk-stdio", w.bin("gosdk-server"))+
		backend("mcpgo-http", w.mcpGo)+
		backend("mcpgo-stdio", w.bin("mcpgo-server")))
	joined := rig.Start(t, plenty+"backends:\n"+reference+backend("gosdk", w.goLegacy)+backend("mcpgo", w.mcpGo)+backend("gosdk-stdio", w.bin("gosdk-server")))
	single := rig.Start(t, plenty+"backends:\n"+reference)

	at := func(url string) target { return target{URL: url} }
	for _, c := range []client{
		w.script("client 2.4.0", "client-v2.mjs", "legacy"),
		w.script("sdk 1.32.2", "client-v1.mjs", "legacy"),
		goSDK("2025-11-25"),
		goSDK("2025-06-18"),
		mcpGo("legacy", true),
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			key := strings.ReplaceAll(c.name, " ", "-")
			reports := c.check(t, []stop{
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
			t.Run("tools follow what the client declared", func(t *testing.T) { toolsFollow(t, reports[0], !c.lean) })
		})
	}
	t.Run("mcp-go legacy without a stream", func(t *testing.T) {
		t.Parallel()
		c := mcpGo("legacy", false)
		c.check(t, []stop{
			{"gosdk-http", at(solo.URL + "/gosdk-http"), withProgress("", c, askSteps("", c))},
			{"mcpgo-http", at(solo.URL + "/mcpgo-http"), askSteps("", c)},
		})
	})
	for _, c := range []client{w.script("sdk 1.32.2 over stdio", "client-v1.mjs", "legacy"), w.script("client 2.4.0 over stdio", "client-v2.mjs", "legacy")} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.losesLast = strings.Contains(c.name, "over stdio")
			c.check(t, []stop{
				{"single", target{Command: stdioGateway(t, reference)}, everythingSteps("", c)},
				{"joined", target{Command: stdioGateway(t, reference+backend("gosdk", w.bin("gosdk-server")))},
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
func levelKept(t *testing.T, rep report) {
	// It subscribes twice, the second time at a level at which that is said.
	said := strings.Count(strings.Join(rep.Notes, "\n"), "Received Subscribe Resource request")
	if said != 1 {
		t.Errorf("the log of subscribing came %d times, want once: %q", said, rep.Notes)
	}
}

// toolsFollow checks that the server was told what the client declared: it
// offers its tools by that.
func toolsFollow(t *testing.T, rep report, url bool) {
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
func modernPeers(t *testing.T, w *world) {
	v2 := backend("v2", w.v2)
	g := rig.Start(t, plenty+"backends:\n"+v2+
		backend("gosdk", w.goModern)+
		backend("gosdk-stdio", w.bin("gosdk-server"))+
		backend("mcpgo", w.mcpGo)+
		backend("mcpgo-stdio", w.bin("mcpgo-server")))
	single := rig.Start(t, plenty+"backends:\n"+v2)
	v2Steps := func(prefix string, c client, key string) []step {
		return slices.Concat(withProgress(prefix, c, askSteps(prefix, c)), cancelSteps(prefix, key))
	}
	at := func(url string) target { return target{URL: url} }
	for _, c := range []client{
		w.script("client 2.4.0", "client-v2.mjs", "modern"),
		goSDK("2026-07-28"),
		mcpGo("modern", false),
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			key := strings.ReplaceAll(c.name, " ", "-")
			c.check(t, []stop{
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
	for _, c := range []client{w.script("client 2.4.0 over stdio", "client-v2.mjs", "modern"), goSDK("2026-07-28")} {
		t.Run(strings.TrimSuffix(c.name, " over stdio")+" over stdio", func(t *testing.T) {
			t.Parallel()
			c.losesLast = strings.Contains(c.name, "over stdio")
			key := strings.ReplaceAll(c.name, " ", "-") + "-stdio"
			c.check(t, []stop{
				{"single", target{Command: stdioGateway(t, v2)}, v2Steps("", c, key)},
				{"joined", target{Command: stdioGateway(t, v2+backend("gosdk", w.bin("gosdk-server")))},
					slices.Concat(v2Steps("v2__", c, key+"-joined"), goSteps("gosdk__", c, key))},
			})
		})
	}
}
