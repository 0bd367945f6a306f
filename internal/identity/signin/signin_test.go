package signin_test

import (
	"context"
	"crypto/tls"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/identity"
	"github.com/answerback/answerback/internal/identity/signin"
	"github.com/answerback/answerback/internal/secret"
)

func TestPersonIsIssuerAndSubject(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t)
		b := g.browser()
		if _, ok := b.person(); ok {
			t.Fatal("somebody is signed in who did not")
		}
		b.signIn()
		who, ok := b.person()
		if !ok || who.Principal != (ask.Principal{Issuer: issuerOne, Subject: "alice"}) || who.Name != "Alice Ásk" {
			t.Fatalf("%+v, %v", who, ok)
		}
		if !who.Claims.Has("groups", "dev") || who.Claims.Has("groups", "admin") || who.Claims["nonce"] != nil {
			t.Errorf("claims %v", who.Claims)
		}
		if want := time.Now().Add(12 * time.Hour); !who.Expires.Equal(want) {
			t.Errorf("expires %v, want %v", who.Expires, want)
		}
		if e := g.seen.last(); e.Kind != signin.SignedIn || e.Principal != who.Principal || !e.At.Equal(time.Now()) {
			t.Errorf("event %+v", e)
		}
	})
}

func TestNameIsWhatCanBeShown(t *testing.T) {
	for _, c := range []struct {
		claims map[string]any
		want   string
	}{
		{map[string]any{"name": "  Al\u202eice\n "}, "Alice"},
		{map[string]any{"name": 7, "preferred_username": "al"}, "al"},
		{map[string]any{"name": "\x00", "email": "al@example.com"}, "al@example.com"},
		{map[string]any{"name": strings.Repeat("ä", 200)}, strings.Repeat("ä", 100)},
		{map[string]any{"name": nil}, ""},
	} {
		g := newRig(t)
		g.one.claims = func(claims map[string]any) {
			for k, v := range c.claims {
				claims[k] = v
			}
		}
		b := g.browser()
		b.signIn()
		if who, _ := b.person(); who.Name != c.want {
			t.Errorf("%v is called %q", c.claims, who.Name)
		}
	}
}

func TestTokenForSeveralIsTakenWhereItWasIssuedToUs(t *testing.T) {
	g := newRig(t)
	g.one.claims = func(c map[string]any) { c["aud"], c["azp"] = []string{"other", clientOne}, clientOne }
	g.browser().signIn()
}

func TestSessionValueStandsForOneSession(t *testing.T) {
	g := newRig(t)
	one, two := g.browser(), g.browser()
	if _, ok := one.session(); ok {
		t.Error("there is a session before the sign-in")
	}
	one.signIn()
	two.signIn()
	a, ok := one.session()
	again, _ := one.session()
	other, _ := two.session()
	if !ok || a != again || a == other || len(a) != 64 || a == one.cookies[sessionCookie] {
		t.Errorf("%q, %q, %q", a, again, other)
	}
	one.signIn()
	if renewed, _ := one.session(); renewed == a {
		t.Error("a new sign-in has the old value")
	}
}

func TestSignInBelongsToTheProviderChosen(t *testing.T) {
	g := newRig(t)
	b := g.browser()
	p := pageOf(t, b.get("/signin?return=/asks/1"))
	if p.Page != "choose" || len(p.Choices) != 2 || p.Choices[1].Name != "two" || p.Return != "/asks/1" {
		t.Fatalf("%+v", p)
	}
	if again := pageOf(t, b.get("/signin?provider=three")); again.Page != "choose" {
		t.Errorf("a provider that is not: %+v", again)
	}
	start := b.location(b.get(p.Choices[1].URL))
	if !strings.HasPrefix(start, issuerTwo+"/authorize?") || param(start, "redirect_uri") != publicURL+"/signin/callback" || param(start, "scope") != "openid profile" {
		t.Fatalf("sent to %s", start)
	}
	if to := b.location(b.get(path(t, g.two.authorize(start)))); to != "/asks/1" {
		t.Errorf("sent back to %s", to)
	}
	if who, _ := b.person(); who.Principal.Issuer != issuerTwo {
		t.Errorf("signed in as %v", who.Principal)
	}
}

func TestTwoTabsSignInOneAfterTheOther(t *testing.T) {
	g := newRig(t)
	b := g.browser()
	first, second := b.answer(), b.answer()
	for _, back := range []string{first, second} {
		delete(b.cookies, sessionCookie)
		b.get(back)
		if _, ok := b.person(); !ok {
			t.Error("not signed in")
		}
	}
}

func TestAnotherBrowserDoesNotUseTheSignInUp(t *testing.T) {
	g := newRig(t)
	b := g.browser()
	back := b.answer()
	g.browser().get(back)
	b.get(back)
	if _, ok := b.person(); !ok {
		t.Error("not signed in")
	}
}

