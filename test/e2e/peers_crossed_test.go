//go:build e2e

package e2e

import (
	"slices"
	"strings"
	"testing"

	"github.com/answerback/answerback/test/rig"
)

// crossedPeers: a client and a server of different eras. A client that knows
// both eras falls back to the server's; one that does not is told why, in the
// words of its SDK.
func crossedPeers(t *testing.T, w *world) {
	legacy := rig.Start(t, plenty+"backends:\n"+backend("http", w.everythingHTTP)+backend("stdio", w.node, w.server, "stdio"))
	modern := rig.Start(t, plenty+"backends:\n"+backend("v2", w.v2))

	t.Run("modern client at legacy server", func(t *testing.T) {
		auto := w.script("client 2.4.0 auto", "client-v2.mjs", "auto")
		for _, c := range []client{auto, goSDK("2026-07-28"), mcpGo("modern", false)} {
			t.Run(c.name+" falls back", func(t *testing.T) {
				t.Parallel()
				c.era = "legacy"
				steps := []step{
					{job{Call: "echo", Args: map[string]any{"message": "hi"}}, gets(nil, "Echo: hi")},
					{job{Call: "trigger-sampling-request", Args: map[string]any{"prompt": "Capital?", "maxTokens": 33}}, func(t *testing.T, e entry) {
						t.Helper()
						// It may ask for roots by itself at the same time.
						e.Asked = slices.DeleteFunc(e.Asked, func(q string) bool { return q == "roots" })
						gets([]string{"sampling Resource trigger-sampling-request context: Capital? 33"}, "Paris")(t, e)
					}},
				}
				c.check(t, []stop{{"http", target{URL: legacy.URL + "/http"}, steps}, {"stdio", target{URL: legacy.URL + "/stdio"}, steps}})
			})
		}
		c := w.script("client 2.4.0 pinned", "client-v2.mjs", "modern")
		t.Run(c.name+" is refused", func(t *testing.T) {
			t.Parallel()
			for i, rep := range c.tour(t, []target{{URL: legacy.URL + "/http"}, {URL: legacy.URL + "/stdio"}}) {
				if rep.Error == nil || rep.Error.Code != "ERA_NEGOTIATION_FAILED" || !strings.Contains(rep.Error.Message, "2026-07-28") {
					t.Errorf("backend %d: the client got %+v, error %+v", i, rep, rep.Error)
				}
			}
		})
	})

	t.Run("legacy client at modern server", func(t *testing.T) {
		for _, c := range []client{
			w.script("client 2.4.0", "client-v2.mjs", "legacy"), w.script("sdk 1.32.2", "client-v1.mjs", "legacy"),
			goSDK("2025-11-25"), mcpGo("legacy", true),
		} {
			t.Run(c.name+" is refused", func(t *testing.T) {
				t.Parallel()
				for i, rep := range c.tour(t, []target{{URL: modern.URL + "/v2"}, {URL: modern.URL}}) {
					f := rep.Error
					if f == nil || f.Code != float64(-32022) || !strings.Contains(strings.ToLower(f.Message), "unsupported protocol version") {
						t.Errorf("door %d: the client got %+v, error %+v; want error -32022", i, rep, f)
						continue
					}
					if got := pick(f.Data, "supported"); !slices.Equal(texts(got), []string{"2026-07-28"}) {
						t.Errorf("door %d: the error names %v as supported", i, got)
					}
				}
			})
		}
	})
}

func texts(list any) []string {
	var out []string
	for i := 0; pick(list, i) != nil; i++ {
		s, _ := pick(list, i).(string)
		out = append(out, s)
	}
	return out
}
