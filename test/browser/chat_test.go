//go:build browser

package browser

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/answerback/answerback/internal/wire"
	"github.com/answerback/answerback/test/rig"
)

// TestChatExample: the example page, on an origin of its own, calls a tool
// through the event stream, shows its form and what is wrong with an answer,
// connects an account in a window of its own, and notices that it was closed.
func TestChatExample(t *testing.T) {
	front := httptest.NewServer(http.FileServer(http.Dir("../..")))
	t.Cleanup(front.Close)
	account := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, `<!doctype html><link rel="icon" href="data:,"><title>Connect</title><p>Your account is connected.`)
	}))
	t.Cleanup(account.Close)
	connected := make(chan struct{})
	b := rig.NewBackend(t, map[string]rig.Script{
		"tools/call deploy": func(c *rig.Call) {
			a := ask(c, deployForm)
			c.Result(said("Deployed for " + string(c.Msg.Field(c.Msg.Arguments)) + ": " + string(a.Field(a.Result))))
		},
		"tools/call mail": func(c *rig.Call) {
			a := ask(c, `{"mode":"url","message":"Connect your mail","url":"`+account.URL+`/connect","elicitationId":"e"}`)
			select {
			case <-connected:
			case <-c.Context.Done():
			}
			c.Result(said("You have no mail: " + string(a.Field(a.Result))))
		},
	})
	s := &stage{t: t}
	s.start("allowed_origins: [\"" + front.URL + "\"]\nbackends:\n  one: { url: " + b.URL + " }\n")
	page := func(origin, tool string) string {
		return origin + "/examples/chat/index.html?backend=one&tool=" + tool + "&gateway=" + url.QueryEscape(s.base)
	}
	const message = "Your message, or the tool's arguments as JSON"

	ann := s.person("ann", eyes{})
	ann.open(page(front.URL, "deploy"))
	ann.fill(message, "go")
	ann.tap("Send")
	ann.await("Where should it go?")
	pictured(ann, "chat-form")
	ann.fill("Name", "web")
	ann.fill("Copies", "12")
	ann.tap("Send answer")
	ann.await("must be 9 or less")
	for _, fault := range ann.faults() {
		if !strings.Contains(fault, "422") {
			t.Errorf("the console: %s", fault)
		}
	}
	pictured(ann, "chat-wrong")
	ann.fill("Copies", "3")
	ann.tap("Send answer")
	ann.await(`Deployed for {"message":"go"}: {"action":"accept","content":{"name":"web","place":"staging","copies":3,"loud":false}}`)

	ann.open(page(front.URL, "mail"))
	ann.fill(message, "read")
	ann.tap("Send")
	ann.await("Connect your mail")
	ann.await("It opens 127.0.0.1:")
	pictured(ann, "chat-connect")
	popup := &tab{ann.t, ann.d, ann.name, ann.id + "'s account"}
	ann.see("follow", map[string]any{"role": "button", "name": "Connect", "as": popup.id})
	popup.await("Your account is connected.")
	popup.do("shut", nil, nil)
	ann.await("The window was closed.")
	close(connected)
	ann.await(`You have no mail: {"action":"accept"}`)
	pictured(ann, "chat-connected")

	// The same page on an origin that is not allowed gets nothing.
	other := httptest.NewServer(http.FileServer(http.Dir("../..")))
	t.Cleanup(other.Close)
	eve := s.person("eve", eyes{})
	eve.open(page(other.URL, "deploy"))
	eve.fill(message, "go")
	calls := b.Count("tools/call")
	eve.tap("Send")
	rig.Eventually(t, func() bool { return strings.Contains(strings.Join(eve.faults(), "\n"), "CORS") }, "the browser did not refuse the other origin")
	if n := b.Count("tools/call"); n != calls {
		t.Errorf("%d calls of another origin reached the server", n-calls)
	}
	eve.open("about:blank") // it would try again
	eve.faults()
}

// ask puts a question on a call's stream and waits as long as people take.
func ask(c *rig.Call, params string) wire.Message {
	id := c.ID()
	answer := c.Expect(id)
	c.Send(`{"jsonrpc":"2.0","id":` + id + `,"method":"elicitation/create","params":` + params + `}`)
	select {
	case a := <-answer:
		return a
	case <-c.Context.Done():
		return wire.Message{}
	}
}

func said(text string) string {
	raw, _ := json.Marshal(text)
	return `{"content":[{"type":"text","text":` + string(raw) + `}]}`
}

// pictured keeps pictures of a page, and holds it to what every page is held
// to, but for its words: they have times and ports in them.
func pictured(v *tab, name string) {
	v.t.Helper()
	var seen struct{ Faults []string }
	v.do("inspect", map[string]any{"name": name}, &seen)
	for _, fault := range seen.Faults {
		v.t.Errorf("the page %s: %s", name, fault)
	}
}
