//go:build browser

package browser

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/answerback/answerback/internal/wire"
	"github.com/answerback/answerback/test/rig"
)

const (
	formCaps = `{"elicitation":{"form":{},"url":{}}}`
	linkCaps = `{"elicitation":{"url":{}}}`
)

// asking is a backend whose tool deploy asks a question and gives back what it
// was answered. It waits as long as people take.
func asking(t *testing.T, params string) *rig.Backend {
	b := rig.NewBackend(t, map[string]rig.Script{"tools/call deploy": func(c *rig.Call) {
		id := c.ID()
		answer := c.Expect(id)
		c.Send(`{"jsonrpc":"2.0","id":` + id + `,"method":"elicitation/create","params":` + params + `}`)
		select {
		case a := <-answer:
			c.Result(`{"content":[],"got":` + string(a.Field(a.Result)) + `}`)
		case <-c.Context.Done():
		}
	}})
	b.LegacyOnly = true
	return b
}

// got is what the backend says that it was answered, with members in the order
// of their names.
func got(t testing.TB, m wire.Message) string {
	t.Helper()
	var answer any
	if err := json.Unmarshal([]byte(member(m, m.Result, "got")), &answer); m.Kind != wire.Result || err != nil {
		t.Fatalf("the call failed: %s", m.Raw)
	}
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(answer); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(b.String())
}

func member(m wire.Message, obj wire.Span, key string) string {
	return string(wire.Get(m.Raw, obj, key).Of(m.Raw))
}

func equal(t testing.TB, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s:\n got %s\nwant %s", what, got, want)
	}
}

// TestFormIsAnsweredOnItsPage: ann's client is asked, and ann answers in a
// browser. The call ends with what she typed there, and her client is told
// that the question is over.
func TestFormIsAnsweredOnItsPage(t *testing.T) {
	t.Parallel()
	s := newStage(t, "  ops: { url: "+asking(t, deployForm).URL+" }\n")
	c := s.dial("ann", formCaps)
	call := c.Tool("deploy", "{}")
	q := call.Next()

	ann, p := s.signIn("ann", "/")
	contains(t, p, "1 question is waiting for you", "Where should it go?", "Ann Example")
	ann.hold("inbox")
	p = ann.click("Answer Where should it go?")
	contains(t, p, "ops is asking", "deploy", "Where should it go?")
	ann.hold("form")

	// What the script sees to be wrong is not sent, and is no attempt.
	for range 5 {
		ann.tap("Send answer")
	}
	contains(t, ann.look(), "Fill this in: it is needed.")
	ann.hold("form-problems")
	if strings.Contains(s.gateway.Log(), "ask attempted") {
		t.Error("what the script sees to be wrong uses up attempts")
	}

	ann.fill("Name", "Zoë <b>&")
	ann.check("production")
	ann.fill("Copies", "3")
	ann.check("Tell everybody")
	p = ann.press("Send answer")
	contains(t, p, "Your answer is on its way back")
	ann.inspect("answered")

	over := call.Next()
	equal(t, "the client hears", over.Method()+member(over, over.Params, "requestId"), "notifications/cancelled"+string(q.Field(q.ID)))
	equal(t, "the answer", got(t, call.Final()), `{"action":"accept","content":{"copies":3,"loud":true,"name":"Zoë <b>&","place":"production"}}`)

	p = ann.click("Back to your questions")
	contains(t, p, "Nothing is waiting for you")
	ann.inspect("inbox-empty")
}

// TestDeclineAndCancelReachTheServer, each as what it is.
func TestDeclineAndCancelReachTheServer(t *testing.T) {
	t.Parallel()
	s := newStage(t, "  ops: { url: "+asking(t, deployForm).URL+" }\n")
	c := s.dial("ann", formCaps)
	ann, _ := s.signIn("ann", "/")
	for button, end := range map[string]struct{ action, words string }{
		"Decline": {"decline", "You declined"},
		"Not now": {"cancel", "You left this for now"},
	} {
		call := c.Tool("deploy", "{}")
		call.Next()
		p := ann.open(s.base + "/")
		ann.open(s.base + askOn(t, p))
		ann.fill("Name", "typed and not sent")
		contains(t, ann.press(button), end.words)
		ann.inspect(end.action)
		equal(t, button, got(t, call.Final()), `{"action":"`+end.action+`"}`)
	}
}