func TestManyRedeemOneStateAndOneIsSignedIn(t *testing.T) {
	g := newRig(t)
	b := g.browser()
	back := b.answer()
	if n := race(100, func() bool { return b.copyOf().get(back).StatusCode == http.StatusSeeOther }); n != 1 {
		t.Errorf("%d were signed in", n)
	}
	if n := g.one.exchanges.Load(); n != 1 {
		t.Errorf("the code was shown %d times", n)
	}
}

func TestManyUseOneLocalLinkAndOneIsSignedIn(t *testing.T) {
	g := newLocalRig(t)
	form := url.Values{"token": {tokenOf(g)}}
	if n := race(100, func() bool { return g.browser().post("/signin/local", form).StatusCode == http.StatusSeeOther }); n != 1 {
		t.Errorf("%d were signed in", n)
	}
}

// race runs f so often at once and counts the successes.
func race(times int, f func() bool) int32 {
	var won atomic.Int32
	var all sync.WaitGroup
	start := make(chan struct{})
	for range times {
		all.Go(func() {
			<-start
			if f() {
				won.Add(1)
			}
		})
	}
	close(start)
	all.Wait()
	return won.Load()
}

func TestClientSaysWhoItIsAsTheProviderWants(t *testing.T) {
	for name, c := range map[string]struct {
		methods []string
		secret  string
		header  bool
	}{
		"unsaid": {nil, "s+ /", true}, "both": {[]string{"client_secret_post", "client_secret_basic"}, "s", true},
		"post": {[]string{"client_secret_post"}, "s", false}, "public": {[]string{"none"}, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			g := newRig(t, func(cfg *signin.Config) { cfg.Providers[0].ClientSecret = secret.New(c.secret) })
			g.one.authMethods = c.methods
			var header bool
			g.one.token = func(w http.ResponseWriter, r *http.Request) bool {
				id, pass, ok := r.BasicAuth()
				header = ok
				if ok { // RFC 6749 2.3.1 escapes both
					id, _ = url.QueryUnescape(id)
					pass, _ = url.QueryUnescape(pass)
					r.SetBasicAuth(id, pass)
				}
				return false
			}
			g.one.secret = c.secret
			g.browser().signIn()
			if header != c.header || g.one.exchanges.Load() != 1 {
				t.Errorf("in the header: %v; %d requests", header, g.one.exchanges.Load())
			}
		})
	}
}

func TestChallengeSendsReadersToSignIn(t *testing.T) {
	g := newRig(t)
	for _, c := range []struct{ method, target, want string }{
		{"GET", "/asks/1?x=y", "/signin?return=%2Fasks%2F1%3Fx%3Dy"},
		{"HEAD", "/", "/signin?return=%2F"},
		{"GET", "/asks/a%2fb", "/signin?return=%2F"},
	} {
		w := httptest.NewRecorder()
		g.s.Challenge(w, httptest.NewRequest(c.method, c.target, nil))
		if w.Code != http.StatusSeeOther || w.Header().Get("Location") != c.want || w.Header().Get("Cache-Control") != "no-store" {
			t.Errorf("%s %s: %d, %v", c.method, c.target, w.Code, w.Header())
		}
	}
	w := httptest.NewRecorder()
	g.s.Challenge(w, httptest.NewRequest("POST", "/asks/1", nil))
	if w.Code != http.StatusUnauthorized || w.Header().Get("Location") != "" {
		t.Errorf("POST: %d, %v", w.Code, w.Header())
	}
}

func TestServesNothingElse(t *testing.T) {
	b := newRig(t).browser()
	for _, c := range []struct {
		method, path string
		status       int
		allow        string
	}{
		{"GET", "/signin/", 404, ""},
		{"GET", "/other", 404, ""},
		{"POST", "/signin", 405, "GET"},
		{"DELETE", "/signin/local", 405, "GET, POST"},
		{"GET", "/signout", 405, "POST"},
	} {
		r := b.send(b.request(c.method, c.path, nil))
		if r.StatusCode != c.status || r.Header.Get("Allow") != c.allow || r.Header.Get("Cache-Control") != "no-store" || r.Header.Get("Referrer-Policy") != "same-origin" {
			t.Errorf("%s %s: %d, %v", c.method, c.path, r.StatusCode, r.Header)
		}
	}
}

func TestWithoutProvidersPeopleAreToldHowToSignIn(t *testing.T) {
	local := newLocalRig(t)
	nobody := newRig(t, func(c *signin.Config) { c.Providers, c.HTTP = nil, nil })
	for g, want := range map[*rig]string{local: "printed", nobody: "Nobody"} {
		r := g.browser().get("/signin")
		if p := pageOf(t, r); r.StatusCode != http.StatusUnauthorized || !strings.Contains(p.Message, want) {
			t.Errorf("%d %+v", r.StatusCode, p)
		}
	}
}

