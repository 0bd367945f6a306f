package webguard

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
)

// setPublic serves the host of the public URL, and takes its pages for ours.
func (g *Guard) setPublic(public string) error {
	u, err := url.Parse(public)
	if err != nil || u.Path != "" && u.Path != "/" {
		return fmt.Errorf("webguard: the public URL %q must be a scheme and a host, without a path", public)
	}
	g.origin, err = parseOrigin(public)
	if err != nil {
		return fmt.Errorf("webguard: public URL: %w", err)
	}
	scheme, host, _ := strings.Cut(g.origin, "://")
	if scheme != "http" && scheme != "https" {
		return fmt.Errorf("webguard: the public URL %q must be http or https", public)
	}
	g.secure = scheme == "https"
	// A proxy may ask under another host for the pages of this origin.
	if err := g.forged.AddTrustedOrigin(g.origin); err != nil {
		return fmt.Errorf("webguard: public URL: %w", err)
	}
	return g.addHost(host)
}

// addHost serves a host. An empty entry is a gap in a configuration, not a
// permission.
func (g *Guard) addHost(host string) error {
	if host == "" {
		return nil
	}
	h := lower(host)
	if addr, err := netip.ParseAddr(h); err == nil && addr.Is6() {
		g.hosts[h] = true
		return nil
	}
	name, port, ok := splitHost(h)
	if !ok || strings.ContainsFunc(name, notInHost) {
		return fmt.Errorf("webguard: %q is no host: give a name or an address, with a port or without", host)
	}
	if port == "" {
		h = name
	}
	g.hosts[h] = true
	return nil
}

// parseOrigin gives an origin as browsers spell it, "" for an empty one.
func parseOrigin(s string) (string, error) {
	if s == "" {
		return "", nil
	}
	origin := lower(strings.TrimSuffix(s, "/"))
	scheme, host, ok := strings.Cut(origin, "://")
	name, port, valid := splitHost(host)
	if !ok || !valid || strings.ContainsFunc(name, notInHost) || strings.ContainsFunc(scheme, notInScheme) || scheme == "" {
		return "", fmt.Errorf("%q is no origin: give a scheme and a host such as https://app.example.com", s)
	}
	if port != "" && port == defaultPort(scheme) {
		origin = strings.TrimSuffix(origin, ":"+port)
	}
	// A name that a browser would write otherwise would never match.
	if addr, err := netip.ParseAddr(name); err == nil && addr.Is6() && addr.String() != name {
		return "", fmt.Errorf("%q: write the address as %s", s, addr)
	}
	return origin, nil
}

// notInHost leaves letters, digits, what is between them, and the colons of
// IPv6 addresses.
func notInHost(c rune) bool {
	return notInScheme(c) && c != '_' && c != ':' || c == '+'
}

func notInScheme(c rune) bool {
	return (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != '.' && c != '+'
}

// hostAllowed decides whether the name under which a request came is ours. A
// web page that had its own name point at this machine (DNS rebinding) sends
// that name.
func (g *Guard) hostAllowed(r *http.Request) bool {
	host := lower(r.Host)
	if g.hosts[host] {
		return true
	}
	name, _, ok := splitHost(host)
	return ok && (g.hosts[name] || isLoopback(name) && overLoopback(r))
}

// ourOrigin reports whether an origin is that of the pages served here: the
// public one, or the one under whose host the request came. A plain http page
// under a name that is served with https may be anybody's on the way.
func (g *Guard) ourOrigin(origin string, r *http.Request) bool {
	if origin == g.origin {
		return true
	}
	scheme, host, ok := strings.Cut(origin, "://")
	if !ok {
		return false
	}
	implied := defaultPort(scheme)
	name, port, ok := splitHost(host)
	if !ok || implied == "" {
		return false
	}
	wantName, wantPort, ok := splitHost(lower(r.Host))
	if !ok || name != wantName || either(port, implied) != either(wantPort, implied) {
		return false
	}
	return scheme == "https" || !g.secure || isLoopback(name)
}

func defaultPort(scheme string) string {
	switch scheme {
	case "http":
		return "80"
	case "https":
		return "443"
	}
	return ""
}

func either(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

// splitHost takes a host and its port apart, and an IPv6 address out of its
// brackets. Unlike net.SplitHostPort it takes a host without a port, and makes
// no error to be thrown away.
func splitHost(host string) (name, port string, ok bool) {
	rest := ""
	if strings.HasPrefix(host, "[") {
		end := strings.IndexByte(host, ']')
		if end < 0 {
			return "", "", false
		}
		name, rest = host[1:end], host[end+1:]
		if addr, err := netip.ParseAddr(name); err != nil || !addr.Is6() || addr.Zone() != "" {
			return "", "", false
		}
	} else if i := strings.IndexByte(host, ':'); i >= 0 {
		name, rest = host[:i], host[i:]
	} else {
		name = host
	}
	if rest != "" {
		port = rest[1:]
		if rest[0] != ':' || !isPort(port) {
			return "", "", false
		}
	}
	return name, port, name != ""
}

func isPort(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return len(s) > 0 && len(s) <= 5
}

// lower folds ASCII only: other letters that fold to ASCII ones make another
// name, so a text that has any is nothing.
func lower(s string) string {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return ""
		}
	}
	return strings.ToLower(s)
}

func isLoopback(name string) bool {
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
