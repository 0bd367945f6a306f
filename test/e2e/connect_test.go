package e2e

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/answerback/answerback/internal/wire"
	"github.com/answerback/answerback/test/rig"
)

// keyed puts a backend behind a door that takes these keys, whatever the
// request.
func keyed(t testing.TB, b *rig.Backend, keys ...string) string {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for _, k := range keys {
			if r.Header.Get("Authorization") == "Bearer "+k {
				b.ServeHTTP(w, r)
				return
			}
		}
		w.Header().Set("WWW-Authenticate", "Bearer")
		w.WriteHeader(http.StatusUnauthorized)
	}))
	t.Cleanup(srv.Close)
	return srv.URL
}

// guardKeyed starts a gateway before such a backend.
func guardKeyed(t testing.TB, b *rig.Backend, keys ...string) *guarded {
	return guard(t, "", "  one: { url: "+keyed(t, b, keys...)+", grant: { kind: key } }\n")
}

// enter types a key on the page behind a link.
func (v *visitor) enter(link, key string) reply {
	v.t.Helper()
	path := v.path(link)
	page := v.get(path)
	if page.status == http.StatusSeeOther {
		path = page.header.Get("Location")
		page = v.get(path)
	}
	if page.status != http.StatusOK {
		return page
	}
	to, _ := url.Parse(path)
	return v.do(http.MethodPost, to.Path, url.Values{"token": tokens(page.body)[1:2], "ask": {to.Query().Get("ask")}, "key": {key}})
}

func (v *visitor) path(link string) string { return strings.TrimPrefix(link, v.base) }

func linkIn(m wire.Message, at wire.Span) string {
	s, _ := wire.Unquote([]byte(member(m, at, "url")))
	return s
}

// TestTheCallWaitsWhileItsPersonConnects: a call to a backend that knows
// nobody waits, its person connects, and it has run once when it returns. A
// key that the backend does not take is asked for again.
func TestTheCallWaitsWhileItsPersonConnects(t *testing.T) {
	t.Parallel()
	for _, side := range []string{"legacy", "modern"} {
		t.Run("legacy client, "+side+" backend", func(t *testing.T) {
			b := newAsker(t)
			b.LegacyOnly, b.ModernOnly = side == "legacy", side == "modern"
			g := guardKeyed(t, b, "anns-key")
			browser := g.signIn("ann")
			ann := rig.DialAs(t, g.Gateway.URL, linksOnly, g.token("ann"))
			if list := ann.Request("tools/list", "{}"); !strings.Contains(string(list.Raw), "connect_account") {
				t.Errorf("tools before: %s", list.Raw)
			}
			s := ann.Tool("echo", "{}")
			for _, key := range []string{"wrong", "anns-key"} {
				q := s.Next()
				for q.Kind == wire.Notification {
					q = s.Next()
				}
				ann.Answer(q, `{"action":"accept"}`)
				if r := browser.enter(linkIn(q, q.Params), key); r.status != http.StatusOK || !strings.Contains(r.body, "goes on now") {
					t.Errorf("key %s: %d %s", key, r.status, r.body)
				}
			}
			if m := s.Final(); m.Kind != wire.Result || b.Count("tools/call") != 1 {
				t.Errorf("%s, ran %d times", m.Raw, b.Count("tools/call"))
			}
			if list := ann.Request("tools/list", "{}"); !strings.Contains(string(list.Raw), "echo") || strings.Contains(string(list.Raw), "connect_account") {
				t.Errorf("tools after: %s", list.Raw)
			}
		})
		t.Run("modern client, "+side+" backend", func(t *testing.T) {
			b := newAsker(t)
			b.LegacyOnly, b.ModernOnly = side == "legacy", side == "modern"
			g := guardKeyed(t, b, "anns-key")
			browser := g.signIn("ann")
			ann := rig.NewClient(t, g.Gateway.URL)
			ann.Token = g.token("ann")
			m := ann.Modern("1", "tools/call", `{"name":"echo","arguments":{}}`, linksOnly).Final()
			state, link := member(m, m.Result, "requestState"), linkAsked(t, m)
			if r := browser.enter(link, "anns-key"); r.status != http.StatusOK {
				t.Errorf("the key: %d %s", r.status, r.body)
			}
			m = ann.Modern("2", "tools/call", `{"name":"echo","arguments":{},"requestState":`+state+`,"inputResponses":{"q1":{"action":"accept"}}}`, linksOnly).Final()
			if !strings.Contains(string(m.Raw), `"content":[]`) || b.Count("tools/call") != 1 {
				t.Errorf("%s, ran %d times", m.Raw, b.Count("tools/call"))
			}
		})
	}
}

