package e2e

import (
	"net/http"
	"strings"
	"testing"

	"github.com/answerback/answerback/internal/wire"
	"github.com/answerback/answerback/test/rig"
)

// TestAttackAnothersCallback: what a third party sends somebody back with
// counts in the browser that went there and in no other, before and after it
// was used, and whether the client's answer comes before or after.
func TestAttackAnothersCallback(t *testing.T) {
	t.Parallel()
	for _, order := range []string{"answer first", "callback first"} {
		t.Run(order, func(t *testing.T) {
			b := newAsker(t)
			p := newThird(t, b, false)
			g := guard(t, "", "  one: { url: "+p.URL+"/mcp, grant: { kind: oauth } }\n")
			ann, elsewhere, bob := g.signIn("ann"), g.signIn("ann"), g.signIn("bob")
			client := rig.DialAs(t, g.Gateway.URL, linksOnly, g.token("ann"))
			s := client.Tool("echo", "{}")
			q := s.Next()
			link := linkIn(q, q.Params)
			if order == "answer first" {
				client.Answer(q, `{"action":"accept"}`)
			}
			back := p.agrees(ann, link)
			bobs := p.agrees(bob, g.base+"/connect/one")
			refused := func(what string, r reply) {
				t.Helper()
				if r.status != http.StatusConflict || !strings.Contains(r.body, "not the answer to a connection of yours") {
					t.Errorf("%s: %d %s", what, r.status, r.body)
				}
			}
			refused("bob with what ann was sent back with", bob.get(back))
			refused("ann with what bob was sent back with", ann.get(bobs))
			refused("ann in another browser", elsewhere.get(back))
			stranger := &visitor{t: t, base: g.base, cookies: map[string]string{}}
			if r := stranger.get(back); r.status != http.StatusSeeOther || strings.Contains(r.body, "connected") {
				t.Errorf("somebody who is not signed in: %d %s", r.status, r.body)
			}
			for who, v := range map[string]*visitor{"ann": ann, "bob": bob} {
				if page := v.get("/connections"); strings.Contains(page.body, "Disconnect") {
					t.Errorf("%s has connected something: %s", who, page.body)
				}
			}
			if m, ok := s.Poll(0); ok {
				t.Fatalf("ann's call went on: %s", m.Raw)
			}

			// The control.
			if r := ann.get(back); r.status != http.StatusOK || !strings.Contains(r.body, "goes on now") {
				t.Errorf("ann: %d %s", r.status, r.body)
			}
			if order == "callback first" {
				client.Answer(q, `{"action":"accept"}`)
			}
			if m := s.Final(); m.Kind != wire.Result || b.Count("tools/call") != 1 {
				t.Errorf("ann's call: %s", m.Raw)
			}
			refused("bob afterwards", bob.get(back))
			refused("ann a second time", ann.get(back))
			if page := bob.get("/connections"); strings.Contains(page.body, "Disconnect") {
				t.Errorf("bob has connected something: %s", page.body)
			}
			// What was refused did not use up what is bob's.
			if r := bob.get(bobs); r.status != http.StatusOK {
				t.Errorf("bob's own: %d %s", r.status, r.body)
			}
		})
	}
}

// TestMoreAccessIsAskedFor: a call for which what ann agreed to is not enough
// waits until she has agreed to more, and runs once.
func TestMoreAccessIsAskedFor(t *testing.T) {
	t.Parallel()
	b := newAsker(t)
	p := newThird(t, b, false)
	g := guard(t, "", "  one: { url: "+p.URL+"/mcp, grant: { kind: oauth } }\n")
	ann := g.signIn("ann")
	ann.get(p.agrees(ann, g.base+"/connect/one"))
	client := rig.DialAs(t, g.Gateway.URL, linksOnly, g.token("ann"))
	if m := client.Tool("echo", "{}").Final(); m.Kind != wire.Result {
		t.Fatalf("before: %s", m.Raw)
	}
	p.mu.Lock()
	p.needs = "write"
	p.mu.Unlock()
	s := client.Tool("echo", "{}")
	q := s.Next()
	link := linkIn(q, q.Params)
	page := ann.get(ann.get(ann.path(link)).header.Get("Location"))
	for _, want := range []string{"needs more access", "<code>read</code>", "<code>write</code>"} {
		if !strings.Contains(page.body, want) {
			t.Errorf("the page does not say %q: %s", want, page.body)
		}
	}
	client.Answer(q, `{"action":"accept"}`)
	ann.get(p.agrees(ann, link))
	if m := s.Final(); m.Kind != wire.Result || b.Count("tools/call") != 2 {
		t.Errorf("after: %s, ran %d times", m.Raw, b.Count("tools/call"))
	}
}

// TestACallThatEndsSaysWhereToConnect: where the client cannot be asked, and
// where nobody connected in time, the result has the link, and the call that
// is made afterwards its own result.
func TestACallThatEndsSaysWhereToConnect(t *testing.T) {
	t.Parallel()
	for name, each := range map[string]struct{ caps, want string }{
		"forms and no links": {`{"elicitation":{"form":{}}}`, "No client is available"},
		"out of time":        {linksOnly, "in time"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newAsker(t)
			p := newThird(t, b, false)
			g := guard(t, "asks: { connect_timeout: 1s }\n", "  one: { url: "+p.URL+"/mcp, grant: { kind: oauth } }\n")
			ann := g.signIn("ann")
			client := rig.DialAs(t, g.Gateway.URL, each.caps, g.token("ann"))
			m := client.Tool("echo", "{}").Final()
			link := g.base + "/connect/one"
			for _, want := range []string{each.want, link, `"isError":true`} {
				if !strings.Contains(string(m.Raw), want) {
					t.Errorf("the result does not say %q: %s", want, m.Raw)
				}
			}
			ann.get(p.agrees(ann, link))
			if m := client.Tool("echo", "{}").Final(); m.Kind != wire.Result || strings.Contains(string(m.Raw), "isError") || b.Count("tools/call") != 1 {
				t.Errorf("afterwards: %s", m.Raw)
			}
		})
	}
}
