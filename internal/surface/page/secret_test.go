package page

import (
	"net/url"
	"strings"
	"testing"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/desk"
)

const hush = "hush-4711"

// secrets has a field for a secret of every type that can be one.
const secrets = `{"id":"s","title":"Secrets","fields":[
	{"id":"name","type":"text","label":"Name","required":true},
	{"id":"key","type":"text","label":"API key","sensitive":true,"required":true,"validation":{"minLength":5}},
	{"id":"pem","type":"text","label":"Private key","sensitive":true,"rendering":{"rows":6}},
	{"id":"pin","type":"number","label":"PIN","sensitive":true},
	{"id":"hook","type":"url","label":"Hook","sensitive":true},
	{"id":"born","type":"date","label":"Born","sensitive":true},
	{"id":"plan","type":"select","label":"Plan","options":["a","b"],"sensitive":true},
	{"id":"sure","type":"boolean","label":"Sure","sensitive":true}
]}`

func TestSecretsAreNeverShownAgain(t *testing.T) { // A6, F18
	k := newKit(t, withDefinition(secrets))
	a := k.desk.open["ask1"]
	a.Client = "Some Client"
	p := k.get("/asks/ask1", "ada")
	p.says("This asks for a secret.", "straight to deploy-server, without passing through Some Client")
	if strings.Contains(p.root.text(), "Never type a password") {
		t.Error("a page that asks for a secret says never to give one")
	}
	kinds := map[string]string{}
	for _, in := range p.root.all("input") {
		kinds[in.attr["name"]] = in.attr["type"] + " " + in.attr["autocomplete"]
	}
	for _, id := range []string{"f1", "f3", "f4"} {
		if kinds[id] != "password off" {
			t.Errorf("%s is a field %s", id, kinds[id])
		}
	}
	if area := p.root.all("textarea")[0]; area.attr["class"] != "masked" || area.attr["autocomplete"] != "off" || area.attr["spellcheck"] != "false" {
		t.Errorf("a secret of several lines is asked in %v", area.attr)
	}
	if n := strings.Count(p.body, "data-secret"); n != 7 {
		t.Errorf("%d fields are kept out of drafts, want 7", n)
	}
	filled := url.Values{
		"f1": {hush}, "f2": {hush + "\n" + hush}, "f3": {"4711"}, "f4": {"https://" + hush + ".example/"}, "f5": {"1984-04-04"}, "f6": {"1"}, "f7": {"on"},
	}
	for what, p := range map[string]*page{
		"errors":      k.press("ask1", "ada", "accept", filled),
		"no action":   k.press("ask1", "ada", "", filled),
		"more time":   k.moreTime(p, filled),
		"bad token":   k.post("/asks/ask1", "ada", filled),
		"a wrong one": k.press("ask1", "ada", "accept", url.Values{"f0": {"n"}, "f1": {"4711"}, "f3": {"4711x"}, "f4": {hush}}),
	} {
		for _, s := range []string{"4711", "1984", " checked", "selected"} {
			if strings.Contains(p.body, s) && !(s == " checked" && strings.Count(p.body, " checked") == 1) {
				t.Errorf("%s: the page has %q", what, s)
			}
		}
		p.says("This is a secret, so it was not kept: type it again.")
	}
	p = k.press("ask1", "ada", "accept", url.Values{"f0": {"n"}, "f1": {"4711"}})
	if p.says("API key: Use at least 5 characters."); strings.Contains(p.root.text(), "there are 4") {
		t.Error("the page says how long a secret is")
	}
	k.wantNothingSent()
	filled.Set("f0", "n")
	p = k.press("ask1", "ada", "accept", filled)
	p.want(200)
	if strings.Contains(p.body, "4711") || strings.Contains(k.log.String(), "4711") {
		t.Error("the page after it, or the log, has a secret")
	}
	k.wantSent(ask.Accept, `{"action":"accept","content":{"name":"n","key":"hush-4711","pem":"hush-4711\nhush-4711","pin":4711,"hook":"https://hush-4711.example/",`+
		`"born":"1984-04-04","plan":"b","sure":true}}`)
}

func TestSecretOfSomebodyWhoWasTooLateIsNotShown(t *testing.T) {
	k := newKit(t, withDefinition(secrets))
	form := answerForm("session of ada", "ask1")
	form["f0"], form["f1"], form["f2"] = []string{"written"}, []string{hush}, []string{hush}
	k.end("ask1", desk.View{Outcome: &ask.Outcome{Ending: ask.Expired, Err: ask.Errorf(ask.Timeout, "Too late.")}})
	p := k.post("/asks/ask1", "ada", form)
	p.want(410)
	if p.says("What you typed was not sent", "written"); strings.Contains(p.body, "4711") {
		t.Error("the page has a secret")
	}
}

func TestServersFieldForASecretIsOne(t *testing.T) { // A6
	k := newKit(t, withSchema(`{"user":{"type":"string"},"password":{"type":"string","default":"preset"},"pin":{"type":"integer"}}`, `["password"]`))
	p := k.get("/asks/ask1", "ada")
	kinds := ""
	for _, in := range p.root.all("input") {
		if strings.HasPrefix(in.attr["name"], "f") {
			kinds += in.attr["type"] + " "
		}
	}
	if kinds != "text password password " || strings.Contains(p.body, "preset") {
		t.Errorf("fields %s", kinds)
	}
	k.press("ask1", "ada", "accept", url.Values{"f1": {hush}}).want(200)
	k.wantSent(ask.Accept, `{"action":"accept","content":{"password":"hush-4711"}}`)

	inline := newKit(t, formAsk(`{"mode":"inline","prompt":"Your API key?"}`)) // F21
	if p := inline.get("/asks/ask1", "ada"); !strings.Contains(p.body, `type="password"`) {
		t.Error("a prompt for a secret is not asked as one")
	}
	inline.press("ask1", "ada", "accept", url.Values{"f0": {hush}}).want(200)
	inline.wantSent(ask.Accept, `{"action":"accept","content":{"value":"hush-4711"}}`)
}
