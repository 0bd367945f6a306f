package bearer_test

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/identity"
	"github.com/answerback/answerback/internal/identity/bearer"
)

var (
	methodEd = jwt.SigningMethodEdDSA
	methodRS = jwt.SigningMethodRS256
)

func TestTokenSaysWhoCalls(t *testing.T) {
	w := newWorld(t)
	expires := time.Now().Add(time.Hour)
	p, err := w.Authenticate(request(mint(t, claim("exp", expires.Unix()), claim("email", "ada@example.com"))))
	if err != nil {
		t.Fatal(err)
	}
	if p.Principal != (ask.Principal{Issuer: oneIssuer, Subject: "ada"}) || p.Name != "Ada" ||
		p.Expires.Unix() != expires.Unix() || !p.Claims.Has("groups", "eng") {
		t.Errorf("is %+v", p)
	}
}

func TestEverySignatureThatIsTaken(t *testing.T) {
	w := newWorld(t)
	for _, c := range []struct {
		signer string
		method jwt.SigningMethod
	}{
		{"one-rsa", jwt.SigningMethodRS256}, {"one-rsa", jwt.SigningMethodRS384}, {"one-rsa", jwt.SigningMethodRS512},
		{"one-rsa", jwt.SigningMethodPS256}, {"one-rsa", jwt.SigningMethodPS384}, {"one-rsa", jwt.SigningMethodPS512},
		{"one-ec", jwt.SigningMethodES256}, {"one-384", jwt.SigningMethodES384}, {"one-ed", jwt.SigningMethodEdDSA},
	} {
		t.Run(c.method.Alg(), func(t *testing.T) { taken(t, w, mint(t, signedBy(c.signer, c.method))) })
	}
}

func TestSeveralIssuersHaveSeparatePeople(t *testing.T) {
	w := newWorld(t)
	taken(t, w, mint(t))
	p, err := w.Authenticate(request(mint(t, claim("iss", twoIssuer), signedBy("two-ec", jwt.SigningMethodES256))))
	if err != nil || p.Principal != (ask.Principal{Issuer: twoIssuer, Subject: "ada"}) {
		t.Errorf("is %v, %v", p.Principal, err)
	}
}

func TestIssuerSettings(t *testing.T) {
	w := newWorld(t, func(c *bearer.Config) {
		c.Issuers = []bearer.Issuer{{URL: oneIssuer, Audiences: []string{"api://a", "api://b"}, Types: []string{"vnd+jwt"}, JWKS: twoIssuer + "/jwks"}}
	})
	good := with(claim("aud", "api://b"), header("typ", "application/vnd+jwt"), signedBy("two-rsa", methodRS), without("scope"))
	taken(t, w, mint(t, good))
	if w.one.metadata.Load() != 0 || w.two.jwks.Load() != 1 {
		t.Error("the keys did not come from where the configuration says")
	}
	for name, change := range map[string]func(*draft){"audience": claim("aud", resource), "type": header("typ", "at+jwt")} {
		if _, err := w.Authenticate(request(mint(t, good, change))); err == nil {
			t.Errorf("the default %s is still taken", name)
		}
	}
}

func TestStaticKeySaysWhoCalls(t *testing.T) {
	w := newWorld(t, func(c *bearer.Config) {
		c.Keys = append(c.Keys, bearer.Key{
			Name: "ada's laptop", Key: hide("ada-key-0123456789abcdef"), Display: "Ada at work",
			Principal: ask.Principal{Issuer: oneIssuer, Subject: "ada"},
		})
	})
	p, err := w.Authenticate(request(staticKey))
	if err != nil || p.Principal != (ask.Principal{Issuer: identity.KeyIssuer, Subject: "ci"}) ||
		!p.Claims.Has("groups", "robots") || !p.Claims.Has("sub", "ci") || !p.Expires.IsZero() {
		t.Errorf("ci is %+v, %v", p, err)
	}
	p, err = w.Authenticate(request("ada-key-0123456789abcdef"))
	if err != nil || p.Principal != (ask.Principal{Issuer: oneIssuer, Subject: "ada"}) || p.Name != "Ada at work" || !p.Claims.Has("sub", "ada") {
		t.Errorf("ada is %+v, %v", p, err)
	}
	if w.one.metadata.Load()+w.two.metadata.Load() != 0 {
		t.Error("a static key asked an issuer")
	}
}

