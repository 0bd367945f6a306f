package e2e

import (
	"maps"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/answerback/answerback/internal/wire"
	"github.com/answerback/answerback/test/rig"
)

// things are all the secrets and handles that a gateway and those around it
// have of ann, taken from her life there. Each opens one thing.
type things struct {
	token   string            // opens the endpoint
	session string            // a session of ann at the endpoint
	client  *rig.Client       // whose it is
	browser *visitor          // opens the pages
	ask     string            // the path of an ask of hers
	others  map[string]string // open nothing by themselves
}

func live(t *testing.T, g *guarded) *things {
	t.Helper()
	a := &things{token: g.token("ann"), browser: g.signIn("ann"), others: map[string]string{}}
	a.client = rig.DialAs(t, g.Gateway.URL+"/one", rig.AllCaps, a.token)
	a.session = a.client.Session
	q := a.client.Tool("ask", "{}").Next()
	a.ask = askPath.FindString(a.browser.get("/").body)
	forms := tokens(a.browser.get(a.ask).body)
	if a.ask == "" || len(forms) != 2 {
		t.Fatalf("ann's pages have the ask %q and %d forms", a.ask, len(forms))
	}
	modern := rig.NewClient(t, g.Gateway.URL+"/one")
	modern.Token = a.token
	m := call(modern, "ask")
	state, _ := wire.Unquote(m.Field(m.ResultState))
	if state == "" {
		t.Fatalf("the modern client has no state: %s", m.Raw)
	}
	flow := &visitor{t: t, base: g.base, cookies: map[string]string{}}
	at, _ := url.Parse(flow.get("/signin").header.Get("Location"))
	id := g.LastID()

	claims := func(audience string, more map[string]any) string {
		return g.Sign("at+jwt", g.Claims("ann", audience, more))
	}
	a.others = map[string]string{
		"ID token":                     id,
		"ID token for this resource":   g.Sign("JWT", g.Claims("ann", g.Gateway.URL, map[string]any{"nonce": "n", "at_hash": "h"})),
		"opaque access token":          "canary-opaque-access-token-77aa",
		"refresh token":                "canary-refresh-token-" + random(),
		"logout token":                 g.Sign("logout+jwt", g.Claims("ann", g.Gateway.URL, map[string]any{"events": map[string]any{}})),
		"token for another audience":   claims("https://elsewhere.example/mcp", nil),
		"token for the pages' address": claims(g.base, nil),
		"token for a longer address":   claims(g.Gateway.URL+"/one", nil),
		"expired token":                claims(g.Gateway.URL, map[string]any{"exp": 1_700_000_000}),
		"token of another issuer":      rig.NewIssuer(t).Sign("at+jwt", g.Claims("ann", g.Gateway.URL, nil)),
		"token with a changed subject": changed(a.token, g.token("bob")),
		"MCP session id":               a.session,
		"question id":                  strings.Trim(string(q.Field(q.ID)), `"`),
		"ask id":                       strings.TrimPrefix(a.ask, "/asks/"),
		"requestState":                 state,
		"session cookie":               a.browser.cookies[sessionCookie],
		"flow cookie":                  flow.cookies[flowCookie],
		"sign-in state":                at.Query().Get("state"),
		"sign-out form token":          forms[0],
		"answer form token":            forms[1],
		"client secret":                clientSecret,
		"piece of a static key":        nobodysKey[:len(nobodysKey)-1],
	}
	return a
}

// changed gives a token with the claims of another and its own signature.
func changed(token, other string) string {
	mine, theirs := strings.Split(token, "."), strings.Split(other, ".")
	return mine[0] + "." + theirs[1] + "." + mine[2]
}

