package page

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/answerback/answerback/ask"
)

func TestPageOfAQuestionWithoutFields(t *testing.T) {
	k := newKit(t, plainAsk())
	p := k.get("/asks/ask1", "ada")
	p.want(200)
	p.says("deploy-server", "is asking, for the tool", "create_release", "40 seconds ago", "Delete 14 stale branches?",
		"4 minutes left, until 14:32 UTC", "Name of ada", "Sign out", "Yes", "Decline", "Not now")
	if got := strings.Join(p.buttons(), " "); got != "accept decline cancel" {
		t.Errorf("buttons %s", got)
	}
	if got := p.root.all("h1")[0].text(); got != "Delete 14 stale branches?" {
		t.Errorf("heading %q", got)
	}
	if got := p.root.all("title")[0].text(); got != "Question from deploy-server · Answerback" {
		t.Errorf("title %q", got)
	}
	for _, f := range p.root.all("form") {
		if f.attr["action"] == "/signout" && f.all("input")[0].attr["value"] != (hashGuard{}).Token("session of ada", PurposeSignOut) {
			t.Error("the form for signing out lacks its token")
		}
	}
}

func TestAcceptDeclineAndCancelStayThreeThings(t *testing.T) { // A9
	for _, tt := range []struct {
		press  string
		action ask.Action
		result string
		says   string
	}{
		{"accept", ask.Accept, `{"action":"accept","content":{}}`, "Your answer is on its way back"},
		{"decline", ask.Decline, `{"action":"decline"}`, "You declined"},
		{"cancel", ask.Cancel, `{"action":"cancel"}`, "You left this for now"},
	} {
		k := newKit(t, plainAsk())
		p := k.press("ask1", "ada", tt.press, nil)
		p.want(200)
		p.says(tt.says, "deploy-server")
		k.wantSent(tt.action, tt.result)
		p = k.get("/asks/ask1", "ada")
		p.want(410)
		p.says("no longer open")
	}
}

func TestWhoAsksIsSaidInEveryCase(t *testing.T) {
	for _, tt := range []struct {
		during, name, want string
	}{
		{"tools/call", "t", "is asking, for the tool t."},
		{"prompts/get", "p", "is asking, for the prompt p."},
		{"resources/read", "file:///x", "is asking, for the resource file:///x."},
		{"tools/call", "", "deploy-server is asking."},
		{"", "t", "deploy-server is asking."},
	} {
		a := plainAsk()
		a.During, a.Name = tt.during, tt.name
		newKit(t, a).get("/asks/ask1", "ada").says(tt.want)
	}
	a := plainAsk()
	a.Backend = ""
	newKit(t, a).get("/asks/ask1", "ada").says("A server without a name is asking")
}

func TestQuestionForAGroup(t *testing.T) {
	a := plainAsk()
	a.Addressee = ask.Addressee{Group: "approvers"}
	k := newKit(t, a)
	k.get("/asks/ask1", "bob").says("everybody in the group approvers", "the first answer counts")
	k.get("/", "bob").says("for the group approvers")
	k.get("/asks/ask1", "ada").want(404)
	k.press("ask1", "bob", "accept", nil).want(200)
	k.wantSent(ask.Accept, `{"action":"accept","content":{}}`)
}

func TestLongMessageIsCutInSight(t *testing.T) {
	long := strings.Repeat("word ", 1000)
	k := newKit(t, formAsk(`{"message":"`+long+`END"}`))
	p := k.get("/asks/ask1", "ada")
	p.says("deploy-server has a question", "Show all of it (5003 characters)", "END")
	if n := len(p.root.all("details")); n != 2 {
		t.Errorf("%d things to unfold, want 2", n)
	}
	k.get("/", "ada").says("…")

	endless := newKit(t, formAsk(`{"message":"`+strings.Repeat("x", maxMessage+1)+`END"}`)).get("/asks/ask1", "ada")
	endless.says("The rest is too long to be shown")
	if strings.Contains(endless.body, "END") {
		t.Error("a message beyond every limit is shown whole")
	}

	lines := newKit(t, formAsk(`{"message":"first\nsecond"}`)).get("/asks/ask1", "ada")
	lines.says("first\nsecond")
	if m := readMessage("first\n\nsecond\nthird"); m.Heading != "first" || m.Opening != "second\nthird" {
		t.Errorf("the first line is no heading: %+v", m)
	}
	if m := readMessage(strings.Repeat("word ", maxOpening)); !strings.HasSuffix(m.Opening, " word") || !strings.HasPrefix(m.Rest, " word") {
		t.Errorf("a word is cut: %q, %.20q", m.Opening[len(m.Opening)-20:], m.Rest)
	}

	for _, none := range []string{`{}`, `{"message":7}`, `[]`, ``, `{"Message":"spelled otherwise"}`} {
		k := newKit(t, formAsk(none))
		k.get("/asks/ask1", "ada").says("It did not say what it wants to know")
		k.get("/", "ada").says("A question without words")
	}
}