// linkAsked finds the link in the questions of a modern result.
func linkAsked(t *testing.T, m wire.Message) string {
	t.Helper()
	for q := range wire.Members(m.Raw, m.InputRequests) {
		if s, ok := wire.Unquote(wire.Get(m.Raw, wire.Get(m.Raw, q.Value, "params"), "url").Of(m.Raw)); ok {
			return s
		}
	}
	t.Fatalf("no link in %s", m.Raw)
	return ""
}

// TestACallEndsWhereNobodyConnects: each no has its own words, and the backend
// runs nothing.
func TestACallEndsWhereNobodyConnects(t *testing.T) {
	t.Parallel()
	b := newAsker(t)
	g := guardKeyed(t, b, "anns-key")
	browser := g.signIn("ann")
	ann := rig.DialAs(t, g.Gateway.URL, linksOnly, g.token("ann"))
	for action, want := range map[string]string{"decline": "declined to connect", "cancel": "put off connecting"} {
		s := ann.Tool("echo", "{}")
		q := s.Next()
		ann.Answer(q, `{"action":"`+action+`"}`)
		if m := s.Final(); !strings.Contains(string(m.Raw), want) || !strings.Contains(string(m.Raw), `"isError":true`) {
			t.Errorf("%s at the client: %s", action, m.Raw)
		}
		s = ann.Tool("echo", "{}")
		q = s.Next()
		path := browser.path(linkIn(q, q.Params))
		page := browser.get(browser.get(path).header.Get("Location"))
		browser.do(http.MethodPost, path, url.Values{"token": tokens(page.body)[2:3], "action": {action}})
		if m := s.Final(); !strings.Contains(string(m.Raw), want) {
			t.Errorf("%s on the page: %s", action, m.Raw)
		}
	}
	if n := b.Count("tools/call"); n != 0 {
		t.Errorf("ran %d times", n)
	}
}

// TestAttackConnectingForAnother: nobody but the caller connects what the
// caller waits for, whatever they hold.
func TestAttackConnectingForAnother(t *testing.T) {
	t.Parallel()
	b := newAsker(t)
	g := guardKeyed(t, b, "anns-key", "bobs-key")
	ann, bob := g.signIn("ann"), g.signIn("bob")
	client := rig.DialAs(t, g.Gateway.URL, linksOnly, g.token("ann"))
	s := client.Tool("echo", "{}")
	q := s.Next()
	link := linkIn(q, q.Params)
	id := strings.TrimPrefix(ann.path(link), "/asks/")
	for name, r := range map[string]reply{
		"the question":          bob.get(ann.path(link)),
		"the page":              bob.get("/connect/one?ask=" + id),
		"the key":               bob.do(http.MethodPost, "/connect/one", url.Values{"token": tokens(bob.get("/connect/one").body)[1:2], "ask": {id}, "key": {"bobs-key"}}),
		"the key, with a token": bob.do(http.MethodPost, "/connect/one", url.Values{"token": tokens(ann.get("/connect/one?ask=" + id).body)[1:2], "ask": {id}, "key": {"bobs-key"}}),
	} {
		if r.status != http.StatusNotFound {
			t.Errorf("%s: %d %s", name, r.status, r.body)
		}
	}
	// Bob's own account is Bob's.
	if r := bob.enter(g.base+"/connect/one", "bobs-key"); r.status != http.StatusOK {
		t.Errorf("bob's own: %d %s", r.status, r.body)
	}
	if m, ok := s.Poll(0); ok {
		t.Errorf("ann's call went on: %s", m.Raw)
	}
	// The control.
	client.Answer(q, `{"action":"accept"}`)
	if r := ann.enter(link, "anns-key"); r.status != http.StatusOK {
		t.Errorf("ann's: %d %s", r.status, r.body)
	}
	if m := s.Final(); m.Kind != wire.Result || b.Count("tools/call") != 1 {
		t.Errorf("%s", m.Raw)
	}
	last := b.Received(func(r rig.Received) bool { return r.Msg.Method() == "tools/call" })
	if got := last[0].Header.Get("Authorization"); got != "Bearer anns-key" {
		t.Errorf("called with %s", got)
	}
}

