package e2e

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/answerback/answerback/internal/wire"
	"github.com/answerback/answerback/test/rig"
)

// impersonators are others than ann, with good credentials of their own.
func impersonators(g *guarded) map[string]string {
	return map[string]string{
		"bob":                       g.token("bob"),
		"a robot":                   nobodysKey,
		"ann of nobody's key":       g.token("robot"),
		"somebody spelled like ann": g.token("Ann"),
	}
}

// TestAttackSessionOfAnother: whoever has the id of ann's session and is not
// ann can do nothing with it: it is to them as if it did not exist. Ann's
// session goes on.
func TestAttackSessionOfAnother(t *testing.T) {
	t.Parallel()
	b := newAsker(t)
	g := guard(t, "", "  one: { url: "+b.URL+" }\n")
	for at, address := range map[string]string{"joined": g.Gateway.URL, "solo": g.Gateway.URL + "/one"} {
		ann := rig.DialAs(t, address, rig.AllCaps, g.token("ann"))
		s := ann.Tool("ask", "{}")
		q := s.Next()
		id := string(q.Field(q.ID))
		head := func(more ...string) []string {
			return append([]string{"Mcp-Session-Id", ann.Session, "MCP-Protocol-Version", ann.Version}, more...)
		}
		attempts := map[string]func(h ...string) *http.Request{
			"a request": func(h ...string) *http.Request {
				return post(t, address, `{"jsonrpc":"2.0","id":8,"method":"ping"}`, head(h...)...)
			},
			"a call": func(h ...string) *http.Request {
				return post(t, address, `{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"echo"}}`, head(h...)...)
			},
			"an answer": func(h ...string) *http.Request {
				return post(t, address, `{"jsonrpc":"2.0","id":`+id+`,"result":{"action":"accept","content":{}}}`, head(h...)...)
			},
			"a refusal": func(h ...string) *http.Request {
				return post(t, address, `{"jsonrpc":"2.0","id":`+id+`,"error":{"code":1,"message":"no"}}`, head(h...)...)
			},
			"cancelling": func(h ...string) *http.Request {
				return post(t, address, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`, head(h...)...)
			},
			"the stream": func(h ...string) *http.Request { return stream(t, address, head(h...)...) },
			"replaying": func(h ...string) *http.Request {
				return stream(t, address, head(append(h, "Last-Event-ID", s.FirstID)...)...)
			},
			"the end":     func(h ...string) *http.Request { return newRequest(t, http.MethodDelete, address, "", head(h...)...) },
			"a new start": func(h ...string) *http.Request { return post(t, address, initialize, head(h...)...) },
		}
		calls := b.Count("tools/call")
		for who, token := range impersonators(g) {
			for what, attempt := range attempts {
				t.Run(at+"/"+what+" by "+who, func(t *testing.T) {
					r := send(t, attempt("Authorization", "Bearer "+token))
					made := send(t, func() *http.Request {
						r := attempt("Authorization", "Bearer "+token)
						r.Header.Set("Mcp-Session-Id", strings.Repeat("A", len(ann.Session)))
						return r
					}())
					if r.status != made.status || r.body != made.body || r.status < 400 {
						t.Errorf("got %d %s; with an id that is none %d %s", r.status, r.body, made.status, made.body)
					}
				})
			}
		}
		if n := b.Count("tools/call"); n != calls {
			t.Errorf("%d calls reached the backend", n-calls)
		}
		// The controls: what was attempted, by ann herself.
		for _, what := range []string{"a request", "a call", "the stream"} {
			if r := send(t, attempts[what]("Authorization", "Bearer "+g.token("ann"))); r.status != http.StatusOK {
				t.Errorf("control: %s by ann: %d %s", what, r.status, r.body)
			}
		}
		again := ann.Listen(s.FirstID)
		equal(t, "control: what ann's stream replays", string(again.Next().Raw), string(q.Raw))
		if r := send(t, attempts["an answer"]("Authorization", "Bearer "+g.token("ann"))); r.status != http.StatusAccepted {
			t.Errorf("control: ann's answer: %d %s", r.status, r.body)
		}
		m := again.Final()
		equal(t, "control: what ann answered", member(m, m.Result, "got"), `{"action":"accept","content":{}}`)
		if r := send(t, attempts["the end"]("Authorization", "Bearer "+g.token("ann"))); r.status >= 300 {
			t.Errorf("control: the end by ann: %d", r.status)
		}
	}
}

// TestAttackStateOfAnother: the requestState of ann's call is worth nothing to
// anybody else, who is told what they would be told of one that was made up.
func TestAttackStateOfAnother(t *testing.T) {
	t.Parallel()
	b := newAsker(t)
	g := guard(t, "", "  one: { url: "+b.URL+" }\n")
	ann := rig.NewClient(t, g.Gateway.URL+"/one")
	ann.Token = g.token("ann")
	m := call(ann, "ask")
	state, keys := inputs(t, m)
	given := answers(keys["elicitation/create"], `{"action":"accept","content":{}}`)
	for who, token := range impersonators(g) {
		t.Run(who, func(t *testing.T) {
			other := rig.NewClient(t, ann.URL)
			other.Token = token
			wantError(t, "ann's state", call(other, "ask", state, given), "-32602", "bad_request_state")
		})
	}
	if n := b.Count("tools/call"); n != 1 {
		t.Errorf("%d calls reached the backend", n)
	}
	m = call(ann, "ask", state, given)
	equal(t, "control: ann's own", member(m, m.Result, "got"), `{"action":"accept","content":{}}`)
}

// TestAttackTaskOfAnother: nor is the id of ann's task.
func TestAttackTaskOfAnother(t *testing.T) {
	t.Parallel()
	k := newKeeper(t)
	g := guard(t, "", "  one: { url: "+k.URL+" }\n")
	ann := rig.NewClient(t, g.Gateway.URL)
	ann.Token = g.token("ann")
	id := startTask(t, ann, "x")
	params := map[string]string{
		"tasks/get": `{"taskId":` + id + `}`, "tasks/cancel": `{"taskId":` + id + `}`,
		"tasks/update": `{"taskId":` + id + `,"inputResponses":{}}`,
	}
	for who, token := range impersonators(g) {
		other := rig.NewClient(t, ann.URL)
		other.Token = token
		for method, p := range params {
			t.Run(method+" by "+who, func(t *testing.T) {
				wantError(t, "ann's task", other.Modern("1", method, p, taskCaps).Final(), "-32602", "unknown_name")
			})
		}
		t.Run("subscriptions/listen by "+who, func(t *testing.T) {
			ack := other.Modern(`"s"`, "subscriptions/listen", `{"notifications":{"taskIds":[`+id+`]}}`, taskCaps).Next()
			if strings.Contains(string(ack.Raw), strings.Trim(id, `"`)) {
				t.Errorf("it is listened to: %s", ack.Raw)
			}
		})
	}
	for _, method := range []string{"tasks/get", "tasks/cancel", "tasks/update"} {
		if n := k.Count(method); n != 0 {
			t.Errorf("the backend got %d %s", n, method)
		}
		if m := ann.Modern("1", method, params[method], taskCaps).Final(); m.Kind != wire.Result {
			t.Errorf("control: %s by ann: %s", method, m.Raw)
		}
	}
}

