package e2e

import (
	"fmt"
	"net/http"
	"syscall"
	"testing"

	"github.com/answerback/answerback/test/rig"
)

// counted makes a call to a server that counts, and gives its count and its
// process.
func counted(t *testing.T, f *rig.Front, path, tool, more string) (count, pid int) {
	t.Helper()
	e := f.Open(http.MethodPost, path, `{"name":"`+tool+`"`+more+`}`).Until("tool-result")
	n, _ := e.Path("result", "count").(float64)
	p, _ := e.Path("result", "pid").(float64)
	if n == 0 || p == 0 {
		t.Fatalf("the server answered %v", e)
	}
	return int(n), int(p)
}

func wantCount(t *testing.T, what string, count, pid, wantCount, wantPid int) {
	t.Helper()
	if count != wantCount || pid != wantPid {
		t.Errorf("%s: count %d in process %d, want %d in %d", what, count, pid, wantCount, wantPid)
	}
}

// TestEventsConversation: the calls of a conversation have one process of a
// server, which keeps its state; no other conversation, front end or person
// gets it.
func TestEventsConversation(t *testing.T) {
	t.Parallel()
	backends := "  one: { command: " + rig.StdioPeer(t) + " }\n"
	for name, each := range map[string]struct{ path, tool, more string }{
		"solo":   {"/one/call", "count", ""},
		"joined": {"/call", "one__count", "  two: { url: " + rig.NewBackend(t, nil).URL + " }\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := guard(t, "", backends+each.more)
			tool := each.tool
			ann := newFront(t, g.Gateway, canAsk, "true", "Authorization", "Bearer "+g.token("ann"))
			_, pid := counted(t, ann, each.path, tool, "")
			for n := 2; n <= 4; n++ {
				count, again := counted(t, ann, each.path, tool, "")
				wantCount(t, "the next call", count, again, n, pid)
			}
			pids := map[int]string{pid: "the first conversation"}
			bob := newFront(t, g.Gateway, canAsk, "true", "Authorization", "Bearer "+g.token("bob"))
			for what, other := range map[string]struct {
				front *rig.Front
				more  string
			}{
				"a conversation with a name": {ann, `,"conversation":"a"`},
				"one with another name":      {ann, `,"conversation":"b"`},
				"another front end":          {ann, `,"client":"Other"`},
				"the same of another":        {ann, `,"client":"Other","conversation":"a"`},
				"another person":             {bob, ""},
				"the same name of another":   {bob, `,"conversation":"a"`},
			} {
				count, own := counted(t, other.front, each.path, tool, other.more)
				if count != 1 || pids[own] != "" {
					t.Errorf("%s has count %d in process %d, that of %s", what, count, own, pids[own])
				}
				pids[own] = what
				count, again := counted(t, other.front, each.path, tool, other.more)
				wantCount(t, what+", again", count, again, 2, own)
			}
			count, again := counted(t, ann, each.path, tool, "")
			wantCount(t, "the first conversation at the end", count, again, 5, pid)
		})
	}
}

// TestEventsConversationNames: what is no name of a conversation is refused.
func TestEventsConversationNames(t *testing.T) {
	t.Parallel()
	g := rig.Start(t, "backends:\n  one: { command: "+rig.StdioPeer(t)+" }\n")
	f := newFront(t, g)
	for _, bad := range []string{`""`, `1`, `null`, `{}`, fmt.Sprintf("%q", string(make([]rune, 300)))} {
		if status, text := f.Say("POST", "/one/call", `{"name":"count","conversation":`+bad+`}`); status != 400 {
			t.Errorf("the conversation %s got %d %s", bad, status, text)
		}
	}
}

// TestEventsCallsAtOnce: calls of one conversation at the same time have
// processes of their own, so that each gets its own questions. The next call
// is back at the first.
func TestEventsCallsAtOnce(t *testing.T) {
	t.Parallel()
	g := rig.Start(t, "backends:\n  one: { command: "+rig.StdioPeer(t)+" }\n")
	f := newFront(t, g, canAsk, "true")
	_, pid := counted(t, f, "/one/call", "count", "")
	var feeds []*rig.Feed
	var asked []string
	for n := range 2 {
		s := f.Call("one", fmt.Sprintf(`{"name":"ask","arguments":{"method":"elicitation/create","params":{"message":"number %d","requestedSchema":{"type":"object","properties":{}}}}}`, n))
		q := s.Until("elicitation-request")
		equal(t, "the question of the call", fmt.Sprint(q["message"]), fmt.Sprintf("number %d", n))
		feeds, asked = append(feeds, s), append(asked, q["id"].(string))
	}
	if count, third := counted(t, f, "/one/call", "count", ""); count != 1 || third == pid {
		t.Errorf("a third call has count %d in process %d, the first had %d", count, third, pid)
	}
	for n, action := range []string{"accept", "decline"} {
		if status, text := f.Say("POST", "/calls/"+feeds[n].ID+"/respond", `{"id":"`+asked[n]+`","action":"`+action+`"}`); status != 200 {
			t.Fatalf("the answer: %d %s", status, text)
		}
		e := feeds[n].Until("tool-result")
		equal(t, "the answer at the server", fmt.Sprint(e.Path("result", "action")), action)
	}
	count, again := counted(t, f, "/one/call", "count", "")
	wantCount(t, "the call after them", count, again, 2, pid)
}

// TestEventsConversationEnds: a conversation that makes no call loses its
// process after the configured time, and so does one whose call was cancelled.
func TestEventsConversationEnds(t *testing.T) {
	t.Parallel()
	g := rig.Start(t, "events: { conversation: 1s }\nbackends:\n  one: { command: "+rig.StdioPeer(t)+" }\n")
	f := newFront(t, g, canAsk, "true")
	_, pid := counted(t, f, "/one/call", "count", "")
	rig.Eventually(t, func() bool { return syscall.Kill(pid, 0) != nil }, "the process of an idle conversation goes on")
	count, again := counted(t, f, "/one/call", "count", "")
	wantCount(t, "a call after that", count, again, 1, again)

	s := f.Call("one", `{"name":"wait"}`)
	s.Until("progress")
	f.Say("DELETE", "/calls/"+s.ID, "")
	s.Until("error")
	if count, after := counted(t, f, "/one/call", "count", ""); count != 1 || after == again {
		t.Errorf("after a cancelled call the count is %d in process %d", count, after)
	}
}
