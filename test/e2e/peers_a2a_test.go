//go:build e2e

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/answerback/answerback/test/peer"
	"github.com/answerback/answerback/test/rig"
)

// TestPeersA2ADirect: the clients of A2A and the agent on a2a-js do with each
// other, without a gateway, what they are there to show with one between them: what
// fails with the gateway and not here is the gateway's fault.
func TestPeersA2ADirect(t *testing.T) {
	w := peer.NewWorld(t)
	for i, c := range []peer.Client{w.A2A("JSONRPC"), w.A2A("HTTP+JSON"), w.A2ACommandLine("JSONRPC"), w.A2ACommandLine("HTTP+JSON")} {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			steps, counted := a2aSteps(w, string(rune('a'+i)))
			reports := c.Tour(t, []peer.Target{{URL: w.Agent, Jobs: jobs(steps)}})
			wantAll(t, reports[0], "modern", steps)
			for _, key := range counted {
				if runs, err := os.ReadFile(filepath.Join(w.Runs, key)); err != nil || string(runs) != "." {
					t.Errorf("the skill of %s ran %d times: %v", key, len(runs), err)
				}
			}
		})
	}
}

// a2aSteps gives what happens, and the keys of what must have run once.
func a2aSteps(w *peer.World, id string) (list []step, counted []string) {
	key := func(name string) string {
		counted = append(counted, name+"-"+id)
		return name + "-" + id
	}
	says := func(text string, asked ...string) func(*testing.T, peer.Entry) {
		return func(t *testing.T, e peer.Entry) {
			t.Helper()
			if e.Result == nil || e.Result.IsError || e.Result.Text() != text || strings.Join(e.Asked, ";") != strings.Join(asked, ";") {
				t.Errorf("asked %q, it gave %+v %+v; want %q after %q", e.Asked, e.Result, e.Error, text, asked)
			}
		}
	}
	ask := func(key string, form peer.Reply, rounds ...string) peer.Job {
		all := make([][]string, len(rounds))
		for i, q := range rounds {
			all[i] = []string{q}
		}
		return peer.Job{Call: "ask", Args: map[string]any{"key": key, "rounds": all}, Form: form}
	}
	accept := func(content map[string]any) peer.Reply { return peer.Reply{Action: "accept", Content: content} }
	visit := func(key, action, when string) (peer.Job, string) {
		return peer.Job{Call: "required", Args: map[string]any{"key": key}, URL: peer.Reply{Action: action, Visit: when}},
			"url Visit " + w.Agent + "/visit?key=" + key
	}
	before, page1 := visit(key("before"), "accept", "before")
	after, page2 := visit(key("after"), "accept", "after")
	no, page3 := visit(key("no"), "decline", "")
	blocked := key("block")
	return []step{
		{peer.Job{Call: "echo", Args: map[string]any{"message": "hello"}}, says("hello")},
		{peer.Job{Call: "progress", Args: map[string]any{"steps": 3, "pause": 30}}, func(t *testing.T, e peer.Entry) {
			says("done")(t, e)
			if len(e.Progress) != 3 {
				t.Errorf("the progress is %v", e.Progress)
			}
		}},
		{ask(key("form"), accept(map[string]any{"name": "Ann"}), "form:Who?"), says(`[[{"action":"accept","content":{"name":"Ann"}}]]`, "form Who? name")},
		{ask(key("decline"), peer.Reply{Action: "decline"}, "form:Who?"), says(`[[{"action":"decline"}]]`, "form Who? name")},
		{ask(key("cancel"), peer.Reply{Action: "cancel"}, "form:Who?"), says(`[[{"action":"cancel"}]]`, "form Who? name")},
		{ask(key("text"), accept(map[string]any{"text": "this"}), "text:What?"), says(`[[{"text":"this"}]]`, "form What? text")},
		{ask(key("two"), accept(map[string]any{"name": "Ann"}), "form:First", "form:Second"),
			says(`[[{"action":"accept","content":{"name":"Ann"}}],[{"action":"accept","content":{"name":"Ann"}}]]`, "form First name", "form Second name")},
		{before, says("visited before-"+id, page1)},
		{after, says("visited after-"+id, page2)},
		{no, says("not visited: decline", page3)},
		{peer.Job{Call: "block", Args: map[string]any{"key": blocked}, Cancel: true}, func(t *testing.T, e peer.Entry) {
			if e.Error == nil || e.Error.Code != "canceled" {
				t.Errorf("the task was not cancelled: %+v", e)
			}
		}},
		{peer.Job{Call: "ended", Args: map[string]any{"key": blocked, "wait": 3000}}, says("ended " + blocked)},
		{peer.Job{Call: "withdraw", Args: map[string]any{"key": key("withdraw"), "wait": 100},
			Form: peer.Reply{Action: "accept", Content: map[string]any{"name": "Late"}, After: 500}}, says("withdrawn", "form Who? name")},
		{peer.Job{Call: "fail"}, func(t *testing.T, e peer.Entry) {
			if e.Result == nil || !e.Result.IsError || e.Result.Text() != "This failed." {
				t.Errorf("it gave %+v %+v", e.Result, e.Error)
			}
		}},
	}, counted
}

// TestPeersA2AEcho: the agent of a2a-go's command line, which has no skills and
// speaks HTTP+JSON alone, is called through the gateway by clients of every
// kind.
func TestPeersA2AEcho(t *testing.T) {
	w := peer.NewWorld(t)
	serve := exec.Command("sh", "-c", `exec "$0" serve --echo --port 0 2>&1`, w.A2AProgram(t))
	at, ok := strings.CutPrefix(peer.FirstLine(t, serve), "Listening on ")
	if !ok {
		t.Fatalf("the agent does not say where it listens, but %q", at)
	}
	g := rig.Start(t, "a2a: { enabled: true }\nbackends:\n  echo: { url: \"http://"+at+"\", transport: a2a }\n")
	for _, c := range []peer.Client{
		peer.GoSDK("2025-11-25"), peer.GoSDK("2026-07-28"), w.Front("fetch"), w.A2A("JSONRPC"), w.A2ACommandLine("HTTP+JSON"),
	} {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			to := peer.Target{URL: g.URL + "/echo", Jobs: []peer.Job{{Call: "message", Args: map[string]any{"message": "hello " + c.Name}}}}
			if c.Agents {
				to.URL = strings.TrimSuffix(g.URL, "/mcp") + "/a2a/echo"
			}
			rep := c.Tour(t, []peer.Target{to})[0]
			if rep.Error != nil || len(rep.Results) != 1 || rep.Results[0].Error != nil || rep.Results[0].Result.Text() != "hello "+c.Name {
				t.Errorf("%+v", rep)
			}
		})
	}
}
