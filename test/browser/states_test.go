//go:build browser

package browser

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/answerback/answerback/test/rig"
)

// ends checks the page that somebody gets who comes back to a question.
func ends(t *testing.T, v *tab, at, name string, words ...string) {
	t.Helper()
	p := v.open(at)
	if p.Status != http.StatusGone {
		t.Errorf("the page of an ended question has status %d", p.Status)
	}
	contains(t, p, words...)
	v.inspect(name)
}

// TestTwoPeopleRace: of two people who are asked together and answer at the
// same moment one is heard. The other is told so, and has back what they wrote.
func TestTwoPeopleRace(t *testing.T) {
	t.Parallel()
	s := newStage(t, "  ops: { url: "+asking(t, deployForm).URL+", answered_by: approvers }\n",
		"  groups:\n    approvers: { issuer: corp, claim: groups, value: approvers }\n")
	call := s.dial("bob", formCaps).Tool("deploy", "{}")
	s.gateway.WaitLog(t, "msg=\"ask asked\"")
	people, pages := map[string]*tab{}, make(chan page)
	at := ""
	for _, who := range []string{"ann", "cyn"} {
		v, p := s.signIn(who, "/")
		people[who] = v
		at = s.base + askOn(t, p)
		v.open(at)
		v.fill("Name", "from "+who)
		v.fill("Copies", "1")
	}
	for _, v := range people {
		go func() { pages <- v.press("Send answer") }()
	}
	won, lost := <-pages, <-pages
	if won.Status != http.StatusOK {
		won, lost = lost, won
	}
	contains(t, won, "Your answer is on its way back")
	contains(t, lost, "Somebody else has answered this question", "What you typed was not sent", "from ")
	heard := got(t, call.Final())
	for who, v := range people {
		if p := v.look(); p.Text == lost.Text {
			v.inspect("lost-race")
			contains(t, p, "from "+who)
		} else if !strings.Contains(heard, "from "+who) {
			t.Errorf("%s was told that the answer counts, which is %s", who, heard)
		}
	}
}

// TestExpired: when the time is up, what somebody then sends is not taken, and
// they have it back.
func TestExpired(t *testing.T) {
	t.Parallel()
	s := newStage(t, "  ops: { url: "+asking(t, deployForm).URL+" }\n", "asks: { timeout: 15s }\n")
	ann, at, _ := s.asked("ann", eyes{})
	ann.fill("Name", "typed too slowly")
	ann.fill("Copies", "3")
	ann.await("The time is up")
	s.gateway.WaitLog(t, "ending=expired")
	p := ann.press("Send answer")
	contains(t, p, "The time for this question ran out", "What you typed was not sent", "typed too slowly")
	ann.hold("expired-typed")
	ends(t, ann, at, "expired", "The time for this question ran out", "nothing was sent in your name")
}

