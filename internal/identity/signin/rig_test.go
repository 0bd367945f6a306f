package signin_test

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/answerback/answerback/internal/identity"
	"github.com/answerback/answerback/internal/identity/signin"
	"github.com/answerback/answerback/internal/secret"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	publicURL    = "https://gate.example"
	localURL     = "http://127.0.0.1:8080"
	issuerOne    = "https://one.example"
	issuerTwo    = "https://two.example"
	clientOne    = "client-one"
	clientSecret = "canary-client-secret-8fd1"

	sessionCookie = "__Host-answerback-session"
	flowCookie    = "__Host-answerback-flow"
)

// rig is a gateway's sign-in between a provider, or two, and browsers.
type rig struct {
	t        testing.TB
	s        *signin.Signin
	one, two *op
	seen     *seen
}

// seen is all that left the gateway: log, events and pages.
type seen struct {
	mu     sync.Mutex
	log    bytes.Buffer
	pages  bytes.Buffer
	events []signin.Event
}

func (s *seen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.log.Write(p)
}

func (s *seen) audit(e signin.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events = append(s.events, e)
}

func (s *seen) last() signin.Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.events) == 0 {
		return signin.Event{}
	}
	return s.events[len(s.events)-1]
}

// plainPages draws pages as JSON.
type plainPages struct{}

func (plainPages) Choose(w http.ResponseWriter, _ *http.Request, choices []signin.Choice, returnTo string) {
	reply(w, 200, map[string]any{"page": "choose", "choices": choices, "return": returnTo})
}

func (plainPages) ConfirmLocal(w http.ResponseWriter, _ *http.Request, token string) {
	reply(w, 200, map[string]any{"page": "confirm", "token": token})
}

func (plainPages) SignedOut(w http.ResponseWriter, _ *http.Request) {
	reply(w, 200, map[string]any{"page": "out"})
}

func (plainPages) Problem(w http.ResponseWriter, _ *http.Request, status int, message string) {
	reply(w, status, map[string]any{"page": "problem", "message": message})
}

type page struct {
	Page, Message, Token, Return string
	Choices                      []signin.Choice
}

func pageOf(t testing.TB, r *http.Response) page {
	t.Helper()
	var p page
	if err := json.NewDecoder(r.Body).Decode(&p); err != nil {
		t.Fatalf("status %d is no page: %v", r.StatusCode, err)
	}
	return p
}

