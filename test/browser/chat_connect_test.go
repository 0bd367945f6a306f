//go:build browser

package browser

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/answerback/answerback/test/rig"
)

// TestConnectOnTheEventStream: ann's front end calls a server that knows
// nobody. Its stream brings a link; ann signs in at a third party and agrees
// there, and the same stream brings the result of a call that ran once.
func TestConnectOnTheEventStream(t *testing.T) {
	t.Parallel()
	b, at := protected(t)
	s := newStage(t, "  board: { url: "+at+", grant: { kind: oauth } }\n")
	ann, _ := s.signIn("ann", "/")
	front := rig.NewFront(t, s.gateway, "X-Supports-Elicitation", "true", "Authorization", "Bearer "+s.token("ann"))
	call := front.Call("board", `{"name":"search","arguments":{},"client":"Example Chat"}`)
	q := call.Until("elicitation-request")
	equal(t, "the question", fmt.Sprint(q["mode"], " ", q["backend"], " ", q["tool"]), "url board search")
	if status, text := front.Say("POST", "/calls/"+call.ID+"/respond", fmt.Sprintf(`{"id":%q,"action":"accept"}`, q["id"])); status != http.StatusOK {
		t.Errorf("that she agreed got %d %s", status, text)
	}
	contains(t, ann.open(fmt.Sprint(q["url"])), "board", "Example Chat", "search", "127.0.0.2")
	s.logInAndAllow(ann, "ann", b)
	equal(t, "the result", fmt.Sprint(call.Until("tool-result").Path("result", "content")), "[map[text:found by u-ann type:text]]")
	types := call.Rest()
	slices.Sort(types) // whether it was settled or completed first, nobody minds
	equal(t, "the events", fmt.Sprint(types), "[call-started elicitation-complete elicitation-request elicitation-settled tool-result]")
	equal(t, "the runs", fmt.Sprint(b.Count("tools/call")), "1")
}

// logInAndAllow has somebody go on from the gateway's page, log in at the third
// party and agree there, before which the server runs nothing.
func (s *stage) logInAndAllow(v *tab, who string, b *rig.Backend) {
	s.t.Helper()
	s.goOn(v)
	v.fill("Name", who)
	v.fill("Password", who+"-password")
	contains(s.t, v.press("Log in"), "Allow Answerback?")
	equal(s.t, "the runs without an account", fmt.Sprint(b.Count("tools/call")), "0")
	contains(s.t, v.press("Allow"), "Your account is connected", "What was waiting for it goes on now")
}

// TestChatConnectsAnAccount: the example page, on an origin of its own, leads
// bob to the gateway's page in a window of its own. He closes it, is told so,
// opens it again, signs in at both providers and agrees, and the same call
// returns its result, having run once.
func TestChatConnectsAnAccount(t *testing.T) {
	t.Parallel()
	front := httptest.NewServer(http.FileServer(http.Dir("../..")))
	t.Cleanup(front.Close)
	b, at := protected(t)
	s := newStage(t, "  board: { url: "+at+", grant: { kind: oauth } }\n", "allowed_origins: [\""+front.URL+"\"]\n")
	bob := s.person("bob", eyes{})
	bob.open(front.URL + "/examples/chat/index.html?backend=board&tool=search&gateway=" + url.QueryEscape(s.base) + "#" + s.token("bob"))
	bob.fill("Your message, or the tool's arguments as JSON", "what is new?")
	bob.tap("Send")
	bob.await("board asks")
	bob.await("It opens " + strings.TrimPrefix(s.base, "http://") + ".")
	pictured(bob, "chat-account")
	bob.keep("chat-account-390.png")
	connect := func(as string) *tab {
		popup := &tab{bob.t, bob.d, bob.name, bob.id + as}
		bob.see("follow", map[string]any{"role": "button", "name": "Connect", "as": popup.id})
		popup.await("Log in")
		return popup
	}
	connect("'s first window").do("shut", nil, nil)
	bob.await("The window was closed, or cannot be watched. Go on there, or connect again.")

	popup := connect("'s second window")
	popup.fill("Name", "bob")
	popup.fill("Password", "bob-password")
	contains(t, popup.press("Log in"), "board", "Chat with a tool", "search", "127.0.0.2")
	s.logInAndAllow(popup, "bob", b)
	popup.do("shut", nil, nil)
	bob.await("found by u-bob")
	equal(t, "the runs", fmt.Sprint(b.Count("tools/call")), "1")
	pictured(bob, "chat-account-connected")
	bob.keep("chat-account-connected-390.png")
}
