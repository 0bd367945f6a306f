//go:build e2e

package e2e

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/egress"
	grants "github.com/answerback/answerback/internal/grant"
	"github.com/answerback/answerback/internal/journal/memjournal"
	"github.com/answerback/answerback/internal/seal"
	"github.com/answerback/answerback/test/peer"
)

// Grants with a real provider as the third party: registration, sign-in by
// its own forms, a token for the resource, rotation, replay and revocation.
func TestPeersConnect(t *testing.T) {
	issuer := peer.OpenID(t, "a-secret")
	var server *httptest.Server
	server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/.well-known/oauth-protected-resource/mcp" {
			http.NotFound(w, r)
			return
		}
		_ = json.NewEncoder(w).Encode(map[string]any{
			"resource": server.URL + "/mcp", "authorization_servers": []string{issuer}, "scopes_supported": []string{"mcp"},
		})
	}))
	defer server.Close()
	store, err := memjournal.New(memjournal.Config{Now: time.Now, MaxBytes: 1 << 20, MaxAudit: 10})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close(context.Background())
	now := newMovable()
	g, err := grants.Open(t.Context(), grants.Config{
		Store: store, Ring: seal.Random(), PublicURL: "http://127.0.0.1:8808", Now: now.Now, Log: slog.New(slog.NewTextHandler(t.Output(), nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close(context.Background())
	client := egress.ForNamed(server.URL)
	defer client.CloseIdleConnections()
	if err := g.SetBackends([]grants.Backend{{Name: "tracker", URL: server.URL + "/mcp", Kind: grants.OAuth, HTTP: client}}); err != nil {
		t.Fatal(err)
	}
	ann := grants.Visit{Who: ask.Principal{Issuer: "https://login.example", Subject: "ann"}, Session: "ann"}
	bob := grants.Visit{Who: ask.Principal{Issuer: "https://login.example", Subject: "bob"}, Session: "bob"}

	query := signIn(t, g, ann, "ann")
	if _, err := g.Finish(t.Context(), bob, "tracker", query); ask.CodeOf(err) != ask.BadState {
		t.Errorf("bob finished what ann began: %v", err)
	}
	if _, err := g.Finish(t.Context(), ann, "tracker", query); err != nil {
		t.Fatal(err)
	}
	first := claims(t, g, ann)
	if first["sub"] != "u-ann" || first["aud"] != server.URL+"/mcp" || first["iss"] != issuer {
		t.Errorf("the token says %v", first)
	}
	if _, err := g.For(t.Context(), bob.Who, "tracker"); ask.CodeOf(err) != ask.NotConnected {
		t.Errorf("bob has something: %v", err)
	}
	// Two refreshes: the second needs what the first rotated.
	for range 2 {
		now.pass(601 * time.Second)
		var wg sync.WaitGroup
		for range 50 {
			wg.Go(func() {
				if _, err := g.For(t.Context(), ann.Who, "tracker"); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		next := claims(t, g, ann)
		if next["jti"] == first["jti"] || next["sub"] != "u-ann" {
			t.Errorf("the refreshed token says %v", next)
		}
		first = next
	}
	if told, err := g.Revoke(t.Context(), ann.Who, "tracker"); err != nil || !told {
		t.Errorf("revoked: %v, %v", told, err)
	}
	if _, err := g.For(t.Context(), ann.Who, "tracker"); ask.CodeOf(err) != ask.NotConnected {
		t.Errorf("after revoking: %v", err)
	}
	if _, err := g.Finish(t.Context(), ann, "tracker", query); ask.CodeOf(err) != ask.BadState {
		t.Errorf("the same answer a second time: %v", err)
	}
}

// signIn plays the browser: it goes where it is sent, logs in there, and gives
// the query with which it is sent back.
func signIn(t *testing.T, g *grants.Grants, v grants.Visit, who string) string {
	t.Helper()
	to, err := g.Begin(t.Context(), v, "tracker", "")
	if err != nil {
		t.Fatal(err)
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	browser := &http.Client{Jar: jar, CheckRedirect: func(r *http.Request, _ []*http.Request) error {
		if strings.HasPrefix(r.URL.Path, "/connect/") {
			return http.ErrUseLastResponse
		}
		return nil
	}}
	defer browser.CloseIdleConnections()
	login, err := browser.Get(to)
	if err != nil {
		t.Fatal(err)
	}
	login.Body.Close()
	back, err := browser.PostForm(login.Request.URL.String(), url.Values{"name": {who}, "password": {who + "-password"}})
	if err != nil {
		t.Fatal(err)
	}
	back.Body.Close()
	at, err := back.Location()
	if err != nil || at.Path != "/connect/tracker/callback" {
		t.Fatalf("sent back to %v with %s (%v)", at, back.Status, err)
	}
	return at.RawQuery
}

// claims reads what is said by the token that is sent for somebody.
func claims(t *testing.T, g *grants.Grants, v grants.Visit) map[string]any {
	t.Helper()
	u, err := g.For(t.Context(), v.Who, "tracker")
	if err != nil {
		t.Fatal(err)
	}
	parts := strings.Split(u.Value.Reveal(), ".")
	if len(parts) != 3 {
		t.Fatal("the token is no JWT")
	}
	raw, err := base64.RawURLEncoding.DecodeString(parts[1])
	said := map[string]any{}
	if err != nil || json.Unmarshal(raw, &said) != nil {
		t.Fatal("the token cannot be read")
	}
	return said
}

// movable is a clock that tests move on.
type movable struct {
	mu  sync.Mutex
	now time.Time
}

func newMovable() *movable { return &movable{now: time.Now()} }

func (m *movable) Now() time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.now
}

func (m *movable) pass(d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now = m.now.Add(d)
}
