package bearer_test

import (
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/answerback/answerback/internal/identity/bearer"
	"github.com/answerback/answerback/internal/secret"
)

func hide(s string) secret.Text { return secret.New(s) }

// attack is one attack beside its control, which differs in nothing but the
// attack: the control is taken, before and after, and the attack refused.
type attack struct {
	name    string
	control *http.Request
	attack  *http.Request
	status  int
	code    string
	why     string // a piece of the reason: refused for another one proves nothing
}

// Pieces of the reasons for which tokens are refused.
const (
	otherAudience  = "for another audience"
	otherIssuer    = "an issuer that is not configured"
	otherType      = "its type is another"
	otherClaims    = "its claims are those of another kind"
	otherAlgorithm = "signed in a way"
	noExpiry       = "does not say when it expires"
	noLonger       = "has expired"
	notYet         = "not valid yet"
	noSubject      = "no usable subject"
	noKeyID        = "key id is none"
	unknownKey     = "a key that its issuer does not have"
	wrongSignature = "signature is wrong"
	bound          = "bound to a key of its holder"
	critical       = "demands an extension"
	noToken        = "token is needed"
	noOneToken     = "not exactly one token"
)

func (a attack) run(t *testing.T, control, attacked *world) {
	t.Run(a.name, func(t *testing.T) {
		for _, when := range []string{"before", "after"} {
			if p, err := control.Authenticate(a.control); err != nil || p.Principal.IsZero() {
				t.Fatalf("%s the attack, the control: %v, %v", when, p, err)
			}
			p, err := attacked.Authenticate(a.attack)
			if err == nil {
				t.Fatalf("the attack was taken, as %v", p.Principal)
			}
			if !p.Principal.IsZero() || p.Claims != nil {
				t.Errorf("refused, but says it is %v", p)
			}
			status, challenge := refused(t, err)
			if status != a.status || oauthError(challenge) != a.code || !strings.HasPrefix(challenge, "Bearer ") {
				t.Errorf("refused with %d %s, want %d %s", status, challenge, a.status, a.code)
			}
			if !strings.Contains(err.Error(), a.why) {
				t.Errorf("refused because: %v, want: %s", err, a.why)
			}
		}
	})
}

