//go:build browser

package browser

import (
	"net/http"
	"strings"
	"testing"
)

// TestEveryFieldType: a form with fields of every type is answered with and
// without a script, on phones and on a desktop, with text of the usual and of
// twice the usual size. It is first sent with mistakes, and what was right
// with it survives, but for the secret; then it is corrected. It fits in
// between, with all that it says of the mistakes.
func TestEveryFieldType(t *testing.T) {
	for _, large := range []bool{false, true} {
		for _, width := range []int{320, 390, 1280} {
			for _, noJS := range []bool{false, true} {
				e := eyes{noJS: noJS, large: large, width: width}
				t.Run(e.String(), func(t *testing.T) {
					t.Parallel()
					everyFieldType(t, e)
				})
			}
		}
	}
}

func everyFieldType(t *testing.T, e eyes) {
	s := newStage(t, "  ops: { url: "+asking(t, defined(releaseQuestion, everyForm)).URL+" }\n")
	c := s.dial("ann", formCaps)
	call := c.Tool("deploy", "{}")
	call.Next()
	ann, p := s.signInWith("ann", "/", e)
	fits := func(what string) {
		t.Helper()
		if faults := ann.misfits(e.width); faults != "" {
			t.Errorf("%s:\n%s", what, faults)
		}
	}
	fits("the inbox")
	contains(t, ann.open(s.base+askOn(t, p)), releaseQuestion, "Release name")
	fits("the form")
	fillRelease(ann)
	ann.attach("Plan (optional)", "plan.pdf", 3000)
	if !e.noJS {
		ann.await("Sent and kept.")
	}
	ann.fill("Deploy key", "typed too early")
	ann.fill("Release name", "Spring 24")
	ann.fill("Port", "80")
	ann.fill("Webhook address (optional)", "http://192.168.0.1/")
	ann.check("Metrics")
	wrong := []string{"4 things need another look", "Choose at most 2: there are 3.", "Enter 1024 or more."}
	if !e.noJS {
		// What the script sees to be wrong is not sent, so that the secret need
		// not be typed again. What it cannot see is for the server to say.
		ann.tap("Send answer")
		contains(t, ann.look(), "Choose at most 2", "Enter 1024 or more.")
		equal(t, "the secret", ann.value("Deploy key"), "typed too early")
		ann.fill("Port", "8080")
		ann.uncheck("Metrics")
		wrong = []string{"2 things need another look"}
	}
	p = ann.press("Send answer")
	if p.Status != http.StatusUnprocessableEntity {
		t.Errorf("a form with mistakes got status %d", p.Status)
	}
	contains(t, p, append(wrong, "This is not written the way it has to be. Small letters, digits and dashes.", "begins with https://", "type it again")...)
	lacks(t, p, "typed too early")
	fits("the form with mistakes")
	ann.fill("Release name", "spring-24")
	ann.fill("Webhook address (optional)", "https://hooks.example.com/r/1")
	if e.noJS {
		ann.fill("Port", "8080")
		ann.uncheck("Metrics")
	}
	keepsRelease(ann)
	contains(t, ann.look(), "plan.pdf")
	equal(t, "the secret", ann.value("Deploy key"), "")
	ann.fill("Deploy key", "s3cret-k3y")
	contains(t, ann.press("Send answer"), "Your answer is on its way back")
	fits("the last page")
	answer := got(t, call.Final())
	plan := fileLink.FindString(answer)
	equal(t, "the answer", strings.Replace(answer, `"plan":"`+plan+`",`, "", 1), release)
	if plan == "" {
		t.Errorf("the file is not in the answer: %s", answer)
	}
	if log := s.gateway.Log(); strings.Contains(log, "s3cret-k3y") || strings.Contains(log, "spring-24") {
		t.Error("the gateway logged what was typed")
	}
}

