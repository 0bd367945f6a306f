package page

import (
	"errors"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/desk"
)

// moreTime presses the button for more time on the page of an ask.
func (k *kit) moreTime(p *page, fields url.Values) *page {
	k.t.Helper()
	to := ""
	for _, b := range p.root.all("button") {
		if b.attr["formaction"] != "" {
			to = b.attr["formaction"]
		}
	}
	if to == "" {
		k.t.Fatalf("there is no button for more time:\n%s", p.root.text())
	}
	form := p.typed()
	for name, values := range fields {
		form[name] = values
	}
	return k.post(to, "ada", form)
}

func TestMoreTimeGivesBackWhatWasTyped(t *testing.T) { // F10
	k := newKit(t, withSchema(`{"name":{"type":"string","minLength":5},"size":{"type":"string","enum":["s","l"]},"loud":{"type":"boolean","default":true}}`, `["name"]`))
	p := k.get("/asks/ask1", "ada")
	p.says("4 minutes left, until 14:32 UTC", "5 more minutes")
	p = k.moreTime(p, url.Values{"f0": {"abc"}, "f1": {"1"}, "f2": nil})
	p.want(200)
	p.says("You have 5 more minutes.", "What you typed is below.", "9 minutes left, until 14:37 UTC")
	if strings.Contains(p.root.text(), "Use at least") || strings.Contains(p.body, "data-fresh") {
		t.Error("what is not sent yet is judged, or taken for untouched")
	}
	again := p.typed()
	if again.Get("f0") != "abc" || again.Get("f1") != "1" || again.Has("f2") {
		t.Errorf("the form came back as %v", again)
	}
	k.wantNothingSent()
	again.Set("f0", "abcde")
	again.Set("action", "accept")
	k.post("/asks/ask1", "ada", again).want(200)
	k.wantSent(ask.Accept, `{"action":"accept","content":{"name":"abcde","size":"l","loud":false}}`)

	r := k.get("/asks/ask1/extend", "ada")
	if r.want(303); r.header.Get("Location") != "/asks/ask1" {
		t.Errorf("a reload leads to %s", r.header.Get("Location"))
	}
}

func TestMoreTimeIsThereTenTimes(t *testing.T) { // F10
	k := newKit(t, plainAsk())
	p := k.get("/asks/ask1", "ada")
	form := p.typed()
	for range maxMore {
		p = k.moreTime(p, nil)
		p.want(200)
	}
	p.says("54 minutes left", "This is all the time there is.")
	if strings.Contains(p.body, "formaction") {
		t.Error("there is still a button for more time")
	}
	p = k.post("/asks/ask1/extend", "ada", form)
	p.want(409)
	p.says("cannot be given more time")
	if len(k.desk.extended) != maxMore || k.desk.extended[0] != 5*time.Minute {
		t.Errorf("extended by %v", k.desk.extended)
	}
	k.press("ask1", "ada", "accept", nil).want(200)
}

func TestQuestionSaysHowMuchTimeThereIs(t *testing.T) { // F10
	for _, tt := range []struct {
		terms ask.Terms
		more  string
		limit int
	}{
		{ask.Terms{}, "5 more minutes", 10},
		{ask.Terms{Extension: 2 * time.Minute, Extensions: 2}, "2 more minutes", 10},
		{ask.Terms{Extension: time.Hour, Extensions: 12}, "60 more minutes", 12},
		{ask.Terms{NoExtension: true}, "", 0},
	} {
		a := plainAsk()
		a.Terms = tt.terms
		k := newKit(t, a)
		p := k.get("/asks/ask1", "ada")
		if tt.limit == 0 {
			p.says("This is all the time there is.")
			k.post("/asks/ask1/extend", "ada", p.typed()).want(409)
			continue
		}
		p.says(tt.more)
		form := p.typed()
		for range tt.limit {
			k.post("/asks/ask1/extend", "ada", form).want(200)
		}
		k.post("/asks/ask1/extend", "ada", form).want(409)
	}
	warns := plainAsk()
	warns.Terms.Warn = 270 * time.Second
	if p := newKit(t, warns).get("/asks/ask1", "ada"); !strings.Contains(p.body, `class="time late"`) || !strings.Contains(p.body, `data-warn="270"`) {
		t.Error("the question's own warning is not kept to")
	}
	endless := plainAsk()
	endless.Deadline = time.Time{}
	if p := newKit(t, endless).get("/asks/ask1", "ada"); strings.Contains(p.body, "clock") || strings.Contains(p.body, "formaction") {
		t.Error("what has no end has a clock")
	}
}

