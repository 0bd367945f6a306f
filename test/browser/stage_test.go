//go:build browser

package browser

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/answerback/answerback/test/rig"
)

const clientSecret = "the-secret-of-the-pages"

// stage is a gateway with people and callers around it.
type stage struct {
	t       testing.TB
	issuer  string // empty where there is none
	gateway *rig.Gateway
	base    string // where the pages are
}

// newStage starts a gateway whose people sign in at a provider. The
// configuration is that of the backends, of identity beside its issuers, and
// anything else.
func newStage(t testing.TB, backends string, more ...string) *stage {
	t.Helper()
	s := &stage{t: t, issuer: home(t).issuer}
	s.start("identity:\n  issuers:\n    corp: { url: \"" + s.issuer + "\", scopes: [mcp], client_id: answerback, client_secret: " + clientSecret + " }\n" +
		strings.Join(more, "") + "backends:\n" + backends)
	return s
}

// newLocalStage starts a gateway that authenticates nobody.
func newLocalStage(t testing.TB, backends string) *stage {
	t.Helper()
	s := &stage{t: t}
	s.start("backends:\n" + backends)
	return s
}

func (s *stage) start(yaml string) {
	s.t.Helper()
	s.gateway = rig.Start(s.t, yaml)
	s.base = strings.TrimSuffix(s.gateway.URL, "/mcp")
}

// token has somebody log in at the provider as a caller's program would have
// them do (authorization code with PKCE), and gives their access token for
// the gateway.
func (s *stage) token(who string) string {
	s.t.Helper()
	const verifier, redirect = "a-verifier-of-at-least-forty-three-characters", "http://127.0.0.1:1/callback"
	challenge := sha256.Sum256([]byte(verifier))
	jar, _ := cookiejar.New(nil)
	client := &http.Client{Jar: jar, CheckRedirect: func(r *http.Request, _ []*http.Request) error {
		if strings.HasPrefix(r.URL.String(), redirect) {
			return http.ErrUseLastResponse
		}
		return nil
	}}
	defer client.CloseIdleConnections()
	login := s.done(client.Get(s.issuer + "/auth?" + url.Values{
		"client_id": {"caller"}, "redirect_uri": {redirect}, "response_type": {"code"}, "state": {"x"},
		"scope": {"mcp"}, "resource": {s.gateway.URL},
		"code_challenge": {base64.RawURLEncoding.EncodeToString(challenge[:])}, "code_challenge_method": {"S256"},
	}.Encode()))
	back := s.done(client.PostForm(login.Request.URL.String(), url.Values{"name": {who}, "password": {who + "-password"}}))
	at, err := back.Location()
	if err != nil || at.Query().Get("code") == "" {
		s.t.Fatalf("%s did not get a code: %s %v", who, back.Status, at)
	}
	resp, err := client.PostForm(s.issuer+"/token", url.Values{
		"grant_type": {"authorization_code"}, "client_id": {"caller"}, "redirect_uri": {redirect},
		"code": {at.Query().Get("code")}, "code_verifier": {verifier}, "resource": {s.gateway.URL},
	})
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	var got struct {
		AccessToken string `json:"access_token"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&got); err != nil || strings.Count(got.AccessToken, ".") != 2 {
		s.t.Fatalf("%s did not get a token: %s %v", who, resp.Status, err)
	}
	return got.AccessToken
}

// dial opens a session at the gateway for somebody.
func (s *stage) dial(who, caps string) *rig.Client {
	s.t.Helper()
	c := rig.NewClient(s.t, s.gateway.URL)
	c.Token, c.Name = s.token(who), "Example Assistant"
	c.Open(caps, "2025-11-25")
	return c
}

// asked signs somebody in and puts a question to them. It gives them at its
// page, the page's address, and the call.
func (s *stage) asked(who string, e eyes) (*tab, string, *rig.Stream) {
	s.t.Helper()
	v, _ := s.signInWith(who, "/", e)
	call := s.dial(who, formCaps).Tool("deploy", "{}")
	call.Next()
	at := s.base + askOn(s.t, v.open(s.base+"/"))
	v.open(at)
	return v, at, call
}

func (s *stage) done(resp *http.Response, err error) *http.Response {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
	resp.Body.Close()
	return resp
}

// signIn opens a page of the gateway in a new browser and logs in on the way.
func (s *stage) signIn(who, path string) (*tab, page) {
	s.t.Helper()
	return s.signInWith(who, path, eyes{})
}

func (s *stage) signInWith(who, path string, e eyes) (*tab, page) {
	s.t.Helper()
	v := s.person(who, e)
	p := v.open(s.base + path)
	if p.Title != "Log in" {
		s.t.Fatalf("%s was not sent to the provider, but to %s: %s", who, p.URL, p.Text)
	}
	v.fill("Name", who)
	v.fill("Password", who+"-password")
	p = v.press("Log in")
	if p.URL != s.base+path {
		s.t.Fatalf("after signing in %s is at %s: %s", who, p.URL, p.Text)
	}
	return v, p
}

var askPath = regexp.MustCompile(`/asks/[^"]+`)

// askOn finds the path of the only ask on an inbox page.
func askOn(t testing.TB, p page) string {
	t.Helper()
	found := askPath.FindAllString(p.HTML, -1)
	if len(found) != 1 {
		t.Fatalf("the inbox has %d asks: %s", len(found), p.Text)
	}
	return found[0]
}

func contains(t testing.TB, p page, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if !strings.Contains(p.Text, text) {
			t.Errorf("the page at %s does not say %q:\n%s", p.URL, text, p.Text)
		}
	}
}

func lacks(t testing.TB, p page, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if strings.Contains(p.HTML+p.Body, text) {
			t.Errorf("the page at %s has %q in it:\n%s", p.URL, text, p.HTML)
		}
	}
}
