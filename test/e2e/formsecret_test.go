package e2e

import (
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/answerback/answerback/test/rig"
)

// apiKey fits the pattern and the lengths of the seed's form.
const apiKey = "sk-c4naryKeyc4naryKeyc4naryKeyc4naryKeyc4nary"

// apiKeyForm is the form with which the seed begins.
func apiKeyForm(t testing.TB) string {
	t.Helper()
	raw, err := os.ReadFile("../../form/testdata/api_key.form.json")
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// say sends a request to the form API and gives status and body.
func (v *v1) say(t testing.TB, method, path, body, token string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, v.base+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := v.http.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

// has checks a response of the form API.
func has(t testing.TB, what string, status int, body string, want int, parts ...string) {
	t.Helper()
	if status != want {
		t.Errorf("%s: status %d, want %d: %s", what, status, want, body)
	}
	for _, p := range parts {
		if !strings.Contains(body, p) {
			t.Errorf("%s lacks %s: %s", what, p, body)
		}
	}
}

// TestSeedFormIsCollectedOnce: the seed's own form is created by a program and
// answered by its person on the page. Its key waits, sealed, through a crash,
// goes to the program once, and stays collected after another; it is in no
// log, audit, page or file (F12, F18).
func TestSeedFormIsCollectedOnce(t *testing.T) {
	t.Parallel()
	g := rig.Start(t, durable+"log: { level: debug }\nbackends:\n  one: { url: "+rig.NewBackend(t, nil).URL+" }\n")
	api := newV1(t, g)
	r, err := api.do(t.Context(), http.MethodPost, "", map[string]any{"formDefinition": jsonOf(apiKeyForm(t))})
	if err != nil || r.Status != "pending" {
		t.Fatalf("%+v %v", r, err)
	}
	at := "/" + r.ElicitationID
	page := "/asks" + at
	pages := &strings.Builder{}
	person := rig.SignIn(t, g)
	status, body := person.Answer(page, url.Values{"action": {"accept"}, "f0": {"sk-too-short"}, "f1": {"1"}})
	has(t, "a key that does not fit", status, body, 422)
	pages.WriteString(body)
	status, body = person.Answer(page, url.Values{"action": {"accept"}, "f0": {apiKey}, "f1": {"1"}})
	has(t, "the answer", status, body, 200)
	pages.WriteString(body)

	log := g.Log()
	g.Kill(t) // between the answer and its collection
	g = g.Again(t)
	api = newV1(t, g)
	status, body = api.say(t, "GET", at, "", "")
	has(t, "the form", status, body, 200, `"status":"completed"`, `"result":{"region":"us-west-2"}`, `"uncollected":["api_key"]`)
	pages.WriteString(body)
	_, body = rig.SignIn(t, g).Do("GET", page, nil)
	pages.WriteString(body)

	var won, refused atomic.Int64
	var wg sync.WaitGroup
	for range 100 {
		wg.Go(func() {
			switch status, body := api.say(t, "POST", at+"/collect", "", ""); {
			case status == 200 && strings.Contains(body, `"result":{"api_key":"`+apiKey+`","region":"us-west-2"}`):
				won.Add(1)
			case status == 409 && strings.Contains(body, "already_collected") && !strings.Contains(body, apiKey):
				refused.Add(1)
			default:
				t.Errorf("%d: %s", status, body)
			}
		})
	}
	wg.Wait()
	if won.Load() != 1 || refused.Load() != 99 {
		t.Errorf("%d collected it, %d were refused", won.Load(), refused.Load())
	}
	audit := ""
	rig.Eventually(t, func() bool {
		_, audit, _ = rig.RunAll(t, "audit", "--config", g.File)
		return strings.Contains(audit, `"collected"`)
	}, "the audit does not note the collection")
	log += g.Log()
	g.Kill(t) // after it
	g = g.Again(t)
	status, body = newV1(t, g).say(t, "POST", at+"/collect", "", "")
	has(t, "a collection after a restart", status, body, 409, `"reason":"already_collected"`, `"collectedAt":`)
	status, body = newV1(t, g).say(t, "GET", at, "", "")
	has(t, "the form afterwards", status, body, 200, `"result":{"region":"us-west-2"}`, `"collectedAt":`)
	pages.WriteString(body)
	if err := g.Stop(); err != nil {
		t.Error(err)
	}
	secrets := canaries{"key": apiKey}
	for where, text := range map[string]string{
		"log": log + g.Log(), "audit": audit, "pages": pages.String(), "data directory": files(t, filepath.Join(filepath.Dir(g.File), "data")),
	} {
		if found := secrets.find(text); len(found) > 0 {
			t.Errorf("the key is in the %s: %s", where, lines(text, secrets))
		}
		if len(secrets.find(text+apiKey)) != 1 {
			t.Errorf("control: at the end of the %s it was not found", where)
		}
	}
}

// TestSecretOfSomebodyElse: who did not create a form does not learn that
// there is one; two people with a form each collect their own.
func TestSecretOfSomebodyElse(t *testing.T) {
	t.Parallel()
	g := guard(t, "", "  one: { url: "+rig.NewBackend(t, nil).URL+" }\n")
	api := newV1(t, g.Gateway)
	answers := func(who string) string {
		return g.Sign("at+jwt", g.Claims(who, g.Gateway.URL, map[string]any{"scope": "answerback:answer"}))
	}
	ids, keys := map[string]string{}, map[string]string{"ann": apiKey + "Ann", "bob": apiKey + "Bob"}
	for who, key := range keys {
		status, body := api.say(t, "POST", "", `{"formDefinition":`+apiKeyForm(t)+`}`, answers(who))
		has(t, "the form", status, body, 200, `"status":"pending"`)
		ids[who] = strings.Split(body, `"`)[3]
		status, body = api.say(t, "POST", "/"+ids[who]+"/submit", `{"responses":{"api_key":"`+key+`","region":"eu-west-1"}}`, answers(who))
		has(t, "the submission", status, body, 200)
	}
	for who, other := range map[string]string{"ann": "bob", "bob": "ann"} {
		status, body := api.say(t, "POST", "/"+ids[other]+"/collect", "", answers(who))
		has(t, "another's form", status, body, 404, `"reason":"unknown_ask"`)
	}
	// Ann's token for calling tools, and no token at all, collect nothing.
	status, body := api.say(t, "POST", "/"+ids["ann"]+"/collect", "", g.token("ann"))
	has(t, "a token without the scope", status, body, 403, `"code":"not_allowed"`)
	status, body = api.say(t, "POST", "/"+ids["ann"]+"/collect", "", "")
	has(t, "a stranger", status, body, 401)
	for who, key := range keys {
		status, body := api.say(t, "POST", "/"+ids[who]+"/collect", "", answers(who))
		has(t, "one's own form", status, body, 200, `"api_key":"`+key+`"`)
	}
}