// newRig has two providers, of which people use the first unless they choose.
func newRig(t testing.TB, change ...func(*signin.Config)) *rig {
	t.Helper()
	g := &rig{t: t, seen: &seen{}, one: newOP(issuerOne, clientOne, clientSecret), two: newOP(issuerTwo, "client-two", "")}
	cfg := signin.Config{
		PublicURL: publicURL,
		Providers: []signin.Provider{
			{Issuer: issuerOne, ClientID: clientOne, ClientSecret: secret.New(clientSecret), Name: "one"},
			{Issuer: issuerTwo, ClientID: "client-two", Name: "two"},
		},
		HTTP:  &http.Client{Transport: network{"one.example": g.one, "two.example": g.two}},
		Pages: plainPages{},
		Log:   slog.New(slog.NewTextHandler(g.seen, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Audit: g.seen.audit,
	}
	for _, c := range change {
		c(&cfg)
	}
	s, err := signin.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	g.s = s
	return g
}

func newLocalRig(t testing.TB, change ...func(*signin.Config)) *rig {
	local := func(c *signin.Config) { c.PublicURL, c.Providers, c.HTTP, c.Local = localURL, nil, nil, true }
	return newRig(t, append([]func(*signin.Config){local}, change...)...)
}

// browser keeps cookies as browsers do, where the prefix __Host- is concerned.
type browser struct {
	g       *rig
	mu      sync.Mutex
	cookies map[string]string
	headers http.Header // sent with every request
}

func (g *rig) browser() *browser {
	return &browser{g: g, cookies: map[string]string{}, headers: http.Header{}}
}

func (b *browser) request(method, target string, form url.Values) *http.Request {
	var body io.Reader
	if form != nil {
		body = strings.NewReader(form.Encode())
	}
	r := httptest.NewRequest(method, target, body)
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for name, values := range b.headers {
		r.Header[name] = values
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for name, value := range b.cookies {
		r.Header.Add("Cookie", name+"="+value)
	}
	return r
}

func (b *browser) send(r *http.Request) *http.Response {
	w := httptest.NewRecorder()
	b.g.s.Handler().ServeHTTP(w, r)
	response := w.Result()
	b.g.seen.mu.Lock()
	b.g.seen.pages.WriteString(w.Body.String())
	b.g.seen.mu.Unlock()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, c := range response.Cookies() {
		if !c.Secure || c.Path != "/" || c.Domain != "" || !c.HttpOnly || c.SameSite != http.SameSiteLaxMode {
			b.g.t.Errorf("the cookie %s lacks attributes: %+v", c.Name, c)
		}
		if c.MaxAge < 0 {
			delete(b.cookies, c.Name)
		} else {
			b.cookies[c.Name] = c.Value
		}
	}
	return response
}

func (b *browser) get(target string) *http.Response { return b.send(b.request("GET", target, nil)) }

func (b *browser) post(target string, form url.Values) *http.Response {
	return b.send(b.request("POST", target, form))
}

// begin starts a sign-in with the first provider and gives where it sends us.
func (b *browser) begin(returnTo string) string {
	b.g.t.Helper()
	return b.location(b.get("/signin?" + url.Values{"provider": {"one"}, "return": {returnTo}}.Encode()))
}

func (b *browser) location(r *http.Response) string {
	b.g.t.Helper()
	if r.StatusCode != http.StatusSeeOther {
		b.g.t.Fatalf("status %d, %+v, is no redirect", r.StatusCode, pageOf(b.g.t, r))
	}
	return r.Header.Get("Location")
}

// answer signs in with the provider, and gives the address to go back to.
func (b *browser) answer() string {
	b.g.t.Helper()
	return path(b.g.t, b.g.one.authorize(b.begin("/")))
}

func (b *browser) signIn() {
	b.g.t.Helper()
	if r := b.get(b.answer()); r.StatusCode != http.StatusSeeOther {
		b.g.t.Fatalf("sign-in: status %d, %+v", r.StatusCode, pageOf(b.g.t, r))
	}
}

func (b *browser) person() (identity.Person, bool) { return b.g.s.Person(b.request("GET", "/", nil)) }

func (b *browser) session() (string, bool) { return b.g.s.Session(b.request("GET", "/", nil)) }

// copyOf is another browser with the same cookies.
func (b *browser) copyOf() *browser {
	c := b.g.browser()
	for name, value := range b.cookies {
		c.cookies[name] = value
	}
	return c
}

// path cuts the origin of the gateway off.
func path(t testing.TB, address string) string {
	t.Helper()
	p, ok := strings.CutPrefix(address, publicURL)
	if !ok {
		t.Fatalf("%s is not an address of the gateway", address)
	}
	return p
}

// with changes parameters of an address; an empty value removes one.
func with(address string, pairs ...string) string {
	u, err := url.Parse(address)
	if err != nil {
		panic(err)
	}
	q := u.Query()
	for i := 0; i < len(pairs); i += 2 {
		q.Del(pairs[i])
		if pairs[i+1] != "" {
			q.Set(pairs[i], pairs[i+1])
		}
	}
	u.RawQuery = q.Encode()
	return u.String()
}

func param(address, name string) string {
	u, err := url.Parse(address)
	if err != nil {
		panic(err)
	}
	return u.Query().Get(name)
}

// flip changes the last character but one, so that the length and the
// alphabet stay.
func flip(s string) string {
	b := []byte(s)
	if i := len(b) - 2; b[i] == 'A' {
		b[i] = 'B'
	} else {
		b[i] = 'A'
	}
	return string(b)
}