func TestAddressIsShownWholeWithItsSiteApart(t *testing.T) {
	for _, tt := range []struct {
		address, host, site, says string
	}{
		{"https://tracker.example/oauth/authorize?a=b&c=d#e", "tracker.example", "tracker.example", "If you did not expect this question"},
		{"https://https/https", "https", "https", "https"},
		{"https://Tracker.example:8443/x", "Tracker.example:8443", "Tracker.example", "choose Decline"},
		{"https://tracker.example.evil.co.uk/tracker.example", "tracker.example.evil.co.uk", "evil.co.uk", "choose Decline"},
		{"https://in.xn--pypal-4ve.com:443/", "in.xn--pypal-4ve.com:443", "xn--pypal-4ve.com", "One word of it mixes Cyrillic and Latin letters, which is a way to imitate names. It looks like in.paypal.com, and is another site."},
		{"https://xn--80ak6aa92e.com/", "xn--80ak6aa92e.com", "xn--80ak6aa92e.com", "It looks like apple.com, and is another site."},
		{"https://xn--wgv71a119e.jp/", "xn--wgv71a119e.jp", "xn--wgv71a119e.jp", "日本語.jp"},
		{"http://localhost:3000/cb", "localhost:3000", "localhost", "on the computer that you are using now"},
		{"http://app.localhost/", "app.localhost", "app.localhost", "on the computer that you are using now"},
		{"http://127.0.0.1/x", "127.0.0.1", "127.0.0.1", "on the computer that you are using now"},
		{"http://[::1]:80/x", "[::1]:80", "[::1]", "on the computer that you are using now"},
		{"https://[2001:db8::1]/x", "[2001:db8::1]", "[2001:db8::1]", "choose Decline"},
	} {
		k := newKit(t, urlAsk(tt.address))
		p := k.get("/asks/ask1", "ada")
		p.want(200)
		p.says(tt.address, tt.says, "Sign in at the tracker", "I opened it, go on")
		var shown, href, opens string
		for _, n := range p.root.all("p") {
			if n.attr["class"] == "url" {
				shown = n.all("b")[0].text()
			}
		}
		for _, n := range p.root.all("a") {
			if n.attr["target"] == "_blank" {
				href, opens = n.attr["href"], n.attr["rel"]
			}
		}
		if shown != tt.site || href != tt.address || opens != "noopener noreferrer" {
			t.Errorf("%s: site %q, link %q, rel %q", tt.address, shown, href, opens)
		}
		if warned := strings.Contains(p.body, "caution"); warned != strings.Contains(tt.host, "xn--") {
			t.Errorf("%s: warned is %v", tt.address, warned)
		}
		p = k.press("ask1", "ada", "accept", nil)
		p.want(200)
		p.says("you went to " + tt.host)
		k.wantSent(ask.Accept, `{"action":"accept"}`)
	}
}

func TestBadTokenGivesBackWhatWasTyped(t *testing.T) {
	k := newKit(t, withSchema(`{"name":{"type":"string"},"size":{"type":"string","enum":["s","l"]}}`, `["name"]`))
	form := url.Values{"token": {"old"}, "action": {"accept"}, "f0": {"typed before"}, "f1": {"1"}}
	p := k.post("/asks/ask1", "ada", form)
	p.want(403)
	p.says("Nothing was sent yet", "send it again")
	k.wantNothingSent()
	again := p.typed()
	if again.Get("f0") != "typed before" || again.Get("f1") != "1" {
		t.Errorf("the form came back as %v", again)
	}
	again.Set("action", "accept")
	k.post("/asks/ask1", "ada", again).want(200)
	k.wantSent(ask.Accept, `{"action":"accept","content":{"name":"typed before","size":"l"}}`)
	if strings.Contains(k.log.String(), "typed before") {
		t.Error("the log has what was typed")
	}
}

func TestSignedOutVisitors(t *testing.T) {
	k := newKit(t, plainAsk())
	for _, path := range []string{"/", "/history", "/asks/ask1", "/asks/never-was"} {
		p := k.get(path, "")
		p.want(303)
		if got := p.header.Get("Location"); got != "/signin?return="+url.QueryEscape(path) {
			t.Errorf("%s leads to %s", path, got)
		}
	}
	p := k.post("/asks/ask1", "", url.Values{"action": {"accept"}})
	p.want(401)
	p.says("nothing was sent", "reload")
	if strings.Contains(p.body, "branches") || strings.Contains(p.body, "Sign out") {
		t.Error("a stranger sees the question, or is taken for signed in")
	}
	k.get("/nowhere", "").want(404)
	k.wantNothingSent()
}