// TestAttackWrongCredentialAtTheEndpoint: nothing but an access token for this
// resource, or a key, opens the endpoint, in any of its methods and at any of
// its addresses; what does not gets the challenge, and reaches no backend.
func TestAttackWrongCredentialAtTheEndpoint(t *testing.T) {
	t.Parallel()
	b := newAsker(t)
	g := guard(t, "", "  one: { url: "+b.URL+" }\n")
	a := live(t, g)
	ping := `{"jsonrpc":"2.0","id":7,"method":"ping"}`
	knocks := map[string]func(headers ...string) *http.Request{
		"POST /mcp":             func(h ...string) *http.Request { return post(t, g.Gateway.URL, initialize, h...) },
		"POST /mcp/one":         func(h ...string) *http.Request { return post(t, g.Gateway.URL+"/one", initialize, h...) },
		"POST in ann's session": func(h ...string) *http.Request { return post(t, g.Gateway.URL+"/one", ping, inSession(a, h)...) },
		"GET of ann's stream":   func(h ...string) *http.Request { return stream(t, g.Gateway.URL+"/one", inSession(a, h)...) },
		"DELETE of her session": func(h ...string) *http.Request {
			return newRequest(t, http.MethodDelete, g.Gateway.URL+"/one", "", inSession(a, h)...)
		},
		"POST to no backend": func(h ...string) *http.Request { return post(t, g.Gateway.URL+"/none", initialize, h...) },
		"modern POST":        func(h ...string) *http.Request { return post(t, g.Gateway.URL+"/one", modernList, modernHead(h)...) },
		"POST to /mcp as a page": func(h ...string) *http.Request {
			return post(t, g.Gateway.URL, initialize, append(h, "Cookie", sessionCookie+"="+a.browser.cookies[sessionCookie])...)
		},
	}
	before := len(b.Received(func(rig.Received) bool { return true }))
	for _, where := range slices.Sorted(maps.Keys(knocks)) {
		t.Run("none at "+where, func(t *testing.T) { challenged(t, g, send(t, knocks[where]())) })
		for _, kind := range slices.Sorted(maps.Keys(a.others)) {
			t.Run(kind+" at "+where, func(t *testing.T) {
				challenged(t, g, send(t, knocks[where]("Authorization", "Bearer "+a.others[kind])))
			})
		}
		for scheme, value := range map[string]string{"Basic": "Basic cGFnZXM6Y2FuYXJ5", "DPoP": "DPoP " + a.token, "no scheme": a.token} {
			t.Run(scheme+" at "+where, func(t *testing.T) { challenged(t, g, send(t, knocks[where]("Authorization", value))) })
		}
	}
	if after := len(b.Received(func(rig.Received) bool { return true })); after != before {
		t.Errorf("%d messages reached the backend", after-before)
	}
	// The controls, with what is right; ann's session was not ended above.
	for where, want := range map[string]int{
		"POST /mcp": 200, "POST /mcp/one": 200, "POST in ann's session": 200, "GET of ann's stream": 200,
		"POST to no backend": 404, "modern POST": 200, "POST to /mcp as a page": 200,
	} {
		for kind, value := range map[string]string{"token": a.token, "key": annsKey} {
			if r := send(t, knocks[where]("Authorization", "Bearer "+value)); r.status != want {
				t.Errorf("control: a good %s at %s got %d: %s", kind, where, r.status, r.body)
			}
		}
	}
	if r := send(t, knocks["DELETE of her session"]("Authorization", "Bearer "+a.token)); r.status >= 300 {
		t.Errorf("control: ann could not end her session: %d", r.status)
	}
}

const modernList = `{"jsonrpc":"2.0","id":3,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`

func modernHead(h []string) []string {
	return append([]string{"MCP-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/list"}, h...)
}

func inSession(a *things, h []string) []string {
	return append([]string{"Mcp-Session-Id", a.session, "MCP-Protocol-Version", a.client.Version}, h...)
}

func stream(t testing.TB, address string, headers ...string) *http.Request {
	t.Helper()
	return newRequest(t, http.MethodGet, address, "", append([]string{"Accept", "text/event-stream"}, headers...)...)
}

