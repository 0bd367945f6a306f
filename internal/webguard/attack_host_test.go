package webguard

import (
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
)

// rebound are names under which a hostile page, or somebody who can make one
// of our own ask, might reach the listener.
var rebound = []string{
	"evil.example.com", "evil.example.com:8080", "mcp.example.com.evil.example.com", "evil-mcp.example.com", "xmcp.example.com",
	"mcp.example.com.", "mcp.example.comx", "example.com", "mcp.example.com@evil.example.com", "mcp.example.com:evil",
	"mcp.example.com:80:80", "mcp.example.com:", ":443", "", "*", "mcp.example.com:999999",
	"localhost.evil.example.com", "127.0.0.1.nip.io", "localhost.", "localhost.localdomain", "0.0.0.0", "0", "127.1", "2130706433",
	"0x7f000001", "0177.0.0.1", "[::]", "::1", "[::1", "[::1%25lo]", "[::1]evil", "[127.0.0.1]", "[::ffff:192.0.2.7]", "192.0.2.7",
}

func TestAttackDNSRebinding(t *testing.T) {
	for kind := range kinds {
		for _, host := range rebound {
			for name, local := range map[string]net.Addr{"loopback": loopback, "outside": outside} {
				trial{
					name: kind + " over " + name + " as " + host, kind: kind, method: "GET", status: http.StatusForbidden,
					control: func(r *http.Request) { *r = *from(r, local) },
					attack:  func(r *http.Request) { r.Host = host },
				}.run(t)
			}
		}
	}
}

func TestAttackLoopbackNameFromOutside(t *testing.T) {
	for kind := range kinds {
		for _, host := range []string{"localhost", "localhost:8080", "LocalHost", "127.0.0.1:8080", "127.9.9.9", "[::1]:8080", "[::ffff:127.0.0.1]"} {
			trial{
				name: kind + " as " + host, kind: kind, method: "GET", status: http.StatusForbidden,
				control: func(r *http.Request) { *r = *from(r, loopback); r.Host = host },
				attack:  func(r *http.Request) { *r = *from(r, outside) },
			}.run(t)
		}
		trial{
			name: kind + " over an unknown connection", kind: kind, method: "GET", status: http.StatusForbidden,
			control: func(r *http.Request) { *r = *from(r, &net.UnixAddr{Name: "x.sock", Net: "unix"}); r.Host = "localhost" },
			attack:  func(r *http.Request) { *r = *from(r, nil) },
		}.run(t)
	}
}

// The Host of a request is never one that a header names, even a trusted
// proxy's.
func TestAttackHostFromForwardedHeader(t *testing.T) {
	for _, name := range []string{"X-Forwarded-Host", "X-Original-Host", "X-Host", "X-Http-Host-Override", "Forwarded", "X-Rewrite-Host"} {
		for kind := range kinds {
			trial{
				name: kind + " by " + name, kind: kind, method: "GET", status: http.StatusForbidden,
				control: func(r *http.Request) { r.RemoteAddr = "10.1.2.3:80"; r.Header.Set(name, ourHost) },
				attack:  func(r *http.Request) { r.Host = "evil.example.com" },
			}.run(t)
		}
	}
}

// The Kelvin sign folds to the letter k.
func TestAttackFoldedLetter(t *testing.T) {
	g := newGuard(t, func(c *Config) { c.PublicURL = "https://desk.example.com" })
	ours := func(r *http.Request) { r.Host = "desK.example.com"; r.Header.Set("Origin", "https://desk.example.com") }
	for kind := range kinds {
		trial{
			name: kind + " host", kind: kind, method: "GET", status: http.StatusForbidden, g: g,
			control: ours, attack: func(r *http.Request) { r.Host = "des\u212a.example.com" },
		}.run(t)
	}
	trial{
		name: "origin", kind: "api", method: "POST", status: http.StatusForbidden, g: g,
		control: ours, attack: func(r *http.Request) { r.Header.Set("Origin", "https://des\u212a.example.com") },
	}.run(t)
}

func TestHostsThatAreServed(t *testing.T) {
	g := newGuard(t, func(c *Config) {
		c.PublicURL = "https://MCP.example.com:443/"
		c.AllowedHosts = []string{"Other.example.com:8443", "", "2001:db8::1", "[2001:db8::2]:99", "plain"}
	})
	for host, want := range map[string]bool{
		"mcp.example.com": true, "MCP.example.com:8080": true, "mcp.example.com:443": true,
		"other.example.com:8443": true, "other.example.com": false, "other.example.com:8444": false,
		"[2001:db8::1]": true, "[2001:db8::1]:1": true, "[2001:db8::2]:99": true, "[2001:db8::2]": false, "[2001:db8::3]": false,
		"plain:1": true, "": false,
	} {
		r := request("GET")
		r.Host = host
		if got := g.hostAllowed(r); got != want {
			t.Errorf("Host %q: got %v, want %v", host, got, want)
		}
	}
}

