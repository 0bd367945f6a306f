package form

import (
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// maxURL bounds addresses: browsers and servers refuse longer ones anyway.
const maxURL = 8192

// URLRules says which addresses are acceptable. The rules look at the text
// alone and do no I/O, so that they stand for addresses that somebody else
// will open: every spelling of a host on which programs disagree is refused.
// What a name resolves to must be checked by whoever opens it, at the time of
// opening, with [PublicAddr].
type URLRules struct {
	Schemes        []string // in small letters
	AllowPrivate   bool     // private and special addresses, names of local networks
	AllowLocalhost bool     // loopback addresses, names of this machine

	// ToASCII turns an international host name into its ASCII form; without
	// it such names are refused.
	ToASCII func(host string) (string, error)
}

// URLFault is why an address is not acceptable.
type URLFault struct {
	Constraint string // format, allowedSchemes, blockPrivateIPs or blockLocalhost
	Expected   any
	Actual     string // the part that is at fault; "" where repeating it could give away a password
}

// Check gives all that speaks against an address; nothing if it is acceptable.
func (r URLRules) Check(s string) []URLFault {
	bad := []URLFault{{"format", "uri", s}}
	if strings.Contains(s, "@") {
		bad[0].Actual = ""
	}
	if len(s) > maxURL || strings.ContainsAny(s, " \\\"<>^`{|}") || hasControl(s) {
		return bad
	}
	scheme, rest, ok := strings.Cut(s, "://")
	if !ok {
		return bad
	}
	var faults []URLFault
	if !slices.Contains(r.Schemes, scheme) {
		faults = append(faults, URLFault{"allowedSchemes", r.Schemes, scheme})
	}
	authority, path, _ := cutAny(rest, "/?#")
	host, ok := splitAuthority(authority)
	if !ok || !isASCII(path) {
		return append(faults, bad...)
	}
	if !isASCII(host) {
		if r.ToASCII == nil {
			return append(faults, bad...)
		}
		ascii, err := r.ToASCII(host)
		if err != nil || !isASCII(ascii) {
			return append(faults, bad...)
		}
		host = ascii
		s = scheme + "://" + host + "/" + path
	}
	// Our reading of the address and net/url's must agree.
	u, err := url.Parse(s)
	if err != nil || u.User != nil || u.Opaque != "" || !strings.EqualFold(u.Hostname(), strings.Trim(host, "[]")) {
		return append(faults, bad...)
	}
	return append(faults, r.checkHost(strings.ToLower(host), bad)...)
}

// checkHost judges a host in small letters without its port.
func (r URLRules) checkHost(host string, bad []URLFault) []URLFault {
	if inner, ok := strings.CutPrefix(host, "["); ok {
		addr, err := netip.ParseAddr(strings.TrimSuffix(inner, "]"))
		if err != nil || addr.Zone() != "" {
			return bad
		}
		return r.checkAddr(addr)
	}
	if addr, err := netip.ParseAddr(host); err == nil && addr.Is4() {
		return r.checkAddr(addr)
	}
	// A last label that is a number makes browsers and C libraries read the
	// whole as an IPv4 address in one of its other spellings.
	labels := strings.Split(host, ".")
	if !isHostname(strings.ReplaceAll(host, "_", "-")) || isNumeric(labels[len(labels)-1]) {
		return bad
	}
	switch {
	case isThisMachine(host):
		if !r.AllowLocalhost {
			return []URLFault{{"blockLocalhost", "public host", host}}
		}
	case isLocalName(host):
		if !r.AllowPrivate {
			return []URLFault{{"blockPrivateIPs", "public host", host}}
		}
	}
	return nil
}

func (r URLRules) checkAddr(addr netip.Addr) []URLFault {
	switch {
	case addr.Unmap().IsLoopback():
		if !r.AllowLocalhost || addr.Is4In6() {
			return []URLFault{{"blockLocalhost", "public IP", addr.String()}}
		}
	case !PublicAddr(addr):
		if !r.AllowPrivate || neverAddr(addr) {
			return []URLFault{{"blockPrivateIPs", "public IP", addr.String()}}
		}
	}
	return nil
}

// splitAuthority separates a host from its port. It refuses user names,
// percent escapes and zone ids, and ports that are no port.
func splitAuthority(authority string) (host string, ok bool) {
	if authority == "" || strings.ContainsAny(authority, "@%") {
		return "", false
	}
	host, port := authority, ""
	if at := strings.LastIndexByte(authority, ':'); at >= 0 && !strings.HasSuffix(authority, "]") {
		host, port = authority[:at], authority[at+1:]
		n, err := strconv.Atoi(port)
		if err != nil || n < 1 || n > 65535 || !onlyDigits(port) || port[0] == '0' {
			return "", false
		}
	}
	bracketed := strings.HasPrefix(host, "[") && strings.HasSuffix(host, "]")
	if host == "" || !bracketed && strings.ContainsAny(host, ":[]") {
		return "", false
	}
	return host, true
}

func cutAny(s, chars string) (before, after string, found bool) {
	if at := strings.IndexAny(s, chars); at >= 0 {
		return s[:at], s[at+1:], true
	}
	return s, "", false
}

func hasControl(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool {
		return r < ' ' || r >= 0x7f && r < 0xa0 || r == '\uFFFD' || r >= 0x2028 && r <= 0x202e
	})
}

// isNumeric reports whether a label would be read as a number.
func isNumeric(label string) bool {
	if hex, ok := strings.CutPrefix(label, "0x"); ok {
		return strings.Trim(hex, "0123456789abcdef") == ""
	}
	return onlyDigits(label)
}
