package signin_test

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/answerback/answerback/internal/identity/signin"
)

// cookieAttack changes what a signed-in browser sends.
func cookieAttack(name string, change func(g *rig, b *browser)) attack {
	return attack{name, "", func(g *rig, evil bool) *browser {
		b := g.browser()
		b.signIn()
		if evil {
			change(g, b)
		}
		return b
	}}
}

func TestAttackSession(t *testing.T) {
	for _, a := range []attack{
		cookieAttack("cookie without the prefix", func(_ *rig, b *browser) {
			b.cookies["answerback-session"] = b.cookies[sessionCookie]
			delete(b.cookies, sessionCookie)
		}),
		cookieAttack("cookie with the prefix in small letters", func(_ *rig, b *browser) {
			b.cookies[strings.ToLower(sessionCookie)] = b.cookies[sessionCookie]
			delete(b.cookies, sessionCookie)
		}),
		cookieAttack("cookie tampered with", func(_ *rig, b *browser) { b.cookies[sessionCookie] = flip(b.cookies[sessionCookie]) }),
		cookieAttack("cookie cut short", func(_ *rig, b *browser) { b.cookies[sessionCookie] = b.cookies[sessionCookie][:42] }),
		cookieAttack("cookie made longer", func(_ *rig, b *browser) { b.cookies[sessionCookie] += "A" }),
		cookieAttack("cookie in quotes", func(_ *rig, b *browser) { b.cookies[sessionCookie] = `"` + b.cookies[sessionCookie] + `"` }),
		cookieAttack("cookie empty", func(_ *rig, b *browser) { b.cookies[sessionCookie] = "" }),
		cookieAttack("two cookies of the name", func(g *rig, b *browser) {
			other := g.browser()
			other.signIn()
			b.cookies[sessionCookie] += "; " + sessionCookie + "=" + other.cookies[sessionCookie]
		}),
		cookieAttack("the same cookie twice", func(_ *rig, b *browser) {
			b.cookies[sessionCookie] += "; " + sessionCookie + "=" + b.cookies[sessionCookie]
		}),
		cookieAttack("the value that stands for the session", func(_ *rig, b *browser) {
			b.cookies[sessionCookie], _ = b.session()
		}),
		cookieAttack("what the store keeps the session under", func(_ *rig, b *browser) {
			sum := sha256.Sum256([]byte("session:" + b.cookies[sessionCookie]))
			b.cookies[sessionCookie] = hex.EncodeToString(sum[:])
		}),
		cookieAttack("flow cookie as session", func(_ *rig, b *browser) { b.cookies[sessionCookie] = b.cookies[flowCookie] }),
		cookieAttack("state as session", func(_ *rig, b *browser) { b.cookies[sessionCookie] = param(b.begin("/"), "state") }),
		cookieAttack("after its whole age, though used", func(_ *rig, b *browser) {
			for range 24 {
				pass(30 * time.Minute)
				b.person()
			}
		}),
		cookieAttack("after going unused", func(_ *rig, _ *browser) { pass(time.Hour) }),
		cookieAttack("after sign-out", func(g *rig, b *browser) {
			stolen := b.copyOf()
			b.post("/signout", nil)
			b.cookies[sessionCookie] = stolen.cookies[sessionCookie]
		}),
		cookieAttack("of before signing in again", func(_ *rig, b *browser) {
			stolen := b.cookies[sessionCookie]
			b.signIn()
			b.cookies[sessionCookie] = stolen
		}),
		cookieAttack("of another gateway", func(g *rig, b *browser) {
			there := newRig(g.t).browser()
			there.signIn()
			if _, ok := there.person(); !ok {
				g.t.Fatal("nobody is signed in at the other gateway")
			}
			b.cookies[sessionCookie] = there.cookies[sessionCookie]
		}),
		{"fixation: cookie that was planted before the sign-in", "", func(g *rig, evil bool) *browser {
			victim, attacker := g.browser(), g.browser()
			planted := strings.Repeat("A", 43)
			victim.cookies[sessionCookie], attacker.cookies[sessionCookie] = planted, planted
			victim.signIn()
			if evil {
				return attacker
			}
			return victim
		}},
		{"fixation: the attacker's own session, planted", "", func(g *rig, evil bool) *browser {
			victim, attacker := g.browser(), g.browser()
			attacker.signIn()
			victim.cookies[sessionCookie] = attacker.cookies[sessionCookie]
			victim.signIn()
			if evil {
				return attacker
			}
			return victim
		}},
	} {
		a.test(t, twoProviders)
	}
}

