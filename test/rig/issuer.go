package rig

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// PagesClient and PagesSecret are the gateway's own name and secret at an
// Issuer. The secret is unlike all other text, so that a leak can be found.
const (
	PagesClient = "pages"
	PagesSecret = "canary-client-secret-5f0c"
)

// Issuer is an authorization server and OpenID provider whose people agree to
// everything at once.
type Issuer struct {
	URL string

	t   testing.TB
	key ed25519.PrivateKey

	mu    sync.Mutex
	codes map[string]consent
	ids   []string // the ID tokens issued
}

// consent is what stands behind a code.
type consent struct {
	who       string
	nonce     string
	challenge string
}

// NewIssuer runs an issuer until the test ends.
func NewIssuer(t testing.TB) *Issuer {
	t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	i := &Issuer{t: t, key: key, codes: map[string]consent{}}
	server := httptest.NewServer(i)
	t.Cleanup(server.Close)
	i.URL = server.URL
	return i
}

// Config is the issuer as an entry of identity.issuers, with sign-in at pages.
func (i *Issuer) Config() string {
	return `{ url: "` + i.URL + `", client_id: ` + PagesClient + `, client_secret: ` + PagesSecret + ` }`
}

func (i *Issuer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	switch r.URL.Path {
	case "/.well-known/openid-configuration":
		_ = json.NewEncoder(w).Encode(map[string]any{
			"issuer": i.URL, "jwks_uri": i.URL + "/keys", "authorization_endpoint": i.URL + "/authorize", "token_endpoint": i.URL + "/token",
			"id_token_signing_alg_values_supported": []string{"EdDSA"}, "authorization_response_iss_parameter_supported": true,
		})
	case "/keys":
		x := base64.RawURLEncoding.EncodeToString(i.key.Public().(ed25519.PublicKey))
		_ = json.NewEncoder(w).Encode(map[string]any{"keys": []any{map[string]any{"kty": "OKP", "crv": "Ed25519", "kid": "k", "alg": "EdDSA", "use": "sig", "x": x}}})
	case "/token":
		i.redeem(w, r)
	default:
		http.NotFound(w, r)
	}
}

func (i *Issuer) redeem(w http.ResponseWriter, r *http.Request) {
	id, secret, _ := r.BasicAuth()
	i.mu.Lock()
	g, ok := i.codes[r.PostFormValue("code")]
	delete(i.codes, r.PostFormValue("code"))
	i.mu.Unlock()
	sum := sha256.Sum256([]byte(r.PostFormValue("code_verifier")))
	if id != PagesClient || secret != PagesSecret || !ok || g.challenge != base64.RawURLEncoding.EncodeToString(sum[:]) {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, `{"error":"invalid_grant"}`)
		return
	}
	token := i.Sign("JWT", i.Claims(g.who, PagesClient, map[string]any{"nonce": g.nonce}))
	i.mu.Lock()
	i.ids = append(i.ids, token)
	i.mu.Unlock()
	_ = json.NewEncoder(w).Encode(map[string]any{"access_token": "canary-opaque-access-token-77aa", "token_type": "Bearer", "id_token": token})
}

// Claims are those of a token for a person, with more in addition.
func (i *Issuer) Claims(who, audience string, more map[string]any) jwt.MapClaims {
	now := time.Now()
	c := jwt.MapClaims{
		"iss": i.URL, "sub": who, "aud": audience, "name": "The person " + who, "groups": []string{"staff-of-" + who},
		"iat": now.Unix(), "exp": now.Add(time.Hour).Unix(),
	}
	maps.Copy(c, more)
	return c
}

// Sign makes a token of a type.
func (i *Issuer) Sign(typ string, claims jwt.MapClaims) string {
	i.t.Helper()
	token := &jwt.Token{Header: map[string]any{"typ": typ, "alg": "EdDSA", "kid": "k"}, Claims: claims, Method: jwt.SigningMethodEdDSA}
	text, err := token.SignedString(i.key)
	if err != nil {
		i.t.Fatal(err)
	}
	return text
}

// LastID is the newest ID token that was issued.
func (i *Issuer) LastID() string {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.ids[len(i.ids)-1]
}

// Approve has a person agree to sign in where the gateway sent the browser,
// and gives the address that the browser is sent back to.
func (i *Issuer) Approve(at, who string) *url.URL {
	i.t.Helper()
	asked, err := url.Parse(at)
	if err != nil || !strings.HasPrefix(at, i.URL+"/authorize?") {
		i.t.Fatalf("the browser was sent to %q: %v", at, err)
	}
	q := asked.Query()
	code := "canary-code-" + rand.Text()
	i.mu.Lock()
	i.codes[code] = consent{who: who, nonce: q.Get("nonce"), challenge: q.Get("code_challenge")}
	i.mu.Unlock()
	back, err := url.Parse(q.Get("redirect_uri"))
	if err != nil {
		i.t.Fatal(err)
	}
	back.RawQuery = url.Values{"state": {q.Get("state")}, "code": {code}, "iss": {i.URL}}.Encode()
	return back
}