func TestFailureOfTheDeskKeepsWhatWasTyped(t *testing.T) {
	k := newKit(t, withSchema(`{"name":{"type":"string"}}`, `[]`))
	k.desk.fail = errors.New("disk full at /var/secret")
	p := k.press("ask1", "ada", "accept", url.Values{"f0": {"typed"}})
	p.want(500)
	p.says("It is not known whether your answer was taken", "send it again")
	if p.typed().Get("f0") != "typed" || strings.Contains(p.body, "disk full") {
		t.Errorf("the page lost what was typed, or says too much:\n%s", p.body)
	}
	if !strings.Contains(k.log.String(), "disk full") || strings.Contains(k.log.String(), "typed") {
		t.Errorf("log %s", k.log.String())
	}
	k.desk.lookFail = errors.New("disk full at /var/secret")
	p = k.get("/asks/ask1", "ada")
	p.want(500)
	if strings.Contains(p.body, "disk full") {
		t.Error("the page says too much")
	}
	k.desk.lookFail, k.desk.fail = nil, ask.Errorf(ask.NotYours, "somebody else's by now")
	k.press("ask1", "ada", "accept", nil).want(404)
}

func TestListOfQuestions(t *testing.T) {
	old, young := plainAsk(), formAsk(`{"message":"Which account should be billed?"}`)
	old.Asked, old.Deadline = now.Add(-10*time.Minute), now.Add(30*time.Second)
	young.ID = "ask2"
	k := newKit(t, young, old)
	p := k.get("/", "ada")
	p.want(200)
	p.says("2 questions are waiting for you", "Delete 14 stale branches?", "10 minutes ago", "30 seconds left, until 14:28 UTC",
		"Which account should be billed?", "4 minutes left", "Refresh", "As of 14:28 UTC")
	var links []string
	for _, a := range p.root.all("a") {
		if strings.HasPrefix(a.attr["href"], "/asks/") {
			links = append(links, a.attr["href"])
		}
	}
	if !slices.Equal(links, []string{"/asks/ask1", "/asks/ask2"}) {
		t.Errorf("links %v, want the oldest first", links)
	}
	if strings.Contains(p.body, "http-equiv") {
		t.Error("the page reloads by itself") // WCAG 2.2.1: nobody asked for it
	}
	k.press("ask1", "ada", "decline", nil).want(200)
	k.get("/", "ada").says("1 question is waiting for you")
	k.press("ask2", "ada", "decline", nil).want(200)
	k.get("/", "ada").says("Nothing is waiting for you", "its question appears here")
}

func TestListIsLimited(t *testing.T) {
	var asks []ask.Ask
	for i := range maxListed + 5 {
		a := plainAsk()
		a.ID = "ask" + strings.Repeat("x", i)
		asks = append(asks, a)
	}
	p := newKit(t, asks...).get("/", "ada")
	p.says("More than 100 questions are waiting", "These are the oldest 100")
	if n := strings.Count(p.body, ">Answer</a>"); n != maxListed {
		t.Errorf("%d questions listed, want %d", n, maxListed)
	}
}

func TestFilesOfPagesAreKeptUnderTheirContentsName(t *testing.T) {
	k := newKit(t)
	p := k.get("/", "ada")
	for _, l := range p.root.all("link") {
		f := k.get(l.attr["href"], "")
		if f.status != 200 || !strings.Contains(f.header.Get("Cache-Control"), "immutable") || f.header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: status %d, headers %v", l.attr["href"], f.status, f.header)
		}
		if strings.Contains(f.body, "http://") && !strings.Contains(f.body, "www.w3.org") || strings.Contains(f.body, "url(") {
			t.Errorf("%s loads something from elsewhere", l.attr["href"])
		}
	}
	script := k.get(p.root.all("script")[0].attr["src"], "")
	if script.want(200); script.header.Get("Content-Type") != "text/javascript; charset=utf-8" || !strings.Contains(script.header.Get("Cache-Control"), "immutable") {
		t.Errorf("the script comes with %v", script.header)
	}
	for _, s := range []string{"eval(", "Function(", "innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "://", "localStorage", "import "} {
		if strings.Contains(script.body, s) {
			t.Errorf("the script has %q", s)
		}
	}
	k.get("/static/look-0000000000000000.css", "ada").want(404)
	k.get("/static/", "ada").want(404)
	k.get("/static/..%2fpage.go", "ada").want(404)
}

func TestOtherMethodsFindNothing(t *testing.T) {
	k := newKit(t, plainAsk())
	for _, method := range []string{http.MethodPut, http.MethodDelete, http.MethodPatch, http.MethodOptions} {
		r := httptest.NewRequest(method, "/asks/ask1", nil)
		r.Header.Set(asHeader, "ada")
		k.do(r).want(404)
	}
	k.wantNothingSent()
}

func TestConfigNamesEveryMissingField(t *testing.T) {
	_, err := New(Config{})
	for _, name := range []string{"Desk", "People", "Guard", "Log", "Now", "Groups"} {
		if err == nil || !strings.Contains(err.Error(), "Config."+name+" is missing") {
			t.Errorf("error %v does not name %s", err, name)
		}
	}
}
