//go:build browser

package browser

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/answerback/answerback/test/peer"
	"github.com/answerback/answerback/test/rig"
)

// TestConnectOverA2A: ann's client, on @a2a-js/sdk, has a tool run at a server
// that knows nobody. Its task is auth-required and names an address; ann signs
// in at a third party and agrees there, and the task completes by itself,
// having run once. Nobody sends it another message.
func TestConnectOverA2A(t *testing.T) {
	t.Parallel()
	b, at := protected(t)
	s := newStage(t, "  board: { url: "+at+", grant: { kind: oauth } }\n", "a2a: { enabled: true }\n")
	ann, _ := s.signIn("ann", "/")
	task := s.follow("ann", "board", "search")
	q := task.until("TASK_STATE_AUTH_REQUIRED")
	if !strings.Contains(q.Said, q.URL) || !strings.HasPrefix(q.URL, s.base+"/") {
		t.Fatalf("the task says %q and leads to %q", q.Said, q.URL)
	}
	contains(t, ann.open(q.URL), "board", "search", "127.0.0.2")
	s.logInAndAllow(ann, "ann", b)
	task.until("TASK_STATE_COMPLETED")
	equal(t, "the result", task.artifact, "found by u-ann")
	task.until("over")
	equal(t, "the runs", fmt.Sprint(b.Count("tools/call")), "1")
}

// following is what somebody's client of A2A sees of its task.
type following struct {
	t        testing.TB
	lines    <-chan string
	artifact string
}

// sight is one thing that it sees; a2a-follow.mjs prints them.
type sight struct{ State, Said, URL, Artifact string }

// follow has a client of A2A start a tool for somebody.
func (s *stage) follow(who, backend, tool string) *following {
	s.t.Helper()
	h := home(s.t)
	cmd := exec.Command(h.node, filepath.Join(h.dir, "a2a-follow.mjs"), s.base+"/a2a/"+backend, tool, s.token(who))
	cmd.Stderr = s.t.Output()
	return &following{t: s.t, lines: peer.Output(s.t, cmd)}
}

// until waits for a state of the task.
func (f *following) until(state string) sight {
	f.t.Helper()
	late := time.After(rig.Patience)
	for seen := []string(nil); ; {
		var line string
		select {
		case line = <-f.lines:
		case <-late:
		}
		var now sight
		if err := json.Unmarshal([]byte(line), &now); err != nil {
			f.t.Fatalf("the task was not %s, but %q and then %q", state, seen, line)
		}
		if now.Artifact != "" {
			f.artifact += now.Artifact
		}
		if now.State == state {
			return now
		}
		seen = append(seen, line)
	}
}
