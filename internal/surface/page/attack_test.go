package page

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/answerback/answerback/ask"
)

// answerForm is what the page of an ask posts when somebody accepts.
func answerForm(session, id string) url.Values {
	return url.Values{TokenField: {hashGuard{}.Token(session, "answer "+id)}, "action": {"accept"}}
}

func TestAttackOnTheAnswerOfAQuestion(t *testing.T) {
	other := plainAsk()
	other.ID = "ask2"
	for _, tt := range []struct {
		name   string
		as     string
		change func(url.Values)
		query  string
		kind   string
		status int
	}{
		{name: "no token", change: func(f url.Values) { f.Del(TokenField) }, status: 403},
		{name: "empty token", change: func(f url.Values) { f.Set(TokenField, "") }, status: 403},
		{name: "two tokens", change: func(f url.Values) { f.Add(TokenField, f.Get(TokenField)) }, status: 403},
		{name: "token of another session", change: func(f url.Values) { f.Set(TokenField, hashGuard{}.Token("session of bob", "answer ask1")) }, status: 403},
		{name: "token of another ask", change: func(f url.Values) { f.Set(TokenField, hashGuard{}.Token("session of ada", "answer ask2")) }, status: 403},
		{name: "token for signing out", change: func(f url.Values) { f.Set(TokenField, hashGuard{}.Token("session of ada", PurposeSignOut)) }, status: 403},
		{name: "token in the address alone", change: func(f url.Values) { f.Del(TokenField) }, query: "?token=" + hashGuard{}.Token("session of ada", "answer ask1"), status: 403},
		{name: "another person with their own token", as: "bob", change: func(f url.Values) { f.Set(TokenField, hashGuard{}.Token("session of bob", "answer ask1")) }, status: 404},
		{name: "another person with the addressee's token", as: "bob", change: func(url.Values) {}, status: 404},
		{name: "nobody", as: "-", change: func(url.Values) {}, status: 401},
		{name: "a person without a session", as: "sessionless", change: func(url.Values) {}, status: 401},
		{name: "no action", change: func(f url.Values) { f.Del("action") }, status: 400},
		{name: "empty action", change: func(f url.Values) { f.Set("action", "") }, status: 400},
		{name: "action in the address alone", change: func(f url.Values) { f.Del("action") }, query: "?action=accept", status: 400},
		{name: "unknown action", change: func(f url.Values) { f.Set("action", "yes") }, status: 400},
		{name: "action in other letters", change: func(f url.Values) { f.Set("action", "ACCEPT") }, status: 400},
		{name: "action none", change: func(f url.Values) { f.Set("action", "none") }, status: 400},
		{name: "two actions", change: func(f url.Values) { f.Add("action", "decline") }, status: 400},
		{name: "a post that is too large", change: func(f url.Values) { f.Set("f0", strings.Repeat("x", maxPost)) }, status: 413},
		{name: "a post of another type", kind: "text/plain", change: func(url.Values) {}, status: 415},
		{name: "a post in parts", kind: "multipart/form-data; boundary=b", change: func(url.Values) {}, status: 415},
		{name: "a post of no type", kind: "-", change: func(url.Values) {}, status: 415},
	} {
		t.Run(tt.name, func(t *testing.T) {
			k := newKit(t, plainAsk(), other)
			post := func(as, query, kind string, form url.Values) *page {
				r := httptest.NewRequest(http.MethodPost, "/asks/ask1"+query, strings.NewReader(form.Encode()))
				r.Header.Set("Content-Type", kind)
				r.Header.Set(asHeader, as)
				return k.do(r)
			}
			or := func(s, otherwise string) string {
				switch s {
				case "":
					return otherwise
				case "-":
					return ""
				}
				return s
			}
			form := answerForm("session of ada", "ask1")
			tt.change(form)
			post(or(tt.as, "ada"), tt.query, or(tt.kind, "application/x-www-form-urlencoded"), form).want(tt.status)
			k.wantNothingSent()

			post("ada", "", "application/x-www-form-urlencoded", answerForm("session of ada", "ask1")).want(200)
			k.wantSent(ask.Accept, `{"action":"accept","content":{}}`)
		})
	}
}

