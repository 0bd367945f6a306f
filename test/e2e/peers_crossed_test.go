//go:build e2e

package e2e

import (
	"slices"
	"strings"
	"testing"

	"github.com/answerback/answerback/test/peer"
	"github.com/answerback/answerback/test/rig"
)

// crossedPeers: clients and servers of different eras, at the doors that the
// matrix does not go to: the joined one, with servers of both eras behind it,
// and standard input and output. Each client stays in its era.
func crossedPeers(t *testing.T, w *peer.World) {
	legacy := peer.Backend("old", w.GoLegacy)
	modern := peer.Backend("new", w.GoModern) + peer.Backend("v2", w.V2)
	joined := rig.Start(t, peer.Plenty+"backends:\n"+legacy+modern)
	// The reference server asks for roots by itself, which reaches a client of
	// the legacy era in the middle of anything.
	more := rig.Start(t, peer.Plenty+"backends:\n"+legacy+modern+peer.Backend("reference", w.Node, w.Reference, "stdio"))

	for _, c := range []peer.Client{
		w.Script("client 2.4.0 auto", "client-v2.mjs", "auto"), w.Script("client 2.4.0 pinned", "client-v2.mjs", "modern"),
		peer.GoSDK("2026-07-28"), peer.MCPGo("modern", false),
	} {
		t.Run("modern/"+c.Name, func(t *testing.T) {
			t.Parallel()
			c.Era = "modern"
			check(t, c, []stop{
				{"joined", peer.Target{URL: more.URL}, slices.Concat(crossedSteps(c, "old__", ""), referenceSteps("reference__"))},
				{"reference alone", peer.Target{URL: more.URL + "/reference"}, referenceSteps("")},
			})
		})
	}
	for _, c := range []peer.Client{
		w.Script("client 2.4.0", "client-v2.mjs", "legacy"), w.Script("sdk 1.32.2", "client-v1.mjs", "legacy"),
		peer.GoSDK("2025-11-25"), peer.MCPGo("legacy", true),
	} {
		t.Run("legacy/"+c.Name, func(t *testing.T) {
			t.Parallel()
			check(t, c, []stop{
				{"joined", peer.Target{URL: joined.URL}, slices.Concat(crossedSteps(c, "new__", "state-"), crossedSteps(c, "v2__", "state-"))},
			})
		})
	}
	for _, c := range []peer.Client{w.Script("client 2.4.0", "client-v2.mjs", "legacy"), w.Script("client 2.4.0", "client-v2.mjs", "modern")} {
		t.Run(c.Era+"/"+c.Name+" over stdio", func(t *testing.T) {
			t.Parallel()
			c.LosesLast = true
			there, state := modern, "state-"
			if c.Era == "modern" {
				there, state = legacy, ""
			}
			prefix := map[string]string{"modern": "", "legacy": "new__"}[c.Era]
			check(t, c, []stop{{"gateway", peer.Target{Command: peer.StdioGateway(t, there)}, crossedSteps(c, prefix, state)}})
		})
	}
}

// crossedSteps are questions of every kind, and progress. A server's state is
// its own only in the modern era.
func crossedSteps(c peer.Client, prefix, state string) []step {
	steps := slices.DeleteFunc(withProgress(prefix, c, askSteps(prefix, c)), func(s step) bool { return strings.HasSuffix(s.Call, "echo") })
	if state != "" {
		return steps
	}
	return append(steps, step{peer.Job{Call: prefix + "series", Form: ann}, gets(sees(c, whoForm, capital, "roots"), "three answers")})
}

// referenceSteps are done at the reference server by clients of the modern
// era. The question for roots that it puts by itself reaches none of them.
func referenceSteps(prefix string) []step {
	return []step{
		{peer.Job{Call: prefix + "echo", Args: map[string]any{"message": "hi"}}, gets(nil, "Echo: hi")},
		{peer.Job{Call: prefix + "trigger-sampling-request", Args: map[string]any{"prompt": "Capital?", "maxTokens": 33}},
			gets([]string{"sampling Resource trigger-sampling-request context: Capital? 33"}, "Paris")},
		{peer.Job{Call: prefix + "trigger-elicitation-request", Form: peer.Reply{Action: "decline"}}, gets([]string{everyField}, "User declined")},
	}
}
