package bearer_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"math/big"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"go.uber.org/goleak"

	"github.com/answerback/answerback/internal/identity"
	"github.com/answerback/answerback/internal/identity/bearer"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	resource    = "https://mcp.example.com/mcp"
	metadataURL = "https://mcp.example.com/.well-known/oauth-protected-resource/mcp"
	oneIssuer   = "https://one.example"
	twoIssuer   = "https://two.example/tenant"
	staticKey   = "ci-key-0123456789abcdef"
)

// signers are made once: RSA keys take long to make.
var signers = sync.OnceValue(func() map[string]crypto.Signer {
	made := map[string]crypto.Signer{}
	keep := func(name string, key crypto.Signer, err error) {
		if err != nil {
			panic(err)
		}
		made[name] = key
	}
	for _, name := range []string{"one-rsa", "two-rsa", "stranger"} {
		key, err := rsa.GenerateKey(rand.Reader, 2048)
		keep(name, key, err)
	}
	small, err := rsa.GenerateKey(rand.Reader, 1024)
	keep("one-small", small, err)
	for _, name := range []string{"one-ec", "two-ec", "one-enc"} {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		keep(name, key, err)
	}
	wide, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	keep("one-384", wide, err)
	_, ed, err := ed25519.GenerateKey(rand.Reader)
	keep("one-ed", ed, err)
	return made
})

// provider is an issuer: its metadata and its keys.
type provider struct {
	url string

	mu       sync.Mutex
	keys     []map[string]any
	document map[string]any // instead of the right one
	down     bool
	hold     chan struct{} // until it is closed, keys do not come

	metadata, jwks atomic.Int64
}

func newProvider(url string, keys ...map[string]any) *provider {
	return &provider{url: url, keys: keys}
}

func (p *provider) set(change func(p *provider)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change(p)
}

func (p *provider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	keys, document, down, hold := p.keys, p.document, p.down, p.hold
	p.mu.Unlock()
	isKeys := strings.HasSuffix(r.URL.Path, "/jwks")
	if isKeys {
		p.jwks.Add(1)
	} else {
		p.metadata.Add(1)
	}
	if down {
		http.Error(w, "down", http.StatusBadGateway)
		return
	}
	var answer any
	switch {
	case isKeys:
		if hold != nil {
			select {
			case <-hold:
			case <-r.Context().Done():
				return
			}
		}
		answer = map[string]any{"keys": keys}
	case !strings.HasSuffix(r.URL.Path, "/openid-configuration"):
		http.NotFound(w, r)
		return
	case document != nil:
		answer = document
	default:
		answer = map[string]any{"issuer": p.url, "jwks_uri": p.url + "/jwks"}
	}
	_ = json.NewEncoder(w).Encode(answer)
}

// public gives a signer's key as a JSON Web Key.
func public(kid string, more ...map[string]any) map[string]any {
	text := func(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }
	jwk := map[string]any{"kid": kid, "use": "sig"}
	switch key := signers()[kid].Public().(type) {
	case *rsa.PublicKey:
		jwk["kty"], jwk["n"], jwk["e"] = "RSA", text(key.N.Bytes()), text(big.NewInt(int64(key.E)).Bytes())
	case *ecdsa.PublicKey:
		point, err := key.Bytes() // one byte, x, y
		if err != nil {
			panic(err)
		}
		half := len(point) / 2
		jwk["kty"], jwk["crv"] = "EC", key.Params().Name
		jwk["x"], jwk["y"] = text(point[1:1+half]), text(point[1+half:])
	case ed25519.PublicKey:
		jwk["kty"], jwk["crv"], jwk["x"] = "OKP", "Ed25519", text(key)
	}
	for _, m := range more {
		maps.Copy(jwk, m)
	}
	return jwk
}

// direct hands requests to the providers by host, without a network.
type direct map[string]http.Handler