func TestNearTheEndThePageWarns(t *testing.T) {
	for left, late := range map[time.Duration]bool{59 * time.Second: true, 61 * time.Second: false} {
		a := plainAsk()
		a.Deadline = now.Add(left)
		p := newKit(t, a).get("/asks/ask1", "ada")
		p.says("5 more minutes")
		if got := strings.Contains(p.body, `class="time late"`); got != late {
			t.Errorf("%v before the end: warned is %v", left, got)
		}
	}
}

func TestAttackMoreTime(t *testing.T) {
	for _, tt := range []struct {
		name   string
		as     string
		change func(url.Values)
		status int
	}{
		{"no token", "ada", func(f url.Values) { f.Del(TokenField) }, 403},
		{"token of another ask", "ada", func(f url.Values) { f.Set(TokenField, hashGuard{}.Token("session of ada", "answer ask2")) }, 403},
		{"token of another session", "ada", func(f url.Values) { f.Set(TokenField, hashGuard{}.Token("session of bob", "answer ask1")) }, 403},
		{"another person", "bob", func(f url.Values) { f.Set(TokenField, hashGuard{}.Token("session of bob", "answer ask1")) }, 404},
		{"nobody", "", func(url.Values) {}, 401},
		{"too large", "ada", func(f url.Values) { f.Set("f0", strings.Repeat("x", maxPost)) }, 413},
	} {
		t.Run(tt.name, func(t *testing.T) {
			k := newKit(t, plainAsk())
			form := answerForm("session of ada", "ask1")
			tt.change(form)
			k.post("/asks/ask1/extend", tt.as, form).want(tt.status)
			if len(k.desk.extended) != 0 {
				t.Error("it was extended")
			}
			k.post("/asks/ask1/extend", "ada", answerForm("session of ada", "ask1")).want(200)
			if len(k.desk.extended) != 1 {
				t.Error("it was not extended")
			}
			k.wantNothingSent() // whatever action the post names
		})
	}
}

func TestMoreTimeThatCannotBeHad(t *testing.T) {
	k := newKit(t, withSchema(`{"name":{"type":"string"}}`, `[]`))
	k.desk.extendErr = errors.New("disk full at /var/secret")
	p := k.moreTime(k.get("/asks/ask1", "ada"), url.Values{"f0": {"typed"}})
	p.want(500)
	if p.says("could not be had right now"); p.typed().Get("f0") != "typed" || strings.Contains(p.body, "disk full") {
		t.Errorf("the page lost what was typed, or says too much:\n%s", p.body)
	}
	if strings.Contains(k.log.String(), "typed") || !strings.Contains(k.log.String(), "disk full") {
		t.Errorf("log %s", k.log.String())
	}

	// It ended between the look and the press: what was typed comes back.
	p = k.get("/asks/ask1", "ada")
	k.desk.extendErr = ask.Errorf(ask.TooLate, "too late")
	k.desk.fail = k.desk.extendErr
	k.moreTime(p, nil).want(410)
	k.desk.afterLook = func() {
		k.end("ask1", desk.View{Outcome: &ask.Outcome{Ending: ask.Expired, Err: ask.Errorf(ask.Timeout, "Too late.")}})
	}
	p = k.moreTime(p, url.Values{"f0": {"typed for long"}})
	p.want(410)
	p.says("The time for this question ran out", "What you typed was not sent", "typed for long")
}
