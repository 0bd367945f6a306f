package form

import (
	"net/netip"
	"strings"
)

// special are the address ranges that the IANA special-purpose registries
// set apart, or that lead to something other than a host on the public
// internet, as far as they lie inside what is otherwise public.
var special = prefixes(
	"0.0.0.0/8",        // this network
	"10.0.0.0/8",       // private
	"100.64.0.0/10",    // shared by carriers; 100.100.100.200 serves cloud metadata
	"127.0.0.0/8",      // loopback
	"168.63.129.16/32", // the Azure host, reached from every machine there
	"169.254.0.0/16",   // link-local; 169.254.169.254 serves cloud metadata
	"172.16.0.0/12",    // private
	"192.0.0.0/24",     // protocol assignments; 192.0.0.192 serves cloud metadata
	"192.0.2.0/24",     // documentation
	"192.31.196.0/24",  // AS112 service
	"192.52.193.0/24",  // automatic multicast tunnelling
	"192.88.99.0/24",   // 6to4 relays
	"192.168.0.0/16",   // private
	"192.175.48.0/24",  // AS112 service
	"198.18.0.0/15",    // benchmarks
	"198.51.100.0/24",  // documentation
	"203.0.113.0/24",   // documentation
	"224.0.0.0/4",      // multicast
	"240.0.0.0/4",      // reserved, and broadcast

	"2001::/23",         // protocol assignments: Teredo, benchmarks, ORCHID
	"2001:db8::/32",     // documentation
	"2002::/16",         // 6to4: an IPv4 address in disguise
	"2620:4f:8000::/48", // AS112 service
	"3fff::/20",         // documentation
)

// metadata are addresses at which a cloud gives out credentials, and which no
// operator means to open when private addresses are allowed.
var metadata = prefixes(
	"169.254.0.0/16", "100.100.100.200/32", "168.63.129.16/32", "192.0.0.192/32", "0.0.0.0/8", "224.0.0.0/4", "240.0.0.0/4",
	"fe80::/10", "ff00::/8", "fd00:ec2::254/128", "fd20:ce::254/128",
	"::/96", "::ffff:0:0/96", "64:ff9b::/96", "64:ff9b:1::/48", "2002::/16", "2001::/32", // IPv4 in disguise
)

// global is the part of IPv6 that is given out for the public internet.
var global = netip.MustParsePrefix("2000::/3")

func prefixes(list ...string) []netip.Prefix {
	out := make([]netip.Prefix, len(list))
	for i, s := range list {
		out[i] = netip.MustParsePrefix(s)
	}
	return out
}

// PublicAddr reports whether an address is a host's on the public internet:
// not private, loopback, link-local, multicast or set apart for any other
// purpose, and not an IPv4 address inside an IPv6 one.
func PublicAddr(addr netip.Addr) bool {
	if !addr.IsValid() || addr.Zone() != "" || addr.Is6() && !global.Contains(addr) {
		return false
	}
	return !within(special, addr)
}

// neverAddr reports whether an address stays blocked even where private ones
// are allowed.
func neverAddr(addr netip.Addr) bool { return within(metadata, addr) }

func within(list []netip.Prefix, addr netip.Addr) bool {
	for _, p := range list {
		if p.Contains(addr) {
			return true
		}
	}
	return false
}

// isThisMachine reports whether a name always means the machine itself.
func isThisMachine(host string) bool {
	return host == "localhost" || strings.HasSuffix(host, ".localhost") ||
		host == "localhost.localdomain" || host == "ip6-localhost" || host == "ip6-loopback"
}

// isLocalName reports whether a name can only mean something inside somebody's
// network.
func isLocalName(host string) bool {
	dot := strings.LastIndexByte(host, '.')
	if dot < 0 {
		return true
	}
	switch host[dot+1:] {
	case "local", "localdomain", "internal", "intranet", "lan", "home", "corp", "private", "arpa", "onion", "test", "invalid":
		return true
	}
	return false
}
