//go:build browser

package browser

import (
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/answerback/answerback/test/rig"
)

var formToken = regexp.MustCompile(`name="token" value="([^"]+)"`)

// same leaves out of a page what differs from one moment to the next.
func same(p page) string {
	headers := make([]string, 0, len(p.Headers))
	for _, name := range []string{"content-type", "content-length", "cache-control", "content-security-policy", "referrer-policy", "vary", "set-cookie"} {
		headers = append(headers, name+": "+p.Headers[name])
	}
	return strings.Join(headers, "\n") + "\n" + formToken.ReplaceAllString(p.Body, `name="token" value="…"`)
}

// TestAttackStrangerOpensTheLink: bob has the link to ann's question. He sees
// what he would see had it never existed, whatever he sends changes nothing,
// even with the token of ann's form, and he is on record. Ann then answers.
func TestAttackStrangerOpensTheLink(t *testing.T) {
	t.Parallel()
	s := newStage(t, "  ops: { url: "+asking(t, deployForm).URL+" }\n")
	c := s.dial("ann", formCaps)
	call := c.Tool("deploy", "{}")
	call.Next()
	ann, p := s.signIn("ann", "/")
	path := askOn(t, p)
	hers := ann.open(s.base + path)
	contains(t, hers, "Where should it go?")

	bob, p := s.signIn("bob", path)
	if p.Status != http.StatusNotFound {
		t.Errorf("bob got status %d", p.Status)
	}
	contains(t, p, "There is nothing here for you", "Bob Example")
	lacks(t, p, "Where should", "Ann", "ops", "deploy")
	bob.inspect("not-yours")
	s.gateway.WaitLog(t, "ask not_yours")

	theirs := bob.open(s.base + path)
	unknown := bob.open(s.base + path[:len(path)-4] + "AAAA")
	if same(theirs) != same(unknown) || theirs.Status != unknown.Status {
		t.Errorf("somebody else's question:\n%s\nand none:\n%s", same(theirs), same(unknown))
	}
	contains(t, bob.open(s.base+"/"), "Nothing is waiting for you")

	tokens := formToken.FindAllStringSubmatch(hers.HTML, -1)
	if len(tokens) != 2 {
		t.Fatalf("ann's page has %d tokens, want those for signing out and for answering", len(tokens))
	}
	for _, token := range tokens {
		p = bob.post(s.base+path, map[string]string{"token": token[1], "action": "accept", "name": "bob", "copies": "1"})
		if p.Status != http.StatusNotFound {
			t.Errorf("what bob sent got status %d: %s", p.Status, p.Text)
		}
	}
	if n := strings.Count(s.gateway.Log(), "ask not_yours"); n < 4 {
		t.Errorf("%d attempts of bob are on record, want 4", n)
	}

	ann.fill("Name", "ann")
	ann.fill("Copies", "2")
	contains(t, ann.press("Send answer"), "Your answer is on its way back")
	equal(t, "the answer", got(t, call.Final()), `{"action":"accept","content":{"copies":2,"loud":false,"name":"ann"}}`)
}

// TestGroupAnswers: what a backend asks of a group, a member answers, whoever
// called; the caller, who is no member, cannot see it.
func TestGroupAnswers(t *testing.T) {
	t.Parallel()
	s := newStage(t, "  ops: { url: "+asking(t, deployForm).URL+", answered_by: approvers }\n",
		"  groups:\n    approvers: { issuer: corp, claim: groups, value: approvers }\n")
	call := s.dial("bob", formCaps).Tool("deploy", "{}") // of which the client hears nothing before its end
	s.gateway.WaitLog(t, "msg=\"ask asked\"")

	ann, p := s.signIn("ann", "/")
	path := askOn(t, p)
	contains(t, p, "for the group approvers")
	ann.inspect("inbox-group")
	bob, p := s.signIn("bob", path)
	contains(t, p, "There is nothing here for you")
	contains(t, bob.open(s.base+"/"), "Nothing is waiting for you")

	contains(t, ann.open(s.base+path), "of everybody in the group approvers")
	ann.fill("Name", "ann")
	ann.fill("Copies", "2")
	ann.press("Send answer")
	equal(t, "the answer", got(t, call.Final()), `{"action":"accept","content":{"copies":2,"loud":false,"name":"ann"}}`)
}

// TestSignOutLeavesNothing: after signing out neither the back button nor a
// reload shows anything of what was there, and the cookie is worth nothing to
// whoever copied it.
func TestSignOutLeavesNothing(t *testing.T) {
	t.Parallel()
	s := newStage(t, "  ops: { url: "+asking(t, deployForm).URL+" }\n")
	c := s.dial("ann", formCaps)
	call := c.Tool("deploy", "{}")
	q := call.Next()
	ann, p := s.signIn("ann", "/")
	p = ann.open(s.base + askOn(t, p))
	contains(t, p, "Where should it go?")
	equal(t, "caching", p.Headers["cache-control"], "no-store")
	path := strings.TrimPrefix(p.URL, s.base)

	copied := session(t, ann)
	if status, body := s.get(path, copied); status != http.StatusOK || !strings.Contains(body, "Where should it go?") {
		t.Errorf("before signing out the cookie opens %d: %s", status, body)
	}
	contains(t, ann.press("Sign out"), "You are signed out")
	ann.inspect("signed-out")
	for _, c := range ann.cookies() {
		if strings.Contains(c.Name, "answerback-session") {
			t.Errorf("the browser still has %s", c.Name)
		}
	}
	if status, body := s.get(path, copied); status != http.StatusSeeOther || strings.Contains(body, "Where") {
		t.Errorf("after signing out the cookie opens %d: %s", status, body)
	}

	// The provider would vouch for her without asking; this browser's next
	// visitor is somebody else.
	ann.do("forget", nil, nil)
	for _, see := range []func() page{ann.back, ann.reload} {
		p := see()
		if p.Title != "Log in" {
			t.Errorf("going back or reloading leads to %s", p.URL)
		}
		lacks(t, p, "Where should it go?", "Ann Example")
	}
	c.Answer(q, `{"action":"cancel"}`)
	call.Final()
}