// Origins that a hostile page might have, or be made to look like having, for
// requests to our host.
var foreign = map[string][]string{
	"null":                    {"null"},
	"empty":                   {""},
	"another site":            {"https://evil.example.com"},
	"our host as a suffix":    {"https://evilmcp.example.com"},
	"our host as a prefix":    {"https://mcp.example.com.evil.example.com"},
	"an allowed one with dot": {"https://app.example.com."},
	"allowed as a prefix":     {"https://app.example.com.evil.example.com"},
	"allowed as a suffix":     {"https://evilapp.example.com"},
	"another port":            {"https://app.example.com:8443"},
	"our host's other port":   {"https://mcp.example.com:8443"},
	"another scheme":          {"http://app.example.com"},
	"our host's plain scheme": {"http://mcp.example.com"},
	"a strange scheme":        {"ftp://mcp.example.com"},
	"no scheme":               {"mcp.example.com"},
	"userinfo":                {"https://mcp.example.com@evil.example.com"},
	"userinfo before us":      {"https://evil@mcp.example.com"},
	"a path":                  {"https://app.example.com/evil"},
	"a list in one value":     {"https://app.example.com https://evil.example.com"},
	"a comma list":            {"https://app.example.com, https://evil.example.com"},
	"two headers":             {"https://app.example.com", "https://evil.example.com"},
	"two headers, reversed":   {"https://evil.example.com", "https://app.example.com"},
	"the same one twice":      {"https://mcp.example.com", "https://mcp.example.com"},
	"a file":                  {"file://"},
	"an extension":            {"chrome-extension://aaaa"},
	"the parent domain":       {"https://example.com"},
	"localhost":               {"http://localhost"},
}

func TestAttackOrigin(t *testing.T) {
	for _, kind := range []string{"api", "browser"} {
		for name, values := range foreign {
			trial{
				name: kind + " from " + name, kind: kind, method: "POST", status: http.StatusForbidden,
				control: with("Origin", ourURL),
				attack:  func(r *http.Request) { r.Header["Origin"] = values },
			}.run(t)
		}
	}
	// Being allowed to call the API is no leave to send forms.
	trial{
		name: "browser from an origin of the API", kind: "browser", method: "POST", status: http.StatusForbidden,
		control: with("Origin", ourURL), attack: with("Origin", appURL), instead: true,
	}.run(t)
}

func TestAttackOriginOfAnotherLocalServer(t *testing.T) {
	local := func(origin string) func(*http.Request) {
		return func(r *http.Request) {
			*r = *from(r, loopback)
			r.Host = "localhost:8080"
			r.Header["Origin"] = []string{origin}
		}
	}
	for _, kind := range []string{"api", "browser"} {
		for _, origin := range []string{"http://localhost:9090", "http://localhost", "http://127.0.0.1:8080", "http://evil.example.com:8080"} {
			trial{
				name: kind + " from " + origin, kind: kind, method: "POST", status: http.StatusForbidden, instead: true,
				control: local("HTTP://localhost:8080"), attack: local(origin),
			}.run(t)
		}
	}
}

func TestOriginsThatAreTaken(t *testing.T) {
	plain := newGuard(t, func(c *Config) {
		c.PublicURL = "http://intra.example.com"
		c.AllowedOrigins = []string{"https://App.example.com:443/", "vscode-webview://abc", ""}
	})
	for _, c := range []struct{ host, origin, cors string }{
		{"intra.example.com", "http://intra.example.com", ""},
		{"intra.example.com:80", "http://intra.example.com", ""},
		{"intra.example.com", "http://intra.example.com:80", ""},
		{"intra.example.com:443", "https://intra.example.com", ""},
		{"intra.example.com", "https://App.example.com", "https://app.example.com"},
		{"intra.example.com", "vscode-webview://abc", "vscode-webview://abc"},
	} {
		r := request("POST")
		r.Host = c.host
		r.Header.Set("Origin", c.origin)
		w, inner := httptest.NewRecorder(), &spy{}
		plain.API(inner).ServeHTTP(w, r)
		if w.Code != 200 || inner.reached() != 1 || w.Header().Get("Access-Control-Allow-Origin") != c.cors {
			t.Errorf("Host %s, Origin %s: %d, CORS %q", c.host, c.origin, w.Code, w.Header()["Access-Control-Allow-Origin"])
		}
	}
}

func TestAttackCORSReflection(t *testing.T) {
	g := newGuard(t, nil)
	answer := func(origin ...string) http.Header {
		r := request("POST")
		if origin != nil {
			r.Header["Origin"] = origin
		}
		w := httptest.NewRecorder()
		g.API(&spy{}).ServeHTTP(w, r)
		return w.Header()
	}
	control := answer(appURL)
	for name, want := range map[string]string{
		"Access-Control-Allow-Origin": appURL, "Access-Control-Expose-Headers": "Mcp-Session-Id, WWW-Authenticate",
		"Access-Control-Allow-Credentials": "", "Vary": "Origin",
	} {
		if got := control.Get(name); got != want {
			t.Errorf("control: %s is %q, want %q", name, got, want)
		}
	}
	for name, values := range foreign {
		t.Run(name, func(t *testing.T) {
			h := answer(values...)
			for key := range h {
				if len(key) > 14 && key[:14] == "Access-Control" {
					t.Errorf("%s: %q", key, h[key])
				}
			}
			if !slices.Equal(h["Vary"], []string{"Origin"}) {
				t.Errorf("Vary: %q: a cache may give this answer to others", h["Vary"])
			}
		})
	}
	t.Run("no origin", func(t *testing.T) {
		if h := answer(); h.Get("Access-Control-Allow-Origin") != "" || h.Get("Vary") != "Origin" {
			t.Errorf("%v", h)
		}
	})
	t.Run("a page with credentials reads a public document", func(t *testing.T) {
		r := request("GET")
		with("Origin", "https://evil.example.com", "Cookie", "s=1", "Authorization", "Bearer x")(r)
		w, inner := httptest.NewRecorder(), &spy{}
		g.Public(inner).ServeHTTP(w, r)
		if w.Header().Get("Access-Control-Allow-Origin") != "*" || w.Header().Get("Access-Control-Allow-Credentials") != "" {
			t.Errorf("%v", w.Header())
		}
		if h := inner.last(t).Header; h.Get("Cookie") != "" || h.Get("Authorization") != "" {
			t.Errorf("the handler saw %v", h)
		}
	})
}