func TestAttackSomebodyElsesQuestionLooksLikeNone(t *testing.T) {
	theirs := plainAsk()
	grouped := plainAsk()
	grouped.ID, grouped.Addressee = "ask3", ask.Addressee{Group: "auditors"}
	sampling := plainAsk()
	sampling.ID, sampling.Kind, sampling.Addressee = "ask4", ask.Sampling, ask.Addressee{Principal: bob}
	k := newKit(t, theirs, grouped, sampling)

	none := k.get("/asks/never-was", "bob")
	none.want(404)
	for _, path := range []string{"/asks/ask1", "/asks/ask3", "/asks/ask4", "/asks/" + strings.Repeat("a", 5000), "/asks/..%2f..%2fetc", "/nowhere", "/asks/"} {
		p := k.get(path, "bob")
		if p.status != none.status || p.body != none.body {
			t.Errorf("GET %.40s: status %d and a page that differs from an unknown ask's", path, p.status)
		}
		if len(p.header) != len(none.header) {
			t.Errorf("GET %.40s: headers %v, want %v", path, p.header, none.header)
		}
		if strings.HasPrefix(path, "/asks/a") {
			if p := k.post(path, "bob", answerForm("session of bob", path[6:])); p.status != 404 || p.body != none.body {
				t.Errorf("POST %.40s: status %d and a page that differs from an unknown ask's", path, p.status)
			}
		}
	}
	for _, secret := range []string{"deploy-server", "create_release", "branches", "ask1"} {
		if strings.Contains(none.body, secret) {
			t.Errorf("the page has %q", secret)
		}
	}
	k.wantNothingSent()
	if k.get("/", "bob").says("Nothing is waiting"); strings.Contains(k.get("/", "bob").body, "branches") {
		t.Error("the list has somebody else's question")
	}

	k.get("/asks/ask1", "ada").want(200)
	k.press("ask1", "ada", "accept", nil).want(200)
	k.wantSent(ask.Accept, `{"action":"accept","content":{}}`)
}

func TestAttackAnswerSentAgain(t *testing.T) {
	k := newKit(t, plainAsk())
	form := answerForm("session of ada", "ask1")
	k.post("/asks/ask1", "ada", form).want(200)
	for range 2 {
		p := k.post("/asks/ask1", "ada", form)
		p.want(410)
		p.says("no longer open", "first answer is the one that counts")
	}
	form.Set("action", "decline")
	k.post("/asks/ask1", "ada", form).want(410)
	k.get("/asks/ask1", "ada").want(410)
	k.wantSent(ask.Accept, `{"action":"accept","content":{}}`)
}

func TestDoublePressSendsOneAnswer(t *testing.T) {
	k := newKit(t, plainAsk())
	form := answerForm("session of ada", "ask1")
	const presses = 8
	statuses := make(chan int, presses)
	var wg sync.WaitGroup
	for range presses {
		wg.Go(func() {
			r := httptest.NewRequest(http.MethodPost, "/asks/ask1", strings.NewReader(form.Encode()))
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			r.Header.Set(asHeader, "ada")
			w := httptest.NewRecorder()
			k.ServeHTTP(w, r)
			statuses <- w.Code
		})
	}
	wg.Wait()
	close(statuses)
	counts := map[int]int{}
	for s := range statuses {
		counts[s]++
	}
	if counts[200] != 1 || counts[410] != presses-1 {
		t.Errorf("statuses %v, want one 200 and %d of 410", counts, presses-1)
	}
	k.wantSent(ask.Accept, `{"action":"accept","content":{}}`)
}

// hostile are texts that become more than text where they are not escaped.
var hostile = []string{
	`<script>alert(1)</script>`,
	`"><img src=x onerror=alert(1)>`,
	`' onmouseover='alert(1)`,
	`</title></textarea></select><svg onload=alert(1)>`,
	`{{.}}{{template "ask"}}`,
	`javascript:alert(1)`,
	`<base href=//evil.example>`,
	`<form action=//evil.example><button>`,
	"\"\n<style>*{display:none}</style>",
	"`${alert(1)}`",
	`&lt;script&gt;alert(1)&lt;/script&gt;`,
	"<!--",
	"]]>",
	"\x00<\x00script>",
}