func TestChallenges(t *testing.T) {
	issuers := newWorld(t)
	differ := newWorld(t, func(c *bearer.Config) { c.Issuers[1].Scopes = []string{"other"} })
	keys := newWorld(t, func(c *bearer.Config) { c.Issuers = nil })
	bare := httptest.NewRequest(http.MethodPost, "/mcp", nil)
	for _, c := range []struct {
		name    string
		world   *world
		request *http.Request
		status  int
		want    string
	}{
		{"no token", issuers, bare, 401, `Bearer scope="mcp:use", resource_metadata="` + metadataURL + `"`},
		{"no token, scopes differ", differ, bare, 401, `Bearer resource_metadata="` + metadataURL + `"`},
		{"no token, keys only", keys, bare, 401, `Bearer realm="answerback"`},
		{"bad token", issuers, request(mint(t, claim("exp", 1))), 401,
			`Bearer error="invalid_token", error_description="The token has expired.", scope="mcp:use", resource_metadata="` + metadataURL + `"`},
		{"bad key", keys, request("nobodys-key-at-all"), 401, `Bearer error="invalid_token", error_description="The key is unknown."`},
		{"bad request", issuers, request("a b"), 400,
			`Bearer error="invalid_request", error_description="The Authorization header has not exactly one token.", resource_metadata="` + metadataURL + `"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := c.world.Authenticate(c.request)
			if status, challenge := refused(t, err); status != c.status || challenge != c.want {
				t.Errorf("%d\n%s, want %d\n%s", status, challenge, c.status, c.want)
			}
			if ask.CodeOf(err) != ask.NotAllowed {
				t.Errorf("code %s", ask.CodeOf(err))
			}
		})
	}
}

func TestExpiredTokenIsNotRemembered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		token := mint(t, claim("exp", time.Now().Add(time.Minute).Unix()))
		taken(t, w, token)
		time.Sleep(time.Minute - time.Second)
		taken(t, w, token)
		time.Sleep(time.Second)
		_, err := w.Authenticate(request(token))
		if _, challenge := refused(t, err); !strings.Contains(challenge, "expired") {
			t.Error(challenge)
		}
	})
}

func TestMoreTokensThanAreRemembered(t *testing.T) {
	w := newWorld(t, func(c *bearer.Config) { c.CacheSize = 4 })
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			for j := range 20 {
				sub := fmt.Sprintf("p%d-%d", i, j)
				token := mint(t, claim("sub", sub), signedBy("one-ed", methodEd))
				for range 3 {
					if p, err := w.Authenticate(request(token)); err != nil || p.Principal.Subject != sub {
						t.Errorf("%s is %v, %v", sub, p.Principal, err)
					}
				}
			}
		})
	}
	all.Wait()
}

func TestIssuerThatCannotBeTrustedGivesNoKeys(t *testing.T) {
	says := func(name, issuer, jwks string) func(p *provider) {
		return func(p *provider) { p.document = map[string]any{name: issuer, "jwks_uri": jwks} }
	}
	for _, c := range []struct {
		name   string
		change func(p *provider)
		why    string // nothing means that it is trusted
	}{
		{"control", says("issuer", oneIssuer, "https://127.0.0.1/jwks"), ""},
		{"metadata of another", says("issuer", twoIssuer, oneIssuer+"/jwks"), "not exactly the configured one"},
		{"metadata slash too many", says("issuer", oneIssuer+"/", oneIssuer+"/jwks"), "not exactly the configured one"},
		{"metadata in another case", says("Issuer", oneIssuer, oneIssuer+"/jwks"), "not exactly the configured one"},
		{"metadata too long", says("issuer", oneIssuer, strings.Repeat("x", 600<<10)), "longer than"},
		{"keys in the clear", says("issuer", oneIssuer, "http://one.example/jwks"), "must begin with https"},
		{"keys in the clear on loopback", says("issuer", oneIssuer, "http://127.0.0.1/jwks"), "must begin with https"},
		{"keys in a file", says("issuer", oneIssuer, "file:///etc/jwks"), "jwks_uri"},
		{"keys nowhere", says("issuer", oneIssuer, ""), "jwks_uri: missing"},
		{"keys too many", func(p *provider) { p.keys = slices.Repeat(p.keys, 20) }, "at most 100"},
		{"keys too long", func(p *provider) { p.keys[0]["more"] = strings.Repeat("x", 600<<10) }, "longer than"},
		{"no key of use", func(p *provider) { p.keys = p.keys[4:] }, "none of the 3 keys"},
		{"down", func(p *provider) { p.down = true }, "status 502"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var issuer *provider
			w := newWorld(t, func(cfg *bearer.Config) {
				handlers := cfg.HTTP.Transport.(direct)
				issuer = handlers["one.example"].(*provider)
				handlers["127.0.0.1"] = issuer
			})
			issuer.set(c.change)
			_, err := w.Authenticate(request(mint(t)))
			if c.why == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if status, _ := refused(t, err); status != http.StatusServiceUnavailable || !strings.Contains(err.Error(), c.why) {
				t.Errorf("status %d: %v", status, err)
			}
			if !strings.Contains(w.log.String(), oneIssuer) {
				t.Errorf("the log does not name the issuer: %s", w.log)
			}
		})
	}
}

func TestIssuerBehindARealServer(t *testing.T) {
	for _, path := range []string{"", "/", "/tenant", "/tenant/"} {
		t.Run("path "+path, func(t *testing.T) {
			p := newProvider("", public("one-rsa"))
			server := httptest.NewTLSServer(p)
			defer server.Close()
			p.url = server.URL + path
			p.document = map[string]any{"issuer": p.url, "jwks_uri": server.URL + "/jwks"}
			w := newWorld(t, func(c *bearer.Config) {
				c.Issuers, c.HTTP = []bearer.Issuer{{URL: p.url}}, server.Client()
			})
			if who, err := w.Authenticate(request(mint(t, claim("iss", p.url)))); err != nil || who.Principal.Issuer != p.url {
				t.Errorf("is %v, %v", who.Principal, err)
			}
		})
	}
}

func TestIssuerThatRedirectsIsNotFollowed(t *testing.T) {
	w := newWorld(t)
	away := http.RedirectHandler(twoIssuer+"/jwks", http.StatusFound)
	w = newWorld(t, func(c *bearer.Config) {
		c.Issuers = []bearer.Issuer{{URL: oneIssuer, JWKS: oneIssuer + "/away"}}
		c.HTTP = &http.Client{Transport: direct{"one.example": away, "two.example": w.two}}
	})
	_, err := w.Authenticate(request(mint(t, signedBy("two-rsa", methodRS))))
	if status, _ := refused(t, err); status != http.StatusServiceUnavailable || !strings.Contains(err.Error(), "status 302") {
		t.Errorf("%d %v", status, err)
	}
}

func TestMetadata(t *testing.T) {
	w := newWorld(t, func(c *bearer.Config) { c.Issuers[1].Scopes = []string{"mcp:use", "mcp:more"} })
	const want = `{"resource":"https://mcp.example.com/mcp","authorization_servers":["https://one.example","https://two.example/tenant"],` +
		`"scopes_supported":["mcp:use","mcp:more"],"bearer_methods_supported":["header"],"resource_name":"Answerback"}`
	serve := func(w *world, method string) *httptest.ResponseRecorder {
		res := httptest.NewRecorder()
		w.Metadata().ServeHTTP(res, httptest.NewRequest(method, metadataURL, nil))
		return res
	}
	res := serve(w, http.MethodGet)
	if res.Code != 200 || res.Body.String() != want || res.Header().Get("Content-Type") != "application/json" {
		t.Errorf("%d %v\n%s", res.Code, res.Header(), res.Body)
	}
	if res := serve(w, http.MethodHead); res.Code != 200 {
		t.Errorf("HEAD: %d", res.Code)
	}
	if res := serve(w, http.MethodPost); res.Code != 405 || res.Header().Get("Allow") != "GET, HEAD" {
		t.Errorf("POST: %d %v", res.Code, res.Header())
	}
	if res := serve(newWorld(t, func(c *bearer.Config) { c.Issuers = nil }), http.MethodGet); res.Code != 404 {
		t.Errorf("without issuers: %d", res.Code)
	}
}

func TestSecretsAppearNowhere(t *testing.T) {
	const canary = "canary-5f2e-key-of-somebody"
	var log strings.Builder
	w := newWorld(t, func(c *bearer.Config) {
		c.Keys = []bearer.Key{{Name: "k", Key: hide(canary)}}
		c.Log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	secrets := []string{canary}
	var shown strings.Builder
	try := func(credential string, pieces ...string) {
		secrets = append(secrets, append(pieces, strings.Split(credential, ".")...)...)
		p, err := w.Authenticate(request(credential))
		fmt.Fprintf(&shown, "%v %+v %#v\n", err, err, w.Bearer)
		if refusal, ok := errors.AsType[*bearer.Refusal](err); ok {
			_, challenge := refusal.Challenge()
			fmt.Fprintf(&shown, "%s %+v %v\n", challenge, refusal, errors.Unwrap(refusal))
		}
		if credential == canary {
			fmt.Fprintf(&shown, "%+v\n", p)
		}
	}
	try(canary)
	try(canary + "-and-more")
	try(mint(t, claim("sub", "canary-subject"), claim("exp", 1)), "canary-subject")
	try(mint(t, claim("iss", "https://canary-issuer.example")), "canary-issuer")
	try(mint(t, header("kid", "canary-kid")), "canary-kid")
	try(mint(t, header("typ", "canary-typ")), "canary-typ")
	try(mint(t, header("alg", "canary-alg")))
	try("canary-head.canary-body.canary-sign")
	try(mint(t) + "canary-tail")
	w.one.set(func(p *provider) { p.down = true })
	try(mint(t, header("kid", "canary-down")), "canary-down")
	_, err := bearer.New(bearer.Config{Keys: []bearer.Key{
		{Name: "a", Key: hide(canary)}, {Name: "b", Key: hide(canary)}, {Name: "c", Key: hide("canary-short")}, {Name: "d", Key: hide("canary with a space in it")},
	}})
	if err == nil {
		t.Fatal("such keys were taken")
	}
	secrets = append(secrets, "canary")
	fmt.Fprintln(&shown, err)

	everything := shown.String() + log.String()
	for _, secret := range secrets {
		if secret != "" && strings.Contains(everything, secret) {
			t.Errorf("%q was shown in\n%s", secret, everything)
		}
	}
	if len(everything) < 1000 || !strings.Contains(everything, oneIssuer) {
		t.Errorf("too little was looked at: %s", everything)
	}
}

func TestConfigFaultsAreNamed(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*bearer.Config)
		want   string // nothing means that it is none
	}{
		{"control", func(*bearer.Config) {}, ""},
		{"loopback in the clear", func(c *bearer.Config) {
			c.Issuers[0].URL = "http://127.0.0.1:9/x"
			c.Resource = "http://localhost:80/mcp"
		}, ""},
		{"nobody", func(c *bearer.Config) { *c = bearer.Config{} }, "neither an issuer nor a key"},
		{"no resource", func(c *bearer.Config) { c.Resource = "" }, "resource: missing"},
		{"resource with fragment", func(c *bearer.Config) { c.Resource += "#x" }, "resource: "},
		{"resource relative", func(c *bearer.Config) { c.Resource = "/mcp" }, "resource: "},
		{"resource quoted", func(c *bearer.Config) { c.Resource += `"` }, "resource: "},
		{"no metadata url", func(c *bearer.Config) { c.MetadataURL = "" }, "metadata url: missing"},
		{"no client", func(c *bearer.Config) { c.HTTP = nil }, "http: missing"},
		{"cache", func(c *bearer.Config) { c.CacheSize = -1 }, "cache size"},
		{"issuer in the clear", func(c *bearer.Config) { c.Issuers[1].URL = "http://two.example" }, "issuer 1: url: "},
		{"issuer with password", func(c *bearer.Config) { c.Issuers[1].URL = "https://u:p@two.example" }, "issuer 1: url: "},
		{"issuer with query", func(c *bearer.Config) { c.Issuers[1].URL += "?x" }, "issuer 1: url: "},
		{"issuer of keys", func(c *bearer.Config) { c.Issuers[1].URL = "key" }, "issuer 1: url: "},
		{"issuer twice", func(c *bearer.Config) { c.Issuers[1] = c.Issuers[0] }, "issuer 1: url: https://one.example is configured twice"},
		{"issuers too many", func(c *bearer.Config) { c.Issuers = make([]bearer.Issuer, 65) }, "at most 64"},
		{"jwks", func(c *bearer.Config) { c.Issuers[0].JWKS = "ftp://one.example" }, "issuer 0: jwks: "},
		{"audience", func(c *bearer.Config) { c.Issuers[0].Audiences = []string{""} }, "issuer 0: audiences: "},
		{"type", func(c *bearer.Config) { c.Issuers[0].Types = []string{""} }, "issuer 0: types: "},
		{"scope", func(c *bearer.Config) { c.Issuers[0].Scopes = []string{"a b"} }, "issuer 0: scopes: "},
		{"scope quoted", func(c *bearer.Config) { c.Issuers[0].Scopes = []string{`a"`} }, "issuer 0: scopes: "},
		{"key without name", func(c *bearer.Config) { c.Keys[0].Name = "" }, "key 0 (): name: "},
		{"key missing", func(c *bearer.Config) { c.Keys[0].Key = hide("") }, "key 0 (ci): key: shorter"},
		{"key short", func(c *bearer.Config) { c.Keys[0].Key = hide("123456789012345") }, "key 0 (ci): key: shorter"},
		{"key just long enough", func(c *bearer.Config) { c.Keys[0].Key = hide("1234567890123456") }, ""},
		{"key with space", func(c *bearer.Config) { c.Keys[0].Key = hide("12345678 90123456") }, "key 0 (ci): key: "},
		{"key twice", func(c *bearer.Config) { c.Keys = append(c.Keys, bearer.Key{Name: "x", Key: hide(staticKey)}) }, "key 1 (x): key: the same as that of ci"},
		{"name twice", func(c *bearer.Config) {
			c.Keys = append(c.Keys, bearer.Key{Name: "ci", Key: hide("another-key-0123456789")})
		}, "key 1 (ci): name: "},
		{"keys too many", func(c *bearer.Config) { c.Keys = make([]bearer.Key, 1001) }, "at most 1000"},
		{"half a principal", func(c *bearer.Config) { c.Keys[0].Principal.Subject = "ada" }, "key 0 (ci): principal: "},
		{"principal of another key", func(c *bearer.Config) { c.Keys[0].Principal = ask.Principal{Issuer: "key", Subject: "x"} }, "key 0 (ci): principal: "},
		{"sub of another", func(c *bearer.Config) { c.Keys[0].Claims = identity.Claims{"sub": "x"} }, "key 0 (ci): claims: "},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := config(direct{})
			c.change(&cfg)
			b, err := bearer.New(cfg)
			if c.want == "" {
				if err != nil {
					t.Fatal(err)
				}
				b.Close()
				return
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error is %v, want %s", err, c.want)
			}
		})
	}
}
