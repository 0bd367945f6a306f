package mcp

import (
	"net"
	"net/http"
	"net/netip"
	"strings"

	"github.com/answerback/answerback/ask"
)

// guard keeps web pages out that reach the listener under a name of their own
// (DNS rebinding), and pages of other origins.
type guard struct {
	hosts   map[string]bool
	origins map[string]bool
}

func newGuard(hosts, origins []string) guard {
	g := guard{hosts: make(map[string]bool, len(hosts)), origins: make(map[string]bool, len(origins))}
	for _, h := range hosts {
		g.hosts[strings.ToLower(h)] = true
	}
	for _, o := range origins {
		g.origins[strings.ToLower(strings.TrimSuffix(o, "/"))] = true
	}
	// An empty entry is a gap in a configuration, not a permission.
	delete(g.hosts, "")
	delete(g.origins, "")
	return g
}

func (g guard) check(r *http.Request) *ask.Error {
	if !g.hostAllowed(r) {
		return ask.Errorf(ask.NotAllowed, "This host name is not served here. Add it to the configuration as public_url if it is yours.")
	}
	if !g.originAllowed(r) {
		return ask.Errorf(ask.NotAllowed, "Requests from this origin are not taken.")
	}
	return nil
}

func (g guard) hostAllowed(r *http.Request) bool {
	host := strings.ToLower(r.Host)
	if g.hosts[host] {
		return true
	}
	name, _ := splitHost(host)
	return g.hosts[name] || isLoopbackName(name) && overLoopback(r)
}

// originAllowed takes requests without an Origin: they come from no web page.
func (g guard) originAllowed(r *http.Request) bool {
	values := r.Header["Origin"]
	switch len(values) {
	case 0:
		return true
	case 1:
	default:
		return false
	}
	origin := strings.ToLower(values[0])
	if g.origins[origin] {
		return true
	}
	scheme, host, ok := strings.Cut(origin, "://")
	if !ok {
		return false
	}
	port := ""
	switch scheme {
	case "http":
		port = "80"
	case "https":
		port = "443"
	default:
		return false
	}
	return withPort(host, port) == withPort(strings.ToLower(r.Host), port)
}

// withPort gives host the port that its scheme implies, where it has none.
func withPort(host, port string) string {
	name, p := splitHost(host)
	if p == "" {
		p = port
	}
	return name + " " + p
}

// splitHost takes a host and its port apart, and an IPv6 address out of its
// brackets.
func splitHost(host string) (name, port string) {
	if n, p, err := net.SplitHostPort(host); err == nil {
		return n, p
	}
	return strings.TrimSuffix(strings.TrimPrefix(host, "["), "]"), ""
}

func isLoopbackName(name string) bool {
	if name == "localhost" {
		return true
	}
	addr, err := netip.ParseAddr(name)
	return err == nil && addr.Unmap().IsLoopback()
}

// overLoopback reports whether the connection came to a loopback address or a
// Unix socket. A loopback name says nothing on any other connection.
func overLoopback(r *http.Request) bool {
	switch addr := r.Context().Value(http.LocalAddrContextKey).(type) {
	case *net.TCPAddr:
		return addr.IP.IsLoopback()
	case *net.UnixAddr:
		return true
	}
	return false
}
