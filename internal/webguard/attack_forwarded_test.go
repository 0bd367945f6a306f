package webguard

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// spoofable are headers by which somebody may claim to be somebody else.
var spoofable = []string{
	"Forwarded", "X-Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Forwarded-Port", "X-Forwarded-Prefix",
	"X-Forwarded-Server", "X-Forwarded-Ssl", "X-Forwarded-Uri", "X-Forwarded-User", "X-Forwarded-Email", "X-Forwarded-Groups",
	"X-Forwarded-Access-Token", "X-Forwarded-Client-Cert", "X-Forwarded-Made-Up", "X-Forward-For", "Forwarded-For",
	"X-Real-IP", "X-Original-URL", "X-Original-Host", "X-Original-URI", "X-Original-Forwarded-For", "X-Rewrite-URL", "X-Rewrite-Host",
	"X-Client-IP", "Client-IP", "True-Client-IP", "CF-Connecting-IP", "CF-Connecting-IPv6", "Fastly-Client-IP", "X-Cluster-Client-IP",
	"X-Remote-IP", "X-Remote-Addr", "X-Remote-User", "Remote-User", "X-ProxyUser-IP", "X-Envoy-External-Address", "X-Auth-Request-User",
	"X-Host", "X-HTTP-Host-Override", "X-Url-Scheme", "Front-End-Https", "X-AppEngine-User-IP", "WL-Proxy-Client-IP",
}

// innocent are headers that look a little like them.
var innocent = []string{
	"Accept", "Authorization", "Content-Type", "Content-Length", "Mcp-Session-Id", "Mcp-Param-X-Forwarded-For", "X-Request-Id",
	"X-Forbidden", "X-Supports-Elicitation", "Traceparent", "Forward", "Forwarded-Not", "User-Agent", "X", "F", "X-Client-Name", "Cf-Ray",
}

func TestAttackForwardedHeaders(t *testing.T) {
	g := newGuard(t, nil)
	for kind, wrap := range kinds {
		for _, name := range spoofable {
			t.Run(kind+" "+name, func(t *testing.T) {
				seen := func(peer string) http.Header {
					r, inner := request("GET"), &spy{}
					r.RemoteAddr = peer
					r.Header[name] = []string{"127.0.0.1", "evil"}
					r.Header.Set("Accept", "control")
					wrap(g, inner).ServeHTTP(httptest.NewRecorder(), r)
					return inner.last(t).Header
				}
				if h := seen("10.1.2.3:80"); len(h[name]) != 2 {
					t.Errorf("control: a trusted proxy's header was removed: %v", h)
				}
				if h := seen("198.51.100.9:4711"); len(h) != 1 || h.Get("Accept") != "control" {
					t.Errorf("the handler saw %v", h)
				}
			})
		}
	}
}

// However such a header is spelled and however often it comes, no handler sees
// it from a stranger; and an unusual spelling not even from a proxy, which may
// have let it pass.
func TestAttackForwardedHeaderSpellings(t *testing.T) {
	g := newGuard(t, nil)
	rapid.Check(t, func(t *rapid.T) {
		r := httptest.NewRequest("GET", "/", nil)
		r.RemoteAddr = rapid.SampledFrom([]string{"198.51.100.9:1", "[2001:db8::1]:1", "127.0.0.1:1", "10.0.0.1:1", "@", ""}).Draw(t, "peer")
		trusted := r.RemoteAddr == "10.0.0.1:1"
		want := http.Header{}
		for i := range rapid.IntRange(1, 6).Draw(t, "headers") {
			name := []byte(rapid.SampledFrom(spoofable).Draw(t, "name"))
			odd := false
			for j, c := range name {
				switch {
				case c == '-':
					name[j] = rapid.SampledFrom([]byte("---__.~!")).Draw(t, "dash")
					odd = odd || name[j] != '-'
				case rapid.Bool().Draw(t, "other case"):
					if c >= 'a' {
						name[j] = c - 'a' + 'A'
					} else if c >= 'A' {
						name[j] = c - 'A' + 'a'
					}
				}
			}
			key := string(name)
			if rapid.Bool().Draw(t, "as net/http spells it") {
				key = http.CanonicalHeaderKey(key)
			}
			r.Header[key] = append(r.Header[key], "a", "b")
			if trusted && !odd {
				want[key] = r.Header[key]
			}
			plain := innocent[i%len(innocent)]
			r.Header.Set(plain, "control")
			want.Set(plain, "control")
		}
		g.strip(r)
		for key := range r.Header {
			if want[key] == nil {
				t.Errorf("from %s the handler sees %s", r.RemoteAddr, key)
			}
		}
		for key := range want {
			if r.Header[key] == nil {
				t.Errorf("from %s the handler misses %s", r.RemoteAddr, key)
			}
		}
	})
}

