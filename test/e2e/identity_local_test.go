package e2e

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/answerback/answerback/test/rig"
)

// TestAttackLocalLink: on a gateway without issuers the link that its operator
// has printed signs one browser in, once, when the person in it says so; and
// nothing else signs anybody in.
func TestAttackLocalLink(t *testing.T) {
	t.Parallel()
	g := rig.Start(t, "backends:\n  one: { url: "+newAsker(t).URL+" }\n")
	base := strings.TrimSuffix(g.URL, "/mcp")
	link := func() string {
		status, out, complaint := rig.RunAll(t, "signin", "--config", g.File)
		at, err := url.Parse(strings.TrimSpace(out))
		if status != 0 || err != nil || !strings.HasPrefix(out, base+"/signin/local?token=") {
			t.Fatalf("answerback signin: %d %s %s", status, out, complaint)
		}
		return at.Query().Get("token")
	}
	form := "application/x-www-form-urlencoded"
	signsIn := func(t *testing.T, req *http.Request) bool {
		t.Helper()
		r := send(t, req)
		for _, c := range (&http.Response{Header: r.header}).Cookies() {
			if c.Name != sessionCookie || c.MaxAge < 0 {
				continue
			}
			v := &visitor{t: t, base: base, cookies: map[string]string{c.Name: c.Value}}
			return v.get("/").status == http.StatusOK
		}
		return false
	}
	body := func(token string) string { return url.Values{"token": {token}}.Encode() }
	used := link()
	if !signsIn(t, newRequest(t, http.MethodPost, base+"/signin/local", body(used), "Origin", base, "Content-Type", form)) {
		t.Fatal("control: the link signs nobody in")
	}
	for name, attempt := range map[string]func(token string) *http.Request{
		"opening it alone": func(k string) *http.Request {
			return newRequest(t, http.MethodGet, base+"/signin/local?"+body(k), "")
		},
		"a preview": func(k string) *http.Request {
			return newRequest(t, http.MethodHead, base+"/signin/local?"+body(k), "", "Purpose", "prefetch")
		},
		"in the address of a post": func(k string) *http.Request {
			return newRequest(t, http.MethodPost, base+"/signin/local?"+body(k), "", "Origin", base, "Content-Type", form)
		},
		"from another site": func(k string) *http.Request {
			return newRequest(t, http.MethodPost, base+"/signin/local", body(k), "Origin", "https://evil.example", "Content-Type", form)
		},
		"from another site, by a browser that tells": func(k string) *http.Request {
			return newRequest(t, http.MethodPost, base+"/signin/local", body(k), "Sec-Fetch-Site", "cross-site", "Content-Type", form)
		},
		"under another name": func(k string) *http.Request {
			return newRequest(t, http.MethodPost, base+"/signin/local", body(k), "Host", "evil.example", "Content-Type", form)
		},
		"as text": func(k string) *http.Request {
			return newRequest(t, http.MethodPost, base+"/signin/local", body(k), "Origin", base, "Content-Type", "text/plain")
		},
		"twice in one form": func(k string) *http.Request {
			return newRequest(t, http.MethodPost, base+"/signin/local", body(k)+"&"+body(k), "Origin", base, "Content-Type", form)
		},
		"a piece of it": func(k string) *http.Request {
			return newRequest(t, http.MethodPost, base+"/signin/local", body(k[:len(k)-1]), "Origin", base, "Content-Type", form)
		},
		"used before": func(string) *http.Request {
			return newRequest(t, http.MethodPost, base+"/signin/local", body(used), "Origin", base, "Content-Type", form)
		},
		"at the status socket's path": func(string) *http.Request {
			return newRequest(t, http.MethodPost, base+"/signin", "", "Origin", base, "Content-Type", form)
		},
	} {
		t.Run(name, func(t *testing.T) {
			token := link()
			if signsIn(t, attempt(token)) {
				t.Error("it signs in")
			}
			if !signsIn(t, newRequest(t, http.MethodPost, base+"/signin/local", body(token), "Origin", base, "Content-Type", form)) {
				t.Error("control: afterwards the link signs nobody in")
			}
		})
	}
	for name, cookie := range map[string]string{"the link's token": link(), "a used token": used, "nothing": ""} {
		t.Run("as the cookie: "+name, func(t *testing.T) {
			v := &visitor{t: t, base: base, cookies: map[string]string{sessionCookie: cookie}}
			if r := v.get("/"); r.status == http.StatusOK {
				t.Errorf("it opens the inbox: %s", r.body)
			}
		})
	}
}

