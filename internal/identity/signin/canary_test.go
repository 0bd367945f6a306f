package signin_test

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// canaries are the secrets of a run, by name.
type canaries map[string]string

// find gives the secrets that the text shows, as they are or encoded.
func (c canaries) find(text string) []string {
	var found []string
	for name, s := range c {
		for how, form := range map[string]string{
			"": s, "base64": base64.StdEncoding.EncodeToString([]byte(s)), "base64url": base64.RawURLEncoding.EncodeToString([]byte(s)),
			"hex": hex.EncodeToString([]byte(s)), "escaped": url.QueryEscape(s), "part": s[:min(len(s), 16)],
		} {
			if strings.Contains(text, form) {
				found = append(found, name+" "+how)
			}
		}
	}
	return found
}

func (s *seen) all(t *testing.T) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	events, err := json.Marshal(s.events)
	if err != nil {
		t.Fatal(err)
	}
	return s.log.String() + s.pages.String() + string(events) + fmt.Sprintf("%+v %#v", s.events, s.events)
}

func TestSecretsAreShownNowhere(t *testing.T) {
	g := newRig(t)
	found := canaries{"client secret": clientSecret}
	echo := func(r *http.Request) string {
		_ = r.ParseForm()
		found["code"], found["verifier"] = r.PostForm.Get("code"), r.PostForm.Get("code_verifier")
		_, secret, _ := r.BasicAuth()
		return fmt.Sprintf("%s %s %s %s", secret, r.PostForm.Encode(), found["code"], found["verifier"])
	}
	answers := map[string]func(http.ResponseWriter, *http.Request){
		"in an error description": func(w http.ResponseWriter, r *http.Request) {
			reply(w, 400, map[string]any{"error": "invalid_grant", "error_description": echo(r)})
		},
		"in an error code": func(w http.ResponseWriter, r *http.Request) { reply(w, 400, map[string]any{"error": echo(r)}) },
		"in an error page": func(w http.ResponseWriter, r *http.Request) { http.Error(w, echo(r), 500) },
		"in a bad answer":  func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write([]byte(echo(r))) },
		"in a typed answer": func(w http.ResponseWriter, r *http.Request) {
			reply(w, 200, map[string]any{"access_token": []string{echo(r)}})
		},
		"in a number": func(w http.ResponseWriter, r *http.Request) {
			reply(w, 200, map[string]any{"access_token": "x", "expires_in": echo(r)})
		},
		"in a redirect": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "https://one.example/?"+url.QueryEscape(echo(r)), http.StatusTemporaryRedirect)
		},
		"in an ID token": func(w http.ResponseWriter, r *http.Request) {
			reply(w, 200, map[string]any{"access_token": "x", "id_token": echo(r)})
		},
		"in an ID token's head": func(w http.ResponseWriter, r *http.Request) {
			reply(w, 200, map[string]any{"access_token": "x", "id_token": b64([]byte(echo(r))) + "." + b64([]byte(echo(r))) + ".x"})
		},
	}
	for how, answer := range answers {
		g.one.token = func(w http.ResponseWriter, r *http.Request) bool { answer(w, r); return true }
		b := g.browser()
		back := b.answer()
		found["state"], found["flow cookie"] = param(back, "state"), b.cookies[flowCookie]
		if r := b.get(back); r.StatusCode < 400 {
			t.Errorf("%s: status %d", how, r.StatusCode)
		}
		if leaks := found.find(g.seen.all(t)); len(leaks) > 0 {
			t.Errorf("%s: shown: %v", how, leaks)
		}
	}
	g.one.token = nil
	g.one.sign = func(o *op, h, c map[string]any) string {
		found["nonce"] = c["nonce"].(string)
		found["ID token"] = signRS256(o, h, c)
		return found["ID token"]
	}
	b := g.browser()
	back := b.answer()
	found["code"], found["state"], found["flow cookie"] = param(back, "code"), param(back, "state"), b.cookies[flowCookie]
	b.get(back)
	found["session cookie"] = b.cookies[sessionCookie]
	who, ok := b.person()
	if !ok {
		t.Fatal("not signed in")
	}
	b.get(back) // a replay
	stands, _ := b.session()
	b.get(with(back, "code", "", "error", found["session cookie"], "error_description", found["code"]))
	b.copyOf().get("/signin/local?token=" + found["session cookie"])
	b.post("/signout", nil)

	shown := g.seen.all(t) + fmt.Sprintf("%+v", who) + stands
	if leaks := found.find(shown); len(leaks) > 0 {
		t.Errorf("shown: %v", leaks)
	}
	delete(found, "ID token") // begins like every other
	for name, s := range found {
		if s == "" {
			t.Errorf("the run has no %s", name)
		}
		// The control: planted in the log, the search finds it.
		planted := &seen{}
		fmt.Fprintf(planted, "level=WARN cause=%q", "x"+s)
		if len((canaries{name: s}).find(planted.all(t))) == 0 {
			t.Errorf("the search does not find a planted %s", name)
		}
	}
}

func TestLocalTokenIsShownOnlyInItsForm(t *testing.T) {
	g := newLocalRig(t)
	b, token := g.browser(), tokenOf(g)
	secrets := canaries{"token": token}
	b.get("/signin/local?token=" + token)
	if len(secrets.find(g.seen.all(t))) == 0 {
		t.Error("the form does not have the token")
	}
	g.seen.pages.Reset()
	b.post("/signin/local", url.Values{"token": {token}})
	b.post("/signin/local", url.Values{"token": {token}})
	b.get("/signin/local?token=" + token)
	if leaks := secrets.find(g.seen.all(t)); len(leaks) > 0 {
		t.Errorf("shown: %v", leaks)
	}
}

func TestProviderErrorsAreToldInOurWords(t *testing.T) {
	g := newRig(t)
	told := map[string]bool{}
	for _, code := range []string{"access_denied", "login_required", "server_error", "invalid_scope", "<script>alert(1)</script>", "x\r\nSet-Cookie: y"} {
		b := g.browser()
		r := b.get(with(b.answer(), "code", "", "error", code, "error_description", "call 555-EVIL", "error_uri", "https://evil.example"))
		if r.StatusCode != http.StatusForbidden {
			t.Errorf("%s: status %d", code, r.StatusCode)
		}
		message := pageOf(t, r).Message
		told[message] = true
		if strings.Contains(message, "script") || strings.Contains(message, "evil") || strings.Contains(message, "EVIL") {
			t.Errorf("%s: told %q", code, message)
		}
	}
	if len(told) != 5 {
		t.Errorf("%d messages: %v", len(told), told)
	}
	if log := g.seen.log.String(); strings.Contains(log, "EVIL") || strings.Contains(log, "script") {
		t.Errorf("the log has the provider's words: %s", log)
	}
}
