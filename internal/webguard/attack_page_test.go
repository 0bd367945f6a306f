package webguard

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func TestAttackPreflight(t *testing.T) {
	ask := func(method, headers string) func(*http.Request) {
		return func(r *http.Request) {
			with("Origin", appURL, "Access-Control-Request-Method", method)(r)
			if headers != "" {
				r.Header.Set("Access-Control-Request-Headers", headers)
			}
		}
	}
	control := ask("POST", "authorization,content-type, Mcp-Session-Id,mcp-protocol-version,last-event-id,mcp-method,mcp-name,accept,mcp-param-region")
	for name, attack := range map[string]func(*http.Request){
		"method PUT":               ask("PUT", ""),
		"method PATCH":             ask("PATCH", ""),
		"method CONNECT":           ask("CONNECT", ""),
		"method of another case":   ask("post", ""),
		"any method":               ask("*", ""),
		"no method":                ask("", ""),
		"header Cookie":            ask("POST", "cookie"),
		"header X-Forwarded-For":   ask("POST", "content-type,x-forwarded-for"),
		"header Host":              ask("POST", "host"),
		"any header":               ask("POST", "*"),
		"an empty name":            ask("POST", "accept,,content-type"),
		"a parameter without name": ask("POST", "mcp-param-"),
		"a parameter with a space": ask("POST", "mcp-param-a b"),
		"a split response":         ask("POST", "mcp-param-a\r\nset-cookie: x"),
		"a colon":                  ask("POST", "mcp-param-a:b"),
		"a name that is too long":  ask("POST", "mcp-param-"+strings.Repeat("a", 200)),
		"too many names":           ask("POST", strings.Repeat("accept,", 64)+"accept"),
		"a second header line": func(r *http.Request) {
			control(r)
			r.Header.Add("Access-Control-Request-Headers", "x-evil")
		},
		"two methods":         func(r *http.Request) { control(r); r.Header.Add("Access-Control-Request-Method", "PUT") },
		"an origin not ours":  func(r *http.Request) { control(r); r.Header.Set("Origin", "https://evil.example.com") },
		"null as the origin":  func(r *http.Request) { control(r); r.Header.Set("Origin", "null") },
		"a host not ours":     func(r *http.Request) { control(r); r.Host = "evil.example.com" },
		"two origins, 2nd ok": func(r *http.Request) { control(r); r.Header["Origin"] = []string{"https://evil.example.com", appURL} },
	} {
		trial{name: name, kind: "api", method: "OPTIONS", status: http.StatusForbidden, control: control, attack: attack, instead: true}.run(t)
	}

	r, w, inner := request("OPTIONS"), httptest.NewRecorder(), &spy{}
	control(r)
	newGuard(t, nil).API(inner).ServeHTTP(w, r)
	for name, want := range map[string]string{
		"Access-Control-Allow-Origin":      appURL,
		"Access-Control-Allow-Methods":     "POST, GET, DELETE",
		"Access-Control-Allow-Headers":     "authorization, content-type, mcp-session-id, mcp-protocol-version, last-event-id, mcp-method, mcp-name, accept, mcp-param-region",
		"Access-Control-Max-Age":           "600",
		"Access-Control-Allow-Credentials": "",
	} {
		if got := w.Header().Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if inner.reached() != 0 || w.Code != http.StatusNoContent || !strings.HasPrefix(w.Header().Get("Vary"), "Origin, ") {
		t.Errorf("status %d, reached %d, Vary %q", w.Code, inner.reached(), w.Header()["Vary"])
	}
}

func TestOptionsThatAreNoPreflight(t *testing.T) {
	r, w, inner := request("OPTIONS"), httptest.NewRecorder(), &spy{}
	newGuard(t, nil).API(inner).ServeHTTP(w, r)
	if inner.reached() != 1 {
		t.Error("the handler decides about OPTIONS without a preflight")
	}
	r, w, inner = request("OPTIONS"), httptest.NewRecorder(), &spy{}
	newGuard(t, nil).Public(inner).ServeHTTP(w, r)
	if inner.reached() != 0 || w.Code != 204 || w.Header().Get("Access-Control-Allow-Headers") != "Accept, Content-Type, MCP-Protocol-Version" {
		t.Errorf("public: %d %v", w.Code, w.Header())
	}
}

func TestAttackCrossSiteRequest(t *testing.T) {
	ours := with("Sec-Fetch-Site", "same-origin", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document")
	set := func(name, value string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set(name, value) }
	}
	both := func(a, b func(*http.Request)) func(*http.Request) { return func(r *http.Request) { a(r); b(r) } }
	for _, c := range []trial{
		{name: "form of another site", method: "POST", attack: set("Sec-Fetch-Site", "cross-site")},
		{name: "form of a sibling", method: "POST", attack: set("Sec-Fetch-Site", "same-site")},
		{name: "unknown site", method: "POST", attack: set("Sec-Fetch-Site", "else")},
		{name: "empty site", method: "POST", attack: set("Sec-Fetch-Site", "")},
		{name: "two sites", method: "POST", attack: with("Sec-Fetch-Site", "cross-site")},
		{name: "same-origin but foreign Origin", method: "POST", attack: set("Origin", "https://evil.example.com")},
		{name: "frame", method: "GET", attack: both(set("Sec-Fetch-Site", "cross-site"), set("Sec-Fetch-Dest", "iframe"))},
		{name: "object", method: "GET", attack: both(set("Sec-Fetch-Site", "cross-site"), set("Sec-Fetch-Dest", "object"))},
		{name: "script", method: "GET", attack: both(set("Sec-Fetch-Site", "cross-site"), both(set("Sec-Fetch-Mode", "no-cors"), set("Sec-Fetch-Dest", "script")))},
		{name: "image of a sibling", method: "GET", attack: both(set("Sec-Fetch-Site", "same-site"), both(set("Sec-Fetch-Mode", "no-cors"), set("Sec-Fetch-Dest", "image")))},
		{name: "fetch", method: "GET", attack: both(set("Sec-Fetch-Site", "cross-site"), both(set("Sec-Fetch-Mode", "cors"), set("Sec-Fetch-Dest", "empty")))},
		{name: "two sites, reading", method: "GET", attack: with("Sec-Fetch-Site", "same-origin")},
	} {
		c.kind, c.control, c.status = "browser", ours, http.StatusForbidden
		c.run(t)
	}
	// An old browser tells by Origin alone.
	trial{
		name: "old browser", kind: "browser", method: "POST", status: http.StatusForbidden,
		control: with("Origin", ourURL), attack: set("Origin", "https://evil.example.com"),
	}.run(t)
	// What a page embeds reaches the API without an Origin.
	for _, site := range []string{"cross-site", "same-site", ""} {
		trial{
			name: "embedded API, " + site, kind: "api", method: "GET", status: http.StatusForbidden,
			control: with("Sec-Fetch-Site", "none"), attack: set("Sec-Fetch-Site", site),
		}.run(t)
	}
	// A link from elsewhere, such as the way back from sign-in, opens a page.
	r, inner := request("GET"), &spy{}
	both(ours, set("Sec-Fetch-Site", "cross-site"))(r)
	newGuard(t, nil).Browser(inner).ServeHTTP(httptest.NewRecorder(), r)
	if inner.reached() != 1 {
		t.Error("a link to a page was refused")
	}
	// Behind a proxy that asks under a name of its own, the public origin is ours.
	r, inner = from(request("POST"), loopback), &spy{}
	r.Host = "127.0.0.1:8080"
	r.Header.Set("Origin", ourURL)
	newGuard(t, nil).Browser(inner).ServeHTTP(httptest.NewRecorder(), r)
	if inner.reached() != 1 {
		t.Error("a form of the public origin was refused")
	}
}

func TestAttackMethods(t *testing.T) {
	for kind, methods := range map[string][]string{
		"browser": {"PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT", "PROPFIND", "get", ""},
		"public":  {"POST", "PUT", "DELETE", "TRACE", "CONNECT"},
		"static":  {"POST", "PUT", "DELETE", "OPTIONS", "TRACE"},
	} {
		for _, m := range methods {
			trial{
				name: kind + " " + m, kind: kind, method: "GET", status: http.StatusMethodNotAllowed,
				attack: func(r *http.Request) { r.Method = m },
			}.run(t)
		}
	}
}

func TestAttackFormToken(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	clock := func(c *Config) { c.Now = func() time.Time { return now }; c.TokenLife = time.Hour }
	g, other := newGuard(t, clock), newGuard(t, clock)
	good := g.Token("session-1", "ask-1")
	if !g.Check("session-1", "ask-1", good) {
		t.Fatal("control: a token is not taken where it was made for")
	}
	flip := func(s string, i int) string {
		b := []byte(s)
		if b[i] == 'A' {
			b[i] = 'B'
		} else {
			b[i] = 'A'
		}
		return string(b)
	}
	for name, c := range map[string]struct {
		session, purpose, token string
	}{
		"missing":                  {"session-1", "ask-1", ""},
		"of another session":       {"session-1", "ask-1", g.Token("session-2", "ask-1")},
		"of another purpose":       {"session-1", "ask-1", g.Token("session-1", "ask-2")},
		"of another key":           {"session-1", "ask-1", other.Token("session-1", "ask-1")},
		"shifted between parts":    {"session-1", "ask-1", g.Token("session-1a", "sk-1")},
		"swapped parts":            {"session-1", "ask-1", g.Token("ask-1", "session-1")},
		"signature changed":        {"session-1", "ask-1", flip(good, 30)},
		"expiry changed":           {"session-1", "ask-1", flip(good, 1)},
		"last bits changed":        {"session-1", "ask-1", good[:len(good)-1] + string(good[len(good)-1]+1)},
		"cut":                      {"session-1", "ask-1", good[:len(good)-1]},
		"longer":                   {"session-1", "ask-1", good + "A"},
		"with a newline":           {"session-1", "ask-1", good[:len(good)-1] + "\n"},
		"not base64":               {"session-1", "ask-1", strings.Repeat("!", len(good))},
		"zeros":                    {"session-1", "ask-1", strings.Repeat("A", len(good))},
		"without a session":        {"", "ask-1", good},
		"without a purpose":        {"session-1", "", good},
		"made without a session":   {"", "ask-1", g.Token("", "ask-1")},
		"made without a purpose":   {"session-1", "", g.Token("session-1", "")},
		"of the session in a case": {"SESSION-1", "ask-1", good},
	} {
		t.Run(name, func(t *testing.T) {
			if g.Check(c.session, c.purpose, c.token) {
				t.Error("the token was taken")
			}
		})
	}
	t.Run("expired", func(t *testing.T) {
		now = now.Add(time.Hour - time.Second)
		if !g.Check("session-1", "ask-1", good) {
			t.Error("control: a second before its end the token is not taken")
		}
		now = now.Add(time.Second)
		if g.Check("session-1", "ask-1", good) {
			t.Error("at its end the token is still taken")
		}
	})
}

func TestTokensOutliveTheProcessWithAKey(t *testing.T) {
	key := func(c *Config) { c.Key = bytes.Repeat([]byte{7}, 32) }
	if !newGuard(t, key).Check("s", "p", newGuard(t, key).Token("s", "p")) {
		t.Error("a token of the same key is not taken")
	}
}

func TestAttackFramingAndCaching(t *testing.T) {
	want := map[string]string{
		"Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
			"form-action 'self' https://id.example.com; frame-ancestors 'none'; base-uri 'none'",
		"X-Frame-Options":              "DENY",
		"X-Content-Type-Options":       "nosniff",
		"Referrer-Policy":              "same-origin",
		"Cross-Origin-Opener-Policy":   "same-origin",
		"Cross-Origin-Resource-Policy": "same-origin",
		"Permissions-Policy":           "camera=(), display-capture=(), geolocation=(), microphone=(), payment=(), usb=()",
		"Strict-Transport-Security":    "max-age=31536000",
		"Cache-Control":                "no-store",
	}
	g := newGuard(t, func(c *Config) { c.FormTargets = []string{"https://id.example.com/", ""} })
	get := func(h http.Handler, change func(*http.Request)) http.Header {
		r, w := request("GET"), httptest.NewRecorder()
		if change != nil {
			change(r)
		}
		h.ServeHTTP(w, r)
		return w.Header()
	}
	missing := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { http.NotFound(w, r) })
	for name, h := range map[string]http.Header{
		"page":         get(g.Browser(&spy{}), nil),
		"missing page": get(g.Browser(missing), nil),
		"refused page": get(g.Browser(&spy{}), func(r *http.Request) { r.Host = "evil.example.com" }),
		"refused file": get(g.Static(&spy{}), func(r *http.Request) { r.Method = "POST" }),
		"missing file": get(g.Static(missing), nil),
	} {
		for key, value := range want {
			t.Run(name+" "+key, func(t *testing.T) {
				if got := h[key]; len(got) != 1 || got[0] != value {
					t.Errorf("got %q, want %q", got, value)
				}
			})
		}
	}
	// The controls: files are kept, and http is not told to be https.
	if got := get(g.Static(&spy{}), nil).Get("Cache-Control"); got != "public, max-age=31536000, immutable" {
		t.Errorf("a file: Cache-Control %q", got)
	}
	plain := newGuard(t, func(c *Config) { c.PublicURL = "http://" + ourHost })
	if h := get(plain.Browser(&spy{}), nil); h["Strict-Transport-Security"] != nil {
		t.Error("plain http promises https")
	}
	if h := get(g.Public(&spy{}), nil); h.Get("Strict-Transport-Security") == "" || h.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("a public document: %v", h)
	}
}