// challenged checks that somebody was told to authenticate, and nothing else.
func challenged(t *testing.T, g *guarded, r reply) {
	t.Helper()
	with := r.header.Get("WWW-Authenticate")
	if r.status != http.StatusUnauthorized && r.status != http.StatusBadRequest {
		t.Errorf("got %d, want 401: %s", r.status, r.body)
	}
	if !strings.HasPrefix(with, "Bearer ") || !strings.Contains(with, `resource_metadata="`+g.base+`/.well-known/oauth-protected-resource/mcp"`) {
		t.Errorf("the challenge is %q", with)
	}
	if r.header.Get("Mcp-Session-Id") != "" || len(r.header.Values("Set-Cookie")) > 0 {
		t.Errorf("a stranger was given %v", r.header)
	}
}

// TestAttackWrongCredentialAtThePages: nothing but the cookie of a session
// opens a page, neither as that cookie nor in a header nor in the address.
func TestAttackWrongCredentialAtThePages(t *testing.T) {
	t.Parallel()
	b := newAsker(t)
	g := guard(t, "", "  one: { url: "+b.URL+" }\n")
	a := live(t, g)
	form := url.Values{"token": {a.others["answer form token"]}, "action": {"accept"}}
	kinds := maps.Clone(a.others)
	delete(kinds, "session cookie")
	kinds["access token"], kinds["key of ann"], kinds["nothing"] = a.token, annsKey, ""
	ways := map[string]func(value string) (cookies map[string]string, query string, headers []string){
		"as the cookie": func(v string) (map[string]string, string, []string) {
			return map[string]string{sessionCookie: v}, "", nil
		},
		"as bearer": func(v string) (map[string]string, string, []string) {
			return map[string]string{}, "", []string{"Authorization", "Bearer " + v}
		},
		"in the address": func(v string) (map[string]string, string, []string) {
			return map[string]string{}, "?" + url.Values{"access_token": {v}, "token": {v}, sessionCookie: {v}}.Encode(), nil
		},
	}
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		for _, way := range slices.Sorted(maps.Keys(ways)) {
			t.Run(kind+" "+way, func(t *testing.T) {
				for _, path := range []string{"/", a.ask} {
					cookies, query, headers := ways[way](kinds[kind])
					v := &visitor{t: t, base: g.base, cookies: cookies}
					r := v.do(http.MethodGet, path+query, nil, headers...)
					if r.status != http.StatusSeeOther || !strings.HasPrefix(r.header.Get("Location"), "/signin?") || strings.Contains(r.body, "ann") {
						t.Errorf("GET %s: %d %s", path, r.status, r.body)
					}
				}
				cookies, query, headers := ways[way](kinds[kind])
				v := &visitor{t: t, base: g.base, cookies: cookies}
				if r := v.do(http.MethodPost, a.ask+query, form, headers...); r.status != http.StatusUnauthorized {
					t.Errorf("POST %s: %d %s", a.ask, r.status, r.body)
				}
			})
		}
	}
	// The controls: the same requests with the cookie, and then the answer.
	for _, path := range []string{"/", a.ask} {
		if r := a.browser.get(path); r.status != http.StatusOK || !strings.Contains(r.body, "The person ann") {
			t.Errorf("control: ann's own %s: %d", path, r.status)
		}
	}
	if r := a.browser.do(http.MethodPost, a.ask, form); r.status != http.StatusOK || !strings.Contains(r.body, "on its way back") {
		t.Errorf("control: ann's answer: %d %s", r.status, r.body)
	}
}

// TestChallengeAndMetadata: a caller without a token learns where to get one,
// and so does one of a single backend; the documents need no token and may be
// read by any web page.
func TestChallengeAndMetadata(t *testing.T) {
	t.Parallel()
	g := guard(t, "", "  one: { url: "+newAsker(t).URL+" }\n")
	for _, path := range []string{"", "/mcp", "/mcp/one"} {
		r := send(t, newRequest(t, http.MethodGet, g.base+"/.well-known/oauth-protected-resource"+path, "", "Origin", "https://app.example"))
		want := `{"resource":"` + g.Gateway.URL + `","authorization_servers":["` + g.Issuer.URL + `"],"bearer_methods_supported":["header"],"resource_name":"Answerback"}`
		equal(t, "the metadata at "+path, r.body, want)
		equal(t, "who may read it", r.header.Get("Access-Control-Allow-Origin")+r.header.Get("Access-Control-Allow-Credentials"), "*")
	}
	r := send(t, post(t, g.Gateway.URL, initialize))
	equal(t, "without a token", r.header.Get("WWW-Authenticate"), `Bearer resource_metadata="`+g.base+`/.well-known/oauth-protected-resource/mcp"`)
	r = send(t, post(t, g.Gateway.URL, initialize, "Authorization", "Bearer wrong"))
	if with := r.header.Get("WWW-Authenticate"); !strings.Contains(with, `error="invalid_token"`) {
		t.Errorf("with a wrong one: %s", with)
	}
}

