package mcp

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

var (
	loopback = &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8080}
	outside  = &net.TCPAddr{IP: net.IPv4(192, 0, 2, 7), Port: 8080}
)

func TestHostAndOriginMatrix(t *testing.T) {
	s := newSurface(t, &fakeGateway{}, func(c *Config) {
		c.AllowedHosts = []string{"mcp.Example.com", "other.example.com:8443"}
		c.AllowedOrigins = []string{"https://App.example.com/", "null-like://x"}
	})
	for _, c := range []struct {
		local  net.Addr
		host   string
		origin string
		ok     bool
	}{
		{loopback, "localhost:8080", "", true},
		{loopback, "LOCALHOST", "", true},
		{loopback, "127.0.0.1:8080", "", true},
		{loopback, "127.9.9.9", "", true},
		{loopback, "[::1]:8080", "", true},
		{loopback, "[::1]", "", true},
		{loopback, "[::ffff:127.0.0.1]:8080", "", true},
		{&net.UnixAddr{Name: "/run/x.sock", Net: "unix"}, "localhost", "", true},
		{loopback, "evil.example.com", "", false},
		{loopback, "localhost.evil.example.com", "", false},
		{loopback, "127.0.0.1.evil.example.com", "", false},
		{loopback, "localhost.", "", false},
		{loopback, "192.0.2.7", "", false},
		{loopback, "", "", false},
		{outside, "localhost:8080", "", false},
		{outside, "127.0.0.1:8080", "", false},
		{outside, "192.0.2.7:8080", "", false},
		{nil, "localhost", "", false},
		{outside, "mcp.example.com", "", true},
		{outside, "MCP.example.com:8080", "", true},
		{outside, "other.example.com:8443", "", true},
		{outside, "other.example.com:8080", "", false},
		{outside, "other.example.com", "", false},
		{outside, "mcp.example.com.evil.example.com", "", false},

		{loopback, "localhost:8080", "http://localhost:8080", true},
		{loopback, "localhost:8080", "HTTP://LOCALHOST:8080", true},
		{loopback, "localhost:8080", "http://localhost:9090", false},
		{loopback, "localhost:8080", "http://localhost", false},
		{loopback, "localhost", "http://localhost:80", true},
		{loopback, "127.0.0.1:8080", "http://localhost:8080", false},
		{loopback, "localhost:8080", "http://evil.example.com", false},
		{loopback, "localhost:8080", "null", false},
		{loopback, "localhost:8080", "file://", false},
		{loopback, "localhost:8080", "ftp://localhost:8080", false},
		{outside, "mcp.example.com", "https://mcp.example.com", true},
		{outside, "mcp.example.com:443", "https://mcp.example.com", true},
		{outside, "mcp.example.com", "https://mcp.example.com.evil.example.com", false},
		{outside, "mcp.example.com", "https://app.example.com", true},
		{outside, "mcp.example.com", "http://app.example.com", false},
		{loopback, "evil.example.com", "http://evil.example.com", false},
	} {
		r := httptest.NewRequest("POST", "/mcp", strings.NewReader(initializeBody))
		if c.local != nil {
			r = r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, c.local))
		}
		r.Host = c.host
		r.Header.Set("Content-Type", "application/json")
		if c.origin != "" {
			r.Header.Set("Origin", c.origin)
		}
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		want := http.StatusForbidden
		if c.ok {
			want = http.StatusOK
		}
		if w.Code != want {
			t.Errorf("%v, Host %q, Origin %q: got %d, want %d", c.local, c.host, c.origin, w.Code, want)
		}
		if !c.ok && (!strings.HasPrefix(w.Body.String(), `{"jsonrpc":"2.0","error":{`) || strings.Contains(w.Body.String(), `"id"`)) {
			t.Errorf("Host %q: the body is %s", c.host, w.Body)
		}
	}
	r := httptest.NewRequest("POST", "/mcp", nil)
	r = r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, loopback))
	r.Host = "localhost"
	r.Header["Origin"] = []string{"http://localhost", "http://evil.example.com"}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	if w.Code != http.StatusForbidden {
		t.Errorf("two origins: got %d", w.Code)
	}
	if err := s.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestOrderOfRefusals(t *testing.T) {
	b := serve(t, &fakeGateway{}, nil)
	list := request("1", "tools/list")
	b.with("Host", "evil.example.com", "Authorization", "nobody").expect("POST", list, 403, "not_allowed")
	resp, _ := b.at("/mcp/none").with("Authorization", "nobody").do("POST", list)
	if resp.StatusCode != 401 || resp.Header.Get("WWW-Authenticate") != "Bearer" {
		t.Errorf("got %d, WWW-Authenticate %q", resp.StatusCode, resp.Header.Get("WWW-Authenticate"))
	}
	resp, _ = b.with("Authorization", "expired").do("POST", list)
	if resp.StatusCode != 403 || resp.Header.Get("WWW-Authenticate") != `Bearer error="insufficient_scope"` {
		t.Errorf("got %d, WWW-Authenticate %q", resp.StatusCode, resp.Header.Get("WWW-Authenticate"))
	}
	for _, path := range []string{"/mcp/none", "/mcp/files/more", "/mcpx", "/other"} {
		b.at(path).expect("POST", list, 404, `"error"`)
	}
	b.at("/mcp/").expect("POST", list, 400, "initialize first")
	b.at("/mcp/files").expect("POST", list, 400, "initialize first")
}

func TestBodyRules(t *testing.T) {
	b := serve(t, &fakeGateway{}, func(c *Config) { c.MaxBody = 1000; c.MaxDepth = 8 })
	s := b.initialize()
	list := request("1", "tools/list")
	s.with("Content-Type", "text/plain").expect("POST", list, 415, "application/json")
	s.with("Content-Type", "application/json; charset=utf-8").expect("POST", list, 200, "")
	s.with("Content-Type", "application/jsonx").expect("POST", list, 415, "")
	s.with("Content-Encoding", "gzip").expect("POST", list, 415, "")
	s.with("Content-Encoding", "identity").expect("POST", list, 200, "")
	s.expect("POST", `{"jsonrpc":"2.0","id":77,"method":"x","params":{"a":"`+strings.Repeat("a", 1000)+`"}}`, 413, `"id":77`)
	s.expect("POST", `not json`, 400, `"error"`)
	s.expect("POST", `{"jsonrpc":"2.0","id":78,"method":"tools/call","params":{"name":"a","name":"b"}}`, 400, `"id":78`)
	s.expect("POST", `{"jsonrpc":"2.0","id":79,"method":"x","params":`+strings.Repeat("[", 20)+strings.Repeat("]", 20)+`}`, 400, `"error"`)
	for accept, status := range map[string]int{
		"*/*": 200, "text/html": 406, "application/*": 200, "text/*;q=0.5": 200,
		"application/json;q=0, text/event-stream; q=0.0": 406, "text/html, */*;q=0.1": 200,
	} {
		s.with("Accept", accept).expect("POST", list, status, "")
	}
	s.with("Accept", "application/json").expect("GET", "", 406, "Accept")
}

func TestConfigIsChecked(t *testing.T) {
	whole := newSurface(t, &fakeGateway{}, nil).cfg
	for name, breakIt := range map[string]func(*Config){
		"gateway":        func(c *Config) { c.Gateway = nil },
		"authentication": func(c *Config) { c.Authenticate = nil },
		"key ring":       func(c *Config) { c.Ring = nil },
		"logger":         func(c *Config) { c.Log = nil },
	} {
		cfg := whole
		breakIt(&cfg)
		if _, err := New(cfg); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("without %s: %v", name, err)
		}
	}
}
