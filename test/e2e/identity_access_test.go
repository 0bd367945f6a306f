package e2e

import (
	"net/http"
	"strings"
	"testing"

	"github.com/answerback/answerback/internal/wire"
	"github.com/answerback/answerback/test/rig"
)

// TestAttackBeyondAccess: with rules, what none allows is denied, in lists and
// in calls, and is told like what does not exist.
func TestAttackBeyondAccess(t *testing.T) {
	t.Parallel()
	one, two := newAsker(t), newAsker(t)
	g := guard(t, `  access:
    - { claim: groups, values: [staff-of-ann], backends: ["*"] }
    - { claim: groups, values: [staff-of-bob], backends: [one], tools: [echo] }
`, "  one: { url: "+one.URL+" }\n  two: { url: "+two.URL+" }\n")
	ann, bob := rig.DialAs(t, g.Gateway.URL, rig.AllCaps, g.token("ann")), rig.DialAs(t, g.Gateway.URL, rig.AllCaps, g.token("bob"))
	list := func(c *rig.Client) string {
		var names []string
		m := c.Request("tools/list", "{}")
		for at := range wire.Elements(m.Raw, wire.Get(m.Raw, m.Result, "tools")) {
			names = append(names, string(wire.Get(m.Raw, at, "name").Of(m.Raw)))
		}
		return strings.Join(names, " ")
	}
	equal(t, "control: what ann sees", list(ann), `"one__ask" "one__echo" "two__ask" "two__echo"`)
	equal(t, "what bob sees", list(bob), `"one__echo"`)
	if m := bob.Tool("one__echo", "{}").Final(); m.Kind != wire.Result {
		t.Errorf("control: what bob may: %s", m.Raw)
	}
	before := one.Count("tools/call") + two.Count("tools/call")
	for _, tool := range []string{"one__ask", "two__echo", "two__ask", "one__Echo", "one__echo ", "one__ech*"} {
		t.Run("call "+tool, func(t *testing.T) {
			m := bob.Tool(tool, "{}").Final()
			code, reason := errorOf(m)
			none := bob.Tool("one__none", "{}").Final()
			wantCode, wantReason := errorOf(none)
			if m.Kind != wire.Failure || code != wantCode || reason != wantReason {
				t.Errorf("got %s; what does not exist gets %s", m.Raw, none.Raw)
			}
		})
	}
	for _, address := range []string{"/two", "/TWO", "/two/", "/%74wo"} {
		t.Run("endpoint "+address, func(t *testing.T) {
			r := send(t, post(t, g.Gateway.URL+address, initialize, "Authorization", "Bearer "+g.token("bob")))
			none := send(t, post(t, g.Gateway.URL+"/none", initialize, "Authorization", "Bearer "+g.token("bob")))
			if r.status != none.status || r.status < 400 {
				t.Errorf("got %d %s; what does not exist gets %d", r.status, r.body, none.status)
			}
		})
	}
	for who, token := range map[string]string{"somebody without a rule": g.token("carol"), "a key without a rule": nobodysKey, "ann's key, which has no claims": annsKey} {
		t.Run(who, func(t *testing.T) {
			for _, address := range []string{"/one", "/two"} {
				if r := send(t, post(t, g.Gateway.URL+address, initialize, "Authorization", "Bearer "+token)); r.status != http.StatusNotFound && r.status != http.StatusForbidden {
					t.Errorf("%s: %d %s", address, r.status, r.body)
				}
			}
			c := rig.NewClient(t, g.Gateway.URL)
			c.Token = token
			m := c.Modern("1", "tools/list", "{}", "{}").Final()
			if m.Kind == wire.Result && member(m, m.Result, "tools") != "[]" {
				t.Errorf("the list: %s", m.Raw)
			}
		})
	}
	if after := one.Count("tools/call") + two.Count("tools/call"); after != before {
		t.Errorf("%d denied calls reached a backend", after-before)
	}
	if r := send(t, post(t, g.Gateway.URL+"/two", initialize, "Authorization", "Bearer "+g.token("ann"))); r.status != http.StatusOK {
		t.Errorf("control: ann at /two: %d %s", r.status, r.body)
	}
}

// TestAttackTokenPassedOn: nothing that a caller proves who they are with ever
// reaches a backend; what the operator configured for it does.
func TestAttackTokenPassedOn(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"legacy", "modern"} {
		t.Run(name, func(t *testing.T) {
			b := newAsker(t)
			b.LegacyOnly, b.ModernOnly = name == "legacy", name == "modern"
			g := guard(t, "", "  one: { url: "+b.URL+", headers: { X-Backend-Key: configured, Authorization: Bearer of-the-operator } }\n")
			token := g.token("ann")
			for _, address := range []string{g.Gateway.URL, g.Gateway.URL + "/one"} {
				for _, body := range []string{initialize, modernList} {
					head := []string{
						"Authorization", "Bearer " + token, "Cookie", sessionCookie + "=canary-cookie", "Proxy-Authorization", "Bearer " + token,
						"X-Forwarded-Access-Token", token, "X-Auth-Request-Access-Token", token, "X-Api-Key", token,
					}
					if body == modernList {
						head = modernHead(head)
					}
					send(t, post(t, address, body, head...))
				}
			}
			got := b.Received(func(rig.Received) bool { return true })
			if len(got) == 0 {
				t.Fatal("control: nothing reached the backend")
			}
			for _, r := range got {
				equal(t, "control: what the operator configured", r.Header.Get("X-Backend-Key")+" "+r.Header.Get("Authorization"), "configured Bearer of-the-operator")
				for header, values := range r.Header {
					if text := strings.Join(values, " "); strings.Contains(text, token) || strings.Contains(text, "canary") {
						t.Errorf("%s of %s reached the backend: %s", header, r.Msg.Method(), text)
					}
				}
				if strings.Contains(r.Raw, token) {
					t.Errorf("the token is in a body: %s", r.Raw)
				}
			}
		})
	}
}
