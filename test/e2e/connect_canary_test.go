package e2e

import (
	"maps"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/answerback/answerback/internal/wire"
	"github.com/answerback/answerback/test/rig"
)

const (
	typedKey   = "canary-typed-key-6b1d90"
	refusedKey = "canary-refused-key-81ac ü"
)

// TestCanaryCredentialsStayHidden has ann connect three accounts, lose one and
// disconnect them, while others try. Tokens, keys and the gateway's own
// secrets are found in what its servers get and nowhere else: not in the log
// or the audit, in what clients and browsers get, in what commands print, on
// disk, or in the dump of all goroutines. The audit has what happened.
func TestCanaryCredentialsStayHidden(t *testing.T) {
	t.Parallel()
	b := newAsker(t)
	tracker, wiki := newThird(t, b, true), newThird(t, b, false)
	g := guard(t, durable, "  tracker: { url: "+tracker.URL+"/mcp, grant: { kind: oauth } }\n"+
		"  wiki: { url: "+wiki.URL+"/mcp, grant: { kind: oauth, client_id: configured, client_secret: "+wiki.secrets["configured client secret"]+" } }\n"+
		"  weather: { url: "+keyed(t, b, typedKey)+", grant: { kind: key } }\n"+
		"log: { level: debug }\n")
	ann, bob := g.signIn("ann"), g.signIn("bob")
	secrets := canaries{"key": typedKey, "refused key": refusedKey}
	shown := &strings.Builder{}
	took := func(r reply) reply {
		shown.WriteString(r.body + "\n" + r.header.Get("Location") + "\n")
		return r
	}
	call := func(backend string) (*rig.Client, *rig.Stream, wire.Message) {
		c := rig.DialAs(t, g.Gateway.URL+"/"+backend, linksOnly, g.token("ann"))
		s := c.Tool("echo", "{}")
		q := s.Next()
		shown.Write(append(q.Raw, '\n'))
		return c, s, q
	}
	final := func(s *rig.Stream, want string) {
		t.Helper()
		m := s.Final()
		shown.Write(append(m.Raw, '\n'))
		if !strings.Contains(string(m.Raw), want) {
			t.Errorf("the call ended with %s", m.Raw)
		}
	}

	for backend, p := range map[string]*third{"tracker": tracker, "wiki": wiki} {
		c, s, q := call(backend)
		back := p.agrees(ann, linkIn(q, q.Params))
		at, _ := url.Parse(back)
		secrets["code of "+backend] = at.Query().Get("code")
		took(bob.get(back))
		took(ann.get(back))
		took(ann.get(back))
		final(s, `"content":[]`)
		// The server takes the tokens no more, and neither a new one.
		p.mu.Lock()
		p.good, p.refresh = []string{}, "spent"
		p.mu.Unlock()
		s = c.Tool("echo", "{}")
		q = s.Next()
		for q.Kind == wire.Notification {
			q = s.Next()
		}
		took(ann.get(ann.path(linkIn(q, q.Params))))
		c.Answer(q, `{"action":"decline"}`)
		final(s, "declined to connect")
		maps.Copy(secrets, p.named(backend))
	}
	_, s, q := call("weather")
	if r := took(ann.enter(linkIn(q, q.Params), refusedKey)); r.status != http.StatusUnprocessableEntity {
		t.Errorf("a key that no header can have: %d %s", r.status, r.body)
	}
	took(ann.enter(linkIn(q, q.Params), typedKey))
	final(s, `"content":[]`)
	page := took(ann.get("/connections"))
	_, out, complaints := rig.RunAll(t, "grants", "list", "--config", g.File)
	shown.WriteString(out + complaints)
	took(ann.do(http.MethodPost, "/connections", url.Values{"token": tokens(page.body)[1:2], "backend": {"weather"}}))
	for _, command := range [][]string{{"grants", "list", "-o", "json"}, {"check"}, {"doctor"}} {
		_, out, complaints := rig.RunAll(t, append(command, "--config", g.File)...)
		shown.WriteString(out + complaints)
	}
	audit := audited(t, g, "grant_connected", "grant_refreshed", "grant_lost", "grant_revoked", "connect_refused")
	shown.WriteString(status(t, g))

	var sent strings.Builder
	for _, r := range b.Received(func(rig.Received) bool { return true }) {
		sent.WriteString(r.Header.Get("Authorization") + "\n")
	}
	if found := secrets.find(sent.String()); len(found) < 3 {
		t.Errorf("the servers got %v of %v", found, slices.Sorted(maps.Keys(secrets)))
	}
	for where, text := range map[string]string{
		"what was shown": shown.String(), "the audit": audit, "the log and the dump": g.Dump(t), "the data directory": files(t, filepath.Join(filepath.Dir(g.File), "data")),
	} {
		if leaks := secrets.find(text); len(leaks) > 0 {
			t.Errorf("in %s are %v:\n%.4000s", where, leaks, lines(text, secrets))
		}
	}
	leave(t, secrets)
}

// audited reads the audit once it has records of these transitions, which are
// stored a moment after they were made.
func audited(t *testing.T, g *guarded, transitions ...string) string {
	t.Helper()
	for end := time.Now().Add(rig.Patience); ; {
		_, audit, _ := rig.RunAll(t, "audit", "--config", g.File)
		i := slices.IndexFunc(transitions, func(each string) bool { return !strings.Contains(audit, `"transition":"`+each+`"`) })
		if i < 0 {
			return audit
		}
		if time.Now().After(end) {
			t.Fatalf("the audit has no %s:\n%s", transitions[i], audit)
		}
	}
}

// named are the secrets of a third party under a name of its own.
func (p *third) named(name string) canaries {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := canaries{}
	for what, secret := range p.secrets {
		all[name+": "+what] = secret
	}
	return all
}

// leave is the control: a server that tells what it was sent, and people who
// are named after secrets, which are then in the log and on pages, are found
// out by the same search.
func leave(t *testing.T, secrets canaries) {
	t.Helper()
	b := rig.NewBackend(t, map[string]rig.Script{"tools/call leak": func(c *rig.Call) {
		c.Result(`{"content":[],"got":"` + c.Header.Get("Authorization") + `"}`)
	}})
	b.LegacyOnly = true
	g := guardKeyed(t, b, typedKey)
	ann := g.signIn("ann")
	ann.enter(g.base+"/connect/one", typedKey)
	m := rig.DialAs(t, g.Gateway.URL, linksOnly, g.token("ann")).Tool("leak", "{}").Final()
	if found := secrets.find(string(m.Raw)); !slices.Equal(found, []string{"key"}) {
		t.Errorf("of the leak in a result the search found %v", found)
	}
	var pages strings.Builder
	for _, secret := range secrets {
		pages.WriteString(g.signIn(secret).get("/").body)
	}
	want := slices.Sorted(maps.Keys(secrets))
	for where, text := range map[string]string{"the log": g.Log(), "pages": pages.String()} {
		if found := secrets.find(text); !slices.Equal(found, want) {
			t.Errorf("of the leaks in %s the search found %v and not all of %v", where, found, want)
		}
	}
}
