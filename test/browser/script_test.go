//go:build browser

package browser

import (
	"strings"
	"testing"
	"time"
)

// pass lets time pass for somebody who has a clock.
func (v *tab) pass(d time.Duration) {
	v.t.Helper()
	v.do("forward", map[string]any{"ms": d.Milliseconds()}, nil)
}

// storage is everything that pages keep in the browser, beside cookies.
func (v *tab) storage() (s string) {
	v.t.Helper()
	v.do("storage", nil, &s)
	return s
}

// TestDrafts: what was typed survives a reload, a way back, and more time;
// secrets are not kept, and nothing is once the question is over.
func TestDrafts(t *testing.T) {
	t.Parallel()
	s := newStage(t, "  ops: { url: "+asking(t, defined(releaseQuestion, releaseForm)).URL+" }\n")
	ann, at, call := s.asked("ann", eyes{})
	fillRelease(ann)
	ann.fill("Deploy key", "s3cret-k3y")
	kept := ann.storage()
	if !strings.Contains(kept, "spring-24") || !strings.Contains(kept, "It is a test network") {
		t.Errorf("nothing is kept: %s", kept)
	}
	if strings.Contains(kept, "s3cret") {
		t.Errorf("a secret is kept: %s", kept)
	}
	contains(t, ann.reload(), "What you typed here before is back. Secrets are not kept.")
	ann.hold("draft")
	keepsRelease(ann)
	equal(t, "the secret", ann.value("Deploy key"), "")
	ann.click("Answerback")
	ann.open(at)
	keepsRelease(ann)

	ann.fill("Deploy key", "s3cret-k3y")
	contains(t, ann.press("Send answer"), "Your answer is on its way back")
	equal(t, "the answer", got(t, call.Final()), release)
	if kept := ann.storage(); strings.Contains(kept, "spring-24") {
		t.Errorf("after the answer this is kept: %s", kept)
	}
}

// TestSigningOutForgetsDrafts: the next visitor of this browser finds nothing.
func TestSigningOutForgetsDrafts(t *testing.T) {
	t.Parallel()
	s := newStage(t, "  ops: { url: "+asking(t, deployForm).URL+" }\n")
	ann, _, _ := s.asked("ann", eyes{})
	ann.fill("Name", "for nobody else")
	if kept := ann.storage(); !strings.Contains(kept, "for nobody else") {
		t.Errorf("nothing is kept: %s", kept)
	}
	contains(t, ann.press("Sign out"), "You are signed out")
	if kept := ann.storage(); strings.Contains(kept, "for nobody else") {
		t.Errorf("after signing out this is kept: %s", kept)
	}
}

// TestFaultsAreSaidWhileTyping: at the field, when somebody leaves it, in the
// words of the server, for screen readers too; gone as soon as it is put
// right.
func TestFaultsAreSaidWhileTyping(t *testing.T) {
	t.Parallel()
	s := newStage(t, "  ops: { url: "+asking(t, defined(releaseQuestion, releaseForm)).URL+" }\n")
	ann, _, _ := s.asked("ann", eyes{})
	for _, f := range []struct{ label, bad, words, good string }{
		{"Release name", "ab", "Use at least 3 characters.", "abc"},
		{"Port", "80", "Enter 1024 or more.", "8080"},
		{"Port", "many", "Enter a whole number in digits, such as 42.", "8080"},
		{"Start date (optional)", "2020-01-01", "Enter 2026-01-01 or later.", "2026-12-01"},
	} {
		ann.fill(f.label, f.bad)
		ann.do("leave", nil, nil)
		if said := ann.described(f.label); !strings.Contains(said, f.words) {
			t.Errorf("of %q in %s it is said: %s", f.bad, f.label, said)
		}
		ann.fill(f.label, f.good)
		if said := ann.described(f.label); strings.Contains(said, f.words) {
			t.Errorf("of %q in %s it is still said: %s", f.good, f.label, said)
		}
	}
	// With a secret typed the page stays until it is right, so that it need
	// not be typed again.
	ann.fill("Port", "80")
	ann.fill("Deploy key", "s3cret-k3y")
	ann.tap("Send answer")
	equal(t, "the secret", ann.value("Deploy key"), "s3cret-k3y")
	ann.hold("inline-problems")
}

