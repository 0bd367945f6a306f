package page

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/desk"
	"github.com/answerback/answerback/internal/grant"
)

// past is an ask for ada that has ended.
func past(id string, change func(*desk.View)) *desk.View {
	a := plainAsk()
	a.ID, a.Client = id, "Some Client"
	v := &desk.View{Ask: a, Delivered: true, Outcome: &ask.Outcome{
		Ending: ask.Answered, By: ada, Surface: "page", At: now.Add(-12 * time.Minute), Answer: ask.Answer{Action: ask.Accept},
	}}
	if change != nil {
		change(v)
	}
	return v
}

func TestHistorySaysHowQuestionsEnded(t *testing.T) {
	without := func(how ask.Ending, code ask.Code, why string) func(*desk.View) {
		return func(v *desk.View) { v.Outcome.Ending, v.Outcome.Err = how, ask.Errorf(code, why) }
	}
	for want, change := range map[string]func(*desk.View){
		"You answered on this site\n12 minutes ago, at 14:16 UTC · delivered to deploy-server\n": nil,
		"You answered in Some Client\n":                                                  func(v *desk.View) { v.Outcome.Surface = "mcp" },
		"You answered in your client\n":                                                  func(v *desk.View) { v.Outcome.Surface = "mcp"; v.Ask.Client = "" },
		"You declined through the API\n":                                                 func(v *desk.View) { v.Outcome.Surface = "api"; v.Outcome.Answer.Action = ask.Decline },
		"You left it for now at a terminal\n":                                            func(v *desk.View) { v.Outcome.Surface = "terminal"; v.Outcome.Answer.Action = ask.Cancel },
		"You agreed to open an address on this site\n":                                   func(v *desk.View) { v.Ask.Kind = ask.URL },
		"You connected the account on this site\n":                                       func(v *desk.View) { v.Ask.Kind = ask.Connect },
		"It was refused with an error in Some Client\n":                                  func(v *desk.View) { v.Outcome.Surface = "mcp"; v.Outcome.Answer.Action = ask.NoAction },
		"delivered to deploy-server":                                                     nil,
		"on its way to deploy-server":                                                    func(v *desk.View) { v.Delivered = false },
		"Your answer could not be delivered: The server <is> gone.":                      func(v *desk.View) { v.Undelivered = ask.Errorf(ask.BackendLost, "The server <is> gone.") },
		"Its time ran out\n3 days ago, at 14:28 UTC on 12 November 2026":                 func(v *desk.View) { without(ask.Expired, ask.Timeout, "x")(v); v.Outcome.At = now.Add(-72 * time.Hour) },
		"Its server took it back\n":                                                      without(ask.Withdrawn, ask.BackendWithdrew, "x"),
		"It was not needed any more\n":                                                   func(v *desk.View) { without(ask.Withdrawn, ask.BackendWithdrew, "x")(v); v.Ask.Kind = ask.Connect },
		"It was given up: The client <went> away.":                                       without(ask.Abandoned, ask.ClientGone, "The client <went> away."),
		"It ended after too many answers that did not fit\n":                             without(ask.Abandoned, ask.FormInvalidated, "x"),
		"It could not be asked: Too many questions are open.":                            without(ask.Refused, ask.TooManyOpen, "Too many questions are open."),
		"deploy-server · tool create_release · called by Some Client":                    nil,
		"for the group approvers":                                                        func(v *desk.View) { v.Ask.Addressee = ask.Addressee{Group: "approvers", Principal: ada} },
		"What you answered is not shown here, and questions are forgotten an hour after": nil,
	} {
		k := newKit(t)
		k.desk.outcomes["old"] = past("old", change)
		p := k.get("/history", "ada")
		p.want(200)
		p.says(want, "Delete 14 stale branches?")
	}
}

func TestHistoryHasNoAnswers(t *testing.T) {
	k := newKit(t)
	k.desk.outcomes["old"] = past("old", func(v *desk.View) {
		v.Ask.Params = []byte(`{"message":"Your PIN?","requestedSchema":{"type":"object","properties":{"pin":{"type":"string","default":"canary-default"}}}}`)
		v.Outcome.Answer.Result = []byte(`{"action":"accept","content":{"pin":"canary-4711"}}`)
		v.Outcome.Answer.Error = []byte(`{"code":-1,"message":"canary-error"}`)
	})
	p := k.get("/history", "ada")
	p.says("Your PIN?", "You answered")
	if strings.Contains(p.body+k.log.String(), "canary") {
		t.Errorf("the page or the log has what was answered:\n%s", p.body)
	}
}

func TestHistoryTellsTheWholeQuestion(t *testing.T) {
	k := newKit(t)
	long := strings.Repeat("word ", 100) + "<end>"
	k.desk.outcomes["long"] = past("long", func(v *desk.View) { v.Ask.Params = fmt.Appendf(nil, `{"message":%q}`, long) })
	p := k.get("/history", "ada")
	p.says("Show the whole question", long)
	k.desk.outcomes["long"] = past("long", func(v *desk.View) {
		v.Ask.Params = fmt.Appendf(nil, `{"message":%q}`, strings.Repeat("word ", maxTold)+"<end>")
	})
	if p := k.get("/history", "ada"); len(p.body) > 2*maxTold+8_000 || strings.Contains(p.body, "end&gt;") {
		t.Errorf("a question of any length is shown: %d bytes", len(p.body))
	}
	k.desk.outcomes["long"] = past("long", nil)
	if p := k.get("/history", "ada"); strings.Contains(p.body, "<details") {
		t.Error("a short question is told twice")
	}
}