// TestStaticKeys: a key that names a person is that person; one that names
// nobody has no pages, and so never gets a link.
func TestStaticKeys(t *testing.T) {
	t.Parallel()
	b := newAsker(t)
	g := guard(t, "", "  one: { url: "+b.URL+" }\n")
	ann := rig.DialAs(t, g.Gateway.URL, linksOnly, annsKey)
	s := ann.Tool("ask", "{}")
	q := s.Next()
	link, _ := wire.Unquote([]byte(member(q, q.Params, "url")))
	if !strings.HasPrefix(link, g.base+"/asks/") {
		t.Fatalf("ann's key: %s", q.Raw)
	}
	browser := g.signIn("ann")
	path := strings.TrimPrefix(link, g.base)
	ann.Answer(q, `{"action":"accept"}`)
	r := browser.do(http.MethodPost, path, url.Values{"token": tokens(browser.get(path).body)[1:], "action": {"accept"}})
	if r.status != http.StatusOK {
		t.Errorf("ann's answer: %d %s", r.status, r.body)
	}
	m := s.Final()
	equal(t, "the answer", member(m, m.Result, "got"), `{"action":"accept","content":{}}`)

	robot := rig.DialAs(t, g.Gateway.URL, linksOnly, nobodysKey)
	m = robot.Tool("ask", "{}").Final()
	if got := string(m.Raw); strings.Contains(got, "/asks/") || !strings.Contains(got, "error") {
		t.Errorf("a key of nobody: %s", got)
	}
}

// TestAnsweringTakesAScope: a credential for calling tools does not let what
// holds it answer in its person's place, and hears which scope would.
func TestAnsweringTakesAScope(t *testing.T) {
	t.Parallel()
	b := newAsker(t)
	g := guard(t, "  answer_scope: people:answer\n", "  one: { url: "+b.URL+" }\n")
	ann := rig.DialAs(t, g.Gateway.URL, linksOnly, g.token("ann"))
	s := ann.Tool("ask", "{}")
	q := s.Next()
	id := strings.TrimSuffix(path.Base(member(q, q.Params, "url")), `"`)
	with := func(scope string) string {
		return "Bearer " + g.Sign("at+jwt", g.Claims("ann", g.Gateway.URL, map[string]any{"scope": scope}))
	}
	answer := func(authorization string) reply {
		return send(t, newRequest(t, http.MethodPost, g.base+"/v1/asks/"+id+"/answer", `{"action":"accept","content":{}}`,
			"Authorization", authorization, "Content-Type", "application/json"))
	}
	for name, authorization := range map[string]string{
		"no scope": "Bearer " + g.token("ann"), "another scope": with("people:answers"), "a key": "Bearer " + annsKey,
	} {
		r := answer(authorization)
		challenge := r.header.Get("WWW-Authenticate")
		if r.status != http.StatusForbidden || !strings.Contains(challenge, `error="insufficient_scope"`) || !strings.Contains(challenge, `scope="people:answer"`) {
			t.Errorf("%s: %d %q %s", name, r.status, challenge, r.body)
		}
	}
	if r := answer(with("other people:answer")); r.status != http.StatusOK {
		t.Errorf("with the scope: %d %s", r.status, r.body)
	}
	m := s.Final()
	equal(t, "the answer", member(m, m.Result, "got"), `{"action":"accept","content":{}}`)
}