// TestEveryFieldTypeIsAccessible: the form as it comes, and with mistakes, to
// people with and without a script.
func TestEveryFieldTypeIsAccessible(t *testing.T) {
	for name, e := range map[string]eyes{"release": {}, "release-plain": {plain: true}} {
		check := (*tab).inspect
		if e.plain {
			check = (*tab).hold
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, "  ops: { url: "+asking(t, defined(releaseQuestion, releaseForm)).URL+" }\n")
			c := s.dial("ann", formCaps)
			c.Tool("deploy", "{}").Next()
			ann, p := s.signInWith("ann", "/", e)
			ann.open(s.base + askOn(t, p))
			check(ann, name)
			fillRelease(ann)
			ann.fill("Deploy key", "s3cret-k3y")
			ann.fill("Release name", "Spring 24")
			ann.fill("Webhook address (optional)", "http://192.168.0.1/")
			if e.plain {
				ann.fill("Port", "80")
				ann.check("Metrics")
			}
			ann.press("Send answer")
			check(ann, name+"-problems")
		})
	}
}

// focused is what has the focus.
type focused struct {
	Words string
	Seen  bool // nothing covers it
	Ring  bool
}

// TestKeyboardAlone: the form is found, filled in and sent by somebody who has
// a keyboard only, in the order in which it stands on the page. What has the
// focus is always to be seen.
func TestKeyboardAlone(t *testing.T) {
	t.Parallel()
	s := newStage(t, "  ops: { url: "+asking(t, defined(releaseQuestion, releaseForm)).URL+" }\n")
	c := s.dial("ann", formCaps)
	call := c.Tool("deploy", "{}")
	call.Next()
	ann, _ := s.signInWith("ann", "/", eyes{width: 390})
	keys := func(keys ...string) { t.Helper(); ann.do("key", map[string]any{"keys": keys}, nil) }
	typed := func(text string) { t.Helper(); ann.do("type", map[string]any{"text": text}, nil) }
	focus := func() (f focused) { t.Helper(); ann.do("focus", nil, &f); return f }
	// at checks where the focus is after the keys.
	at := func(want string, pressed ...string) {
		t.Helper()
		keys(pressed...)
		f := focus()
		if !strings.HasPrefix(f.Words, want) || !f.Seen || !f.Ring {
			t.Fatalf("after %v the focus is on %q (to be seen: %v, with a ring: %v), want %q", pressed, f.Words, f.Seen, f.Ring, want)
		}
	}
	at("↩ Answerback", "Tab")
	at("Sign out", "Tab")
	at("Waiting", "Tab")
	at("History", "Tab")
	at("Accounts", "Tab")
	at("Refresh", "Tab")
	at("Answer", "Tab")
	contains(t, ann.see("enter", map[string]any{"keys": []string{"Enter"}}), releaseQuestion)

	at("Release name", "Tab", "Tab", "Tab")
	typed("Spring-24")
	at("Europe (Ireland)", "Tab")
	at("US East (Virginia)", "ArrowDown")
	at("Europe (Ireland)", "ArrowUp")
	at("Size", "Tab")
	keys("ArrowDown")
	at("Logging", "Tab")
	keys("Space")
	at("Metrics", "Tab")
	at("Tracing", "Tab")
	keys("Space")
	at("Port", "Tab")
	typed("8080")
	at("Start date", "Tab")
	typed("12012026")
	at("Webhook address", "Tab", "Tab") // past the calendar
	typed("https://hooks.example.com/r/1")
	at("Notes", "Tab")
	typed("First line\nsecond <b>line</b>")
	at("Encrypt connections", "Tab")
	keys("Space")
	at("Why not?", "Tab") // which is there only now
	typed("It is a test network")
	at("Deploy key", "Tab")
	typed("typed too early")
	at("What do Decline", "Tab")
	at("Send answer", "Tab")
	at("Decline", "Tab")
	at("Not now", "Tab")
	at("5 more minutes", "Tab")

	// The summary of what is wrong has the focus, and leads to the field.
	keys("Shift+Tab", "Shift+Tab", "Shift+Tab")
	contains(t, ann.see("enter", map[string]any{"keys": []string{"Enter"}}), "One thing needs another look")
	at("One thing needs another look")
	at("Release name: This is not written", "Tab")
	at("Release name", "Enter")
	keys("Control+A")
	typed("spring-24")
	for range 20 {
		keys("Tab")
		if focus().Words == "Deploy key" {
			break
		}
	}
	at("Deploy key")
	typed("s3cret-k3y")
	contains(t, ann.see("enter", map[string]any{"keys": []string{"Enter"}}), "Your answer is on its way back")
	equal(t, "the answer", got(t, call.Final()), release)
}