// TestAttackSignOut has the attacker end somebody's session, so the attack
// fails where they are still signed in.
func TestAttackSignOut(t *testing.T) {
	post := func(headers ...string) func(b *browser) *http.Request {
		return func(b *browser) *http.Request {
			r := b.request("POST", "/signout", nil)
			for i := 0; i < len(headers); i += 2 {
				r.Header.Add(headers[i], headers[i+1])
			}
			return r
		}
	}
	by := func(method string) func(b *browser) *http.Request {
		return func(b *browser) *http.Request { return b.request(method, "/signout", nil) }
	}
	for _, c := range []struct {
		name   string
		attack func(b *browser) *http.Request
		status int
		like   func(b *browser) *http.Request // the control
	}{
		{"by GET", by("GET"), 405, post()},
		{"by HEAD", by("HEAD"), 405, post()},
		{"from another site", post("Sec-Fetch-Site", "cross-site"), 403, post("Sec-Fetch-Site", "same-origin")},
		{"from a neighbour", post("Sec-Fetch-Site", "same-site"), 403, post("Sec-Fetch-Site", "same-origin")},
		{"from another site that says ours too", post("Sec-Fetch-Site", "cross-site", "Sec-Fetch-Site", "same-origin"), 403, post("Sec-Fetch-Site", "same-origin")},
		{"from another site with our origin", post("Sec-Fetch-Site", "cross-site", "Origin", publicURL), 403, post("Sec-Fetch-Site", "same-origin", "Origin", publicURL)},
		{"from another origin", post("Origin", "https://evil.example"), 403, post("Origin", publicURL)},
		{"from another port", post("Origin", publicURL+":8443"), 403, post("Origin", publicURL)},
		{"from our host without TLS", post("Origin", "http://gate.example"), 403, post("Origin", publicURL)},
		{"from a sandbox", post("Origin", "null"), 403, post("Origin", "null", "Sec-Fetch-Site", "same-origin")},
		{"from two origins", post("Origin", publicURL, "Origin", "https://evil.example"), 403, post("Origin", publicURL)},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := newRig(t)
			b := g.browser()
			b.signIn()
			if r := b.send(c.attack(b)); r.StatusCode != c.status {
				t.Errorf("attack: status %d, want %d", r.StatusCode, c.status)
			}
			if _, ok := b.person(); !ok {
				t.Fatal("attack: signed out")
			}
			stolen := b.copyOf()
			if r := b.send(c.like(b)); r.StatusCode != 200 || pageOf(t, r).Page != "out" {
				t.Errorf("control: status %d", r.StatusCode)
			}
			if _, ok := stolen.person(); ok {
				t.Fatal("control: still signed in")
			}
			if e := g.seen.last(); e.Kind != signin.SignedOut || e.Principal.Subject != "alice" {
				t.Errorf("control: the last event is %+v", e)
			}
		})
	}
}

func tokenOf(g *rig) string {
	link := g.s.LocalLink()
	if !strings.HasPrefix(link, localURL+"/signin/local?token=") {
		g.t.Fatalf("link %s", link)
	}
	return param(link, "token")
}

