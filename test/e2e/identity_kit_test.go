package e2e

import (
	"context"
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
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/answerback/answerback/test/rig"
)

// What the tests of identity configure. Each is a secret that must stay where
// it belongs, so each is unlike all other text.
const (
	clientSecret = "canary-client-secret-5f0c"
	nobodysKey   = "canary-robot-key-0123456789abcdef"
	annsKey      = "canary-ann-key-fedcba9876543210"
)

// issuer is an authorization server and OpenID provider.
type issuer struct {
	URL string

	t   testing.TB
	key ed25519.PrivateKey

	mu    sync.Mutex
	codes map[string]grant
	ids   []string // the ID tokens issued
}

// grant is what stands behind a code.
type grant struct {
	who       string
	nonce     string
	challenge string
}

func newIssuer(t testing.TB) *issuer {
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	i := &issuer{t: t, key: key, codes: map[string]grant{}}
	server := httptest.NewServer(i)
	t.Cleanup(server.Close)
	i.URL = server.URL
	return i
}

func (i *issuer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
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

func (i *issuer) redeem(w http.ResponseWriter, r *http.Request) {
	id, secret, _ := r.BasicAuth()
	i.mu.Lock()
	g, ok := i.codes[r.PostFormValue("code")]
	delete(i.codes, r.PostFormValue("code"))
	i.mu.Unlock()
	sum := sha256.Sum256([]byte(r.PostFormValue("code_verifier")))
	if id != "pages" || secret != clientSecret || !ok || g.challenge != base64.RawURLEncoding.EncodeToString(sum[:]) {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, `{"error":"invalid_grant"}`)
		return
	}
	token := i.sign("JWT", i.claims(g.who, "pages", map[string]any{"nonce": g.nonce}))
	i.mu.Lock()
	i.ids = append(i.ids, token)
	i.mu.Unlock()
	_ = json.NewEncoder(w).Encode(map[string]any{"access_token": "canary-opaque-access-token-77aa", "token_type": "Bearer", "id_token": token})
}

func (i *issuer) claims(who, audience string, more map[string]any) jwt.MapClaims {
	now := time.Now()
	c := jwt.MapClaims{
		"iss": i.URL, "sub": who, "aud": audience, "name": "The person " + who, "groups": []string{"staff-of-" + who},
		"iat": now.Unix(), "exp": now.Add(time.Hour).Unix(),
	}
	maps.Copy(c, more)
	return c
}

func (i *issuer) sign(typ string, claims jwt.MapClaims) string {
	i.t.Helper()
	token := &jwt.Token{Header: map[string]any{"typ": typ, "alg": "EdDSA", "kid": "k"}, Claims: claims, Method: jwt.SigningMethodEdDSA}
	text, err := token.SignedString(i.key)
	if err != nil {
		i.t.Fatal(err)
	}
	return text
}

// approve has somebody agree to sign in where the gateway sent them, and gives
// where they are sent back to.
func (i *issuer) approve(at, who string) *url.URL {
	i.t.Helper()
	asked, err := url.Parse(at)
	if err != nil || !strings.HasPrefix(at, i.URL+"/authorize?") {
		i.t.Fatalf("the browser was sent to %q: %v", at, err)
	}
	q := asked.Query()
	code := "canary-code-" + random()
	i.mu.Lock()
	i.codes[code] = grant{who: who, nonce: q.Get("nonce"), challenge: q.Get("code_challenge")}
	i.mu.Unlock()
	back, err := url.Parse(q.Get("redirect_uri"))
	if err != nil {
		i.t.Fatal(err)
	}
	back.RawQuery = url.Values{"state": {q.Get("state")}, "code": {code}, "iss": {i.URL}}.Encode()
	return back
}

func random() string { return rand.Text() }

// guarded is a gateway that wants to know who everybody is.
type guarded struct {
	*rig.Gateway
	*issuer
	base string
}

// guard starts a gateway with an issuer, a key of nobody and a key of ann.
// More is what identity has besides, then the backends.
func guard(t testing.TB, more, backends string) *guarded {
	t.Helper()
	i := newIssuer(t)
	g := rig.Start(t, `identity:
  issuers:
    corp: { url: "`+i.URL+`", client_id: pages, client_secret: `+clientSecret+` }
  keys:
    robot: { key: "`+nobodysKey+`", claims: { groups: [robots] } }
    ann: { key: "`+annsKey+`", issuer: corp, subject: ann }
`+more+"backends:\n"+backends)
	return &guarded{Gateway: g, issuer: i, base: strings.TrimSuffix(g.URL, "/mcp")}
}