// TestConditions: a field that depends on another is asked when it counts.
func TestConditions(t *testing.T) {
	t.Parallel()
	s := newStage(t, "  ops: { url: "+asking(t, defined(releaseQuestion, releaseForm)).URL+" }\n")
	ann, _, call := s.asked("ann", eyes{})
	if ann.shown("Why not?") {
		t.Error("it is asked for a reason before there is one to give")
	}
	fillRelease(ann)
	if !ann.shown("Why not?") {
		t.Error("it is not asked for a reason")
	}
	ann.check("Encrypt connections")
	if ann.shown("Why not?") {
		t.Error("it is still asked for a reason")
	}
	ann.fill("Deploy key", "s3cret-k3y")
	contains(t, ann.press("Send answer"), "Your answer is on its way back")
	want := strings.NewReplacer(`"tls":false,"why":"It is a test network"`, `"tls":true`).Replace(release)
	equal(t, "the answer", got(t, call.Final()), want)
}

// TestCountdown: the time that is left runs, becomes a warning, and ends.
func TestCountdown(t *testing.T) {
	t.Parallel()
	s := newStage(t, "  ops: { url: "+asking(t, deployForm).URL+" }\n")
	ann, _, _ := s.asked("ann", eyes{clock: true})
	ann.await("4 minutes left")
	ann.pass(2 * time.Minute)
	ann.await("2 minutes left")
	ann.pass(2*time.Minute + 10*time.Second)
	ann.await("seconds left")
	ann.await("Only ") // to screen readers, once
	ann.pass(time.Minute)
	ann.await("The time is up")
	ann.gone("5 more minutes")
}

// TestMoreTime: with and without a script, with and without a secret typed:
// more time is one press away, and what was typed stays.
func TestMoreTime(t *testing.T) {
	for name, e := range map[string]eyes{"script": {}, "no script": {noJS: true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, "  ops: { url: "+asking(t, defined(releaseQuestion, releaseForm)).URL+" }\n")
			ann, _, call := s.asked("ann", e)
			contains(t, ann.look(), "4 minutes left")
			fillRelease(ann)
			contains(t, ann.press("5 more minutes"), "You have 5 more minutes", "9 minutes left")
			keepsRelease(ann)
			if !e.noJS {
				ann.hold("more-time")
			}
			ann.fill("Deploy key", "s3cret-k3y")
			if e.noJS {
				contains(t, ann.press("5 more minutes"), "14 minutes left")
				ann.fill("Deploy key", "s3cret-k3y")
			} else {
				ann.tap("5 more minutes")
				ann.await("14 minutes left")
				equal(t, "the secret", ann.value("Deploy key"), "s3cret-k3y")
			}
			keepsRelease(ann)
			contains(t, ann.press("Send answer"), "Your answer is on its way back")
			equal(t, "the answer", got(t, call.Final()), release)
		})
	}
}

// TestPressedTwice: an impatient person answers once.
func TestPressedTwice(t *testing.T) {
	for name, e := range map[string]eyes{"script": {}, "no script": {noJS: true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := asking(t, deployForm)
			s := newStage(t, "  ops: { url: "+b.URL+" }\n")
			ann, at, call := s.asked("ann", e)
			ann.fill("Name", "once")
			ann.fill("Copies", "3")
			ann.see("twice", map[string]any{"role": "button", "name": "Send answer"})
			equal(t, "the answer", got(t, call.Final()), `{"action":"accept","content":{"copies":3,"loud":false,"name":"once"}}`)
			contains(t, ann.open(at), "You have answered this question")
			if n := answers(b); n != 1 {
				t.Errorf("the server was answered %d times", n)
			}
		})
	}
}
