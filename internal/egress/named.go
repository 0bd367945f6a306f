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

	"github.com/answerback/answerback/form"
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
		g.hosts[hostPort(u)] = true
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
	return fmt.Errorf("%s is not a public address, and nobody configured it", addr)
}

// IsPublic reports whether an address is one of the internet, which reaches no
// network that only some can reach. What a person may enter in a form and what
// the gateway may reach for a stranger are judged alike.
func IsPublic(a netip.Addr) bool { return form.PublicAddr(a.Unmap()) }
