package signin_test

import (
	"crypto/sha256"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/answerback/answerback/internal/identity/signin"
)

// misbehave is an attack by what the provider does.
func misbehave(name string, reason signin.Reason, do func(o *op)) attack {
	return attack{name, reason, func(g *rig, evil bool) *browser {
		if evil {
			do(g.one)
		}
		b := g.browser()
		if r := b.get("/signin?provider=one"); r.StatusCode == http.StatusSeeOther {
			b.get(path(g.t, g.one.authorize(r.Header.Get("Location"))))
		}
		return b
	}}
}

func claim(name string, value any) func(o *op) {
	return func(o *op) {
		o.claims = func(c map[string]any) {
			c[name] = value
			if value == nil {
				delete(c, name)
			}
		}
	}
}

func TestAttackIDToken(t *testing.T) {
	for _, a := range []attack{
		misbehave("wrong nonce", signin.BadToken, claim("nonce", "another")),
		misbehave("no nonce", signin.BadToken, claim("nonce", nil)),
		misbehave("for another audience", signin.BadToken, claim("aud", "client-two")),
		misbehave("for no audience", signin.BadToken, claim("aud", nil)),
		misbehave("for an audience that begins like ours", signin.BadToken, claim("aud", clientOne+"-more")),
		misbehave("issued to another client", signin.BadToken, claim("azp", "client-two")),
		misbehave("issued to something that is no client", signin.BadToken, claim("azp", []string{clientOne})),
		misbehave("for several audiences without azp", signin.BadToken, claim("aud", []string{clientOne, "client-two"})),
		misbehave("of another issuer", signin.BadToken, claim("iss", "https://evil.example")),
		misbehave("of the other provider", signin.BadToken, claim("iss", issuerTwo)),
		misbehave("of an issuer with a slash more", signin.BadToken, claim("iss", issuerOne+"/")),
		misbehave("expired", signin.BadToken, func(o *op) {
			o.claims = func(c map[string]any) { c["exp"] = time.Now().Add(-time.Second).Unix() }
		}),
		misbehave("without expiry", signin.BadToken, claim("exp", nil)),
		misbehave("of the future", signin.BadToken, func(o *op) {
			o.claims = func(c map[string]any) { c["nbf"] = time.Now().Add(time.Hour).Unix() }
		}),
		misbehave("without subject", signin.BadToken, claim("sub", nil)),
		misbehave("with an endless subject", signin.BadToken, claim("sub", strings.Repeat("a", 256))),
		misbehave("with a subject of two lines", signin.BadToken, claim("sub", "alice\nbob")),
		misbehave("with a second subject in capitals", signin.BadToken, claim("SUB", "admin")),
		misbehave("with a second subject in odd letters", signin.BadToken, claim("ſub", "admin")),
		misbehave("with too many claims", signin.BadToken, claim("groups", strings.Repeat("g", 40<<10))),
		misbehave("with the hash of another access token", signin.BadToken, func(o *op) {
			sum := sha256.Sum256([]byte("another"))
			claim("at_hash", b64(sum[:16]))(o)
		}),
		misbehave("alg none", signin.BadToken, func(o *op) {
			o.sign = func(_ *op, h, c map[string]any) string { h["alg"] = "none"; return unsigned(h, c) + "." }
		}),
		misbehave("without signature", signin.BadToken, func(o *op) {
			o.sign = func(_ *op, h, c map[string]any) string { return unsigned(h, c) + "." }
		}),
		misbehave("HS256 with the client secret", signin.BadToken, func(o *op) {
			o.sign = func(_ *op, _, c map[string]any) string { return signHS256([]byte(clientSecret), c) }
		}),
		misbehave("HS256 with the public key", signin.BadToken, func(o *op) {
			o.sign = func(_ *op, _, c map[string]any) string { return signHS256(opKeys()[0].N.Bytes(), c) }
		}),
		misbehave("signed by another key of the same name", signin.BadToken, func(o *op) {
			o.sign = func(_ *op, h, c map[string]any) string { return signWith(opKeys()[1], h, c) }
		}),
		misbehave("signed by an unknown key", signin.BadToken, func(o *op) {
			o.sign = func(_ *op, h, c map[string]any) string { h["kid"] = "two"; return signWith(opKeys()[1], h, c) }
		}),
		misbehave("changed after signing", signin.BadToken, func(o *op) {
			o.sign = func(_ *op, h, c map[string]any) string {
				signature := strings.Split(signRS256(nil, h, c), ".")[2]
				c["sub"] = "admin"
				return unsigned(h, c) + "." + signature
			}
		}),
		misbehave("that is a logout token", signin.BadToken, func(o *op) {
			o.sign = func(_ *op, h, c map[string]any) string { h["typ"] = "logout+jwt"; return signRS256(nil, h, c) }
		}),
		misbehave("that is an access token", signin.BadToken, func(o *op) {
			o.sign = func(_ *op, h, c map[string]any) string { h["typ"] = "at+jwt"; return signRS256(nil, h, c) }
		}),
		misbehave("that is no token", signin.BadToken, func(o *op) {
			o.sign = func(*op, map[string]any, map[string]any) string { return "?.?.?" }
		}),
		misbehave("whose head is no JSON", signin.BadToken, func(o *op) {
			o.sign = func(*op, map[string]any, map[string]any) string { return b64([]byte("head")) + ".e30.e30" }
		}),
		misbehave("left out", signin.BadToken, func(o *op) {
			o.sign = func(*op, map[string]any, map[string]any) string { return "" }
		}),
	} {
		a.test(t, twoProviders)
	}
}