// TestWithdrawn: a server that takes its question back is not answered.
func TestWithdrawn(t *testing.T) {
	t.Parallel()
	back := make(chan struct{})
	b := rig.NewBackend(t, map[string]rig.Script{"tools/call deploy": func(c *rig.Call) {
		c.Send(`{"jsonrpc":"2.0","id":"q1","method":"elicitation/create","params":` + deployForm + `}`)
		select {
		case <-back:
			c.Send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"q1"}}`)
			c.Result(`{"content":[]}`)
		case <-c.Context.Done():
		}
	}})
	b.LegacyOnly = true
	s := newStage(t, "  ops: { url: "+b.URL+" }\n")
	ann, at, call := s.asked("ann", eyes{})
	close(back)
	call.Final()
	ends(t, ann, at, "withdrawn", "This question was taken back", "Nothing was sent in your name")
}

// TestAbandoned: when the caller is gone, nobody is left to hear an answer.
func TestAbandoned(t *testing.T) {
	t.Parallel()
	s := newStage(t, "  ops: { url: "+asking(t, deployForm).URL+" }\n")
	ann, _ := s.signIn("ann", "/")
	c := s.dial("ann", formCaps)
	c.Tool("deploy", "{}").Next()
	at := s.base + askOn(t, ann.open(s.base+"/"))
	ann.open(at)
	c.Close()
	ends(t, ann, at, "abandoned", "This question was given up", "Nothing was sent in your name")
}

// TestUndeliverable: a server that is there and does not take the answer. The
// person is told so, and has back what they wrote.
func TestUndeliverable(t *testing.T) {
	t.Parallel()
	b := asking(t, deployForm)
	deaf := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || bytes.Contains(body, []byte(`"result"`)) {
			http.Error(w, "not now", http.StatusServiceUnavailable)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		b.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		deaf.CloseClientConnections()
		deaf.Close()
	})
	s := newStage(t, "  ops: { url: "+deaf.URL+"/mcp }\n")
	ann, at, _ := s.asked("ann", eyes{})
	ann.fill("Name", "typed in vain")
	ann.fill("Copies", "3")
	p := ann.press("Send answer")
	contains(t, p, "Your answer was taken, and could not be delivered", "typed in vain")
	ann.inspect("undeliverable")
	ends(t, ann, at, "undelivered", "The answer could not be delivered")
}

// TestSignedOutMeanwhile: somebody whose session ended while they typed is told
// how to send what they typed all the same, and that works.
func TestSignedOutMeanwhile(t *testing.T) {
	t.Parallel()
	s := newStage(t, "  ops: { url: "+asking(t, deployForm).URL+" }\n")
	ann, _, call := s.asked("ann", eyes{})
	ann.fill("Name", "typed before")
	ann.fill("Copies", "3")
	ann.do("signout", nil, nil)
	p := ann.press("Send answer")
	if p.Status != http.StatusUnauthorized {
		t.Errorf("what somebody sends who is signed out got status %d", p.Status)
	}
	contains(t, p, "You are signed out, and nothing was sent")
	ann.inspect("signed-out-meanwhile")
	_, p = ann.follow("Sign in, in a new tab")
	contains(t, p, "Where should it go?")
	p = ann.reload()
	contains(t, p, "Nothing was sent yet")
	equal(t, "what was typed", ann.value("Name"), "typed before")
	ann.inspect("too-old")
	contains(t, ann.press("Send answer"), "Your answer is on its way back")
	equal(t, "the answer", got(t, call.Final()), `{"action":"accept","content":{"copies":3,"loud":false,"name":"typed before"}}`)
}

// TestQuestionsOfAllKinds: what a question page looks like beside forms.
func TestQuestionsOfAllKinds(t *testing.T) {
	for name, q := range map[string]struct{ params, words string }{
		"bare":       {`{"message":"Delete the old release?","requestedSchema":{"type":"object","properties":{}}}`, "Yes"},
		"unshowable": {`{"message":"Where should it go?","requestedSchema":{"type":"object","properties":{"a":{"type":"object"}}}}`, "This form cannot be shown here"},
		"lookalike":  {`{"mode":"url","message":"Connect your account","url":"https://xn--pple-43d.com/connect","elicitationId":"e1"}`, "One word of it mixes Cyrillic and Latin letters, which is a way to imitate names. It looks like apple.com, and is another site."},
		"unsafe":     {`{"mode":"url","message":"Connect your account","url":"http://example.com/connect","elicitationId":"e1"}`, "Do not open this address"},
		"long": {`{"message":"` + strings.Repeat("Please read all of this with care before you answer. ", 60) + `","requestedSchema":{"type":"object","properties":{"a":{"type":"string","title":"` +
			strings.Repeat("Donaudampfschifffahrtsgesellschaft", 3) + `"}}}}`, "Show all of it"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, "  ops: { url: "+asking(t, q.params).URL+", form_schema: pass }\n")
			ann, _, _ := s.asked("ann", eyes{})
			contains(t, ann.look(), q.words)
			ann.inspect(name)
		})
	}
}

// TestInboxIsLive: a question that comes while the list is open appears in it,
// and goes when it is over, without a reload; the focus stays where it was.
func TestInboxIsLive(t *testing.T) {
	t.Parallel()
	s := newStage(t, "  ops: { url: "+asking(t, deployForm).URL+" }\n")
	ann, p := s.signInWith("ann", "/", eyes{clock: true})
	contains(t, p, "Nothing is waiting for you")
	c := s.dial("ann", formCaps)
	call := c.Tool("deploy", "{}")
	q := call.Next()
	c.Tool("deploy", "{}").Next()
	ann.pass(20 * time.Second)
	ann.await("2 questions are waiting for you")
	ann.inspect("inbox-two")
	c.Answer(q, `{"action":"decline"}`)
	call.Final()
	ann.pass(20 * time.Second)
	ann.await("1 question is waiting for you")
}

// TestChoosingWhereToSignIn: with two providers, people choose.
func TestChoosingWhereToSignIn(t *testing.T) {
	t.Parallel()
	other, err := home(t).provider("localhost")
	if err != nil {
		t.Fatal(err)
	}
	s := newStage(t, "  ops: { url: "+asking(t, deployForm).URL+" }\n",
		"    other: { url: \""+other+"\", scopes: [mcp], client_id: answerback, client_secret: "+clientSecret+" }\n")
	v := s.person("ann", eyes{})
	contains(t, v.open(s.base+"/"), "Choose where you have your account", strings.TrimPrefix(other, "http://"))
	v.inspect("choose")
	p := v.click("Continue with " + strings.TrimPrefix(other, "http://"))
	equal(t, "the next page", p.Title, "Log in")
}

// TestTooManyAttempts: whoever sends what does not fit is warned before the
// last time, and then the question is over.
func TestTooManyAttempts(t *testing.T) {
	t.Parallel()
	s := newStage(t, "  ops: { url: "+asking(t, defined(releaseQuestion, `{"id":"f","title":"F","fields":[{"id":"name","type":"text","label":"Release name","required":true,"validation":{"pattern":"^[a-z]+$"},"rendering":{"helpText":"Small letters."}}]}`)).URL+" }\n")
	ann, at, _ := s.asked("ann", eyes{})
	ann.fill("Release name", "NOT SO")
	contains(t, ann.press("Send answer"), "One thing needs another look")
	contains(t, ann.press("Send answer"), "One thing needs another look")
	contains(t, ann.press("Send answer"), "Check everything before you send it again.")
	ann.inspect("last-attempt")
	contains(t, ann.press("Send answer"), "too many answers that did not fit", "NOT SO")
	ends(t, ann, at, "too-many", "too many answers that did not fit", "nothing was sent in your name")
}
