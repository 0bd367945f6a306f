package e2e

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/answerback/answerback/test/rig"
)

// third is a third party: an MCP server at /mcp that wants tokens, with the
// authorization server that gives them. Every secret of it is a canary.
type third struct {
	URL    string
	t      testing.TB
	server *rig.Backend

	mu      sync.Mutex
	codes   map[string]url.Values // what was asked for, by the code
	secrets canaries
	good    []string // access tokens that the server takes
	scope   string   // of the newest of them
	needs   string   // the scope that a call needs
	refresh string   // the refresh token that counts
	revoked int
	issued  int
	stale   bool // the server does not take the next access token
}

// newThird starts a third party before a backend. Its server does not take the
// first access token where stale is set, so that it is refreshed at once.
func newThird(t testing.TB, b *rig.Backend, stale bool) *third {
	t.Helper()
	p := &third{t: t, server: b, codes: map[string]url.Values{}, needs: "read", stale: stale, secrets: canaries{
		"configured client secret": "canary-configured-" + random(), "registered client secret": "canary-registered-" + random(),
	}}
	srv := httptest.NewServer(p)
	t.Cleanup(srv.Close)
	p.URL = srv.URL
	return p
}

func (p *third) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	const about = "/.well-known/oauth-protected-resource/mcp"
	reply := func(status int, v any) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(v) // who went away does not want it
	}
	switch r.URL.Path {
	case "/mcp":
		p.mu.Lock()
		good := slices.Contains(p.good, strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
		enough := strings.Contains(p.scope, p.needs)
		p.mu.Unlock()
		challenge := `Bearer resource_metadata="` + p.URL + about + `"`
		switch {
		case !good:
			w.Header().Set("WWW-Authenticate", challenge)
			w.WriteHeader(http.StatusUnauthorized)
		case !enough:
			w.Header().Set("WWW-Authenticate", challenge+`, error="insufficient_scope", scope="`+p.needs+`"`)
			w.WriteHeader(http.StatusForbidden)
		default:
			p.server.ServeHTTP(w, r)
		}
	case about:
		reply(http.StatusOK, map[string]any{"resource": p.URL + "/mcp", "authorization_servers": []string{p.URL}, "scopes_supported": []string{"read"}})
	case "/.well-known/oauth-authorization-server":
		reply(http.StatusOK, map[string]any{
			"issuer": p.URL, "authorization_endpoint": p.URL + "/authorize", "token_endpoint": p.URL + "/token",
			"registration_endpoint": p.URL + "/register", "revocation_endpoint": p.URL + "/revoke",
			"response_types_supported": []string{"code"}, "grant_types_supported": []string{"authorization_code", "refresh_token"},
			"code_challenge_methods_supported":               []string{"S256"},
			"token_endpoint_auth_methods_supported":          []string{"client_secret_basic"},
			"authorization_response_iss_parameter_supported": true,
		})
	case "/register":
		var asked map[string]any
		if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
			p.t.Errorf("a registration cannot be read: %v", err)
		}
		asked["client_id"], asked["client_secret"] = "registered", p.secrets["registered client secret"]
		asked["token_endpoint_auth_method"] = "client_secret_basic"
		reply(http.StatusCreated, asked)
	case "/token":
		status, v := p.issue(r)
		reply(status, v)
	case "/revoke":
		p.mu.Lock()
		p.revoked++
		p.mu.Unlock()
	default:
		http.NotFound(w, r)
	}
}

// issue gives tokens for a code, or for the last refresh token.
func (p *third) issue(r *http.Request) (int, any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	id, secret, _ := r.BasicAuth()
	sum := sha256.Sum256([]byte(r.PostFormValue("code_verifier")))
	code, challenge := r.PostFormValue("code"), base64.RawURLEncoding.EncodeToString(sum[:])
	ok := code != "" && p.codes[code].Get("code_challenge") == challenge
	if r.PostFormValue("grant_type") == "refresh_token" {
		ok = r.PostFormValue("refresh_token") == p.refresh
	}
	if !ok || secret != p.secrets[id+" client secret"] {
		return http.StatusBadRequest, map[string]string{"error": "invalid_grant"}
	}
	if code != "" {
		p.scope = p.codes[code].Get("scope")
	}
	delete(p.codes, code)
	n := string(rune('a' + p.issued))
	p.issued++
	access := "canary-access-" + random()
	p.refresh = "canary-refresh-" + random()
	p.secrets["access token "+n], p.secrets["refresh token "+n] = access, p.refresh
	if !p.stale {
		p.good = append(p.good, access)
	}
	p.stale = false
	return http.StatusOK, map[string]any{"access_token": access, "token_type": "Bearer", "refresh_token": p.refresh, "expires_in": 3600, "scope": p.scope}
}

// approve has somebody agree where they were sent, and gives where they are
// sent back to.
func (p *third) approve(at string) *url.URL {
	p.t.Helper()
	asked, err := url.Parse(at)
	if err != nil || !strings.HasPrefix(at, p.URL+"/authorize?") {
		p.t.Fatalf("the browser was sent to %q: %v", at, err)
	}
	q := asked.Query()
	code := "canary-code-" + random()
	p.mu.Lock()
	p.codes[code] = q
	p.mu.Unlock()
	back, err := url.Parse(q.Get("redirect_uri"))
	if err != nil {
		p.t.Fatal(err)
	}
	back.RawQuery = url.Values{"state": {q.Get("state")}, "code": {code}, "iss": {p.URL}}.Encode()
	return back
}

// agrees has a visitor go on from the page behind a link, and gives where the
// third party sends them back to.
func (p *third) agrees(v *visitor, link string) string {
	p.t.Helper()
	path := v.path(link)
	page := v.get(path)
	if page.status == http.StatusSeeOther {
		path = page.header.Get("Location")
		page = v.get(path)
	}
	to, _ := url.Parse(path)
	r := v.do(http.MethodPost, to.Path, url.Values{"token": tokens(page.body)[1:2], "ask": {to.Query().Get("ask")}})
	if r.status != http.StatusSeeOther {
		p.t.Fatalf("nobody was sent anywhere: %d %s", r.status, r.body)
	}
	return p.approve(r.header.Get("Location")).RequestURI()
}