func TestAttackProvider(t *testing.T) {
	for _, a := range []attack{
		misbehave("token endpoint that redirects the code elsewhere", signin.ProviderFailed, func(o *op) {
			o.token = func(w http.ResponseWriter, r *http.Request) bool {
				http.Redirect(w, r, issuerTwo+"/token", http.StatusTemporaryRedirect)
				return true
			}
		}),
		misbehave("token answer without end", signin.ProviderFailed, func(o *op) {
			o.token = func(w http.ResponseWriter, _ *http.Request) bool {
				_, _ = w.Write([]byte(`{"x":"` + strings.Repeat("x", 1<<20) + `"}`))
				return true
			}
		}),
		misbehave("keys without end", signin.BadToken, func(o *op) {
			o.jwks = func(w http.ResponseWriter) bool {
				_, _ = w.Write([]byte(`{"keys":[` + strings.Repeat(" ", 1<<20) + `]}`))
				return true
			}
		}),
		misbehave("metadata without end", signin.ProviderFailed, func(o *op) {
			o.metadata = func(m map[string]any) { m["x"] = strings.Repeat("x", 1<<20) }
		}),
		misbehave("keys over plain http", signin.ProviderFailed, func(o *op) {
			o.metadata = func(m map[string]any) { m["jwks_uri"] = "http://one.example/jwks" }
		}),
		misbehave("token endpoint over plain http", signin.ProviderFailed, func(o *op) {
			o.metadata = func(m map[string]any) { m["token_endpoint"] = "http://one.example/token" }
		}),
		misbehave("authorization endpoint that is a script", signin.ProviderFailed, func(o *op) {
			o.metadata = func(m map[string]any) { m["authorization_endpoint"] = "javascript:alert(1)" }
		}),
		misbehave("no token endpoint", signin.ProviderFailed, func(o *op) {
			o.metadata = func(m map[string]any) { delete(m, "token_endpoint") }
		}),
		misbehave("metadata of the wrong shape", signin.ProviderFailed, func(o *op) {
			o.metadata = func(m map[string]any) { m["authorization_response_iss_parameter_supported"] = "yes" }
		}),
		misbehave("does not know the client", signin.ProviderFailed, func(o *op) { o.secret = "another" }),
	} {
		a.test(t, twoProviders)
	}
}

func TestCodeGoesNowhereButToTheTokenEndpoint(t *testing.T) {
	g := newRig(t)
	b := g.browser()
	back := b.answer()
	g.one.token = func(w http.ResponseWriter, r *http.Request) bool {
		http.Redirect(w, r, issuerTwo+"/token", http.StatusTemporaryRedirect)
		return true
	}
	b.get(back)
	if here, there := g.one.exchanges.Load(), g.two.exchanges.Load(); here != 1 || there != 0 {
		t.Errorf("the code was shown %d times to its provider and %d times to another", here, there)
	}
}