// TestAttackPageOfAnother: bob, signed in, has the address of ann's ask and
// the tokens of her form. He gets what he would get had it never been, and
// every attempt is on record.
func TestAttackPageOfAnother(t *testing.T) {
	t.Parallel()
	b := newAsker(t)
	g := guard(t, "", "  one: { url: "+b.URL+" }\n")
	a := live(t, g)
	bob := g.signIn("bob")
	his := tokens(bob.get("/").body)
	none := a.ask[:len(a.ask)-6] + "AAAAAA"
	same := func(t *testing.T, r, unknown reply) {
		t.Helper()
		blank := func(r reply) string { return formToken.ReplaceAllString(r.body, "") }
		if r.status != http.StatusNotFound || unknown.status != r.status || blank(r) != blank(unknown) {
			t.Errorf("got %d %s\nand where there is none %d %s", r.status, r.body, unknown.status, unknown.body)
		}
		r.header.Del("Date")
		unknown.header.Del("Date")
		for name := range r.header {
			equal(t, name, r.header.Get(name), unknown.header.Get(name))
		}
	}
	recorded := strings.Count(g.Log(), "ask not_yours")
	t.Run("looking", func(t *testing.T) { same(t, bob.get(a.ask), bob.get(none)) })
	for name, token := range map[string]string{
		"ann's answer token": a.others["answer form token"], "ann's sign-out token": a.others["sign-out form token"],
		"his own sign-out token": his[0], "no token": "",
	} {
		for _, action := range []string{"accept", "decline", "cancel"} {
			t.Run(action+" with "+name, func(t *testing.T) {
				form := url.Values{"token": {token}, "action": {action}}
				same(t, bob.do(http.MethodPost, a.ask, form), bob.do(http.MethodPost, none, form))
			})
		}
	}
	if n := strings.Count(g.Log(), "ask not_yours") - recorded; n != 13 {
		t.Errorf("%d attempts are on record, want 13", n)
	}
	// The control, after the attacks that only ann's own session can make.
	for name, form := range map[string]url.Values{
		"no token":                     {"action": {"accept"}},
		"the token of another purpose": {"action": {"accept"}, "token": {a.others["sign-out form token"]}},
		"bob's token":                  {"action": {"accept"}, "token": his},
		"two tokens":                   {"action": {"accept"}, "token": {a.others["answer form token"], a.others["answer form token"]}},
		"the token of her ask id":      {"action": {"accept"}, "token": {a.others["ask id"]}},
	} {
		t.Run("a forged form with "+name, func(t *testing.T) {
			if r := a.browser.do(http.MethodPost, a.ask, form); r.status != http.StatusForbidden {
				t.Errorf("got %d %s", r.status, r.body)
			}
		})
	}
	for name, headers := range map[string][]string{
		"another site":    {"Origin", "https://evil.example", "Sec-Fetch-Site", "cross-site"},
		"a sibling site":  {"Origin", "http://127.0.0.1:1", "Sec-Fetch-Site", "same-site"},
		"no origin known": {"Origin", "null", "Sec-Fetch-Site", "cross-site"},
		"an old browser":  {"Origin", "https://evil.example"},
	} {
		t.Run("ann's form posted by "+name, func(t *testing.T) {
			form := url.Values{"action": {"accept"}, "token": {a.others["answer form token"]}}
			for _, path := range []string{a.ask, "/signout"} {
				req := newRequest(t, http.MethodPost, g.base+path, form.Encode(), append([]string{"Content-Type", "application/x-www-form-urlencoded"}, headers...)...)
				req.AddCookie(&http.Cookie{Name: sessionCookie, Value: a.browser.cookies[sessionCookie]})
				if r := send(t, req); r.status != http.StatusForbidden {
					t.Errorf("%s: %d %s", path, r.status, r.body)
				}
			}
		})
	}
	r := a.browser.do(http.MethodPost, a.ask, url.Values{"action": {"accept"}, "token": {a.others["answer form token"]}})
	if r.status != http.StatusOK || !strings.Contains(r.body, "on its way back") {
		t.Errorf("control: ann's own answer: %d %s", r.status, r.body)
	}
}
