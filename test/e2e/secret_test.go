package e2e

import (
	"maps"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/answerback/answerback/internal/wire"
	"github.com/answerback/answerback/test/rig"
)

const (
	typedPassword = "canary-password-5ca1ab1e"
	passwordForm  = `{"message":"Sign in to the registry","requestedSchema":{"type":"object","properties":{"user":{"type":"string"},"age":{"type":"integer"},"password":{"type":"string"}},"required":["user","age","password"]}}`
)

// formAsker is a backend whose tool asks with these parameters, and gives back
// what it was answered.
func formAsker(t testing.TB, params string) *rig.Backend {
	return rig.NewBackend(t, map[string]rig.Script{"tools/call ask": func(c *rig.Call) {
		a := c.Ask(c.ID(), "elicitation/create", params)
		if a.Kind == wire.Failure {
			c.Result(`{"error":` + string(a.Field(a.Error)) + `}`)
			return
		}
		c.Result(`{"action":` + member(a, a.Result, "action") + `}`)
	}})
}

// signInThrough has a person answer a form that asks for a password, through a
// client that can show forms. It gives everything that was shown or kept
// anywhere, but what the backend got.
func signInThrough(t *testing.T, start func(testing.TB, string) *rig.Gateway) map[string]string {
	t.Helper()
	b := formAsker(t, passwordForm)
	b.LegacyOnly = true
	g := start(t, durable+"log: { level: debug }\nbackends:\n  one: { url: "+b.URL+" }\n")
	person := rig.SignIn(t, g)
	c := rig.Dial(t, g.URL+"/one", rig.AllCaps)
	heard := &strings.Builder{}
	s := c.Tool("ask", "{}")
	q := s.Next()
	heard.Write(q.Raw)
	if member(q, q.Params, "mode") != `"url"` || strings.Contains(string(q.Raw), "requestedSchema") {
		t.Errorf("the client was asked %s", q.Raw)
	}
	page := askPath.FindString(member(q, q.Params, "url"))
	// A client that answers in the person's place is not believed.
	c.Answer(q, `{"action":"accept","content":{"user":"eve","age":1,"password":"guess"}}`)
	status, bodies := person.Answer(page, url.Values{"action": {"accept"}, "f0": {"ann"}, "f1": {"old"}, "f2": {typedPassword}})
	if status != 422 {
		t.Errorf("an answer that does not fit: %d", status)
	}
	status, body := person.Answer(page, url.Values{"action": {"accept"}, "f0": {"ann"}, "f1": {"42"}, "f2": {typedPassword}})
	if status != 200 {
		t.Fatalf("the answer: %d %s", status, body)
	}
	bodies += body
	for {
		m := s.Next()
		heard.Write(m.Raw)
		if m.Kind == wire.Result {
			equal(t, "the result", member(m, m.Result, "action"), `"accept"`)
			break
		}
	}
	_, body = person.Do("GET", page, nil)
	bodies += body
	want := `"content":{"user":"ann","age":42,"password":"` + typedPassword + `"}`
	if got := b.Received(func(r rig.Received) bool { return strings.Contains(r.Raw, want) }); len(got) != 1 {
		t.Errorf("the backend received the password %d times", len(got))
	}
	audit := ""
	rig.Eventually(t, func() bool {
		_, audit, _ = rig.RunAll(t, "audit", "--config", g.File)
		return strings.Contains(audit, `"asks_for_secret"`) && strings.Contains(audit, `"settled"`)
	}, "the audit does not note what was asked")
	if err := g.Stop(); err != nil {
		t.Error(err)
	}
	return map[string]string{
		"log": g.Log(), "audit": audit, "pages": bodies, "client": heard.String(),
		"data directory": files(t, filepath.Join(filepath.Dir(g.File), "data")),
	}
}

// TestCanaryPassword: a form that asks for a password never reaches the client,
// although it can show forms; the backend gets what was typed, and nobody else
// does (A6, F18). TestPlantedLeakIsFound shows that the search can find it.
func TestCanaryPassword(t *testing.T) {
	t.Parallel()
	secrets := canaries{"password": typedPassword}
	shown := signInThrough(t, rig.Start)
	for _, where := range slices.Sorted(maps.Keys(shown)) {
		if found := secrets.find(shown[where]); len(found) > 0 {
			t.Errorf("the password is in the %s: %s", where, lines(shown[where], secrets))
		}
		if found := secrets.find(shown[where] + typedPassword); len(found) != 1 {
			t.Errorf("control: at the end of the %s it was not found", where)
		}
	}
}