func TestAttackToken(t *testing.T) {
	w := newWorld(t)
	past, future := time.Now().Add(-time.Minute).Unix(), time.Now().Add(10*time.Minute).Unix()
	es256, rs256 := jwt.SigningMethodES256, jwt.SigningMethodRS256
	pub := signers()["one-rsa"].Public()
	der, err := x509.MarshalPKIXPublicKey(pub)
	if err != nil {
		t.Fatal(err)
	}
	asPEM := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
	asPKCS1 := x509.MarshalPKCS1PublicKey(pub.(*rsa.PublicKey))
	hs256 := func(secret []byte) func(*draft) {
		return func(d *draft) { d.method, d.key = jwt.SigningMethodHS256, secret }
	}
	stranger := func(d *draft) { d.key = signers()["stranger"] }
	ofTwo := with(claim("iss", twoIssuer), signedBy("two-rsa", rs256))
	good := func(*draft) {}

	for _, c := range []struct {
		name, why       string
		control, attack func(*draft)
	}{
		// For somebody else.
		{"aud missing", otherAudience, good, without("aud")},
		{"aud empty", otherAudience, good, claim("aud", "")},
		{"aud empty list", otherAudience, good, claim("aud", []string{})},
		{"aud of another resource", otherAudience, good, claim("aud", "https://other.example.com/mcp")},
		{"aud prefix of ours", otherAudience, good, claim("aud", "https://mcp.example.com")},
		{"aud with trailing slash", otherAudience, good, claim("aud", resource+"/")},
		{"aud longer than ours", otherAudience, good, claim("aud", resource+"/other")},
		{"aud in another case", otherAudience, good, claim("aud", "https://MCP.example.com/mcp")},
		{"aud with default port", otherAudience, good, claim("aud", "https://mcp.example.com:443/mcp")},
		{"aud with http", otherAudience, good, claim("aud", "http://mcp.example.com/mcp")},
		{"aud containing ours", otherAudience, good, claim("aud", "https://evil.example/?"+resource)},
		{"aud two in one text", otherAudience, good, claim("aud", "https://other.example "+resource)},
		{"aud list without ours", otherAudience, claim("aud", []string{"https://a.example", resource}), claim("aud", []string{"https://a.example", "https://b.example"})},
		{"aud list with a number", otherAudience, claim("aud", []any{resource}), claim("aud", []any{resource, 7})},
		{"aud object", otherAudience, good, claim("aud", map[string]any{"aud": resource})},
		{"aud wildcard", otherAudience, good, claim("aud", "*")},
		// From somebody else.
		{"iss missing", otherIssuer, good, without("iss")},
		{"iss empty", otherIssuer, good, claim("iss", "")},
		{"iss list", otherIssuer, good, claim("iss", []string{oneIssuer})},
		{"iss in another case", otherIssuer, good, claim("iss", "https://ONE.example")},
		{"iss with trailing slash", otherIssuer, good, claim("iss", oneIssuer+"/")},
		{"iss look-alike", otherIssuer, good, claim("iss", "https://оne.example")},
		{"iss longer", otherIssuer, good, claim("iss", oneIssuer+".evil.example")},
		{"iss with http", otherIssuer, good, claim("iss", "http://one.example")},
		{"iss of static keys", otherIssuer, good, claim("iss", "key")},
		{"iss local", otherIssuer, good, claim("iss", "local")},
		{"iss of the other issuer, our key", unknownKey, ofTwo, claim("iss", twoIssuer)},
		{"iss ours, key of the other issuer", unknownKey, good, signedBy("two-rsa", rs256)},
		{"iss ours, key of the other issuer under our key id", wrongSignature, good, func(d *draft) { d.key = signers()["two-rsa"] }},
		// At another time.
		{"expired", noLonger, good, claim("exp", past)},
		{"expires now", noLonger, good, claim("exp", time.Now().Unix())},
		{"exp missing", noExpiry, good, without("exp")},
		{"exp zero", noLonger, good, claim("exp", 0)},
		{"exp negative", noExpiry, good, claim("exp", -1)},
		{"exp text", noExpiry, good, claim("exp", "9999999999")},
		{"exp beyond all time", noExpiry, good, claim("exp", 1e300)},
		{"exp null", noExpiry, good, claim("exp", nil)},
		{"nbf in the future", notYet, claim("nbf", time.Now().Add(10*time.Second).Unix()), claim("nbf", future)},
		{"nbf text", notYet, good, claim("nbf", "0")},
		{"iat in the future", notYet, claim("iat", time.Now().Add(10*time.Second).Unix()), claim("iat", future)},
		// Of nobody.
		{"sub missing", noSubject, good, without("sub")},
		{"sub empty", noSubject, good, claim("sub", "")},
		{"sub a number", noSubject, claim("sub", "7"), claim("sub", 7)},
		{"sub a list", noSubject, good, claim("sub", []string{"ada"})},
		{"sub too long", noSubject, claim("sub", strings.Repeat("a", 255)), claim("sub", strings.Repeat("a", 256))},
		{"sub with a line break", noSubject, good, claim("sub", "ada\nbob")},
		{"sub with an invisible character", noSubject, good, claim("sub", "ada\u200b")},
		{"sub only as e-mail", noSubject, claim("email", "ada@example.com"), with(claim("email", "ada@example.com"), without("sub"))},
		// Of another kind.
		{"typ missing", otherType, header("typ", "JWT"), header("typ", nil)},
		{"typ empty", otherType, good, header("typ", "")},
		{"typ logout", otherType, header("typ", "application/AT+JWT"), header("typ", "logout+jwt")},
		{"typ dpop proof", otherType, good, header("typ", "dpop+jwt")},
		{"typ security event", otherType, good, header("typ", "secevent+jwt")},
		{"typ introspection", otherType, good, header("typ", "token-introspection+jwt")},
		{"typ authorization request", otherType, good, header("typ", "oauth-authz-req+jwt")},
		{"typ not text", otherType, good, header("typ", []string{"at+jwt"})},
		{"id token of the same issuer", otherAudience, header("typ", "JWT"), with(header("typ", "JWT"), claim("aud", "client-7"), claim("nonce", "n"))},
		{"id token for a client that is us", otherClaims, header("typ", "JWT"), with(header("typ", "JWT"), claim("at_hash", "x"))},
		{"id token by its own word", otherClaims, claim("typ", "Bearer"), claim("typ", "ID")},
		{"id token by use", otherClaims, claim("token_use", "access"), claim("token_use", "id")},
		{"logout token with typ JWT", otherClaims, header("typ", "JWT"), with(header("typ", "JWT"), claim("events", map[string]any{"http://schemas.openid.net/event/backchannel-logout": map[string]any{}}))},
		{"bound to a key", bound, good, claim("cnf", map[string]any{"jkt": "x"})},
		{"critical extension", critical, good, with(header("crit", []string{"exp"}))},
		{"unencoded payload", critical, good, with(header("crit", []string{"b64"}), header("b64", false))},
		// Signed in another way.
		{"alg none", otherAlgorithm, good, func(d *draft) { d.method, d.key = jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType }},
		{"alg HS256 with the public key in PEM", otherAlgorithm, good, hs256(asPEM)},
		{"alg HS256 with the public key in DER", otherAlgorithm, good, hs256(der)},
		{"alg HS256 with the public key in PKCS1", otherAlgorithm, good, hs256(asPKCS1)},
		{"alg HS256 with the issuer's published secret", otherAlgorithm, good, with(hs256([]byte("secretsecretsecretsecretsecretse")), header("kid", "one-oct"))},
		{"RSA key id for an EC signature", unknownKey, signedBy("one-ec", es256), with(signedBy("one-ec", es256), header("kid", "one-rsa"))},
		{"EC key id for an RSA signature", unknownKey, good, header("kid", "one-ec")},
		{"Ed25519 key id for an EC signature", unknownKey, signedBy("one-ed", jwt.SigningMethodEdDSA), with(signedBy("one-ec", es256), header("kid", "one-ed"))},
		{"P-384 key for ES256", unknownKey, signedBy("one-384", jwt.SigningMethodES384), with(signedBy("one-ec", es256), header("kid", "one-384"))},
		{"encryption key", unknownKey, signedBy("one-ec", es256), signedBy("one-enc", es256)},
		{"key that is too small", unknownKey, good, signedBy("one-small", rs256)},
		{"key for another algorithm", unknownKey, ofTwo, with(ofTwo, signedBy("two-rsa", jwt.SigningMethodPS256))},
		{"kid unknown", unknownKey, good, header("kid", "nobody's")},
		{"kid empty", noKeyID, good, header("kid", "")},
		{"kid not text", noKeyID, good, header("kid", 7)},
		{"kid a path", unknownKey, good, header("kid", "../../../../dev/null")},
		{"kid too long", noKeyID, good, header("kid", strings.Repeat("k", 600))},
		{"stranger's signature", wrongSignature, good, stranger},
		{"key embedded as jwk", wrongSignature, good, with(stranger, header("jwk", public("stranger")))},
		{"key embedded as jwk without kid", wrongSignature, good, with(stranger, header("kid", nil), header("jwk", public("stranger")))},
		{"key referred to by jku", wrongSignature, good, with(stranger, header("jku", "https://evil.example/jwks"))},
		{"key referred to by x5u", wrongSignature, good, with(stranger, header("x5u", "https://evil.example/cert"))},
		{"key embedded as x5c", wrongSignature, good, with(stranger, header("x5c", []string{base64.StdEncoding.EncodeToString(der)}))},
	} {
		attack{c.name, request(mint(t, c.control)), request(mint(t, c.attack)), 401, "invalid_token", c.why}.run(t, w, w)
	}

	// Without a key id a token is taken only where its issuer has no choice.
	nameless := request(mint(t, ofTwo, header("kid", nil)))
	choice := newWorld(t)
	choice.two.keys = append(choice.two.keys, public("stranger"))
	attack{"kid missing where there is a choice", nameless, nameless, 401, "invalid_token", unknownKey}.run(t, w, choice)
}

