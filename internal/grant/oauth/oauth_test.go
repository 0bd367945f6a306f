package oauth

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"reflect"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/answerback/answerback/internal/secret"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestChallengesAreRead(t *testing.T) {
	const at = "https://mcp.example.com/.well-known/oauth-protected-resource"
	for text, want := range map[string]Challenge{
		`Bearer`: {},
		`Bearer resource_metadata="` + at + `", scope="files:read"`:       {ResourceMetadata: at, Scopes: []string{"files:read"}},
		`bearer scope="a b  a", error=insufficient_scope`:                 {Scopes: []string{"a", "b"}, InsufficientScope: true},
		`Basic realm="x, y=z", Bearer error="invalid_token"`:              {},
		`DPoP algs="ES256", Bearer realm="a \"quoted\" one", Scope = "x"`: {Scopes: []string{"x"}},
		`Basic scope="no"`:      {},
		`Bearer scope="unended`: {},
		`Bearer scope="` + strings.Repeat("x", 9<<10) + `"`:                             {},
		`Bearer error="insufficient_scope", Basic scope="other", error="invalid_token"`: {InsufficientScope: true},
		`,,, =`: {},
	} {
		if got := ParseChallenge(http.Header{"Www-Authenticate": {text}}); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, want %+v", text, got, want)
		}
	}
}

func FuzzParseChallenge(f *testing.F) {
	f.Add(`Bearer resource_metadata="https://a", scope="b", error="insufficient_scope"`)
	f.Add(`Basic realm="\"`)
	f.Fuzz(func(t *testing.T, text string) {
		c := ParseChallenge(http.Header{"Www-Authenticate": {text, text}})
		for _, s := range c.Scopes {
			if !IsScope(s) {
				t.Errorf("%q is no scope", s)
			}
		}
	})
}

func TestAddressesAreHTTPSOrHere(t *testing.T) {
	for _, good := range []string{"https://a.example", "https://a.example:8443/x?y=z", "http://localhost:1/x", "http://127.0.0.1", "http://[::1]:2/"} {
		if _, err := CheckAddress(good); err != nil {
			t.Errorf("%s: %v", good, err)
		}
	}
	for _, bad := range []string{
		"", "a.example", "/x", "http://a.example", "ftp://a.example", "javascript:alert(1)", "https://", "https:///x", "https://u@a.example",
		"https://a.example/#f", "https://a.example#", "https:a.example", "HTTPS://a.example\n", "https://a.example\\@b.example", "http://localhost.evil.example",
		"https://a.example/" + strings.Repeat("x", 3000), "https://\u0430.example",
	} {
		if u, err := CheckAddress(bad); err == nil {
			t.Errorf("%q is taken as %s", bad, u)
		}
	}
	if _, err := CheckIssuer("https://a.example?x"); err == nil {
		t.Error("an issuer with a query is taken")
	}
}

func TestAResourceHoldsWhatIsBelowIt(t *testing.T) {
	at, err := url.Parse("https://mcp.example.com/team/mcp")
	if err != nil {
		t.Fatal(err)
	}
	for resource, want := range map[string]bool{
		"https://mcp.example.com/team/mcp": true, "https://mcp.example.com/team": true, "https://mcp.example.com/team/": true,
		"https://mcp.example.com": true, "https://MCP.example.com:443/": true,
		"https://mcp.example.com/tea": false, "https://mcp.example.com/team/mcp/x": false, "https://other.example.com/team/mcp": false,
		"http://mcp.example.com/team/mcp": false, "https://mcp.example.com:8443/team/mcp": false, "https://mcp.example.com/team/mcp#x": false,
		"": false, "https://u@mcp.example.com": false,
	} {
		if holds(resource, at) != want {
			t.Errorf("%q holds it: %v", resource, !want)
		}
	}
}

// Metadata is looked for in the order of the specification, and the first that
// is there counts.
func TestMetadataIsLookedForInOrder(t *testing.T) {
	for _, issuer := range []string{"", "/tenant"} {
		places := []string{"/.well-known/oauth-authorization-server" + issuer, "/.well-known/openid-configuration" + issuer}
		if issuer != "" {
			places = append(places, issuer+"/.well-known/openid-configuration")
		}
		for there := range places {
			var asked []string
			var srv *httptest.Server
			srv = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				asked = append(asked, r.URL.Path)
				if r.URL.Path != places[there] {
					http.NotFound(w, r)
					return
				}
				_, _ = w.Write([]byte(`{"issuer":"` + srv.URL + issuer + `","authorization_endpoint":"` + srv.URL + `/a","token_endpoint":"` + srv.URL + `/t","code_challenge_methods_supported":["S256"]}`))
			}))
			s, err := NewClient(srv.Client()).Server(context.Background(), srv.URL+issuer)
			if err != nil || s.Token != srv.URL+"/t" || !reflect.DeepEqual(asked, places[:there+1]) {
				t.Errorf("asked %v, %v", asked, err)
			}
			srv.Close()
		}
	}
}

func TestMethodsOfAuthentication(t *testing.T) {
	s := secret.New("x")
	for _, c := range []struct {
		offered []string
		secret  secret.Text
		want    Method
	}{
		{nil, s, Basic},
		{[]string{"client_secret_post", "client_secret_basic"}, s, Basic},
		{[]string{"client_secret_post"}, s, Post},
		{[]string{"client_secret_basic"}, secret.Text{}, None},
	} {
		if got := (&Server{AuthMethods: c.offered}).MethodFor(c.secret); got != c.want {
			t.Errorf("%v: %s", c.offered, got)
		}
	}
}

// What the server put into its address stays, and what is ours is said once.
func TestAuthorizeURLKeepsTheServersQuery(t *testing.T) {
	to, err := (&Server{Authorize: "https://a.example/authorize?tenant=1&state=theirs"}).AuthorizeURL(Request{ClientID: "c", State: "ours", Verifier: "v", Redirect: "https://g.example/cb"})
	if err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	if q.Get("tenant") != "1" || !reflect.DeepEqual(q["state"], []string{"ours"}) || q.Has("scope") || q.Has("resource") {
		t.Errorf("%v", q)
	}
}