// TestSecretForms: what becomes of forms that ask for a secret, by the rule of
// their backend and what there is to show them on (A6).
func TestSecretForms(t *testing.T) {
	t.Parallel()
	const inline = `{"mode":"inline","prompt":"Enter API key:"}`
	const formsOnly = `{"elicitation":{"form":{}}}`
	const nested = `{"message":"m","requestedSchema":{"type":"object","properties":{"login":{"type":"object","properties":{"password":{"type":"string"}}}}}}`
	for _, k := range []struct{ name, rules, caps, params, reason string }{ // "" for a link
		{"to its page", "", rig.AllCaps, passwordForm, ""},
		{"refused by rule", ", secrets: refuse", rig.AllCaps, passwordForm, "asks_for_secret"},
		{"no page to go to", "", formsOnly, passwordForm, "asks_for_secret"},
		{"a prompt to its page", "", rig.AllCaps, inline, ""},
		{"a prompt refused by rule", ", secrets: refuse", rig.AllCaps, inline, "asks_for_secret"},
		{"a prompt without a page", "", formsOnly, inline, "asks_for_secret"},
		{"inside another object", ", form_schema: pass", formsOnly, nested, "asks_for_secret"},
	} {
		t.Run(k.name, func(t *testing.T) {
			b := formAsker(t, k.params)
			b.LegacyOnly = true
			g := rig.Start(t, "backends:\n  one: { url: "+b.URL+k.rules+" }\n")
			s := rig.Dial(t, g.URL, k.caps).Tool("ask", "{}")
			m := s.Next()
			if k.reason == "" {
				if m.Kind != wire.Request || member(m, m.Params, "mode") != `"url"` || strings.Contains(string(m.Raw), "requestedSchema") {
					t.Errorf("the client got %s", m.Raw)
				}
				return
			}
			if m.Kind != wire.Result || !strings.Contains(string(m.Raw), `"reason":"`+k.reason+`"`) || !strings.Contains(string(m.Raw), `"code":-32602`) {
				t.Errorf("the client got %s", m.Raw)
			}
		})
	}
}

// TestFormSchemas: a form outside MCP's subset is rejected, noted or passed,
// by the rule of its backend (A5).
func TestFormSchemas(t *testing.T) {
	t.Parallel()
	const odd = `{"message":"m","requestedSchema":{"type":"object","properties":{"a":{"type":"object","properties":{"b":{"type":"string"}}}}}}`
	for _, k := range []struct {
		rules        string
		asked, noted bool
	}{
		{"", false, false},
		{", form_schema: reject", false, false},
		{", form_schema: warn", true, true},
		{", form_schema: pass", true, false},
	} {
		t.Run(k.rules, func(t *testing.T) {
			b := formAsker(t, odd)
			b.LegacyOnly = true
			g := rig.Start(t, "backends:\n  one: { url: "+b.URL+k.rules+" }\n")
			c := rig.Dial(t, g.URL, rig.AllCaps)
			s := c.Tool("ask", "{}")
			m := s.Next()
			if asked := m.Kind == wire.Request; asked != k.asked {
				t.Fatalf("the client got %s", m.Raw)
			}
			if !k.asked {
				if !strings.Contains(string(m.Raw), `"code":-32602`) || !strings.Contains(string(m.Raw), `"reason":"bad_schema"`) {
					t.Errorf("the backend was told %s", m.Raw)
				}
				return
			}
			equal(t, "the parameters", string(m.Field(m.Params)), odd)
			c.Answer(m, `{"action":"decline"}`)
			s.Final()
			audit := ""
			rig.Eventually(t, func() bool {
				_, audit, _ = rig.RunAll(t, "audit", "--config", g.File)
				return strings.Contains(audit, `"settled"`)
			}, "the audit is empty")
			if noted := strings.Contains(audit, `"bad_schema"`) && strings.Contains(g.Log(), "a form that MCP does not allow"); noted != k.noted {
				t.Errorf("noted: %t\n%s\n%s", noted, audit, g.Log())
			}
		})
	}
}