func TestOnlyForwardedHeadersAreForwarded(t *testing.T) {
	for _, name := range innocent {
		if is, _ := isForwarded(name); is {
			t.Errorf("%s counts as forwarded", name)
		}
	}
	for _, name := range forwardedNames {
		if name != strings.ToLower(name) {
			t.Errorf("%s cannot be found", name)
		}
		for _, spelled := range []string{name, strings.ToUpper(name), strings.ReplaceAll(name, "-", "_")} {
			if is, odd := isForwarded(strings.TrimSuffix(spelled, "*")); !is || odd != strings.Contains(spelled, "_") {
				t.Errorf("%s: %v, odd %v", spelled, is, odd)
			}
		}
	}
}

func TestAttackClientAddress(t *testing.T) {
	g := newGuard(t, func(c *Config) {
		c.TrustedProxies = []netip.Prefix{proxyNet, netip.MustParsePrefix("2001:db8:1::/48")}
	})
	for name, c := range map[string]struct {
		peer string
		list []string
		want string
	}{
		"control: one proxy":          {"10.0.0.1:80", []string{"203.0.113.5"}, "203.0.113.5"},
		"control: two proxies":        {"10.0.0.1:80", []string{"203.0.113.5, 10.0.0.2"}, "203.0.113.5"},
		"control: two headers":        {"10.0.0.1:80", []string{"203.0.113.5", "10.0.0.2"}, "203.0.113.5"},
		"control: with a port":        {"10.0.0.1:80", []string{"203.0.113.5:4711"}, "203.0.113.5"},
		"control: IPv6":               {"[2001:db8:1::1]:80", []string{"[2001:db8:2::1]:80"}, "2001:db8:2::1"},
		"control: IPv6 in brackets":   {"10.0.0.1:80", []string{"[2001:db8:2::1]"}, "2001:db8:2::1"},
		"control: mapped peer":        {"[::ffff:10.0.0.1]:80", []string{"::ffff:203.0.113.5"}, "203.0.113.5"},
		"control: no header":          {"10.0.0.1:80", nil, "10.0.0.1"},
		"control: proxies only":       {"10.0.0.1:80", []string{"10.0.0.3, 10.0.0.2"}, "10.0.0.3"},
		"stranger claims":             {"198.51.100.9:1", []string{"127.0.0.1"}, "198.51.100.9"},
		"stranger claims twice":       {"198.51.100.9:1", []string{"127.0.0.1", "10.0.0.1"}, "198.51.100.9"},
		"prepended claim":             {"10.0.0.1:80", []string{"127.0.0.1, 203.0.113.5"}, "203.0.113.5"},
		"prepended header":            {"10.0.0.1:80", []string{"127.0.0.1", "203.0.113.5"}, "203.0.113.5"},
		"prepended proxies":           {"10.0.0.1:80", []string{"127.0.0.1, 10.9.9.9, 203.0.113.5"}, "203.0.113.5"},
		"garbage":                     {"10.0.0.1:80", []string{"127.0.0.1, unknown"}, "10.0.0.1"},
		"garbage beyond a proxy":      {"10.0.0.1:80", []string{"127.0.0.1, _hidden, 10.0.0.2"}, "10.0.0.2"},
		"an empty claim":              {"10.0.0.1:80", []string{"127.0.0.1,"}, "10.0.0.1"},
		"a name":                      {"10.0.0.1:80", []string{"localhost"}, "10.0.0.1"},
		"a zone":                      {"10.0.0.1:80", []string{"fe80::1%eth0"}, "fe80::1"},
		"a peer without address":      {"@", []string{"127.0.0.1"}, "invalid IP"},
		"a loopback peer, not listed": {"127.0.0.1:1", []string{"203.0.113.5"}, "127.0.0.1"},
	} {
		t.Run(name, func(t *testing.T) {
			r := request("GET")
			r.RemoteAddr = c.peer
			if c.list != nil {
				r.Header["X-Forwarded-For"] = c.list
			}
			if got := g.Client(r); got.String() != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}