func TestAttackMarkupInEveryTextIsOnlyText(t *testing.T) {
	for _, text := range hostile {
		q := string(quote(text))
		a := withSchema(`{`+
			string(quote("k"+line(text, maxLabel)))+`:{"type":"string","title":`+q+`,"description":`+q+`,"default":`+q+`},`+
			`"area":{"type":"string","maxLength":5000,"default":`+q+`},`+
			`"one":{"type":"string","enum":[`+q+`,"b"],"enumNames":[`+q+`,"B"],"default":`+q+`},`+
			`"many":{"type":"array","items":{"anyOf":[{"const":`+q+`,"title":`+q+`}]}},`+
			`"menu":{"type":"string","oneOf":[{"const":"1","title":`+q+`},{"const":"2"},{"const":"3"},{"const":"4"},{"const":"5"},{"const":"6"},{"const":"7"},{"const":"8"}]}`+
			`}`, `[]`)
		a.Params = []byte(strings.Replace(string(a.Params), `"A few details"`, q, 1))
		a.Backend, a.Name = text, text
		visit := urlAsk("https://tracker.example/?q=" + text)
		visit.ID, visit.Backend, visit.Name = "ask2", text, text
		odd := formAsk(`{"message":` + q + `,"requestedSchema":{"type":"object","properties":{` + q + `:{"type":` + q + `}}}}`)
		odd.ID = "ask3"
		odd.During = text
		k := newKit(t, a, visit, odd)

		// Every page is parsed and checked for elements, attributes and
		// addresses that do not belong there.
		k.get("/", "ada").want(200)
		k.get("/asks/ask2", "ada").want(200)
		k.get("/asks/ask3", "ada").want(200)
		p := k.get("/asks/ask1", "ada")
		p.want(200)
		if !strings.Contains(text, "\x00") {
			p.says(line(text, maxLabel))
		}
		k.press("ask1", "ada", "accept", url.Values{"f1": {strings.Repeat(text, 1000)}, "f2": {text}, "f3": {text}, "f4": {text}}).want(422)
		k.press("ask3", "ada", "decline", nil).want(200)
	}
}

func TestAttackAddressThatMustNotBeFollowed(t *testing.T) {
	for _, address := range []string{
		"javascript:alert(1)", "JavaScript:alert(1)", "data:text/html,<script>alert(1)</script>", "vbscript:x", "file:///etc/passwd",
		"ftp://tracker.example/", "blob:https://tracker.example/1", "about:blank", "intent://x#Intent;end", "ms-settings:x",
		"http://tracker.example/", "http://192.168.1.1/", "http://localhost.evil.example/", "http://127.0.0.1.evil.example/",
		"https://bank.example@evil.example/", "https://bank.example:x@evil.example/", "https://bank.example%40evil.example/",
		`https://evil.example\@bank.example/`, `https://evil.example\.bank.example/`, `https:\\evil.example/`,
		"https:evil.example", "https:///evil.example", "https:/evil.example", "//evil.example/", "/path", "", "https://", "https://:443/",
		" https://tracker.example/", "https://tracker.example/ ", "https://tracker.example/\n", "java\nscript:alert(1)", "https://tracker.example/\u202egnp.exe",
		"https://tr\u0430cker.example/", "https://evil\u3002example/", "https://\uff45vil.example/", "https://tracker.example\u2044evil.example/",
		"https://exa mple.example/", "https://[fe80::1%25eth0]/", "https://tracker.example:notaport/", "https://a_b..\u200bexample/",
		"https://tracker.example/" + strings.Repeat("a", maxAddress),
	} {
		k := newKit(t, urlAsk(address))
		p := k.get("/asks/ask1", "ada")
		p.want(200)
		for _, a := range p.root.all("a") {
			if a.attr["target"] == "_blank" {
				t.Errorf("%.60q became a link to %s", address, a.attr["href"])
			}
		}
		if got := strings.Join(p.buttons(), " "); got != "decline cancel" {
			t.Errorf("%.60q has the buttons %s", address, got)
		}
		p.says("Do not open this address")
		k.press("ask1", "ada", "accept", nil).want(400)
		k.wantNothingSent()

		k.press("ask1", "ada", "decline", nil).want(200)
		k.wantSent(ask.Decline, `{"action":"decline"}`)
	}
}

func TestAttackTextThatReordersOrHidesWhatIsAround(t *testing.T) {
	controls := "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f\u061c\u200b\u2060\ufeff\u00ad\U000e0041\x07\x1b"
	a := withSchema(`{"a":{"type":"string","title":"Ti`+controls[:len(controls)-2]+`tle","description":"de\u202Escription","enum":["x\u2066y"]}}`, `[]`)
	a.Params = []byte(strings.Replace(string(a.Params), "A few details", `evil\u202Etxt.exe \u2067now`, 1))
	a.Backend, a.Name = "de"+controls+"ploy", "cre\u202eate"
	k := newKit(t, a)
	for _, p := range []*page{k.get("/asks/ask1", "ada"), k.get("/", "ada")} {
		p.want(200)
		if i := strings.IndexAny(p.body, controls); i >= 0 {
			t.Errorf("the page holds %q", p.body[i:i+12])
		}
	}
	k.get("/asks/ask1", "ada").says("Title", "description", "xy", "eviltxt.exe now", "create")

	// Text that needs joiners, or runs from right to left, stays whole.
	const words = "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645 \U0001f469\u200d\U0001f4bb \u05e9\u05dc\u05d5\u05dd"
	newKit(t, formAsk(`{"message":"`+words+`"}`)).get("/asks/ask1", "ada").says(words)
}
