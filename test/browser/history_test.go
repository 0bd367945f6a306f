//go:build browser

package browser

import (
	"net/http"
	"testing"

	"github.com/answerback/answerback/test/rig"
)

const branchQuestion = `{"message":"Delete 14 stale branches?","requestedSchema":{"type":"object","properties":{}}}`

// TestThePageOfAPerson: what waits for ann, what she was asked before and what
// she has connected are one place, with a script and without. The history says
// who asked, how it ended and whether the answer arrived, and never what the
// answer was. Nobody else sees any of it: a member of a group not even what
// another member answered.
func TestThePageOfAPerson(t *testing.T) {
	for name, e := range map[string]eyes{"script": {width: 390}, "no script": {width: 390, noJS: true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, "  deploy: { url: "+asking(t, deployForm).URL+" }\n"+
				"  github: { url: "+asking(t, branchQuestion).URL+" }\n"+
				"  release: { url: "+asking(t, `{"message":"May release 4.2 go out?","requestedSchema":{"type":"object","properties":{}}}`).URL+", answered_by: approvers }\n"+
				"  weather: { url: https://weather.invalid/mcp, grant: { kind: key, header: X-Api-Key } }\n",
				"  groups:\n    approvers: { issuer: corp, claim: groups, value: approvers }\n")
			ann, p := s.signInWith("ann", "/history", e)
			contains(t, p, "Nothing has ended lately")
			if !e.noJS {
				ann.inspect("history-empty")
			}
			client := func(backend string) *rig.Client {
				c := rig.NewClient(t, s.gateway.URL+"/"+backend)
				c.Token, c.Name = s.token("ann"), "Example Assistant"
				c.Open(formCaps, "2025-11-25")
				return c
			}

			// One that its server does not need any more.
			c := client("github")
			c.Tool("deploy", "{}").Next()
			ann.open(s.base + askOn(t, ann.click("Waiting")))
			c.Close()
			s.gateway.WaitLog(t, "ending=abandoned")
			// One that is answered in the client, while it is in the list too.
			c = client("github")
			call := c.Tool("deploy", "{}")
			q := call.Next()
			askOn(t, ann.open(s.base+"/"))
			c.Answer(q, `{"action":"accept","content":{}}`)
			call.Final()
			// One for the group, one that is declined and one that is answered.
			call = client("release").Tool("deploy", "{}")
			s.gateway.WaitLog(t, "backend=release name=deploy rung=page")
			ann.open(s.base + askOn(t, ann.open(s.base+"/")))
			ann.press("Yes")
			call.Final()
			call = client("github").Tool("deploy", "{}")
			call.Next()
			ann.open(s.base + askOn(t, ann.open(s.base+"/")))
			ann.press("Decline")
			call.Final()
			call = client("deploy").Tool("deploy", "{}")
			call.Next()
			ann.open(s.base + askOn(t, ann.open(s.base+"/")))
			ann.fill("Name", "canary-4711")
			ann.fill("Copies", "3")
			ann.press("Send answer")
			call.Final()

			ann.click("Back to your questions")
			p = ann.click("History")
			equal(t, "the page", p.URL, s.base+"/history")
			contains(t, p, "Where should it go?", "deploy", "Example Assistant", "You answered on this site", "delivered to deploy",
				"Delete 14 stale branches?", "You declined on this site", "You answered in Example Assistant", "It was given up: ",
				"May release 4.2 go out?", "for the group approvers", "UTC")
			lacks(t, p, "canary-4711")
			if !e.noJS {
				ann.inspect("history")
			} else if faults := ann.misfits(320, 390, 1280); faults != "" {
				t.Error(faults)
			}
			contains(t, ann.click("Accounts"), "Nothing is connected")
			contains(t, ann.click("Waiting"), "Nothing is waiting for you")
			if faults := ann.faults(); len(faults) > 0 {
				t.Errorf("the console complains: %v", faults)
			}

			// Cyn is in the same group, bob in none.
			for _, who := range []string{"cyn", "bob"} {
				_, p := s.signIn(who, "/history")
				contains(t, p, "Nothing has ended lately")
				lacks(t, p, "release 4.2", "branches", "Where should")
			}
			stranger := s.person("nobody", eyes{})
			p = stranger.open(s.base + "/history")
			if p.Title != "Log in" || p.Status != http.StatusOK {
				t.Errorf("whoever is not signed in is at %s", p.URL)
			}
		})
	}
}