func TestAttackScope(t *testing.T) {
	w := newWorld(t)
	good := mint(t)
	for name, change := range map[string]func(*draft){
		"scope missing":         without("scope"),
		"scope empty":           claim("scope", ""),
		"scope of another kind": claim("scope", "openid mcp:read"),
		"scope longer":          claim("scope", "mcp:use:all"),
		"scope prefix":          claim("scope", "mcp"),
		"scope in another case": claim("scope", "MCP:USE"),
		"scope split by comma":  claim("scope", "openid,mcp:use"),
		"scope an object":       claim("scope", map[string]any{"mcp:use": true}),
		"scp list without it":   with(without("scope"), claim("scp", []string{"other"})),
		"scp list of no text":   with(without("scope"), claim("scp", []any{"mcp:use", 7})),
	} {
		control := good
		if strings.HasPrefix(name, "scp") {
			control = mint(t, without("scope"), claim("scp", []string{"mcp:use"}))
		}
		attack{name, request(control), request(mint(t, change)), 403, "insufficient_scope", "lacks a scope"}.run(t, w, w)
	}
	_, err := w.Authenticate(request(mint(t, without("scope"))))
	_, challenge := refused(t, err)
	if want := `Bearer error="insufficient_scope", error_description="The token lacks a scope.", scope="mcp:use", resource_metadata="` + metadataURL + `"`; challenge != want {
		t.Errorf("challenge\n%s, want\n%s", challenge, want)
	}
}

