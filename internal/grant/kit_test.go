package grant

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/egress"
	"github.com/answerback/answerback/internal/grant/oauth"
	"github.com/answerback/answerback/internal/journal"
	"github.com/answerback/answerback/internal/journal/memjournal"
	"github.com/answerback/answerback/internal/seal"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	ann = ask.Principal{Issuer: "https://login.example", Subject: "ann"}
	bob = ask.Principal{Issuer: "https://login.example", Subject: "bob"}

	annHere  = Visit{Who: ann, Session: "ann's session"}
	annThere = Visit{Who: ann, Session: "ann's other session"}
	bobHere  = Visit{Who: bob, Session: "bob's session"}
)

// server is an authorization server and the resource that trusts it. Its
// fields are changed by tests before it is used.
type server struct {
	*httptest.Server
	t *testing.T

	metadata func(m map[string]any) // changes what the server says of itself
	resource func(m map[string]any) // changes what the resource says of itself
	callback func(q url.Values)     // changes the answer that the browser carries
	life     int                    // of access tokens, in seconds
	stays    bool                   // refresh tokens do not rotate
	noScope  bool

	challenge string // with which the resource refuses what has no token

	mu         sync.Mutex
	token      func(w http.ResponseWriter, r *http.Request) bool // answers in place of the token endpoint
	asked      []url.Values                                      // authorization requests
	codes      map[string]url.Values
	refreshes  map[string]int // how often each refresh token was shown
	valid      map[string]bool
	revoked    []string
	registered int
	issued     int
}

func newServer(t *testing.T) *server {
	s := &server{t: t, life: 3600, codes: map[string]url.Values{}, refreshes: map[string]int{}, valid: map[string]bool{}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/oauth-protected-resource/mcp", func(w http.ResponseWriter, r *http.Request) {
		m := map[string]any{"resource": s.URL + "/mcp", "authorization_servers": []string{s.URL}}
		if s.resource != nil {
			s.resource(m)
		}
		reply(w, 200, m)
	})
	mux.HandleFunc("GET /.well-known/oauth-authorization-server", func(w http.ResponseWriter, r *http.Request) {
		m := map[string]any{
			"issuer": s.URL, "authorization_endpoint": s.URL + "/authorize", "token_endpoint": s.URL + "/token",
			"registration_endpoint": s.URL + "/register", "revocation_endpoint": s.URL + "/revoke",
			"code_challenge_methods_supported": []string{"S256"}, "authorization_response_iss_parameter_supported": true,
		}
		if s.metadata != nil {
			s.metadata(m)
		}
		reply(w, 200, m)
	})
	mux.HandleFunc("POST /register", func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.registered++
		reply(w, 201, map[string]any{"client_id": fmt.Sprintf("client-%d", s.registered), "client_secret": "canary-client-secret", "token_endpoint_auth_method": "client_secret_basic"})
	})
	mux.HandleFunc("POST /mcp", func(w http.ResponseWriter, r *http.Request) {
		if s.challenge != "" {
			w.Header().Set("WWW-Authenticate", strings.ReplaceAll(s.challenge, "HERE", s.URL))
			w.WriteHeader(http.StatusUnauthorized)
		}
	})
	mux.HandleFunc("GET /elsewhere/metadata", func(w http.ResponseWriter, r *http.Request) {
		reply(w, 200, map[string]any{"resource": s.URL + "/mcp", "authorization_servers": []string{s.URL}})
	})
	mux.HandleFunc("POST /token", s.tokens)
	mux.HandleFunc("POST /revoke", func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.revoked = append(s.revoked, r.PostFormValue("token"))
		delete(s.valid, r.PostFormValue("token"))
	})
	s.Server = httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s
}

func reply(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

// answers sets what the token endpoint does instead; nil for what it should.
func (s *server) answers(with func(w http.ResponseWriter, r *http.Request) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.token = with
}

// authorize plays the browser of somebody who agrees: it gives the query with
// which the authorization server sends them back.
func (s *server) authorize(address string) string {
	s.t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		s.t.Fatal(err)
	}
	q := u.Query()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, q)
	code := fmt.Sprintf("code-%d", len(s.asked))
	s.codes[code] = q
	back := url.Values{"code": {code}, "state": {q.Get("state")}, "iss": {s.URL}}
	if s.callback != nil {
		s.callback(back)
	}
	return back.Encode()
}

