package oauth

import (
	"errors"
	"net/netip"
	"net/url"
	"strings"
)

// maxAddress is how long an address from a server may be.
const maxAddress = 2048

var (
	errNoAddress = errors.New("is not an absolute address")
	errPlain     = errors.New("is neither https nor on this machine")
	errExtra     = errors.New("has a user name or a fragment")
)

// CheckAddress takes the address of an endpoint: https, or http on loopback,
// where nobody listens in. It may have a query.
func CheckAddress(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil || len(text) > maxAddress || u.Opaque != "" || u.Hostname() == "" || strings.ContainsFunc(text, odd):
		return nil, errNoAddress
	case u.Scheme != "https" && (u.Scheme != "http" || !IsLoopback(u.Hostname())):
		return nil, errPlain
	case u.User != nil || u.Fragment != "" || strings.Contains(text, "#"):
		return nil, errExtra
	}
	return u, nil
}

// CheckIssuer is CheckAddress for what names somebody, which has no query.
func CheckIssuer(text string) (*url.URL, error) {
	u, err := CheckAddress(text)
	if err == nil && (u.RawQuery != "" || u.ForceQuery) {
		return nil, errExtra
	}
	return u, err
}

// odd are characters that have no place in an address, and that two readers
// could take for different things.
func odd(r rune) bool { return r <= ' ' || r >= 0x7f || r == '\\' }

// IsLoopback reports whether only this machine reaches host.
func IsLoopback(host string) bool {
	if addr, err := netip.ParseAddr(host); err == nil {
		return addr.Unmap().IsLoopback()
	}
	return strings.EqualFold(host, "localhost")
}

// wellKnown puts a well-known name between the host and the path of u.
func wellKnown(u *url.URL, name string) string {
	return u.Scheme + "://" + u.Host + "/.well-known/" + name + strings.TrimSuffix(u.EscapedPath(), "/")
}
