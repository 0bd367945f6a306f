//go:build browser

package browser

import (
	"context"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"

	"github.com/answerback/answerback/test/rig"
)

// TestConnectThroughA2A: an agent's client sends a message to a server that
// knows nobody. Its task is auth-required with an address, ann signs in at a
// third party behind it and agrees there, and the task completes by itself. The
// tool ran once.
func TestConnectThroughA2A(t *testing.T) {
	t.Parallel()
	server, at := protected(t)
	s := newStage(t, "  tracker: { url: "+at+", grant: { kind: oauth } }\n", "a2a: { enabled: true }\n")
	ann, _ := s.signIn("ann", "/")
	ctx, cancel := context.WithTimeout(context.Background(), 5*rig.Patience)
	defer cancel()
	ctx = a2aclient.AttachServiceParams(ctx, a2aclient.ServiceParams{"Authorization": {"Bearer " + s.token("ann")}})
	endpoint := a2a.NewAgentInterface(strings.TrimSuffix(s.gateway.URL, "/mcp")+"/a2a/tracker", a2a.TransportProtocolJSONRPC)
	client, err := a2aclient.NewFromEndpoints(ctx, []*a2a.AgentInterface{endpoint})
	if err != nil {
		t.Fatal(err)
	}
	ask := a2a.NewMessage(a2a.MessageRoleUser, a2a.NewDataPart(map[string]any{"tool": "search"}))
	last := ""
	for e, err := range client.SendStreamingMessage(ctx, &a2a.SendMessageRequest{Message: ask}) {
		if err != nil {
			t.Fatal(err)
		}
		switch e := e.(type) {
		case *a2a.TaskArtifactUpdateEvent:
			last = e.Artifact.Parts[0].Text()
		case *a2a.TaskStatusUpdateEvent:
			if e.Status.State == a2a.TaskStateAuthRequired {
				ann.open(linkIn(t, e.Status.Message.Parts[0].Text()))
				s.goOn(ann)
				ann.fill("Name", "ann")
				ann.fill("Password", "ann-password")
				ann.press("Log in")
				contains(t, ann.press("Allow"), "Your account is connected")
			} else if e.Status.State.Terminal() && e.Status.State != a2a.TaskStateCompleted {
				t.Fatalf("the task is %s", e.Status.State)
			}
		}
	}
	if n := server.Count("tools/call"); n != 1 || !strings.Contains(last, "found by u-ann") {
		t.Errorf("it ran %d times and gave %s", n, last)
	}
}
