package signin_test

import (
	"crypto"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"sync/atomic"
	"time"
)

// keys of the providers, made once because that takes long.
var opKeys = sync.OnceValue(func() [2]*rsa.PrivateKey {
	var keys [2]*rsa.PrivateKey
	for i := range keys {
		keys[i], _ = rsa.GenerateKey(rand.Reader, 2048)
	}
	return keys
})

// op is an OpenID Connect provider that can be told to misbehave. Everybody
// who comes is signed in as who it says.
type op struct {
	issuer, client, secret string
	subject                string
	sendsIssuer            bool
	authMethods            []string

	metadata func(map[string]any) // changes the metadata
	claims   func(map[string]any) // changes the ID token
	sign     func(o *op, header, claims map[string]any) string
	token    func(w http.ResponseWriter, r *http.Request) bool // answers instead
	jwks     func(w http.ResponseWriter) bool                  // answers instead

	discoveries, exchanges, keyFetches atomic.Int32

	mu    sync.Mutex
	codes map[string]grant
}

type grant struct {
	challenge, nonce, redirect, subject string
}

func newOP(issuer, client, secret string) *op {
	return &op{issuer: issuer, client: client, secret: secret, subject: "alice", sendsIssuer: true, codes: map[string]grant{}}
}

func (o *op) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/.well-known/openid-configuration":
		o.discoveries.Add(1)
		m := map[string]any{
			"issuer": o.issuer, "authorization_endpoint": o.issuer + "/authorize",
			"token_endpoint": o.issuer + "/token", "jwks_uri": o.issuer + "/jwks",
			"id_token_signing_alg_values_supported":          []string{"RS256", "HS256", "none"},
			"authorization_response_iss_parameter_supported": o.sendsIssuer,
		}
		if o.authMethods != nil {
			m["token_endpoint_auth_methods_supported"] = o.authMethods
		}
		if o.metadata != nil {
			o.metadata(m)
		}
		reply(w, 200, m)
	case "/authorize":
		http.Redirect(w, r, o.authorize(r.URL.String()), http.StatusFound)
	case "/token":
		o.exchanges.Add(1)
		if o.token == nil || !o.token(w, r) {
			o.serveToken(w, r)
		}
	case "/jwks":
		o.keyFetches.Add(1)
		if o.jwks != nil && o.jwks(w) {
			return
		}
		pub := opKeys()[0].PublicKey
		reply(w, 200, map[string]any{"keys": []any{map[string]any{
			"kty": "RSA", "kid": "one", "alg": "RS256", "use": "sig",
			"n": b64(pub.N.Bytes()), "e": b64(big.NewInt(int64(pub.E)).Bytes()),
		}}})
	default:
		http.NotFound(w, r)
	}
}

// authorize signs the person in and gives where their browser is sent back to.
func (o *op) authorize(location string) string {
	u, err := url.Parse(location)
	if err != nil {
		panic(err)
	}
	q := u.Query()
	if q.Get("client_id") != o.client || q.Get("response_type") != "code" || q.Get("code_challenge_method") != "S256" || q.Get("nonce") == "" {
		panic("the gateway asks for a sign-in in a wrong way: " + location)
	}
	code := "code-" + rand.Text()
	o.mu.Lock()
	o.codes[code] = grant{challenge: q.Get("code_challenge"), nonce: q.Get("nonce"), redirect: q.Get("redirect_uri"), subject: o.subject}
	o.mu.Unlock()
	back := url.Values{"code": {code}, "state": {q.Get("state")}}
	if o.sendsIssuer {
		back.Set("iss", o.issuer)
	}
	return q.Get("redirect_uri") + "?" + back.Encode()
}

func (o *op) serveToken(w http.ResponseWriter, r *http.Request) {
	id, pass, ok := r.BasicAuth()
	if !ok {
		id, pass = r.PostFormValue("client_id"), r.PostFormValue("client_secret")
	}
	if id != o.client || pass != o.secret {
		reply(w, 401, map[string]any{"error": "invalid_client"})
		return
	}
	code := r.PostFormValue("code")
	o.mu.Lock()
	g, ok := o.codes[code]
	delete(o.codes, code)
	o.mu.Unlock()
	sum := sha256.Sum256([]byte(r.PostFormValue("code_verifier")))
	if !ok || g.redirect != r.PostFormValue("redirect_uri") || g.challenge != b64(sum[:]) {
		reply(w, 400, map[string]any{"error": "invalid_grant"})
		return
	}
	claims := map[string]any{
		"iss": o.issuer, "sub": g.subject, "aud": o.client, "nonce": g.nonce, "name": "Alice Ásk",
		"groups": []string{"ops", "dev"}, "iat": time.Now().Unix(), "exp": time.Now().Add(5 * time.Minute).Unix(),
	}
	if o.claims != nil {
		o.claims(claims)
	}
	sign := signRS256
	if o.sign != nil {
		sign = o.sign
	}
	answer := map[string]any{"access_token": "access-" + rand.Text(), "token_type": "Bearer", "expires_in": 300}
	if token := sign(o, map[string]any{"alg": "RS256", "kid": "one", "typ": "JWT"}, claims); token != "" {
		answer["id_token"] = token
	}
	reply(w, 200, answer)
}

func signRS256(_ *op, header, claims map[string]any) string {
	return signWith(opKeys()[0], header, claims)
}

func signWith(key *rsa.PrivateKey, header, claims map[string]any) string {
	text := unsigned(header, claims)
	sum := sha256.Sum256([]byte(text))
	signature, err := rsa.SignPKCS1v15(rand.Reader, key, crypto.SHA256, sum[:])
	if err != nil {
		panic(err)
	}
	return text + "." + b64(signature)
}

func signHS256(key []byte, claims map[string]any) string {
	text := unsigned(map[string]any{"alg": "HS256", "kid": "one", "typ": "JWT"}, claims)
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(text))
	return text + "." + b64(mac.Sum(nil))
}

func unsigned(header, claims map[string]any) string {
	h, _ := json.Marshal(header)
	c, _ := json.Marshal(claims)
	return b64(h) + "." + b64(c)
}

func b64(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

func reply(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

// network carries requests to handlers by host, without sockets, so that
// tests can run in bubbles of time.
type network map[string]http.Handler

func (n network) RoundTrip(r *http.Request) (*http.Response, error) {
	h, ok := n[r.URL.Host]
	if !ok || r.URL.Scheme != "https" {
		return nil, fmt.Errorf("nobody listens at %s", r.URL.Host)
	}
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	in := httptest.NewRequestWithContext(r.Context(), r.Method, r.URL.String(), r.Body)
	in.Header = r.Header.Clone()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, in)
	return w.Result(), nil
}
