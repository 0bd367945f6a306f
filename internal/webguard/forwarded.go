package webguard

import (
	"net/http"
	"net/netip"
	"strings"
)

// forwardedNames are the headers by which proxies say for whom they ask. One
// that ends in a star stands for all that begin like it.
var forwardedNames = [...]string{
	"ali-cdn-real-ip",
	"cdn-src-ip", "cf-connecting-*", "cf-ipcountry", "cf-visitor", "client-ip",
	"fastly-client-*", "forwarded", "forwarded-for", "front-end-https",
	"proxy-client-ip",
	"real-ip", "remote-addr", "remote-user",
	"true-client-*",
	"wl-proxy-client-ip",
	"x-appengine-remote-addr", "x-appengine-user-ip", "x-auth-request-*", "x-azure-clientip", "x-azure-socketip",
	"x-client-ip*", "x-cluster-client-*", "x-envoy-*", "x-forward*", "x-host", "x-http-host-override", "x-original-*",
	"x-proto", "x-proxy*", "x-real-*", "x-remote-*", "x-rewrite-*", "x-scheme", "x-ssl", "x-url-scheme",
}

// forwardedBy has them by their first letter: of most headers it takes no more
// than that to tell.
var forwardedBy = func() (by [256][]string) {
	for _, name := range forwardedNames {
		first := name[0]
		by[first] = append(by[first], name)
		by[first-'a'+'A'] = by[first]
	}
	return by
}()

// strip removes forwarded headers, unless a trusted proxy sent them. Spelled
// with anything but dashes, which others read as dashes, it removes them
// always: a proxy that sets the header itself lets such a spelling through
// from outside.
func (g *Guard) strip(r *http.Request) {
	asked, trusted := false, false
	for name := range r.Header {
		is, odd := isForwarded(name)
		if !is {
			continue
		}
		if !odd && !asked {
			asked, trusted = true, g.isTrusted(peer(r))
		}
		if odd || !trusted {
			delete(r.Header, name)
		}
	}
}

// isForwarded reports whether a header is a forwarded one in any spelling, and
// whether in one that proxies do not use.
func isForwarded(name string) (is, odd bool) {
	if name == "" {
		return false, false
	}
	for _, known := range forwardedBy[name[0]] {
		if is, odd := spells(name, known); is {
			return true, odd
		}
	}
	return false, false
}

func spells(name, known string) (is, odd bool) {
	for i := range len(known) {
		if known[i] == '*' {
			return true, odd || strings.ContainsFunc(name[i:], notInName)
		}
		if i == len(name) {
			return false, false
		}
		switch c := name[i]; {
		case c == known[i] || 'A' <= c && c <= 'Z' && c+'a'-'A' == known[i]:
		case known[i] == '-' && notInName(rune(c)):
			odd = true
		default:
			return false, false
		}
	}
	return len(name) == len(known), odd
}

// notInName leaves letters, digits and dashes.
func notInName(c rune) bool {
	return c != '-' && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9')
}

// Client gives the address of who sent the request: the peer of the connection
// or, when that is a trusted proxy, the right-most address of X-Forwarded-For
// that is not. Further to the left stands what anybody may have written. It is
// the zero Addr when the peer has none, as on a Unix socket.
func (g *Guard) Client(r *http.Request) netip.Addr {
	client := peer(r)
	if !g.isTrusted(client) {
		return client
	}
	lists := r.Header["X-Forwarded-For"]
	for i := len(lists) - 1; i >= 0; i-- {
		for rest := lists[i]; rest != ""; {
			last := rest
			if comma := strings.LastIndexByte(rest, ','); comma >= 0 {
				rest, last = rest[:comma], rest[comma+1:]
			} else {
				rest = ""
			}
			addr, ok := parsePeer(strings.Trim(last, " \t"))
			if !ok {
				return client
			}
			client = addr
			if !g.isTrusted(addr) {
				return client
			}
		}
	}
	return client
}

func (g *Guard) isTrusted(addr netip.Addr) bool {
	for _, p := range g.cfg.TrustedProxies {
		if p.Contains(addr) {
			return true
		}
	}
	return false
}

func peer(r *http.Request) netip.Addr {
	addr, _ := parsePeer(r.RemoteAddr)
	return addr
}

// parsePeer reads an address, with a port or without.
func parsePeer(s string) (netip.Addr, bool) {
	if ap, err := netip.ParseAddrPort(s); err == nil {
		return plain(ap.Addr()), true
	}
	if strings.HasPrefix(s, "[") && strings.HasSuffix(s, "]") {
		s = s[1 : len(s)-1]
	}
	addr, err := netip.ParseAddr(s)
	return plain(addr), err == nil
}

// plain makes addresses comparable that mean the same.
func plain(addr netip.Addr) netip.Addr { return addr.Unmap().WithZone("") }