// TestAttackSignIn: what comes back from a provider signs in only the browser
// that was sent there, once, and only if all of it is the provider's.
func TestAttackSignIn(t *testing.T) {
	t.Parallel()
	g := guard(t, "", "  one: { url: "+newAsker(t).URL+" }\n")
	begin := func(t *testing.T) (*visitor, *url.URL) {
		t.Helper()
		v := &visitor{t: t, base: g.base, cookies: map[string]string{}}
		return v, g.Approve(v.get("/signin?return=%2F").header.Get("Location"), "ann")
	}
	with := func(u *url.URL, name string, values ...string) *url.URL {
		c, q := *u, u.Query()
		q[name] = values
		c.RawQuery = q.Encode()
		return &c
	}
	for name, attack := range map[string]func(t *testing.T, v *visitor, back *url.URL) (*visitor, *url.URL){
		"login CSRF: another browser": func(t *testing.T, _ *visitor, back *url.URL) (*visitor, *url.URL) {
			return &visitor{t: t, base: g.base, cookies: map[string]string{}}, back
		},
		"login CSRF: a browser with a flow of its own": func(t *testing.T, _ *visitor, back *url.URL) (*visitor, *url.URL) {
			other, _ := begin(t)
			return other, back
		},
		"mix-up: another issuer": func(_ *testing.T, v *visitor, back *url.URL) (*visitor, *url.URL) {
			return v, with(back, "iss", "https://evil.example")
		},
		"mix-up: no issuer": func(_ *testing.T, v *visitor, back *url.URL) (*visitor, *url.URL) { return v, with(back, "iss") },
		"mix-up: two issuers": func(_ *testing.T, v *visitor, back *url.URL) (*visitor, *url.URL) {
			return v, with(back, "iss", g.Issuer.URL, "x")
		},
		"mix-up: a slash too many": func(_ *testing.T, v *visitor, back *url.URL) (*visitor, *url.URL) {
			return v, with(back, "iss", g.Issuer.URL+"/")
		},
		"another code": func(_ *testing.T, v *visitor, back *url.URL) (*visitor, *url.URL) {
			return v, with(back, "code", "made-up")
		},
		"a code of another flow": func(t *testing.T, v *visitor, back *url.URL) (*visitor, *url.URL) {
			_, other := begin(t)
			return v, with(back, "code", other.Query().Get("code"))
		},
		"no code": func(_ *testing.T, v *visitor, back *url.URL) (*visitor, *url.URL) { return v, with(back, "code") },
		"two codes": func(_ *testing.T, v *visitor, back *url.URL) (*visitor, *url.URL) {
			return v, with(back, "code", "a", back.Query().Get("code"))
		},
		"no state": func(_ *testing.T, v *visitor, back *url.URL) (*visitor, *url.URL) { return v, with(back, "state") },
		"a state that is none": func(_ *testing.T, v *visitor, back *url.URL) (*visitor, *url.URL) {
			return v, with(back, "state", strings.Repeat("A", 43))
		},
		"an error and a code": func(_ *testing.T, v *visitor, back *url.URL) (*visitor, *url.URL) {
			return v, with(back, "error", "access_denied")
		},
		"state and code replay": func(t *testing.T, v *visitor, back *url.URL) (*visitor, *url.URL) {
			if r := v.get(back.RequestURI()); r.status != http.StatusSeeOther {
				t.Fatalf("the first time: %d %s", r.status, r.body)
			}
			delete(v.cookies, sessionCookie)
			return v, back
		},
	} {
		t.Run(name, func(t *testing.T) {
			v, back := begin(t)
			v, back = attack(t, v, back)
			r := v.get(back.RequestURI())
			if r.status < 400 || v.cookies[sessionCookie] != "" {
				t.Errorf("got %d, cookies %v", r.status, v.cookies)
			}
			if r := v.get("/"); r.status == http.StatusOK {
				t.Error("the inbox opens")
			}
		})
	}
	t.Run("session fixation", func(t *testing.T) {
		mallory := g.signIn("mallory").cookies[sessionCookie]
		v, back := begin(t)
		v.cookies[sessionCookie] = mallory
		v.get(back.RequestURI())
		if v.cookies[sessionCookie] == mallory {
			t.Error("ann's session has the value that was planted")
		}
		planted := &visitor{t: t, base: g.base, cookies: map[string]string{sessionCookie: mallory}}
		if r := planted.get("/"); r.status == http.StatusOK {
			t.Errorf("the planted session is open: %s", r.body)
		}
	})
	for _, to := range []string{
		"https://evil.example", "//evil.example", "/\\evil.example", "\\\\evil.example", "/%2f/evil.example", "/asks/../../evil", "javascript:alert(1)",
		"/asks/x\r\nSet-Cookie: a=b", "http:evil.example", "/signout", "/signin?return=/", "/mcp", "///evil.example", "/.evil.example",
	} {
		t.Run("open redirect to "+to, func(t *testing.T) {
			v := &visitor{t: t, base: g.base, cookies: map[string]string{}}
			back := g.Approve(v.get("/signin?"+url.Values{"return": {to}}.Encode()).header.Get("Location"), "ann")
			if r := v.get(back.RequestURI()); r.status != http.StatusSeeOther || r.header.Get("Location") != "/" {
				t.Errorf("got %d to %q", r.status, r.header.Get("Location"))
			}
		})
	}
	// The controls: all of it untouched, and a way back that is one.
	v := &visitor{t: t, base: g.base, cookies: map[string]string{}}
	back := g.Approve(v.get("/signin?return=%2Fasks%2Fx").header.Get("Location"), "ann")
	if r := v.get(back.RequestURI()); r.status != http.StatusSeeOther || r.header.Get("Location") != "/asks/x" {
		t.Errorf("control: %d to %q: %s", r.status, r.header.Get("Location"), r.body)
	}
	if r := v.get("/"); r.status != http.StatusOK {
		t.Errorf("control: the inbox: %d", r.status)
	}
}