// TestInlineMode: the older inline mode is a form of one text, and its answer
// is in content.value (F21).
func TestInlineMode(t *testing.T) {
	t.Parallel()
	got := make(chan string, 2)
	b := rig.NewBackend(t, map[string]rig.Script{"tools/call ask": func(c *rig.Call) {
		a := c.Ask(c.ID(), "elicitation/create", `{"mode":"inline","prompt":"Which city?"}`)
		got <- string(a.Field(a.Result))
		c.Result("{}")
	}})
	doors(t, b, "", func(t *testing.T, d door, _ *rig.Gateway) {
		c := rig.DialVersion(t, d.URL, rig.AllCaps, "2025-06-18")
		s := c.Tool(d.Prefix+"ask", "{}")
		q := s.Next()
		equal(t, "the message", member(q, q.Params, "message"), `"Which city?"`)
		equal(t, "the schema", member(q, q.Params, "requestedSchema"), `{"type":"object","properties":{"value":{"type":"string","title":"Answer"}},"required":["value"]}`)
		equal(t, "the mode", member(q, q.Params, "mode"), "")
		c.Answer(q, `{"action":"accept","content":{"value":"Oslo"}}`)
		s.Final()
		equal(t, "the answer", <-got, `{"action":"accept","content":{"value":"Oslo"}}`)
	})
}

// TestApartBetweenModernPeers: what a client may not show itself is taken out
// of its hands between two modern peers too: a secret goes to its page, and a
// form of our own is shown as MCP has it (A6, F14). The server's tool runs in
// as many rounds as it would have taken with the client alone.
func TestApartBetweenModernPeers(t *testing.T) {
	t.Parallel()
	for name, params := range map[string]string{"secret": passwordForm, "definition": deployForm} {
		t.Run(name, func(t *testing.T) {
			b := rig.NewBackend(t, map[string]rig.Script{"tools/call": func(c *rig.Call) {
				if answers := wire.Get(c.Msg.Raw, c.Msg.Params, "inputResponses"); !answers.IsZero() {
					equal(t, "the backend's state", c.Msg.Text(c.Msg.RequestState), "mine")
					c.Result(`{"resultType":"complete","got":` + string(answers.Of(c.Msg.Raw)) + `}`)
					return
				}
				c.Result(`{"resultType":"input_required","requestState":"mine","inputRequests":{"k":{"method":"elicitation/create","params":` + params + `}}}`)
			}})
			b.ModernOnly = true
			doors(t, b, "", func(t *testing.T, d door, g *rig.Gateway) {
				c := rig.NewClient(t, d.URL)
				call := func(id, rest string) wire.Message {
					return c.Modern(id, "tools/call", `{"name":"`+d.Prefix+`x","arguments":{}`+rest+`}`, `{"elicitation":{"form":{},"url":{}}}`).Final()
				}
				m := call("1", "")
				asked := string(m.Field(m.InputRequests))
				answer, want := `{"action":"accept"}`, `{"k":{"action":"accept","content":{"user":"ann","age":42,"password":"`+typedPassword+`"}}}`
				if name == "secret" {
					if !strings.Contains(asked, `"mode":"url"`) || strings.Contains(asked, "requestedSchema") {
						t.Fatalf("the client was asked %s", asked)
					}
					person := rig.SignIn(t, g)
					if status, body := person.Answer(askPath.FindString(asked), url.Values{"action": {"accept"}, "f0": {"ann"}, "f1": {"42"}, "f2": {typedPassword}}); status != 200 {
						t.Fatalf("the answer: %d %s", status, body)
					}
				} else {
					if !strings.Contains(asked, `"requestedSchema":{"type":"object"`) || strings.Contains(asked, "formDefinition") {
						t.Fatalf("the client was asked %s", asked)
					}
					answer, want = `{"action":"accept","content":{"region":"eu"}}`, `{"k":{"action":"accept","content":{"region":"eu","port":8080}}}`
				}
				m = call("2", `,"inputResponses":{"q1":`+answer+`},"requestState":`+string(m.Field(m.ResultState)))
				equal(t, "the result", member(m, m.Result, "got"), want)
				if n := b.Count("tools/call"); n != 2 && n != 4 { // of both doors
					t.Errorf("the tool was called %d times", n)
				}
			})
		})
	}
}
