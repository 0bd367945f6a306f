package page

import (
	"errors"
	"net/url"
	"strings"
	"testing"

	"github.com/answerback/answerback/ask"
)

// An answer that does not fit comes back whole, to be put right; only before
// the last attempt is anything said of a limit.
func TestAttemptsAreCountedAndLoseNothing(t *testing.T) { // F9
	k := newKit(t, withSchema(`{"name":{"type":"string","minLength":5},"note":{"type":"string"},"size":{"type":"string","enum":["s","l"]},"loud":{"type":"boolean"}}`, `["name"]`))
	typed := url.Values{"f0": {"abc"}, "f1": {"a long story"}, "f2": {"1"}, "f3": {"on"}}
	const last = "this question ends"
	for n := 1; n <= 3; n++ {
		p := k.press("ask1", "ada", "accept", typed)
		p.want(422)
		p.says("One thing needs another look", "Use at least 5 characters")
		if got := strings.Contains(p.root.text(), last); got != (n == 3) {
			t.Errorf("attempt %d: told of the last one is %v", n, got)
		}
		for name, want := range typed {
			if got := p.typed()[name]; len(got) != 1 || got[0] != want[0] {
				t.Errorf("attempt %d: %s came back as %q", n, name, got)
			}
		}
	}
	k.wantNothingSent()

	good := url.Values{"f0": {"abcde"}, "f1": {"a long story"}, "f2": {"1"}, "f3": {"on"}}
	k.press("ask1", "ada", "accept", good).want(200)
	k.wantSent(ask.Accept, `{"action":"accept","content":{"name":"abcde","note":"a long story","size":"l","loud":true}}`)
}

func TestOneAttemptTooManyIsToldInPlainWords(t *testing.T) { // F9
	k := newKit(t, withSchema(`{"name":{"type":"string","minLength":5},"age":{"type":"number"},"password":{"type":"string"}}`, `[]`))
	typed := url.Values{"f0": {"abc"}, "f1": {"17"}, "f2": {"hunter2"}}
	for range 3 {
		k.press("ask1", "ada", "accept", typed).want(422)
	}
	p := k.press("ask1", "ada", "accept", typed)
	p.want(410)
	p.says("there were too many answers that did not fit", "deploy-server was told so, and nothing was sent in your name", "What you typed was not sent", "abc", "17")
	if strings.Contains(p.body, "hunter2") {
		t.Error("the page shows a secret")
	}
	k.wantNothingSent()
	k.get("/asks/ask1", "ada").want(410)
}

// What is no answer is no attempt, nor is what somebody else sends.
func TestWhatIsNoAttempt(t *testing.T) { // F9
	k := newKit(t, withSchema(`{"name":{"type":"string","minLength":5}}`, `["name"]`))
	form := k.get("/asks/ask1", "ada").typed()
	for name, send := range map[string]func() *page{
		"no action":       func() *page { return k.post("/asks/ask1", "ada", form) },
		"no token":        func() *page { return k.post("/asks/ask1", "ada", url.Values{"action": {"accept"}}) },
		"another person":  func() *page { return k.post("/asks/ask1", "bob", answerForm("session of bob", "ask1")) },
		"nobody":          func() *page { return k.post("/asks/ask1", "", form) },
		"a look":          func() *page { return k.get("/asks/ask1", "ada") },
		"a different way": func() *page { return k.post("/asks/ask1/extend", "ada", form) },
	} {
		send()
		if k.desk.attempts != 0 {
			t.Errorf("%s counts as an attempt", name)
		}
	}
	k.press("ask1", "ada", "accept", nil).want(422)
	if k.desk.attempts != 1 {
		t.Error("control: an attempt does not count")
	}
}

func TestAnAttemptThatCannotBeCounted(t *testing.T) { // F9
	k := newKit(t, withSchema(`{"name":{"type":"string","minLength":5}}`, `[]`))
	k.desk.attemptErr = errors.New("disk full at /var/secret")
	p := k.press("ask1", "ada", "accept", url.Values{"f0": {"abc"}})
	p.want(422)
	if p.says("Use at least 5 characters"); p.typed().Get("f0") != "abc" || strings.Contains(p.body, "disk full") {
		t.Errorf("the page lost what was typed, or says too much:\n%s", p.body)
	}
	if !strings.Contains(k.log.String(), "disk full") || strings.Contains(k.log.String(), "abc") {
		t.Errorf("log %s", k.log.String())
	}
	// It ended between the look and the attempt: what was typed comes back.
	k.desk.attemptErr = ask.Errorf(ask.TooLate, "too late")
	k.press("ask1", "ada", "accept", url.Values{"f0": {"abc"}}).want(410)
}

// F17: a text has a longest length, whatever its form says.
func TestTextsAreBounded(t *testing.T) {
	k := newKit(t, withSchema(`{"name":{"type":"string"}}`, `[]`))
	cfg := k.cfg
	cfg.MaxLength = 5
	h, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	k.Handler = h
	p := k.press("ask1", "ada", "accept", url.Values{"f0": {"123456"}})
	p.want(422)
	p.says("Use at most 5 characters: there are 6.")
	k.press("ask1", "ada", "accept", url.Values{"f0": {"12345"}}).want(200)
	k.wantSent(ask.Accept, `{"action":"accept","content":{"name":"12345"}}`)
}