func (s *server) tokens(w http.ResponseWriter, r *http.Request) {
	if err := r.ParseForm(); err != nil {
		s.t.Error(err)
	}
	s.mu.Lock()
	instead := s.token
	s.mu.Unlock()
	if instead != nil && instead(w, r) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	fail := func(code string) {
		reply(w, 400, map[string]any{"error": code, "error_description": "canary-description"})
	}
	answer := map[string]any{}
	switch r.PostForm.Get("grant_type") {
	case "authorization_code":
		q, ok := s.codes[r.PostForm.Get("code")]
		sum := sha256.Sum256([]byte(r.PostForm.Get("code_verifier")))
		if !ok || q.Get("code_challenge") != base64.RawURLEncoding.EncodeToString(sum[:]) ||
			q.Get("redirect_uri") != r.PostForm.Get("redirect_uri") || q.Get("resource") != r.PostForm.Get("resource") {
			fail("invalid_grant")
			return
		}
		delete(s.codes, r.PostForm.Get("code"))
		if !s.noScope {
			answer["scope"] = q.Get("scope")
		}
	case "refresh_token":
		old := r.PostForm.Get("refresh_token")
		s.refreshes[old]++
		if !s.valid[old] {
			fail("invalid_grant")
			return
		}
		if !s.stays {
			delete(s.valid, old)
		}
	}
	s.issued++
	answer["access_token"], answer["token_type"] = fmt.Sprintf("canary-access-%d", s.issued), "Bearer"
	if s.life > 0 {
		answer["expires_in"] = s.life
	}
	if !s.stays || r.PostForm.Get("grant_type") == "authorization_code" {
		next := fmt.Sprintf("canary-refresh-%d", s.issued)
		s.valid[next], answer["refresh_token"] = true, next
	}
	reply(w, 200, answer)
}

// world is a gateway's grants, and what they stand on.
type world struct {
	*Grants
	t      *testing.T
	as     *server
	store  *memjournal.Journal
	ring   *seal.Ring
	clock  *clock
	log    *syncBuffer
	alone  bool
	config func(*Backend)
	shelf  func(journal.Shelf) journal.Shelf // wraps the shelf of grants
}

type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

func newWorld(t *testing.T) *world {
	w := &world{t: t, as: newServer(t), ring: seal.Random(), clock: &clock{now: time.Date(2026, 7, 28, 9, 0, 0, 0, time.UTC)}, log: &syncBuffer{}}
	var err error
	// The store's own clock stands still, so that nothing in it expires.
	w.store, err = memjournal.New(memjournal.Config{Now: time.Now, MaxBytes: 64 << 20, MaxAudit: 10})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.store.Close(context.Background()) })
	w.start()
	return w
}

type wrapped struct{ w *world }

func (s wrapped) Shelf(name string) journal.Shelf {
	if name == shelfGrants && s.w.shelf != nil {
		return s.w.shelf(s.w.store.Shelf(name))
	}
	return s.w.store.Shelf(name)
}

// another opens a gateway over the same store.
func (w *world) another() *Grants {
	w.t.Helper()
	g, err := Open(w.t.Context(), Config{
		Store: wrapped{w}, Ring: w.ring, PublicURL: "https://gateway.example", Alone: w.alone, Now: w.clock.Now,
		Log: slog.New(slog.NewTextHandler(w.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
	if err != nil {
		w.t.Fatal(err)
	}
	b := Backend{Name: "tracker", URL: w.as.URL + "/mcp", Kind: OAuth, HTTP: egress.ForNamed(w.as.URL)}
	if w.config != nil {
		w.config(&b)
	}
	if err := g.SetBackends([]Backend{b, {Name: "keyed", URL: "https://keyed.example/mcp", Kind: Key, Header: "X-Api-Key", Prefix: "k "}}); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		g.Close(context.Background())
		b.HTTP.CloseIdleConnections()
	})
	return g
}

func (w *world) start() { w.Grants = w.another() }

// connect has somebody connect their account for tracker.
func (w *world) connect(v Visit) {
	w.t.Helper()
	if _, err := w.Finish(w.t.Context(), v, "tracker", w.as.authorize(w.begin(v))); err != nil {
		w.t.Fatalf("connecting: %v", err)
	}
}

func (w *world) begin(v Visit) string {
	w.t.Helper()
	to, err := w.Begin(w.t.Context(), v, "tracker", "ask-1")
	if err != nil {
		w.t.Fatalf("beginning: %v\n%s", err, w.log)
	}
	return to
}

// has checks what is sent for somebody.
func (w *world) has(who ask.Principal, want string) Use {
	w.t.Helper()
	u, err := w.For(w.t.Context(), who, "tracker")
	if err != nil {
		w.t.Fatalf("nothing to send: %v\n%s", err, w.log)
	}
	if got := strings.TrimPrefix(u.Value.Reveal(), "Bearer "); got != want {
		w.t.Fatalf("%s is sent, want %s", got, want)
	}
	return u
}

// needs checks that somebody must connect, and why.
func (w *world) needs(who ask.Principal, why Reason) {
	w.t.Helper()
	_, err := w.For(w.t.Context(), who, "tracker")
	n, ok := err.(*Needed)
	if !ok || n.Why != why || n.Link != "https://gateway.example/connect/tracker" || ask.CodeOf(err) != ask.NotConnected {
		w.t.Fatalf("got %v, want it to be needed because %s\n%s", err, why, w.log)
	}
}

func challenge(text string) oauth.Challenge {
	return oauth.ParseChallenge(http.Header{"Www-Authenticate": {text}})
}