func TestHistoryIsNewestFirstAndLimited(t *testing.T) {
	k := newKit(t)
	k.get("/history", "ada").says("Nothing has ended lately", "Questions are forgotten an hour after")
	for i := range maxPast + 5 {
		k.desk.outcomes[fmt.Sprint(i)] = past(fmt.Sprint(i), func(v *desk.View) {
			v.Outcome.At = now.Add(-time.Duration(i) * time.Hour)
			v.Ask.Params = fmt.Appendf(nil, `{"message":"question number %d."}`, i)
		})
	}
	p := k.get("/history", "ada")
	p.says("These are the newest 50.", "question number 0.", "question number 49.")
	if strings.Contains(p.body, "question number 50.") || strings.Index(p.body, "number 0.") > strings.Index(p.body, "number 1.") {
		t.Error("the list is too long, or in another order")
	}
}

func TestAttackHistoryOfSomebodyElse(t *testing.T) {
	k := newKit(t)
	k.desk.outcomes["adas"] = past("adas", nil)
	k.desk.outcomes["bobs"] = past("bobs", func(v *desk.View) {
		v.Ask.Addressee, v.Outcome.By = ask.Addressee{Group: "approvers"}, bob
		v.Ask.Params = []byte(`{"message":"Approve the release?"}`)
	})
	for as, want := range map[string]struct{ has, lacks string }{
		"ada": {"Delete 14 stale branches?", "Approve"},
		"bob": {"Approve the release?", "Delete"},
		"eve": {"Nothing has ended lately", "?"},
	} {
		for _, query := range []string{"", "?principal=ada", "?sub=bob&group=approvers"} {
			p := k.get("/history"+query, as)
			p.want(200)
			p.says(want.has)
			if text := p.root.text(); strings.Contains(text, want.lacks) {
				t.Errorf("%s sees somebody else's: %s", as, text)
			}
		}
	}
	k.get("/history", "").want(303)
	k.get("/history", "sessionless").want(303)
	k.get("/history/adas", "ada").want(404)
	if p := k.post("/history", "ada", url.Values{}); p.status != 404 && p.status != 405 {
		t.Errorf("a post to the history has status %d", p.status)
	}
}

// noAccounts are accounts of which there are none.
type noAccounts struct {
	Accounts
	err error
}

func (a noAccounts) List(context.Context, ask.Principal, int) ([]grant.Info, error) {
	return nil, a.err
}

func TestThePartsOfThePageOfAPersonLeadToEachOther(t *testing.T) {
	k := newKit(t)
	links := func(path string) (all, here []string) {
		p := k.get(path, "ada")
		p.want(200)
		for _, a := range p.root.all("nav")[0].all("a") {
			all = append(all, a.attr["href"])
			if a.attr["aria-current"] == "page" {
				here = append(here, a.attr["href"])
			}
		}
		return all, here
	}
	if all, _ := links("/"); strings.Join(all, " ") != "/ /history" {
		t.Errorf("where there are no accounts, the links are %v", all)
	}
	k.cfg.Accounts = noAccounts{}
	for _, path := range []string{"/", "/history", "/connections"} {
		all, here := links(path)
		if strings.Join(all, " ") != "/ /history /connections" || len(here) != 1 || here[0] != path {
			t.Errorf("%s has the links %v and is %v", path, all, here)
		}
	}
	for path, want := range map[string]bool{"/": true, "/history": true, "/connections": true, "/asks/x": true, "/connect/x": true, "/history/x": false, "/static/x": false, "/v1/asks": false} {
		if got := Serves(path); got != want {
			t.Errorf("that people are led back to %s is %v", path, got)
		}
	}
	if p := k.get("/nowhere", "ada"); len(p.root.all("nav")) != 0 {
		t.Error("a page that is none of the parts has their links")
	}
}

func TestAStoreThatIsAwayIsSaidToComeBack(t *testing.T) {
	away := ask.Errorf(ask.JournalUnavailable, "The gateway cannot reach its store at the moment. Try again later.")
	for _, tt := range []struct {
		err    error
		status int
		words  string
	}{
		{away, 503, "The gateway cannot reach what it keeps"},
		{ask.Errorf(ask.ShuttingDown, "x"), 503, "is being restarted"},
		{errors.New("disk broken at /var/secret"), 500, "Something went wrong inside the gateway"},
	} {
		k := newKit(t, plainAsk())
		form := k.get("/asks/ask1", "ada").typed()
		k.desk.lookFail, k.desk.endedErr = tt.err, tt.err
		k.cfg.Accounts = noAccounts{err: tt.err}
		for _, path := range []string{"/asks/ask1", "/history", "/connections"} {
			p := k.get(path, "ada")
			p.want(tt.status)
			p.says(tt.words, "Try again in a moment.")
			if again := p.header.Get("Retry-After") != ""; again != (tt.status == 503) || strings.Contains(p.body, "secret") {
				t.Errorf("%s with %v says %q", path, tt.err, p.body)
			}
		}
		k.desk.lookFail, k.desk.fail, k.desk.extendErr = nil, tt.err, tt.err
		form.Set("action", "accept")
		k.post("/asks/ask1", "ada", form).want(tt.status)
		k.post("/asks/ask1/extend", "ada", form).want(tt.status)
	}
}