func TestLocalLinkSignsInAsLocal(t *testing.T) {
	g := newLocalRig(t)
	older, b := tokenOf(g), g.browser()
	tokenOf(g)
	if to := b.location(b.post("/signin/local", url.Values{"token": {older}})); to != "/" {
		t.Errorf("sent to %s", to)
	}
	if who, ok := b.person(); !ok || who.Principal != identity.Local {
		t.Errorf("%+v, %v", who, ok)
	}
	// Many more links push the unused one out, and no more.
	first := tokenOf(g)
	for range 63 {
		tokenOf(g)
	}
	if p := pageOf(t, b.get("/signin/local?token="+first)); p.Page != "confirm" {
		t.Errorf("%+v", p)
	}
	tokenOf(g)
	if p := pageOf(t, b.get("/signin/local?token="+first)); p.Page != "problem" {
		t.Errorf("%+v", p)
	}
}

// TestSignInOverTLS goes the whole way with sockets, TLS and a cookie jar.
func TestSignInOverTLS(t *testing.T) {
	provider := newOP("", clientOne, clientSecret)
	there := httptest.NewTLSServer(provider)
	defer there.Close()
	provider.issuer = there.URL
	var s *signin.Signin
	here := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/sign") {
			s.Handler().ServeHTTP(w, r)
		} else if who, ok := s.Person(r); ok {
			_, _ = io.WriteString(w, r.URL.Path+" "+who.Principal.String())
		} else {
			s.Challenge(w, r)
		}
	}))
	defer here.Close()
	var err error
	s, err = signin.New(signin.Config{
		PublicURL: here.URL, HTTP: there.Client(), Pages: plainPages{}, Log: slog.New(slog.DiscardHandler),
		Providers: []signin.Provider{{Issuer: there.URL, ClientID: clientOne, ClientSecret: secret.New(clientSecret)}},
	})
	if err != nil {
		t.Fatal(err)
	}
	jar, _ := cookiejar.New(nil)
	transport := here.Client().Transport.(*http.Transport).Clone()
	transport.TLSClientConfig = &tls.Config{InsecureSkipVerify: true} // two test servers, two certificates
	defer transport.CloseIdleConnections()
	client := &http.Client{Jar: jar, Transport: transport}
	request, err := http.NewRequestWithContext(context.Background(), "GET", here.URL+"/asks/1?x=y", nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, _ := io.ReadAll(response.Body)
	if want := "/asks/1 " + there.URL + "|alice"; string(body) != want || response.Request.URL.RawQuery != "x=y" {
		t.Errorf("%d %s, want %s", response.StatusCode, body, want)
	}
}

func TestConfigIsChecked(t *testing.T) {
	good := func() signin.Config {
		return signin.Config{
			PublicURL: publicURL, Pages: plainPages{}, Log: slog.New(slog.DiscardHandler),
			Providers: []signin.Provider{{Issuer: issuerOne, ClientID: "c"}}, HTTP: &http.Client{Transport: network{}},
		}
	}
	if _, err := signin.New(good()); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(c *signin.Config){
		"no public URL":             func(c *signin.Config) { c.PublicURL = "" },
		"public URL is no URL":      func(c *signin.Config) { c.PublicURL = "https://a b" },
		"public URL is plain":       func(c *signin.Config) { c.PublicURL = "http://gate.example" },
		"public URL has a path":     func(c *signin.Config) { c.PublicURL += "/sub" },
		"public URL has a query":    func(c *signin.Config) { c.PublicURL += "?x" },
		"public URL has a password": func(c *signin.Config) { c.PublicURL = "https://u:p@gate.example" },
		"no pages":                  func(c *signin.Config) { c.Pages = nil },
		"no log":                    func(c *signin.Config) { c.Log = nil },
		"no client":                 func(c *signin.Config) { c.HTTP = nil },
		"no transport":              func(c *signin.Config) { c.HTTP = &http.Client{} },
		"local and a provider":      func(c *signin.Config) { c.PublicURL, c.Local = localURL, true },
		"local and not loopback":    func(c *signin.Config) { c.Providers, c.Local = nil, true },
		"issuer is plain":           func(c *signin.Config) { c.Providers[0].Issuer = "http://one.example" },
		"issuer is no URL":          func(c *signin.Config) { c.Providers[0].Issuer = "key" },
		"no client id":              func(c *signin.Config) { c.Providers[0].ClientID = "" },
		"no openid":                 func(c *signin.Config) { c.Providers[0].Scopes = []string{"profile"} },
		"issuer twice":              func(c *signin.Config) { c.Providers = append(c.Providers, c.Providers[0]) },
	} {
		c := good()
		change(&c)
		if _, err := signin.New(c); err == nil {
			t.Errorf("%s: taken", name)
		} else if strings.Contains(err.Error(), "u:p@") {
			t.Errorf("%s: shown: %v", name, err)
		}
	}
	for _, public := range []string{"http://localhost:8080", "http://127.0.0.1:8080/", "http://[::1]:8080"} {
		c := good()
		c.PublicURL, c.Providers, c.Local = public, nil, true
		if s, err := signin.New(c); err != nil || !strings.HasPrefix(s.LocalLink(), strings.TrimSuffix(public, "/")+"/signin/local?") {
			t.Errorf("%s: %v", public, err)
		}
	}
}
