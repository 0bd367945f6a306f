package config

import (
	"fmt"
	"maps"
	"net"
	"net/netip"
	"net/url"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Validate checks every value and reports all problems as an *Error, by key:
// it knows no file and no lines. Parse and Load have validated already.
func (c *Config) Validate() error { return asError(c.problems()) }

// checker gathers problems by key.
type checker struct{ found []Problem }

func (k *checker) add(key, what, fix string) {
	k.found = append(k.found, Problem{Key: key, What: what, Fix: fix})
}

func (c *Config) problems() []Problem {
	k := &checker{}
	k.bounds("", reflect.ValueOf(c).Elem())
	k.network(c)
	if !filepath.IsAbs(c.DataDir) && c.dataDirChosen {
		k.add("data_dir", "is not set, and neither XDG_DATA_HOME nor HOME says where it could be", "set it")
	} else if c.DataDir == "" || strings.ContainsRune(c.DataDir, 0) {
		k.add("data_dir", "is not a path", "write the path of a directory")
	}
	k.times(c)
	k.files(c)
	k.notify(c)
	k.pushes(c)
	k.identity(c)
	k.journal(c)
	for i, client := range c.Clients {
		k.client(fmt.Sprintf("clients[%d]", i), client)
	}
	if len(c.Backends) == 0 {
		k.add("backends", "there are none, so there is nothing to serve", "add one, such as: everything: { command: npx, args: [\"-y\", \"@modelcontextprotocol/server-everything\", \"stdio\"] }")
	}
	for _, name := range slices.Sorted(maps.Keys(c.Backends)) {
		k.backend("backends."+name, name, c.Backends[name])
		k.grant(c, "backends."+name, c.Backends[name])
	}
	return k.found
}

// bounds checks what the tags enum, min and max say.
func (k *checker) bounds(key string, v reflect.Value) {
	for _, f := range fieldsOf(v.Type()) {
		at, value := join(key, f.key), v.FieldByIndex(f.index)
		switch {
		case f.typ.Kind() == reflect.Struct:
			k.bounds(at, value)
		case f.enum != nil && !slices.Contains(f.enum, value.String()):
			k.add(at, quoted(value.String())+" is not one of its values", "write "+oneOf(f.enum))
		case f.min != "" && (value.Int() < limit(f, f.min) || value.Int() > limit(f, f.max)):
			k.add(at, format(value)+" is out of bounds", "write a value from "+f.min+" to "+f.max)
		}
	}
}

// limit reads a bound from a tag; tags are part of the program, and a test
// sees to it that they can be read.
func limit(f field, bound string) int64 {
	v := reflect.New(f.typ).Elem()
	if err := parseInto(v, bound); err != nil {
		panic("config: the bound " + bound + " of " + f.key + " " + err.Error())
	}
	return v.Int()
}

func oneOf(values []string) string {
	last := len(values) - 1
	return strings.Join(values[:last], ", ") + " or " + values[last]
}

func (k *checker) network(c *Config) {
	host, port, err := net.SplitHostPort(c.Listen)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	switch {
	case err != nil || host != "" && !isHost(host):
		k.add("listen", quoted(c.Listen)+" is not an address with a port", "write it as 127.0.0.1:8808")
	case !isLoopback(host) && !c.InsecureOpenToNetwork && !c.Identity.Authenticates():
		k.add("listen", quoted(c.Listen)+" can be reached from the network, and nobody has to authenticate", "listen on 127.0.0.1, say with identity who may call, or set insecure_open_to_network: true if something else keeps strangers out")
	}
	if c.Metrics.Listen != "" {
		if _, port, err := net.SplitHostPort(c.Metrics.Listen); err != nil || port == "" {
			k.add("metrics.listen", quoted(c.Metrics.Listen)+" is not an address with a port", "write it as 127.0.0.1:9464")
		}
	}
	if c.PublicURL != "" {
		switch u, err := url.Parse(c.PublicURL); {
		case err != nil || !isBase(u) || u.Path != "" && u.Path != "/":
			k.add("public_url", "is not the address of a website", "write it as https://mcp.example.com, without path, user name, query and fragment")
		case u.Scheme == "http" && !isLoopback(u.Hostname()):
			k.add("public_url", "uses http, and browsers keep no sign-in there", "use https, as https://"+u.Host)
		}
	}
	for i, h := range c.AllowedHosts {
		name, port, err := net.SplitHostPort(h)
		if err == nil {
			_, err = strconv.ParseUint(port, 10, 16)
		} else {
			name, err = strings.TrimSuffix(strings.TrimPrefix(h, "["), "]"), nil
		}
		if err != nil || !isHost(name) {
			k.add(fmt.Sprintf("allowed_hosts[%d]", i), quoted(h)+" is not a host name", "write it as mcp.example.com or mcp.example.com:8443")
		}
	}
	for i, o := range c.AllowedOrigins {
		if u, err := url.Parse(o); err != nil || !isBase(u) || u.Path != "" {
			k.add(fmt.Sprintf("allowed_origins[%d]", i), quoted(o)+" is not an origin", "write scheme and host only, as in https://app.example.com")
		}
	}
}

func (k *checker) times(c *Config) {
	if c.Limits.BodyBytes < c.Limits.MessageBytes {
		k.add("limits.body_bytes", fmt.Sprintf("%v is less than limits.message_bytes (%v)", c.Limits.BodyBytes, c.Limits.MessageBytes), "raise it, or leave it out")
	}
	for _, r := range c.Limits.rooms() {
		if *r.size < r.times**r.of {
			k.add("limits."+r.key, fmt.Sprintf("%v is less than %d times limits.%s (%v)", *r.size, r.times, r.ofKey, *r.of), "raise it, or leave it out")
		}
	}
	longest := formatDuration(c.Limits.CallCap)
	if c.Limits.CallTimeout > c.Limits.CallCap {
		k.add("limits.call_timeout", formatDuration(c.Limits.CallTimeout)+" is longer than limits.call_cap ("+longest+")", "raise limits.call_cap or lower this")
	}
	if c.Asks.Timeout > c.Limits.CallCap {
		k.add("asks.timeout", formatDuration(c.Asks.Timeout)+" is longer than limits.call_cap ("+longest+"), which ends the call that asks", "raise limits.call_cap or lower this")
	}
}

// client checks one rule for clients.
func (k *checker) client(key string, c Client) {
	k.bounds(key, reflect.ValueOf(c))
	if c.Name == "" {
		k.add(key, "names no client", `write name, such as name: "claude-code*"`)
	}
	k.pattern(key+".name", c.Name)
	k.pattern(key+".version", c.Version)
	if c.Hold == 0 && c.InstantDecline == 0 {
		k.add(key, "says nothing of how the client is treated", "write hold or instant_decline, or remove the entry")
	}
}

// isBase reports whether u is http or https with a host and nothing that a
// link could not be built upon.
func isBase(u *url.URL) bool {
	return (u.Scheme == "http" || u.Scheme == "https") && isHost(u.Hostname()) && isPort(u) &&
		u.User == nil && u.RawQuery == "" && !u.ForceQuery && u.Fragment == "" && u.Opaque == ""
}

// isPort reports whether the port of u, where it has one, is a number that
// ports have.
func isPort(u *url.URL) bool {
	if u.Port() == "" {
		return !strings.HasSuffix(u.Host, ":")
	}
	_, err := strconv.ParseUint(u.Port(), 10, 16)
	return err == nil
}

// isHost reports whether s is an IP address or looks like a host name.
func isHost(s string) bool {
	if _, err := netip.ParseAddr(s); err == nil {
		return true
	}
	odd := func(r rune) bool {
		return r != '-' && r != '.' && r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	}
	return s != "" && len(s) <= 253 && !strings.ContainsFunc(s, odd) && s[0] != '.' && s[0] != '-'
}

// isLoopback reports whether only this machine reaches host.
func isLoopback(host string) bool {
	if addr, err := netip.ParseAddr(host); err == nil {
		return addr.Unmap().IsLoopback()
	}
	return strings.EqualFold(host, "localhost")
}

// notes gives what is not wrong and still deserves attention.
func (c *Config) notes() []Note {
	var notes []Note
	add := func(key, text string) { notes = append(notes, Note{Key: key, Text: text}) }
	host, _, _ := net.SplitHostPort(c.Listen)
	open := !c.Identity.Authenticates()
	if c.InsecureOpenToNetwork && !isLoopback(host) && open {
		add("insecure_open_to_network", "the gateway listens on "+c.Listen+" and nobody has to authenticate: whoever reaches it can use every backend")
	}
	if u, err := url.Parse(c.PublicURL); err == nil && c.PublicURL != "" && !isLoopback(u.Hostname()) {
		if isLoopback(host) && open {
			add("public_url", "nobody has to authenticate: what passes requests on from "+u.Host+" must keep strangers out")
		}
	}
	if len(c.Enabled()) == 0 {
		add("backends", "all of them are disabled")
	}
	return notes
}