// TestAccountsCanBeDisconnected on their page, by whose they are.
func TestAccountsCanBeDisconnected(t *testing.T) {
	t.Parallel()
	b := newAsker(t)
	g := guardKeyed(t, b, "anns-key")
	ann, bob := g.signIn("ann"), g.signIn("bob")
	if r := ann.enter(g.base+"/connect/one", "anns-key"); r.status != http.StatusOK {
		t.Fatalf("%d %s", r.status, r.body)
	}
	if page := ann.get("/connections"); !strings.Contains(page.body, "connected just now") && !strings.Contains(page.body, "Disconnect") {
		t.Errorf("ann's accounts: %s", page.body)
	}
	if page := bob.get("/connections"); !strings.Contains(page.body, "Nothing is connected") {
		t.Errorf("bob's accounts: %s", page.body)
	}
	off := func(v *visitor) reply {
		return v.do(http.MethodPost, "/connections", url.Values{"token": tokens(ann.get("/connections").body)[1:2], "backend": {"one"}})
	}
	if r := off(bob); r.status != http.StatusForbidden {
		t.Errorf("bob with ann's token: %d", r.status)
	}
	client := rig.DialAs(t, g.Gateway.URL, linksOnly, g.token("ann"))
	if m := client.Tool("echo", "{}").Final(); m.Kind != wire.Result {
		t.Errorf("connected: %s", m.Raw)
	}
	if r := off(ann); r.status != http.StatusOK || !strings.Contains(r.body, "one is disconnected") {
		t.Errorf("ann: %d %s", r.status, r.body)
	}
	s := client.Tool("echo", "{}")
	q := s.Next()
	client.Answer(q, `{"action":"decline"}`)
	if m := s.Final(); !strings.Contains(string(m.Raw), "declined") {
		t.Errorf("disconnected: %s", m.Raw)
	}
}

// TestConnectAmongOthers: at the endpoint that joins all backends, and for a
// modern client that can show nothing, the tool that stands for all others
// asks for the account; the same call then says that it is there.
func TestConnectAmongOthers(t *testing.T) {
	t.Parallel()
	b, other := newAsker(t), newAsker(t)
	g := guard(t, "", "  one: { url: "+keyed(t, b, "anns-key")+", grant: { kind: key } }\n  two: { url: "+other.URL+" }\n")
	browser := g.signIn("ann")
	ann := rig.NewClient(t, g.Gateway.URL)
	ann.Token = g.token("ann")
	list := ann.Modern("1", "tools/list", "{}", "{}").Final()
	if !strings.Contains(string(list.Raw), `"one__connect_account"`) || !strings.Contains(string(list.Raw), `"two__echo"`) {
		t.Fatalf("tools before: %s", list.Raw)
	}
	const call = `{"name":"one__connect_account","arguments":{}}`
	m := ann.Modern("2", "tools/call", call, "{}").Final()
	link := pageLink.FindString(string(m.Raw))
	if !strings.Contains(string(m.Raw), `"isError":true`) || link == "" {
		t.Fatalf("the call: %s", m.Raw)
	}
	browser.enter(link, "anns-key")
	if m := ann.Modern("3", "tools/call", call, "{}").Final(); !strings.Contains(string(m.Raw), "An account is connected to one") {
		t.Errorf("the repeated call: %s", m.Raw)
	}
	if m := ann.Modern("4", "tools/call", `{"name":"one__echo","arguments":{}}`, "{}").Final(); m.Kind != wire.Result || b.Count("tools/call") != 1 {
		t.Errorf("the tool itself: %s", m.Raw)
	}
}

var pageLink = regexp.MustCompile(`http://127\.0\.0\.1:\d+/asks/[\w-]+`)