func TestAttackCredentialAtTheWrongDoor(t *testing.T) {
	g := newGuard(t, nil)
	for kind, wrap := range kinds {
		for name, seen := range map[string]bool{
			"Cookie":        kind == "browser",
			"Authorization": kind == "api",
		} {
			t.Run(name+" at "+kind, func(t *testing.T) {
				r, inner := request("GET"), &spy{}
				r.Header.Set(name, "canary")
				r.Header.Set("Accept", "control")
				wrap(g, inner).ServeHTTP(httptest.NewRecorder(), r)
				got := inner.last(t).Header
				if (got.Get(name) != "") != seen || got.Get("Accept") != "control" {
					t.Errorf("the handler saw %v", got)
				}
			})
		}
	}
}

func TestAttackContentEncoding(t *testing.T) {
	var bomb bytes.Buffer
	z := gzip.NewWriter(&bomb)
	if _, err := io.CopyN(z, zeros{}, 2<<20); err != nil || z.Close() != nil {
		t.Fatal("no bomb")
	}
	packed := bomb.Bytes()
	for _, kind := range []string{"api", "browser"} {
		for _, value := range []string{"gzip", "x-gzip", "deflate", "br", "zstd", "compress", "GZIP", "gzip, gzip", "identity, gzip", "", " ", "unknown"} {
			trial{
				name: kind + " " + value, kind: kind, method: "POST", status: http.StatusUnsupportedMediaType,
				control: with("Content-Encoding", "Identity"),
				attack: func(r *http.Request) {
					r.Header.Set("Content-Encoding", value)
					r.Body = io.NopCloser(bytes.NewReader(packed))
				},
			}.run(t)
		}
		trial{
			name: kind + " in two headers", kind: kind, method: "POST", status: http.StatusUnsupportedMediaType,
			control: with("Content-Encoding", "identity"), attack: with("Content-Encoding", "gzip"),
		}.run(t)
	}
	for _, kind := range []string{"public", "static"} {
		trial{name: kind, kind: kind, method: "GET", status: http.StatusUnsupportedMediaType, attack: with("Content-Encoding", "gzip")}.run(t)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func TestAttackBodyBomb(t *testing.T) {
	g := newGuard(t, nil)
	t.Run("declared", func(t *testing.T) {
		trial{
			name: "by one byte", kind: "browser", method: "POST", status: http.StatusRequestEntityTooLarge,
			control: func(r *http.Request) { r.ContentLength = 1 << 20 },
			attack:  func(r *http.Request) { r.ContentLength = 1<<20 + 1 },
		}.run(t)
		trial{
			name: "by a terabyte", kind: "browser", method: "POST", status: http.StatusRequestEntityTooLarge,
			attack: func(r *http.Request) { r.ContentLength = 1 << 40 },
		}.run(t)
	})
	post := func(body io.Reader) *spy {
		r, inner := request("POST"), &spy{}
		r.Body, r.ContentLength = io.NopCloser(body), -1
		g.Browser(inner).ServeHTTP(httptest.NewRecorder(), r)
		return inner
	}
	t.Run("undeclared", func(t *testing.T) {
		if s := post(io.LimitReader(zeros{}, 1<<20)); s.err != nil || len(s.body) != 1<<20 {
			t.Errorf("control: %d bytes, %v", len(s.body), s.err)
		}
		s := post(io.LimitReader(zeros{}, 8<<20))
		if _, ok := errors.AsType[*http.MaxBytesError](s.err); !ok || len(s.body) > 1<<20 {
			t.Errorf("%d bytes, %v", len(s.body), s.err)
		}
	})
	for _, kind := range []string{"public", "static"} {
		t.Run("where there is none to send, "+kind, func(t *testing.T) {
			r, inner := request("GET"), &spy{}
			r.Body, r.ContentLength = io.NopCloser(zeros{}), -1
			kinds[kind](g, inner).ServeHTTP(httptest.NewRecorder(), r)
			if inner.reached() != 1 || len(inner.body) != 0 {
				t.Errorf("reached %d times, %d bytes", inner.reached(), len(inner.body))
			}
		})
	}
}