// TestFormBehindALink: a client that can only show links gets the link to the
// question's page. Its consent is no answer; what is answered on the page is,
// and then the client hears that the page is done with.
func TestFormBehindALink(t *testing.T) {
	t.Parallel()
	b := asking(t, deployForm)
	s := newStage(t, "  ops: { url: "+b.URL+" }\n")
	c := s.dial("ann", linkCaps)
	call := c.Tool("deploy", "{}")
	q := call.Next()
	equal(t, "what the client is asked", q.Method()+member(q, q.Params, "mode")+member(q, q.Params, "message"), `elicitation/create"url""Where should it go?"`)
	link, _ := wire.Unquote([]byte(member(q, q.Params, "url")))
	path, ours := strings.CutPrefix(link, s.base)
	if !ours {
		t.Fatalf("the link leads to %s", link)
	}
	c.Answer(q, `{"action":"accept"}`)

	ann, p := s.signIn("ann", path)
	contains(t, p, "Where should it go?")
	ann.fill("Name", "n")
	ann.fill("Copies", "1")
	ann.press("Send answer")

	done := call.Next()
	equal(t, "the client hears", done.Method()+member(done, done.Params, "elicitationId"), "notifications/elicitation/complete"+member(q, q.Params, "elicitationId"))
	equal(t, "the answer", got(t, call.Final()), `{"action":"accept","content":{"copies":1,"loud":false,"name":"n"}}`)
	p = ann.open(link)
	if p.Status != http.StatusGone {
		t.Errorf("the page of an ended question has status %d", p.Status)
	}
	contains(t, p, "You have answered this question")
	ann.inspect("ended")
}

// TestAddressIsShownAndOpened: where a server wants a page of its own opened,
// the person sees the address, goes there in another tab, which learns nothing
// of where they came from, and says so.
func TestAddressIsShownAndOpened(t *testing.T) {
	t.Parallel()
	came := make(chan *http.Request, 8)
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/connect" {
			came <- r
		}
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte(`<title>Connect</title><link rel="icon" href="data:,"><script>document.title += window.opener ? ' opened' : ' alone'</script>`))
	}))
	t.Cleanup(site.Close)
	// Cookies know no ports: under a name of its own this is another site than
	// the gateway and the provider.
	host := strings.Replace(strings.TrimPrefix(site.URL, "http://"), "127.0.0.1", "connect.localhost", 1)
	address := "http://" + host + "/connect?to=ops"
	b := asking(t, `{"mode":"url","message":"Connect your account","url":"`+address+`","elicitationId":"e1"}`)
	s := newStage(t, "  ops: { url: "+b.URL+" }\n")
	c := s.dial("ann", formCaps)
	call := c.Tool("deploy", "{}")
	call.Next()

	ann, p := s.signIn("ann", "/")
	p = ann.open(s.base + askOn(t, p))
	contains(t, p, address, "Connect your account")
	ann.inspect("address")
	_, p = ann.follow("Open " + host + " in a new tab")
	equal(t, "the site", p.URL+" "+p.Title, address+" Connect alone")
	r := <-came
	for _, name := range []string{"Referer", "Cookie", "Origin", "Authorization"} {
		if v := r.Header.Get(name); v != "" {
			t.Errorf("the site is told %s: %s", name, v)
		}
	}
	contains(t, ann.press("I opened it, go on"), "Your answer is on its way back", "told that you went to "+host)
	equal(t, "the answer", got(t, call.Final()), `{"action":"accept"}`)
}