func (d direct) RoundTrip(r *http.Request) (*http.Response, error) {
	h, ok := d[r.URL.Host]
	if !ok {
		return nil, errors.New("no such host: " + r.URL.Host)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	return w.Result(), nil
}

// world is a Bearer with two issuers and a key, and what it says to the log.
type world struct {
	*bearer.Bearer
	one, two *provider
	log      *strings.Builder
}

func newWorld(t testing.TB, changes ...func(*bearer.Config)) *world {
	t.Helper()
	w := &world{
		one: newProvider(oneIssuer, public("one-rsa"), public("one-ec", map[string]any{"alg": "ES256"}), public("one-ed"),
			public("one-384"), public("one-small"), public("one-enc", map[string]any{"use": "enc"}),
			map[string]any{"kid": "one-oct", "kty": "oct", "k": "c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0c2U"}),
		two: newProvider(twoIssuer, public("two-rsa", map[string]any{"alg": "RS256"}), public("two-ec")),
		log: &strings.Builder{},
	}
	cfg := config(direct{"one.example": w.one, "two.example": w.two})
	cfg.Log = slog.New(slog.NewTextHandler(w.log, nil))
	for _, change := range changes {
		change(&cfg)
	}
	made, err := bearer.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(made.Close)
	w.Bearer = made
	return w
}

func config(transport http.RoundTripper) bearer.Config {
	return bearer.Config{
		Resource: resource, MetadataURL: metadataURL,
		Issuers: []bearer.Issuer{
			{URL: oneIssuer, Scopes: []string{"mcp:use"}},
			{URL: twoIssuer, Scopes: []string{"mcp:use"}},
		},
		Keys: []bearer.Key{{Name: "ci", Key: hide(staticKey), Claims: identity.Claims{"groups": []any{"robots"}}}},
		HTTP: &http.Client{Transport: transport},
	}
}

// draft is a token before it is signed.
type draft struct {
	method jwt.SigningMethod
	key    any
	header map[string]any
	claims jwt.MapClaims
}

// mint makes a token of issuer one for somebody, good but for the changes.
func mint(t testing.TB, changes ...func(*draft)) string {
	t.Helper()
	now := time.Now()
	d := &draft{
		method: jwt.SigningMethodRS256,
		key:    signers()["one-rsa"],
		header: map[string]any{"typ": "at+jwt", "kid": "one-rsa"},
		claims: jwt.MapClaims{
			"iss": oneIssuer, "sub": "ada", "aud": resource, "scope": "openid mcp:use", "name": "Ada",
			"iat": now.Unix(), "nbf": now.Unix(), "exp": now.Add(time.Hour).Unix(), "groups": []string{"eng"},
		},
	}
	for _, change := range changes {
		change(d)
	}
	d.header["alg"] = d.method.Alg()
	text, err := (&jwt.Token{Header: d.header, Claims: d.claims, Method: d.method}).SignedString(d.key)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func claim(name string, value any) func(*draft) { return func(d *draft) { d.claims[name] = value } }

func without(name string) func(*draft) { return func(d *draft) { delete(d.claims, name) } }

func header(name string, value any) func(*draft) {
	return func(d *draft) {
		if d.header[name] = value; value == nil {
			delete(d.header, name)
		}
	}
}

func signedBy(signer string, method jwt.SigningMethod) func(*draft) {
	return func(d *draft) { d.key, d.method, d.header["kid"] = signers()[signer], method, signer }
}

func with(changes ...func(*draft)) func(*draft) {
	return func(d *draft) {
		for _, change := range changes {
			change(d)
		}
	}
}

// request is a call with the credential.
func request(credential string) *http.Request {
	r := httptest.NewRequest(http.MethodPost, "/mcp", strings.NewReader("{}"))
	r.Header.Set("Authorization", "Bearer "+credential)
	return r
}

// refused checks that the error is a Refusal, and gives its challenge.
func refused(t testing.TB, err error) (int, string) {
	t.Helper()
	refusal, ok := errors.AsType[*bearer.Refusal](err)
	if !ok {
		t.Fatalf("error is %T %v, want a Refusal", err, err)
	}
	return refusal.Challenge()
}

// oauthError gives the error parameter of a challenge.
func oauthError(challenge string) string {
	_, rest, _ := strings.Cut(challenge, `error="`)
	code, _, _ := strings.Cut(rest, `"`)
	return code
}