// token is an access token for this gateway.
func (g *guarded) token(who string) string {
	return g.sign("at+jwt", g.claims(who, g.Gateway.URL, nil))
}

// reply is an HTTP response, read to its end.
type reply struct {
	status int
	header http.Header
	body   string
}

// send sends a request and follows nothing. A stream is not read.
func send(t testing.TB, req *http.Request) reply {
	t.Helper()
	tr := &http.Transport{DisableKeepAlives: true, DisableCompression: true}
	ctx, cancel := context.WithTimeout(context.Background(), rig.Patience)
	defer cancel()
	resp, err := tr.RoundTrip(req.WithContext(ctx))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	r := reply{status: resp.StatusCode, header: resp.Header}
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		return r
	}
	all, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	r.body = string(all)
	return r
}

// newRequest makes a request; headers are pairs of name and value.
func newRequest(t testing.TB, method, address, body string, headers ...string) *http.Request {
	t.Helper()
	req, err := http.NewRequest(method, address, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for n := 0; n < len(headers); n += 2 {
		if headers[n] == "Host" {
			req.Host = headers[n+1]
			continue
		}
		req.Header.Add(headers[n], headers[n+1])
	}
	return req
}

// visitor is somebody's browser, as far as the gateway can tell.
type visitor struct {
	t       testing.TB
	base    string
	cookies map[string]string
}

func (v *visitor) do(method, path string, form url.Values, headers ...string) reply {
	v.t.Helper()
	headers = append([]string{"Sec-Fetch-Site", "same-origin", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document"}, headers...)
	if method == http.MethodPost {
		headers = append(headers, "Origin", v.base, "Content-Type", "application/x-www-form-urlencoded")
	}
	req := newRequest(v.t, method, v.base+path, form.Encode(), headers...)
	for name, value := range v.cookies {
		req.AddCookie(&http.Cookie{Name: name, Value: value})
	}
	r := send(v.t, req)
	for _, c := range (&http.Response{Header: r.header}).Cookies() {
		if v.cookies[c.Name] = c.Value; c.MaxAge < 0 {
			delete(v.cookies, c.Name)
		}
	}
	return r
}

func (v *visitor) get(path string) reply { v.t.Helper(); return v.do(http.MethodGet, path, nil) }

const (
	sessionCookie = "__Host-answerback-session"
	flowCookie    = "__Host-answerback-flow"
)

// signIn gives a browser in which somebody has signed in.
func (g *guarded) signIn(who string) *visitor {
	g.issuer.t.Helper()
	v := &visitor{t: g.issuer.t, base: g.base, cookies: map[string]string{}}
	r := v.get("/signin?return=%2F")
	back := g.approve(r.header.Get("Location"), who)
	r = v.get(back.RequestURI())
	if r.status != http.StatusSeeOther || r.header.Get("Location") != "/" || v.cookies[sessionCookie] == "" {
		g.issuer.t.Fatalf("%s was not signed in: %d %s", who, r.status, r.body)
	}
	return v
}

var formToken = regexp.MustCompile(`name="token" value="([^"]+)"`)

// tokens gives the tokens of the forms on a page.
func tokens(page string) (all []string) {
	for _, m := range formToken.FindAllStringSubmatch(page, -1) {
		all = append(all, m[1])
	}
	return all
}

const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"raw","version":"1"}}}`

// post is a message to the endpoint as anybody might send it.
func post(t testing.TB, address, body string, headers ...string) *http.Request {
	t.Helper()
	return newRequest(t, http.MethodPost, address, body, append([]string{"Content-Type", "application/json", "Accept", "application/json, text/event-stream"}, headers...)...)
}

// newAsker makes a legacy backend with a tool that asks for a yes, one that
// asks for a name, and one that asks nothing; it lists the first and the last.
func newAsker(t testing.TB) *rig.Backend {
	b := rig.NewBackend(t, map[string]rig.Script{
		"tools/call ask": func(c *rig.Call) {
			a := c.Ask(c.ID(), "elicitation/create", formParams)
			if a.Kind != 0 {
				c.Result(`{"got":` + string(a.Field(a.Result)) + `}`)
			}
		},
		"tools/call name": func(c *rig.Call) {
			c.Ask(c.ID(), "elicitation/create", nameForm)
			c.Result(`{"content":[]}`)
		},
		"tools/call echo": func(c *rig.Call) { c.Result(`{"content":[]}`) },
		"tools/list": func(c *rig.Call) {
			c.Result(`{"tools":[{"name":"ask","inputSchema":{"type":"object"}},{"name":"echo","inputSchema":{"type":"object"}}]}`)
		},
	})
	b.LegacyOnly = true
	return b
}