func TestAttackTampered(t *testing.T) {
	w := newWorld(t)
	good := mint(t)
	parts := strings.Split(good, ".")
	flip := func(s string, at int) string {
		b := []byte(s)
		if b[at] == 'A' {
			b[at] = 'B'
		} else {
			b[at] = 'A'
		}
		return string(b)
	}
	other := strings.Split(mint(t, claim("sub", "bob")), ".")
	for name, token := range map[string]string{
		"payload of another token":    parts[0] + "." + other[1] + "." + parts[2],
		"header of another token":     strings.Split(mint(t, header("typ", "JWT")), ".")[0] + "." + parts[1] + "." + parts[2],
		"signature of another token":  parts[0] + "." + parts[1] + "." + other[2],
		"signature flipped":           parts[0] + "." + parts[1] + "." + flip(parts[2], 5),
		"payload flipped":             parts[0] + "." + flip(parts[1], 9) + "." + parts[2],
		"signature cut off":           parts[0] + "." + parts[1] + ".",
		"signature and dot cut off":   parts[0] + "." + parts[1],
		"truncated":                   good[:len(good)-1],
		"signature padded":            good + "==",
		"signature respelled":         parts[0] + "." + parts[1] + "." + respell(parts[2]),
		"fourth part":                 good + "." + parts[2],
		"encrypted form":              parts[0] + ".a.b.c." + parts[2],
		"header not JSON":             "AAAA." + parts[1] + "." + parts[2],
		"payload null":                parts[0] + ".bnVsbA." + parts[2],
		"payload a list":              parts[0] + ".W10." + parts[2],
		"only dots":                   "..",
		"unsigned, signature removed": base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"None","typ":"at+jwt"}`)) + "." + parts[1] + ".",
	} {
		attack{name, request(good), request(token), 401, "invalid_token", ""}.run(t, w, w)
	}
}

// respell sets bits of the last character that carry nothing.
func respell(segment string) string {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	last := strings.IndexByte(alphabet, segment[len(segment)-1])
	return segment[:len(segment)-1] + string(alphabet[last^1])
}

func TestAttackRequest(t *testing.T) {
	w := newWorld(t)
	token := mint(t)
	raw := func(values ...string) *http.Request {
		r := httptest.NewRequest(http.MethodPost, "/mcp", strings.NewReader("{}"))
		r.Header["Authorization"] = values
		return r
	}
	at := func(target string, values ...string) *http.Request {
		r := httptest.NewRequest(http.MethodPost, target, nil)
		if len(values) > 0 {
			r.Header["Authorization"] = values
		}
		return r
	}
	form := httptest.NewRequest(http.MethodPost, "/mcp", strings.NewReader("access_token="+token))
	form.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	cookie := httptest.NewRequest(http.MethodPost, "/mcp", nil)
	cookie.AddCookie(&http.Cookie{Name: "access_token", Value: token})
	elsewhere := httptest.NewRequest(http.MethodPost, "/mcp", nil)
	for _, name := range []string{"Proxy-Authorization", "X-Forwarded-Authorization", "X-Authorization", "X-Api-Key", "Authorization_", "X-Forwarded-User"} {
		elsewhere.Header.Set(name, "Bearer "+token)
	}
	good := raw("Bearer " + token)
	for _, c := range []attack{
		{"no header", good, at("/mcp"), 401, "", noToken},
		{"empty header", good, raw(""), 401, "", noToken},
		{"two headers, both good", good, raw("Bearer "+token, "Bearer "+token), 400, "invalid_request", "several Authorization headers"},
		{"two headers, good and bad", good, raw("Bearer "+token, "Bearer x"), 400, "invalid_request", "several Authorization headers"},
		{"two headers, bad and good", good, raw("Bearer x", "Bearer "+token), 400, "invalid_request", "several Authorization headers"},
		{"two headers, Basic and good", good, raw("Basic dTpw", "Bearer "+token), 400, "invalid_request", "several Authorization headers"},
		{"two tokens by comma", good, raw("Bearer " + token + ", Bearer " + token), 400, "invalid_request", noOneToken},
		{"two tokens by space", good, raw("Bearer " + token + " " + token), 400, "invalid_request", noOneToken},
		{"Basic scheme", raw("bearer " + token), raw("Basic " + token), 401, "", noToken},
		{"DPoP scheme", raw("BEARER " + token), raw("DPoP " + token), 401, "", noToken},
		{"no scheme", good, raw(token), 401, "", noToken},
		{"longer scheme", good, raw("Bearers " + token), 401, "", noToken},
		{"scheme look-alike", good, raw("Веarer " + token), 401, "", noToken},
		{"scheme only", good, raw("Bearer"), 400, "invalid_request", noOneToken},
		{"scheme and space only", good, raw("Bearer  "), 400, "invalid_request", noOneToken},
		{"tab after scheme", raw("Bearer  " + token), raw("Bearer\t" + token), 401, "", noToken},
		{"space before scheme", good, raw(" Bearer " + token), 401, "", noToken},
		{"no-break space", good, raw("Bearer \u00a0" + token), 400, "invalid_request", noOneToken},
		{"tab before token", good, raw("Bearer \t" + token), 400, "invalid_request", noOneToken},
		{"line break after token", good, raw("Bearer " + token + "\r\n"), 400, "invalid_request", noOneToken},
		{"zero byte after token", good, raw("Bearer " + token + "\x00"), 400, "invalid_request", noOneToken},
		{"space after token", good, raw("Bearer " + token + " "), 400, "invalid_request", noOneToken},
		{"quoted token", good, raw(`Bearer "` + token + `"`), 400, "invalid_request", noOneToken},
		{"colon after scheme", good, raw("Bearer: " + token), 401, "", noToken},
		{"huge token", good, raw("Bearer " + strings.Repeat("a", 20<<10)), 400, "invalid_request", "too long"},
		{"token in query", good, at("/mcp?access_token=" + token), 400, "invalid_request", "in the address"},
		{"token in query beside header", at("/mcp?x=1", "Bearer "+token), at("/mcp?access_token="+token, "Bearer "+token), 400, "invalid_request", "in the address"},
		{"token in query, escaped name", good, at("/mcp?%61ccess_token="+token, "Bearer "+token), 400, "invalid_request", "in the address"},
		{"token in query that does not parse", good, at("/mcp?a;access_token="+token, "Bearer "+token), 400, "invalid_request", "in the address"},
		{"token in body", good, form, 401, "", noToken},
		{"token in cookie", good, cookie, 401, "", noToken},
		{"token in other headers", good, elsewhere, 401, "", noToken},
	} {
		c.run(t, w, w)
	}
}

func TestAttackKey(t *testing.T) {
	person := bearer.Key{Name: "ada", Key: hide("ada-key-0123456789abcdef")}
	person.Principal.Issuer, person.Principal.Subject = oneIssuer, "ada"
	w := newWorld(t, func(c *bearer.Config) { c.Keys = append(c.Keys, person) })
	only := newWorld(t, func(c *bearer.Config) { c.Issuers = nil })
	for name, key := range map[string]string{
		"prefix of a key":      staticKey[:len(staticKey)-1],
		"longer than a key":    staticKey + "0",
		"another case":         strings.ToUpper(staticKey),
		"name of a key":        "ci",
		"two keys joined":      staticKey + staticKey,
		"redacted":             "redacted",
		"key with padding":     staticKey + "=",
		"digest-like":          strings.Repeat("0", 64),
		"principal of the key": "key/ci",
	} {
		attack{name, request(staticKey), request(key), 401, "invalid_token", "neither a known key nor a token"}.run(t, w, w)
		attack{name + ", no issuer", request(staticKey), request(key), 401, "invalid_token", "key is unknown"}.run(t, only, only)
	}
	attack{"empty key", request(staticKey), request(""), 400, "invalid_request", noOneToken}.run(t, w, w)
	attack{"key as Basic password", request(staticKey), func() *http.Request {
		r := httptest.NewRequest(http.MethodPost, "/mcp", nil)
		r.SetBasicAuth("ci", staticKey)
		return r
	}(), 401, "", noToken}.run(t, w, w)
	attack{"key that was removed", request("ada-key-0123456789abcdef"), request("ada-key-0123456789abcdef"), 401, "invalid_token", "neither a known key"}.run(t, w, newWorld(t))
	attack{"token where only keys are", request(mint(t)), request(mint(t)), 401, "invalid_token", "key is unknown"}.run(t, w, only)
	attack{"token of an issuer that was removed", request(mint(t)), request(mint(t)), 401, "invalid_token", otherIssuer}.run(t, w,
		newWorld(t, func(c *bearer.Config) { c.Issuers = c.Issuers[1:] }))
}
