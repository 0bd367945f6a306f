package egress

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"syscall"
	"time"
)

// ForNamed returns a client for addresses that a server named, such as the
// authorization server of a backend: whoever runs that server chose them, so
// they must be public. The addresses of trusted, which the operator wrote into
// the configuration, are reached wherever they are; where one of them is on
// this machine, so may be what is named. What a name resolves to is checked
// when the connection is made, and is what is connected to. Otherwise it is as
// ForBackends.
func ForNamed(trusted ...string) *http.Client {
	client := ForBackends(Config{IdlePerHost: 2})
	plain := client.Transport.(*http.Transport).DialContext
	g := &guarded{hosts: map[string]bool{}}
	for _, t := range trusted {
		u, err := url.Parse(t)
		if err != nil || u.Hostname() == "" {
			continue
		}
		port := u.Port()
		if port == "" {
			port = map[string]string{"https": "443", "http": "80"}[u.Scheme]
		}
		g.hosts[net.JoinHostPort(u.Hostname(), port)] = true
		addr, err := netip.ParseAddr(u.Hostname())
		g.here = g.here || u.Hostname() == "localhost" || err == nil && addr.Unmap().IsLoopback()
	}
	dialer := &net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second, Control: g.control}
	client.Transport.(*http.Transport).DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		if g.hosts[address] {
			return plain(ctx, network, address)
		}
		return dialer.DialContext(ctx, network, address)
	}
	return client
}

// guarded says what may be dialled.
type guarded struct {
	hosts map[string]bool
	here  bool // this machine too
}

// control is called with the address that a connection is about to be made to.
func (g *guarded) control(_, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("%s is not an address", address)
	}
	addr := at.Addr().Unmap()
	if IsPublic(addr) || g.here && addr.IsLoopback() && addr.Zone() == "" {
		return nil
	}
	return fmt.Errorf("%s is not a public address, and nobody configured it: a server named it", addr)
}

// special are the ranges of addresses that are public in form and not in fact:
// those of the IANA registries of special-purpose addresses, and the address
// at which one cloud serves its machines' secrets.
var special = prefixes(
	"0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24",
	"192.0.2.0/24", "192.31.196.0/24", "192.52.193.0/24", "192.88.99.0/24", "192.168.0.0/16", "192.175.48.0/24",
	"198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/3", "168.63.129.16/32",
	"2001::/23", "2001:db8::/32", "2002::/16", "2620:4f:8000::/48", "3fff::/20",
)

// unicast is all of IPv6 that is given out to networks. What embeds an IPv4
// address in another way is outside, or in special.
var unicast = netip.MustParsePrefix("2000::/3")

// IsPublic reports whether an address is one of the internet, which reaches no
// network that only some can reach.
func IsPublic(a netip.Addr) bool {
	a = a.Unmap()
	if !a.IsValid() || a.Zone() != "" || a.Is6() && !unicast.Contains(a) {
		return false
	}
	for _, p := range special {
		if p.Contains(a) {
			return false
		}
	}
	return true
}

func prefixes(texts ...string) []netip.Prefix {
	all := make([]netip.Prefix, len(texts))
	for i, t := range texts {
		all[i] = netip.MustParsePrefix(t)
	}
	return all
}
