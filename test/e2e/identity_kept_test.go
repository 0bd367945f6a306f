package e2e

import (
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/answerback/answerback/internal/wire"
	"github.com/answerback/answerback/test/rig"
)

// visit gives a browser that is not signed in.
func visit(t testing.TB, g *rig.Gateway) *visitor {
	return &visitor{t: t, base: strings.TrimSuffix(g.URL, "/mcp"), cookies: map[string]string{}}
}

// follow signs the browser in with a link of answerback signin, and gives where
// it is sent then.
func (v *visitor) follow(g *rig.Gateway) string {
	v.t.Helper()
	status, out, complaint := rig.RunAll(v.t, "signin", "--config", g.File)
	at, err := url.Parse(strings.TrimSpace(out))
	if status != 0 || err != nil {
		v.t.Fatalf("answerback signin: %d %s %s", status, out, complaint)
	}
	r := v.do(http.MethodPost, at.Path, url.Values{"token": {at.Query().Get("token")}})
	if r.status != http.StatusSeeOther {
		v.t.Fatalf("the link signs nobody in: %d %s", r.status, r.body)
	}
	return r.header.Get("Location")
}

// moved is the browser at a gateway that was started again.
func (v *visitor) moved(g *rig.Gateway) { v.base = strings.TrimSuffix(g.URL, "/mcp") }

// Sign-ins and the forms that people have open survive a crash, and another
// one; what was signed out does not come back, though the gateway dies at once.
func TestSignInsSurviveACrash(t *testing.T) {
	t.Parallel()
	runs := &atomic.Int64{}
	g := rig.Start(t, durable+"limits: { drain: 0s }\nbackends:\n  one: { url: "+resumable(t, runs)+" }\n")
	c := rig.Dial(t, g.URL+"/one", rig.AllCaps)
	q := c.Tool("ask", "{}").Next()
	id, _ := wire.Unquote(q.Field(q.ID))
	page := "/asks/" + id

	stays, goes, second := visit(t, g), visit(t, g), visit(t, g)
	for _, v := range []*visitor{stays, goes, second} {
		v.follow(g)
	}
	open := stays.get(page)
	if open.status != http.StatusOK {
		t.Fatalf("the page: %d %s", open.status, open.body)
	}
	stolen := goes.cookies[sessionCookie]
	var out reply
	for _, token := range tokens(goes.get("/").body) {
		out = goes.do(http.MethodPost, "/signout", url.Values{"token": {token}})
	}
	if out.status != http.StatusOK {
		t.Fatalf("signing out: %d %s", out.status, out.body)
	}
	for range 2 {
		g.Kill(t)
		g = g.Again(t)
		for _, v := range []*visitor{stays, goes, second} {
			v.moved(g)
		}
		for _, v := range []*visitor{stays, second} {
			if r := v.get("/"); r.status != http.StatusOK || !strings.Contains(r.body, id) {
				t.Errorf("a sign-in is lost: %d %s", r.status, r.body)
			}
		}
		goes.cookies[sessionCookie] = stolen
		if r := goes.get("/"); r.status != http.StatusSeeOther {
			t.Errorf("what was signed out is signed in: %d %s", r.status, r.body)
		}
	}
	// The form as it was before both.
	at := strings.Index(open.body, `action="`+page+`"`)
	sent := stays.do(http.MethodPost, page, url.Values{"token": {tokens(open.body[max(at, 0):])[0]}, "action": {"accept"}, "f0": {"Ann"}})
	if sent.status != http.StatusOK || !strings.Contains(sent.body, "on its way back") {
		t.Errorf("the form that was open: %d %s", sent.status, sent.body)
	}
	// With the token of another session, or none, it is refused.
	for name, token := range map[string]string{"another's": tokens(second.get("/").body)[0], "none": ""} {
		if r := second.do(http.MethodPost, page, url.Values{"token": {token}, "action": {"decline"}}); r.status < 400 {
			t.Errorf("control: with %s token: %d", name, r.status)
		}
	}
}

// A sign-in with an issuer survives a crash too, until the operator ends it.
func TestSignInWithAnIssuerSurvivesACrash(t *testing.T) {
	t.Parallel()
	g := guard(t, durable, "  one: { url: "+newAsker(t).URL+" }\n")
	ann, bob := g.signIn("ann"), g.signIn("bob")
	g.Gateway.Kill(t)
	again := g.Gateway.Again(t)
	for who, v := range map[string]*visitor{"ann": ann, "bob": bob} {
		v.moved(again)
		if r := v.get("/"); r.status != http.StatusOK {
			t.Errorf("%s has to sign in again: %d %s", who, r.status, r.header.Get("Location"))
		}
	}
	if status, out, complaint := rig.RunAll(t, "signin", "end", "--config", again.File, "--issuer", g.Issuer.URL, "--subject", "ann"); status != 0 || out != "sign-ins ended: 1\n" {
		t.Errorf("%d %s %s", status, out, complaint)
	}
	if r := ann.get("/"); r.status != http.StatusSeeOther {
		t.Errorf("ann is signed in: %d", r.status)
	}
	if r := bob.get("/"); r.status != http.StatusOK {
		t.Errorf("bob is not signed in: %d", r.status)
	}
	if status, _, _ := rig.RunAll(t, "signin", "end", "--config", again.File); status != 2 {
		t.Errorf("without saying whose: %d", status)
	}
}

// Somebody who follows the link of a question and is not signed in hears how to
// sign in, and is back at the question then.
func TestSignInLeadsBackToTheQuestion(t *testing.T) {
	t.Parallel()
	b := newAsker(t)
	g := rig.Start(t, "backends:\n  one: { url: "+b.URL+" }\n")
	ids := make([]string, 2)
	for i := range ids {
		q := rig.Dial(t, g.URL+"/one", rig.AllCaps).Tool("ask", "{}").Next()
		ids[i], _ = wire.Unquote(q.Field(q.ID))
	}
	for _, id := range ids {
		v := visit(t, g)
		r := v.get("/asks/" + id)
		if r.status != http.StatusSeeOther {
			t.Fatalf("the question shows to anybody: %d", r.status)
		}
		if r = v.get(r.header.Get("Location")); r.status != http.StatusUnauthorized || !strings.Contains(r.body, "answerback signin") {
			t.Errorf("the page that says to sign in: %d %s", r.status, r.body)
		}
		if to := v.follow(g); to != "/asks/"+id {
			t.Errorf("signing in leads to %s", to)
		}
		if r := v.get("/asks/" + id); r.status != http.StatusOK {
			t.Errorf("the question: %d", r.status)
		}
		if to := v.follow(g); to != "/" {
			t.Errorf("signing in again leads to %s", to)
		}
	}
	// What a browser brings along leads nowhere else.
	for _, evil := range []string{"https://evil.example/", "//evil.example", `/\evil.example`, "/signout", "/asks/../../evil", "/%2f%2fevil.example", "javascript:alert(1)"} {
		v := visit(t, g)
		v.cookies["__Host-answerback-return"] = evil
		if to := v.follow(g); to != "/" {
			t.Errorf("%s leads to %s", evil, to)
		}
		v = visit(t, g)
		v.get("/signin?" + url.Values{"return": {evil}}.Encode())
		if to := v.follow(g); to != "/" {
			t.Errorf("return=%s leads to %s", evil, to)
		}
	}
}
