package webguard

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/answerback/answerback/ask"
)

func TestConfigIsChecked(t *testing.T) {
	whole := newGuard(t, nil).cfg
	whole.Key = nil
	for want, breakIt := range map[string]func(*Config){
		"Refuse":                  func(c *Config) { c.Refuse = nil },
		"logger":                  func(c *Config) { c.Log = nil },
		"at least 32":             func(c *Config) { c.Key = []byte("short") },
		"public URL \"\"":         func(c *Config) { c.PublicURL = "" },
		"without a path":          func(c *Config) { c.PublicURL = ourURL + "/mcp" },
		"http or https":           func(c *Config) { c.PublicURL = "ftp://x" },
		"user@x":                  func(c *Config) { c.PublicURL = "https://user@x" },
		"\"https://x?y\"":         func(c *Config) { c.PublicURL = "https://x?y" },
		"\"mcp.example.com\"":     func(c *Config) { c.PublicURL = ourHost },
		"%zz":                     func(c *Config) { c.PublicURL = "https://%zz" },
		"\"*\" is no host":        func(c *Config) { c.AllowedHosts = []string{"*"} },
		"\"a b\" is no host":      func(c *Config) { c.AllowedHosts = []string{"a b"} },
		"\"x/y\" is no host":      func(c *Config) { c.AllowedHosts = []string{"x/y"} },
		"\"x:y\" is no host":      func(c *Config) { c.AllowedHosts = []string{"x:y"} },
		"\"ä\" is no host":        func(c *Config) { c.AllowedHosts = []string{"ä"} },
		"\"*\" is no origin":      func(c *Config) { c.AllowedOrigins = []string{"*"} },
		"\"null\" is no origin":   func(c *Config) { c.AllowedOrigins = []string{"null"} },
		"\"https://*.x\"":         func(c *Config) { c.AllowedOrigins = []string{"https://*.x"} },
		"\"https://x/y\"":         func(c *Config) { c.AllowedOrigins = []string{"https://x/y"} },
		"2001:db8::1":             func(c *Config) { c.AllowedOrigins = []string{"https://[2001:DB8:0::1]"} },
		"form target":             func(c *Config) { c.FormTargets = []string{"https://x; script-src *"} },
		"\"https://x\\n\"":        func(c *Config) { c.FormTargets = []string{"https://x\n"} },
		"\"'unsafe-inline'://x\"": func(c *Config) { c.FormTargets = []string{"'unsafe-inline'://x"} },
	} {
		cfg := whole
		breakIt(&cfg)
		if _, err := New(cfg); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want an error that names %s, got %v", want, err)
		}
	}
	if _, err := New(whole); err != nil {
		t.Errorf("control: %v", err)
	}
}

func TestRefusalsAreWrittenByTheirOwner(t *testing.T) {
	wrote := map[string]*ask.Error{}
	to := func(name string) func(http.ResponseWriter, int, *ask.Error) {
		return func(w http.ResponseWriter, status int, e *ask.Error) { wrote[name] = e; w.WriteHeader(status) }
	}
	g := newGuard(t, func(c *Config) { c.Refuse, c.RefusePage = to("api"), to("page") })
	for kind, name := range map[string]string{"api": "api", "browser": "page", "public": "page", "static": "page"} {
		clear(wrote)
		r := request("GET")
		r.Host = "evil.example.com"
		kinds[kind](g, &spy{}).ServeHTTP(httptest.NewRecorder(), r)
		if len(wrote) != 1 || wrote[name] == nil || wrote[name].Code != ask.NotAllowed {
			t.Errorf("%s: %v", kind, wrote)
		}
	}
	w, r := httptest.NewRecorder(), request("GET")
	r.Host = "<script>"
	newGuard(t, nil).Browser(&spy{}).ServeHTTP(w, r)
	if w.Header().Get("Content-Type") != "text/plain; charset=utf-8" || w.Body.String() != badHost.Message+"\n" {
		t.Errorf("%v %q", w.Header(), w.Body)
	}
}

// Being refused is free for whoever is; it must not fill our disk.
func TestAttackLogFlood(t *testing.T) {
	var log bytes.Buffer
	now := time.Unix(1_800_000_000, 0)
	g := newGuard(t, func(c *Config) {
		c.Log = slog.New(slog.NewTextHandler(&log, nil))
		c.Now = func() time.Time { return now }
	})
	refused := func() {
		r := request("GET")
		r.Host = strings.Repeat("x", 10_000)
		with("Authorization", "canary", "Cookie", "canary")(r)
		g.API(&spy{}).ServeHTTP(httptest.NewRecorder(), r)
	}
	for range 1000 {
		refused()
	}
	now = now.Add(time.Second)
	refused()
	lines := strings.Split(strings.TrimSpace(log.String()), "\n")
	if len(lines) != 2 || len(lines[0]) > 500 || !strings.Contains(lines[0], "unlogged=0") || !strings.Contains(lines[1], "unlogged=999") {
		t.Errorf("%d lines:\n%s", len(lines), log.String())
	}
	if strings.Contains(log.String(), "canary") {
		t.Error("the log has a secret")
	}
}

func TestStaticPassesOnWhatItWraps(t *testing.T) {
	h := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusEarlyHints)
		w.WriteHeader(http.StatusNotModified)
		if err := http.NewResponseController(w).Flush(); err != nil {
			t.Error(err)
		}
	})
	w := httptest.NewRecorder()
	newGuard(t, nil).Static(h).ServeHTTP(w, request("GET"))
	if !strings.Contains(w.Header().Get("Cache-Control"), "immutable") {
		t.Errorf("%v", w.Header())
	}
}