// session gives the cookie of somebody's session, which scripts cannot read
// and other sites cannot have sent along.
func session(t *testing.T, v *tab) *http.Cookie {
	t.Helper()
	for _, c := range v.cookies() {
		if strings.HasSuffix(c.Name, "answerback-session") {
			if !c.HTTPOnly || !c.Secure || c.SameSite != "Lax" || c.Path != "/" || !strings.HasPrefix(c.Name, "__Host-") {
				t.Errorf("the cookie is %+v", c)
			}
			return &http.Cookie{Name: c.Name, Value: c.Value}
		}
	}
	t.Fatalf("%s has no session", v.name)
	return nil
}

// get asks for a page as somebody does who copied a cookie.
func (s *stage) get(path string, c *http.Cookie) (status int, body string) {
	s.t.Helper()
	req, err := http.NewRequest(http.MethodGet, s.base+path, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	req.AddCookie(c)
	tr := &http.Transport{DisableKeepAlives: true}
	resp, err := tr.RoundTrip(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	all, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return resp.StatusCode, string(all)
}

var localLink = regexp.MustCompile(`http://[^\s"]+/signin/local\?token=[\w-]+`)

// TestLocalLink: a gateway that authenticates nobody prints a link that signs
// one browser in, once.
func TestLocalLink(t *testing.T) {
	t.Parallel()
	s := newLocalStage(t, "  ops: { url: "+asking(t, deployForm).URL+" }\n")
	s.gateway.WaitLog(t, "/signin/local?token=")
	link := localLink.FindString(s.gateway.Log())
	c := rig.Dial(t, s.gateway.URL, formCaps)
	call := c.Tool("deploy", "{}")
	call.Next()

	me := s.person("me", eyes{})
	p := me.open(s.base + "/")
	if p.Status != http.StatusUnauthorized {
		t.Errorf("without the link the inbox has status %d", p.Status)
	}
	contains(t, p, "open the link that the gateway printed")
	me.inspect("local-needed")
	contains(t, me.open(link), "Sign in on this computer?")
	me.inspect("local")
	contains(t, me.press("Sign in"), "1 question is waiting for you")
	me.click("Answer Where should it go?")
	me.fill("Name", "me")
	me.fill("Copies", "1")
	me.press("Send answer")
	equal(t, "the answer", got(t, call.Final()), `{"action":"accept","content":{"copies":1,"loud":false,"name":"me"}}`)

	other := s.person("other", eyes{})
	p = other.open(link)
	if p.Status != http.StatusForbidden {
		t.Errorf("the second time the link has status %d", p.Status)
	}
	contains(t, p, "used already")
	other.inspect("local-used")
}

// TestChecksNotice: the checks that every page is held to would fail on a page
// that scrolls sideways, that cannot be read or hit, that says something else
// to assistive technology, and on one that loads what its policy forbids.
func TestChecksNotice(t *testing.T) {
	t.Parallel()
	s := newStage(t, "  ops: { url: "+asking(t, deployForm).URL+" }\n")
	ann, _ := s.signIn("ann", "/")
	var found struct {
		Faults []string
		Tree   string
	}
	inspect := func() string {
		ann.do("inspect", map[string]any{"name": "broken-on-purpose"}, &found)
		return strings.Join(found.Faults, "\n")
	}
	if all := inspect(); all != "" {
		t.Errorf("there is something wrong with the page: %s", all)
	}
	ann.do("blur", nil, nil)
	all := inspect()
	for _, want := range []string{"light: axe color-contrast", "320 px: “Sign out” is", "1280 px: “Refresh” is"} {
		if !strings.Contains(all, want) {
			t.Errorf("a page that cannot be read or hit was not noticed (%s): %s", want, all)
		}
	}
	ann.do("widen", nil, nil)
	if wide := ann.misfits(320, 1280); strings.Count(wide, "scrolls sideways") != 2 {
		t.Errorf("a page that scrolls sideways was not noticed: %s", wide)
	}
	if faults := ann.faults(); len(faults) > 0 {
		t.Errorf("the console complains: %v", faults)
	}
	ann.do("embed", nil, nil)
	if faults := ann.faults(); !strings.Contains(strings.Join(faults, "\n"), "Content Security Policy") {
		t.Errorf("that the policy was violated was not noticed: %v", faults)
	}
}