func TestAttackLocalLink(t *testing.T) {
	use := func(b *browser, token string) { b.post("/signin/local", url.Values{"token": {token}}) }
	for _, a := range []attack{
		{"replayed", signin.BadLink, func(g *rig, evil bool) *browser {
			b, token := g.browser(), tokenOf(g)
			if evil {
				use(g.browser(), token)
			}
			use(b, token)
			return b
		}},
		{"too old", signin.BadLink, func(g *rig, evil bool) *browser {
			b, token := g.browser(), tokenOf(g)
			pass(15*time.Minute - time.Second)
			if evil {
				pass(time.Second)
			}
			use(b, token)
			return b
		}},
		{"tampered with", signin.BadLink, func(g *rig, evil bool) *browser {
			b, token := g.browser(), tokenOf(g)
			if evil {
				token = flip(token)
			}
			use(b, token)
			return b
		}},
		{"empty", signin.BadLink, func(g *rig, evil bool) *browser {
			b, token := g.browser(), tokenOf(g)
			if evil {
				token = ""
			}
			use(b, token)
			return b
		}},
		{"opened but not confirmed", "", func(g *rig, evil bool) *browser {
			b, token := g.browser(), tokenOf(g)
			if p := pageOf(g.t, b.get("/signin/local?token="+token)); p.Page != "confirm" || p.Token != token {
				g.t.Errorf("page %+v", p)
			}
			if !evil {
				use(b, token)
			}
			return b
		}},
		{"posted with the token in the address", signin.BadLink, func(g *rig, evil bool) *browser {
			b, token := g.browser(), tokenOf(g)
			if evil {
				b.post("/signin/local?token="+token, url.Values{"x": {"y"}})
				return b
			}
			use(b, token)
			return b
		}},
		{"posted from another site", signin.CrossSite, func(g *rig, evil bool) *browser {
			b, token := g.browser(), tokenOf(g)
			b.headers.Set("Sec-Fetch-Site", "same-origin")
			if evil {
				b.headers.Set("Sec-Fetch-Site", "cross-site")
			}
			use(b, token)
			return b
		}},
		{"posted with two tokens", signin.BadLink, func(g *rig, evil bool) *browser {
			b, tokens := g.browser(), []string{tokenOf(g)}
			if evil {
				tokens = append(tokens, tokenOf(g))
			}
			b.post("/signin/local", url.Values{"token": tokens})
			return b
		}},
		{"posted as something else than a form", signin.BadRequest, func(g *rig, evil bool) *browser {
			b := g.browser()
			r := b.request("POST", "/signin/local", url.Values{"token": {tokenOf(g)}})
			if evil {
				r.Header.Set("Content-Type", "text/plain")
			}
			b.send(r)
			return b
		}},
		{"posted with a body without end", signin.BadRequest, func(g *rig, evil bool) *browser {
			b, form := g.browser(), url.Values{"token": {tokenOf(g)}, "x": {"x"}}
			if evil {
				form["x"] = []string{strings.Repeat("x", 8<<10)}
			}
			b.post("/signin/local", form)
			return b
		}},
		{"session cookie as token", signin.BadLink, func(g *rig, evil bool) *browser {
			first, token := g.browser(), tokenOf(g)
			use(first, token)
			token = tokenOf(g)
			if evil {
				token = first.cookies[sessionCookie]
			}
			b := g.browser()
			use(b, token)
			return b
		}},
		{"token as session cookie", "", func(g *rig, evil bool) *browser {
			b, token := g.browser(), tokenOf(g)
			if evil {
				b.cookies[sessionCookie] = token
				return b
			}
			use(b, token)
			return b
		}},
		{"of another gateway", signin.BadLink, func(g *rig, evil bool) *browser {
			b, token := g.browser(), tokenOf(g)
			if evil {
				token = tokenOf(newLocalRig(g.t))
			}
			use(b, token)
			return b
		}},
	} {
		a.test(t, func(t testing.TB) *rig { return newLocalRig(t) })
	}
	t.Run("at a gateway with a provider", func(t *testing.T) {
		local, g := newLocalRig(t), newRig(t)
		if link := g.s.LocalLink(); link != "" {
			t.Errorf("it gives the link %s", link)
		}
		token := tokenOf(local)
		b := g.browser()
		for _, r := range []*http.Response{b.get("/signin/local?token=" + token), b.post("/signin/local", url.Values{"token": {token}})} {
			if r.StatusCode != http.StatusForbidden {
				t.Errorf("status %d", r.StatusCode)
			}
		}
		if _, ok := b.person(); ok {
			t.Error("attack: signed in")
		}
		b = local.browser()
		use(b, token)
		if _, ok := b.person(); !ok {
			t.Error("control: not signed in")
		}
	})
}
