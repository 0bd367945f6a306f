//go:build browser

package browser

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/answerback/answerback/internal/wire"
	"github.com/answerback/answerback/test/rig"
)

// protected is a server that takes the tokens of the third party for itself
// and no others, and says where they are had. Its tool answers whose the token
// was.
func protected(t *testing.T) (*rig.Backend, string) {
	t.Helper()
	b := rig.NewBackend(t, map[string]rig.Script{"tools/call search": func(c *rig.Call) {
		who, _ := claims(c.Header)["sub"].(string)
		c.Result(`{"content":[{"type":"text","text":"found by ` + who + `"}]}`)
	}})
	b.LegacyOnly = true
	var door *httptest.Server
	door = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		const about = "/.well-known/oauth-protected-resource/mcp"
		said := claims(r.Header)
		switch {
		case r.URL.Path == about:
			_ = json.NewEncoder(w).Encode(map[string]any{
				"resource": door.URL + "/mcp", "authorization_servers": []string{home(t).third}, "scopes_supported": []string{"mcp"},
			})
		case said["iss"] != home(t).third || said["aud"] != door.URL+"/mcp" || said["scope"] != "mcp":
			w.Header().Set("WWW-Authenticate", `Bearer resource_metadata="`+door.URL+about+`"`)
			w.WriteHeader(http.StatusUnauthorized)
		default:
			b.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(door.Close)
	return b, door.URL + "/mcp"
}

// claims reads what a bearer token says, nothing where there is none.
func claims(h http.Header) map[string]any {
	said := map[string]any{}
	if parts := strings.Split(strings.TrimPrefix(h.Get("Authorization"), "Bearer "), "."); len(parts) == 3 {
		raw, _ := base64.RawURLEncoding.DecodeString(parts[1])
		_ = json.Unmarshal(raw, &said) // what cannot be read says nothing
	}
	return said
}

// TestConnectAndTheSameCallGoesOn: ann's client calls a server that knows
// nobody. Ann signs in at a third party and agrees there, and the same call
// returns its result, having run once. How she comes to the page depends on
// what her client can do.
func TestConnectAndTheSameCallGoesOn(t *testing.T) {
	t.Parallel()
	servers, config := map[string]*rig.Backend{}, ""
	for _, name := range []string{"tracker", "wiki", "calendar", "files", "mail"} {
		b, at := protected(t)
		servers[name] = b
		more := ""
		if name == "mail" {
			more = ", when_missing: error"
		}
		config += "  " + name + ": { url: " + at + ", grant: { kind: oauth" + more + " } }\n"
	}
	s := newStage(t, config, "clients: [{ name: Holder, hold: 50s }]\n")
	ann, _ := s.signIn("ann", "/")
	token := s.token("ann")
	client := func(backend, name, caps string) *rig.Client {
		c := rig.NewClient(t, s.gateway.URL+"/"+backend)
		if c.Token, c.Name = token, name; caps != "" {
			c.Open(caps, "2025-11-25")
		}
		return c
	}
	found := func(backend string, m wire.Message) {
		t.Helper()
		if n := servers[backend].Count("tools/call"); m.Kind != wire.Result || !strings.Contains(string(m.Raw), "found by u-ann") || n != 1 {
			t.Errorf("%s: it ran %d times and gave %s", backend, n, m.Raw)
		}
	}

	// A legacy client that takes links. Its accept is consent and ends nothing.
	c := client("tracker", "Example Assistant", linkCaps)
	call := c.Tool("search", "{}")
	q := call.Next()
	link, _ := wire.Unquote([]byte(member(q, q.Params, "url")))
	c.Answer(q, `{"action":"accept"}`)
	p := ann.open(link)
	contains(t, p, "tracker", "Example Assistant", "search", "127.0.0.2", "mcp", "the same request goes on by itself", "Decline", "Not now")
	ann.inspect("connect")
	s.goOn(ann)
	ann.fill("Name", "ann")
	ann.fill("Password", "ann-password")
	contains(t, ann.press("Log in"), "Allow Answerback?", "mcp")
	p = ann.press("Refuse")
	contains(t, p, "Your account was not connected", "still waiting")
	ann.inspect("not-connected")
	if m, ok := call.Poll(0); ok {
		t.Fatalf("the call ended before there was an account: %s", m.Raw)
	}
	ann.click("Go back")
	s.goOn(ann)
	p = ann.press("Allow")
	contains(t, p, "Your account is connected", "What was waiting for it goes on now")
	lacks(t, p, "eyJ")
	ann.inspect("connected")
	found("tracker", call.Final())

	// A modern client comes back by itself.
	c = client("wiki", "", "")
	m := c.Modern("1", "tools/call", `{"name":"search","arguments":{}}`, linkCaps).Final()
	s.connect(ann, linkIn(t, member(m, m.Result, "inputRequests")))
	found("wiki", c.Modern("2", "tools/call", `{"name":"search","arguments":{},"requestState":`+member(m, m.Result, "requestState")+`,"inputResponses":{"q1":{"action":"accept"}}}`, linkCaps).Final())

	// A client that can show nothing is told in words, and calls again.
	c = client("calendar", "Example Assistant", "{}")
	began := time.Now()
	m = c.Tool("search", "{}").Final()
	if took := time.Since(began); !strings.Contains(string(m.Raw), `"isError":true`) || took > time.Second {
		t.Errorf("after %v it was told %s", took, m.Raw)
	}
	s.connect(ann, linkIn(t, string(m.Raw)))
	found("calendar", c.Tool("search", "{}").Final())

	// One that is held need not; ann finds the question in her inbox.
	c = client("files", "Holder", "{}")
	calls := make(chan *rig.Stream, 1)
	go func() {
		calls <- c.Start(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search","arguments":{},"_meta":{"progressToken":1}}}`)
	}()
	s.gateway.WaitLog(t, "backend=files name=search rung=page")
	s.connect(ann, s.base+askOn(t, ann.open(s.base+"/")))
	found("files", (<-calls).Final())

	// One that opens pages itself when a call fails for want of them.
	c = client("mail", "Example Assistant", linkCaps)
	m = c.Tool("search", "{}").Final()
	equal(t, "the code", string(m.Field(m.ErrorCode)), "-32042")
	s.connect(ann, linkIn(t, string(m.Raw)))
	found("mail", c.Tool("search", "{}").Final())

	p = ann.open(s.base + "/connections")
	contains(t, p, "tracker", "wiki", "calendar", "files", "mail", "127.0.0.2", "mcp", "Disconnect")
	ann.inspect("accounts")
}

// goOn goes from the gateway's page to the third party.
func (s *stage) goOn(v *tab) page {
	s.t.Helper()
	third, _ := url.Parse(home(s.t).third)
	p := v.press("Go on to " + third.Host)
	if !strings.HasPrefix(p.URL, home(s.t).third+"/") {
		s.t.Fatalf("%s was led to %s: %s", v.name, p.URL, p.Text)
	}
	return p
}

// connect has somebody connect who is signed in at the third party.
func (s *stage) connect(v *tab, link string) {
	s.t.Helper()
	v.open(link)
	s.goOn(v)
	contains(s.t, v.press("Allow"), "Your account is connected")
}

var address = regexp.MustCompile(`http://127\.0\.0\.1:\d+/[^"\\\s]+`)

// linkIn finds the only address of the gateway's in a text.
func linkIn(t testing.TB, text string) string {
	t.Helper()
	found := address.FindAllString(text, -1)
	if len(found) != 1 {
		t.Fatalf("there are %d links in %s", len(found), text)
	}
	return found[0]
}

// TestConnectWithAKey: ann enters a key on the page that her client was led
// to; bob has connected nothing.
func TestConnectWithAKey(t *testing.T) {
	t.Parallel()
	b := rig.NewBackend(t, map[string]rig.Script{"tools/call search": func(c *rig.Call) {
		c.Result(`{"content":[{"type":"text","text":"found"}]}`)
	}})
	b.LegacyOnly = true
	door := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Api-Key") != "anns-key" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		b.ServeHTTP(w, r)
	}))
	t.Cleanup(door.Close)
	s := newStage(t, "  weather: { url: "+door.URL+", grant: { kind: key, header: X-Api-Key } }\n")
	ann, _ := s.signIn("ann", "/")
	call := s.dial("ann", linkCaps).Tool("search", "{}")
	q := call.Next()
	link, _ := wire.Unquote([]byte(member(q, q.Params, "url")))
	contains(t, ann.open(link), "weather", "Key", "Decline", "Not now")
	ann.inspect("connect-key")
	ann.fill("Key", "anns-key")
	p := ann.press("Connect")
	contains(t, p, "Your account is connected")
	lacks(t, p, "anns-key")
	if m := call.Final(); m.Kind != wire.Result || !strings.Contains(string(m.Raw), "found") || b.Count("tools/call") != 1 {
		t.Errorf("it gave %s", m.Raw)
	}
	bob, p := s.signIn("bob", "/connections")
	contains(t, p, "Nothing is connected")
	bob.inspect("accounts-empty")
}
