package page

import (
	"net/url"
	"strings"
	"testing"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/desk"
)

func TestHowAQuestionEndedIsSaid(t *testing.T) {
	gone := ask.Errorf(ask.ClientGone, "The client <went> away.")
	answered := func(by ask.Principal, action ask.Action) *ask.Outcome {
		return &ask.Outcome{Ending: ask.Answered, By: by, Answer: ask.Answer{Action: action}}
	}
	for _, tt := range []struct {
		view desk.View
		says []string
	}{
		{desk.View{Outcome: answered(ada, ask.Accept)}, []string{"You have answered this question", "Your answer counts."}},
		{desk.View{Outcome: answered(ada, ask.Decline)}, []string{"You have answered this question", "Your no counts."}},
		{desk.View{Outcome: answered(ada, ask.Cancel)}, []string{"You have answered this question", "Your “not now” counts."}},
		{desk.View{Outcome: answered(bob, ask.Accept)}, []string{"Somebody else has answered this question", "The first answer counts."}},
		{desk.View{Outcome: answered(ada, ask.Accept), Undelivered: gone}, []string{"You have answered", "could not be delivered: The client <went> away."}},
		{desk.View{Outcome: &ask.Outcome{Ending: ask.Expired, Err: gone}}, []string{"The time for this question ran out", "nothing was sent in your name"}},
		{desk.View{Outcome: &ask.Outcome{Ending: ask.Withdrawn, Err: gone}}, []string{"This question was taken back", "deploy-server does not need an answer"}},
		{desk.View{Outcome: &ask.Outcome{Ending: ask.Abandoned, Err: gone}}, []string{"This question was given up", "The client <went> away."}},
		{desk.View{Outcome: &ask.Outcome{Ending: ask.Refused, Err: gone}}, []string{"This question is no longer open", "It ended without an answer: The client <went> away."}},
	} {
		a := withSchema(`{"why":{"type":"string","title":"Why"},"size":{"type":"string","enum":["s"]}}`, `[]`)
		a.Client = "Some Client"
		k := newKit(t, a)
		k.end("ask1", tt.view)
		form := answerForm("session of ada", "ask1")
		form["f0"], form["f1"] = []string{"my <long> words"}, []string{"0"}
		for _, p := range []*page{k.get("/asks/ask1", "ada"), k.post("/asks/ask1", "ada", form), k.post("/asks/ask1/extend", "ada", form)} {
			p.want(410)
			p.says(append(tt.says, "no longer open", "A few details", "for the tool create_release, which Some Client called for you")...)
			if !strings.Contains(p.body, `id="over"`) {
				t.Error("the browser keeps its draft")
			}
		}
		k.wantNothingSent()
		back := strings.Contains(k.post("/asks/ask1", "ada", form).root.text(), "my <long> words")
		if sent := tt.view.Outcome.By == ada && tt.view.Undelivered == nil; back == sent {
			t.Errorf("%s: what was typed comes back is %v", tt.says[0], back)
		}
		if p := k.get("/asks/ask1", "bob"); p.status != 404 || strings.Contains(p.body, "details") {
			t.Errorf("somebody else sees status %d", p.status)
		}
	}
}

func TestTwoPeopleRace(t *testing.T) {
	k := newKit(t, withSchema(`{"why":{"type":"string","title":"Why"}}`, `[]`))
	form := k.get("/asks/ask1", "ada").typed()
	form.Set("f0", "mine")
	form.Set("action", "accept")
	k.desk.fail = ask.Errorf(ask.TooLate, "too late")
	k.desk.afterLook = func() {
		k.end("ask1", desk.View{Outcome: &ask.Outcome{Ending: ask.Answered, By: bob, Answer: ask.Answer{Action: ask.Accept}}})
	}
	p := k.post("/asks/ask1", "ada", form)
	p.want(410)
	p.says("Somebody else has answered this question", "What you typed was not sent", "mine")
	k.wantNothingSent()
}

func TestAnswerThatCouldNotBeDelivered(t *testing.T) {
	k := newKit(t, withSchema(`{"why":{"type":"string","title":"Why"}}`, `[]`))
	k.desk.receipt = desk.Receipt{Undelivered: ask.Errorf(ask.BackendLost, "The server <is> gone.")}
	p := k.press("ask1", "ada", "accept", url.Values{"f0": {"kept words"}})
	p.want(200)
	p.says("Your answer was taken, and could not be delivered", "The server <is> gone.", "kept words")
}

func TestDraftsAreForgottenOnlyWhenItIsOver(t *testing.T) {
	k := newKit(t, plainAsk())
	for what, p := range map[string]*page{
		"signed out": k.post("/asks/ask1", "", url.Values{}),
		"too large":  k.post("/asks/ask1", "ada", url.Values{"f0": {strings.Repeat("x", maxPost)}}),
		"nothing":    k.get("/nowhere", "ada"),
	} {
		if strings.Contains(p.body, `id="over"`) {
			t.Errorf("%s: the browser forgets what was typed", what)
		}
	}
	for _, action := range []string{"accept", "decline", "cancel"} {
		k := newKit(t, plainAsk())
		if p := k.press("ask1", "ada", action, nil); !strings.Contains(p.body, `id="over"`) {
			t.Errorf("%s: the browser keeps what was typed", action)
		}
	}
	if p := k.get("/asks/ask1", "ada"); !strings.Contains(p.body, "data-fresh") {
		t.Error("a page on which nobody typed anything does not take a draft")
	}
	if p := k.press("ask1", "ada", "", nil); strings.Contains(p.body, "data-fresh") {
		t.Error("a draft would replace what was just posted")
	}
}
