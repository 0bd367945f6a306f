package egress

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"time"
)

// Strangers is a client for addresses that callers gave, such as the receiver
// of a push notification. They must be public, whatever their names resolve to
// when the connection is made, but for those that the operator trusts.
// Otherwise it is as ForBackends.
type Strangers struct {
	client *http.Client
	hosts  map[string]bool // with their ports
}

// ForStrangers makes a client for addresses that callers gave. What is on the
// hosts and ports of trusted, which the operator wrote into the configuration,
// is reached wherever it is, and over http too.
func ForStrangers(trusted ...string) *Strangers {
	s := &Strangers{client: ForBackends(Config{IdlePerHost: 2, DialTimeout: 5 * time.Second, TLSTimeout: 5 * time.Second}), hosts: map[string]bool{}}
	for _, t := range trusted {
		if u, err := url.Parse(t); err == nil && u.Hostname() != "" {
			s.hosts[hostPort(u)] = true
		}
	}
	transport := s.client.Transport.(*http.Transport)
	plain := transport.DialContext
	dialer := &net.Dialer{Timeout: 5 * time.Second, KeepAlive: 30 * time.Second, Control: (&guarded{}).control}
	transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		if s.hosts[address] {
			return plain(ctx, network, address)
		}
		return dialer.DialContext(ctx, network, address)
	}
	return s
}

// Check says what is wrong with an address, as far as that can be seen without
// looking its name up.
func (s *Strangers) Check(address string) error {
	u, err := url.Parse(address)
	if err != nil || u.Hostname() == "" || u.Scheme != "https" && u.Scheme != "http" || u.User != nil {
		return errors.New("it must be an https address without a user")
	}
	if s.hosts[hostPort(u)] {
		return nil
	}
	if u.Scheme != "https" {
		return errors.New("it must be https")
	}
	if addr, err := netip.ParseAddr(u.Hostname()); u.Hostname() == "localhost" || err == nil && !IsPublic(addr) {
		return errors.New("it is not a public address")
	}
	return nil
}

// Do sends a request. It follows no redirect.
func (s *Strangers) Do(r *http.Request) (*http.Response, error) {
	if err := s.Check(r.URL.String()); err != nil {
		return nil, err
	}
	return s.client.Do(r)
}

// CloseIdleConnections closes connections that are not in use.
func (s *Strangers) CloseIdleConnections() { s.client.CloseIdleConnections() }

// hostPort is where an address is dialled.
func hostPort(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"https": "443", "http": "80"}[u.Scheme]
	}
	return net.JoinHostPort(u.Hostname(), port)
}
