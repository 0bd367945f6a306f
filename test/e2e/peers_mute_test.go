//go:build e2e

package e2e

import (
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/answerback/answerback/test/peer"
	"github.com/answerback/answerback/test/rig"
)

const triggers = "trigger-elicitation-request"

// mutePeers: real clients that can show nothing, at the reference server,
// whose tool asks with a form of many fields.
func mutePeers(t *testing.T, w *peer.World) {
	for _, c := range []peer.Client{
		w.Script("client 2.4.0 legacy", "client-v2.mjs", "legacy"),
		w.Script("client 2.4.0 modern", "client-v2.mjs", "modern"),
		w.Script("sdk 1.32.2", "client-v1.mjs", "legacy"),
	} {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			t.Run("calls again", func(t *testing.T) { callsAgain(t, w, c) })
			t.Run("is held", func(t *testing.T) { isHeld(t, w, c) })
			t.Run("across a restart", func(t *testing.T) { callsAgainAfterARestart(t, w, c) })
			t.Run("over stdio, across a restart", func(t *testing.T) { callsAgainAfterALoss(t, w, c) })
		})
	}
}

// answerInbox answers the one question that waits for the person, and gives
// its page.
func answerInbox(t *testing.T, g *rig.Gateway, name string) {
	t.Helper()
	person := rig.SignIn(t, g)
	page := ""
	rig.Eventually(t, func() bool {
		_, inbox := person.Do("GET", "/", nil)
		page = askPath.FindString(inbox)
		return page != ""
	}, "nothing waits for the person")
	_, form := person.Do("GET", page, nil)
	fields := formFields(form)
	fields.Set("action", "accept")
	fields.Set("f0", name)
	if status, body := person.Answer(page, fields); status != 200 {
		t.Fatalf("the answer: %d %s", status, body)
	}
}

var fieldValue = regexp.MustCompile(`<input[^>]* name="(f[0-9]+)"[^>]* value="([^"]*)"`)

// formFields gives what a form has filled in already.
func formFields(page string) url.Values {
	fields := url.Values{}
	for _, m := range fieldValue.FindAllStringSubmatch(page, -1) {
		if !strings.Contains(m[0], `type="checkbox"`) && !strings.Contains(m[0], `type="radio"`) {
			fields.Set(m[1], m[2])
		}
	}
	return fields
}

// isTold wants a result that tells the model and the person what to do.
func isTold(t *testing.T, e peer.Entry) {
	t.Helper()
	if e.Error != nil || e.Result == nil || !e.Result.IsError || askPath.FindString(e.Result.Text()) == "" ||
		!strings.Contains(e.Result.Text(), "Do not call again until the person says that it is done") {
		t.Errorf("the call gave %+v and error %+v, want the words and the link", e.Result, e.Error)
	}
	wasAsked(t, e)
}

// callsAgain: the first call ends with the link, a person answers, the
// repeated call has the answer, once.
func callsAgain(t *testing.T, w *peer.World, c peer.Client) {
	g := rig.Start(t, peer.Plenty+"backends:\n"+peer.Backend("reference", w.EverythingHTTP))
	done := filepath.Join(t.TempDir(), "done")
	steps := []step{
		{Job: peer.Job{Call: triggers}, want: isTold},
		{Job: peer.Job{Exists: done}},
		{Job: peer.Job{Call: triggers}, want: gets(nil, "User provided the requested information", "Ann of "+c.Name)},
		{Job: peer.Job{Call: triggers}, want: isTold},
	}
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		answerInbox(t, g, "Ann of "+c.Name)
		if err := os.WriteFile(done, nil, 0o600); err != nil {
			t.Error(err)
		}
	}()
	check(t, c, []stop{{"reference", peer.Target{URL: g.URL + "/reference", Mute: true}, steps}})
	<-answered
}

// isHeld: where that is configured for the client, the first call has the
// answer.
func isHeld(t *testing.T, w *peer.World, c peer.Client) {
	g := rig.Start(t, peer.Plenty+"clients:\n  - { name: \"peer-v*\", version: \"1.*\", hold: 15s }\nbackends:\n"+peer.Backend("reference", w.EverythingHTTP))
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		answerInbox(t, g, "Ben")
	}()
	check(t, c, []stop{{"reference", peer.Target{URL: g.URL + "/reference", Mute: true}, []step{
		{Job: peer.Job{Call: triggers}, want: gets(nil, "User provided the requested information", "Ben")},
	}}})
	<-answered
}

// callsAgainAfterARestart: the gateway is killed and started again before the
// person answers.
func callsAgainAfterARestart(t *testing.T, w *peer.World, c peer.Client) {
	g := rig.Start(t, durable+peer.Plenty+"backends:\n"+peer.Backend("reference", w.EverythingHTTP))
	check(t, c, []stop{{"before", peer.Target{URL: g.URL + "/reference", Mute: true}, []step{{Job: peer.Job{Call: triggers}, want: isTold}}}})
	g.Kill(t)
	g = g.Again(t)
	answerInbox(t, g, "Cleo")
	check(t, c, []stop{{"after", peer.Target{URL: g.URL + "/reference", Mute: true}, []step{
		{Job: peer.Job{Call: triggers}, want: gets(nil, "User provided the requested information", "Cleo")},
	}}})
}

// callsAgainAfterALoss: a program that the gateway started is gone with it.
func callsAgainAfterALoss(t *testing.T, w *peer.World, c peer.Client) {
	g := rig.Start(t, durable+peer.Plenty+"backends:\n"+peer.Backend("reference", w.Node, w.Reference, "stdio"))
	check(t, c, []stop{{"before", peer.Target{URL: g.URL + "/reference", Mute: true}, []step{{Job: peer.Job{Call: triggers}, want: isTold}}}})
	g.Kill(t)
	g = g.Again(t)
	check(t, c, []stop{{"after", peer.Target{URL: g.URL + "/reference", Mute: true}, []step{
		{Job: peer.Job{Call: triggers}, want: func(t *testing.T, e peer.Entry) {
			t.Helper()
			if e.Error == nil || peer.Pick(e.Error.Data, "reason") != "backend_lost" || !strings.Contains(e.Error.Message, "A further call starts anew") {
				t.Errorf("the repeated call gave %+v and error %+v", e.Result, e.Error)
			}
		}},
		{Job: peer.Job{Call: triggers}, want: isTold},
	}}})
}
