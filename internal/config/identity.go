package config

import (
	"fmt"
	"maps"
	"net"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/answerback/answerback/internal/secret"
)

// Identity says who may use the gateway. Where it names neither an issuer nor
// a key, nobody has to authenticate.
type Identity struct {
	Issuers     map[string]Issuer `yaml:"issuers" doc:"Those whose tokens callers show, by any name." keys:"^[a-z0-9-]{1,24}$"`
	Keys        map[string]Key    `yaml:"keys" doc:"Static keys for small set-ups, by name. A caller shows one as a bearer token." keys:"^[a-z0-9-]{1,24}$"`
	Groups      map[string]Group  `yaml:"groups" doc:"Groups of people who can be asked together (a backend's answered_by), by name." keys:"^[a-z0-9-]{1,24}$"`
	Access      []Access          `yaml:"access" doc:"Who may use what. Without any rule everybody who is authenticated may use everything; with rules, what none of them allows is denied."`
	AnswerScope string            `yaml:"answer_scope" doc:"The scope that a token, or the claim scope of a static key, must have to answer questions through /v1. A credential that an agent calls tools with should not have it."`
	SessionAge  time.Duration     `yaml:"session_age" doc:"How long somebody stays signed in at the pages, across restarts. Where nobody has to authenticate it is 30 days, whatever is written here." min:"5m" max:"30d"`
}

// Issuer is an OAuth 2.1 authorization server that issues callers' tokens, and
// an OpenID provider where people sign in.
type Issuer struct {
	URL          string      `yaml:"url" doc:"The issuer, exactly as its tokens name it."`
	Audience     string      `yaml:"audience" doc:"What tokens must be issued for, exactly." default:"public_url with /mcp"`
	Scopes       []string    `yaml:"scopes" doc:"Scopes that every token must have."`
	JWKS         string      `yaml:"jwks_url" doc:"Where the issuer's keys are." default:"what the issuer's metadata says"`
	ClientID     string      `yaml:"client_id" doc:"The gateway's own name at the issuer. With it people sign in at the pages; register public_url with /signin/callback as its redirect address."`
	ClientSecret secret.Text `yaml:"client_secret" doc:"The secret that goes with client_id. Never shown."`
	SignInScopes []string    `yaml:"sign_in_scopes" doc:"Scopes to ask for at sign-in." default:"openid, profile"`
	Title        string      `yaml:"title" doc:"What the sign-in page calls it." default:"the host of url"`
}

// Key is a static key and whose it is.
type Key struct {
	Key     secret.Text         `yaml:"key" doc:"The key, of at least 16 characters. Never shown."`
	Issuer  string              `yaml:"issuer" doc:"The name of the issuer under which this key's person signs in at the pages. Without it there is no page for this caller."`
	Subject string              `yaml:"subject" doc:"The issuer's name (sub) of this key's person."`
	Claims  map[string][]string `yaml:"claims" doc:"Claims of this caller, for access and groups."`
}

// Group is a group of people by a claim that their issuer makes.
type Group struct {
	Issuer string `yaml:"issuer" doc:"The name of the issuer whose claim counts." default:"any"`
	Claim  string `yaml:"claim" doc:"The claim that says who belongs to the group, such as groups."`
	Value  string `yaml:"value" doc:"The value that the claim has, or has among others."`
}

// Access is one rule of access.
type Access struct {
	Issuer   string   `yaml:"issuer" doc:"The name of the issuer whose callers it is about." default:"any"`
	Claim    string   `yaml:"claim" doc:"The claim that it is about, such as groups; empty means everybody."`
	Values   []string `yaml:"values" doc:"The values of the claim, one of which must be there."`
	Backends []string `yaml:"backends" doc:"Patterns of backends that are allowed, in which * stands for any characters and ? for one."`
	Tools    []string `yaml:"tools" doc:"Patterns of their tools that are allowed. Empty means all."`
}

// Authenticates reports whether callers have to say who they are.
func (i *Identity) Authenticates() bool { return len(i.Issuers)+len(i.Keys) > 0 }

// SignsIn reports whether people can sign in with an issuer.
func (i *Identity) SignsIn() bool {
	return slices.ContainsFunc(slices.Collect(maps.Values(i.Issuers)), func(s Issuer) bool { return s.ClientID != "" })
}

// Faces reports whether the gateway can be reached under another address than
// this machine's own.
func (c *Config) faces() bool {
	host, _, _ := net.SplitHostPort(c.Listen)
	return !isLoopback(host)
}

const minKey = 16

var shortName = regexp.MustCompile(`^[a-z0-9-]{1,24}$`)

func (k *checker) identity(c *Config) {
	i := &c.Identity
	for _, name := range slices.Sorted(maps.Keys(i.Issuers)) {
		k.issuer("identity.issuers."+name, name, i.Issuers[name])
	}
	if c.PublicURL == "" && len(i.Issuers) > 0 && c.faces() {
		k.add("public_url", "is not set, and issuers must know for what address they issue tokens", "write the address under which the gateway is reached, as https://mcp.example.com")
	}
	k.distinct("identity.issuers", i.Issuers)
	owners := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(i.Keys)) {
		k.key("identity.keys."+name, name, i.Keys[name], i.Issuers)
		given := i.Keys[name].Key.Reveal()
		if other, twice := owners[given]; twice && given != secret.Redacted {
			k.add("identity.keys."+name+".key", "is that of "+other+" too", "make another with: openssl rand -base64 32")
		}
		owners[given] = name
	}
	for _, name := range slices.Sorted(maps.Keys(i.Groups)) {
		at, g := "identity.groups."+name, i.Groups[name]
		k.name(at, name)
		k.issuerName(at, g.Issuer, i.Issuers)
		if g.Claim == "" || g.Value == "" {
			k.add(at, "does not say who belongs to it", "write claim and value")
		}
	}
	for n, r := range i.Access {
		k.access(fmt.Sprintf("identity.access[%d]", n), r, i.Issuers)
	}
	if len(i.Access) > 0 && !i.Authenticates() {
		k.add("identity.access", "there are rules, and nobody has to say who they are", "add identity.issuers or identity.keys")
	}
	for _, name := range slices.Sorted(maps.Keys(c.Backends)) {
		switch by := c.Backends[name].AnsweredBy; {
		case by == "":
		case i.Groups[by] == (Group{}):
			k.add("backends."+name+".answered_by", quoted(by)+" is not one of identity.groups", "add it there, or remove it here")
		case !i.SignsIn():
			k.add("backends."+name+".answered_by", "nobody of the group can sign in to answer", "give one of identity.issuers a client_id")
		}
	}
	if i.AnswerScope == "" || strings.ContainsAny(i.AnswerScope, " \t\r\n\"\\") {
		k.add("identity.answer_scope", quoted(i.AnswerScope)+" is not a scope", "write one word, such as answerback:answer")
	}
	for n, p := range c.TrustedProxies {
		if _, err := ParsePrefix(p); err != nil {
			k.add(fmt.Sprintf("trusted_proxies[%d]", n), quoted(p)+" is not an address or a range of addresses", "write it as 10.1.2.3 or 10.0.0.0/8")
		}
	}
}

// ParsePrefix reads an address or a range of addresses.
func ParsePrefix(s string) (netip.Prefix, error) {
	if addr, err := netip.ParseAddr(s); err == nil && addr.Zone() == "" {
		return netip.PrefixFrom(addr.Unmap(), addr.Unmap().BitLen()), nil
	}
	return netip.ParsePrefix(s)
}

func (k *checker) name(key, name string) {
	if !shortName.MatchString(name) {
		k.add(key, "this is not a name", "use 1 to 24 of the characters a-z, 0-9 and -")
	}
}

func (k *checker) issuerName(key, name string, issuers map[string]Issuer) {
	if _, ok := issuers[name]; !ok && name != "" {
		k.add(key+".issuer", quoted(name)+" is not one of identity.issuers", "write the name of one of them, not its address")
	}
}

func (k *checker) issuer(key, name string, s Issuer) {
	k.name(key, name)
	if !isIssuer(s.URL) {
		k.add(key+".url", quoted(s.URL)+" is not the address of an issuer", "write it as https://login.example.com, without query and fragment; http is taken for this machine only")
	}
	if s.JWKS != "" && !isIssuer(s.JWKS) {
		k.add(key+".jwks_url", quoted(s.JWKS)+" is not an https address", "leave it out, or write the address of the issuer's keys")
	}
	if s.ClientID == "" && s.ClientSecret.Reveal() != "" {
		k.add(key+".client_secret", "there is a secret, and no client_id that it goes with", "add client_id, or remove it")
	}
	if len(s.SignInScopes) > 0 && !slices.Contains(s.SignInScopes, "openid") {
		k.add(key+".sign_in_scopes", "lacks openid, without which an issuer says nobody's name", "add it, or leave all out for openid and profile")
	}
}

// distinct refuses two names for one issuer: a token would be either's.
func (k *checker) distinct(key string, issuers map[string]Issuer) {
	seen := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(issuers)) {
		if other, twice := seen[issuers[name].URL]; twice {
			k.add(key+"."+name+".url", "is that of "+other+" too", "keep one of them")
		}
		seen[issuers[name].URL] = name
	}
}

// isIssuer reports whether s is an https address, or one of this machine.
func isIssuer(s string) bool {
	u, err := url.Parse(s)
	return err == nil && isBase(u) && (u.Scheme == "https" || isLoopback(u.Hostname()))
}

func (k *checker) key(key, name string, c Key, issuers map[string]Issuer) {
	k.name(key, name)
	if given := c.Key.Reveal(); len(given) < minKey && given != secret.Redacted {
		k.add(key+".key", "is shorter than 16 characters", "make one with: openssl rand -base64 32")
	}
	k.issuerName(key, c.Issuer, issuers)
	if (c.Issuer == "") != (c.Subject == "") {
		k.add(key, "names only one of issuer and subject", "write both, or neither for a caller without pages")
	}
}

func (k *checker) access(key string, r Access, issuers map[string]Issuer) {
	k.issuerName(key, r.Issuer, issuers)
	if len(r.Backends) == 0 {
		k.add(key, "allows no backend", `write backends: ["*"] for all of them`)
	}
	if (r.Claim == "") != (len(r.Values) == 0) {
		k.add(key, "names only one of claim and values", "write both, or neither for everybody")
	}
	if slices.ContainsFunc(r.Values, func(v string) bool { return v == "" || strings.Contains(v, "*") }) {
		k.add(key+".values", "one is empty or has a *, and values are compared as they are", "write each value out")
	}
	k.patterns(key+".backends", r.Backends)
	k.patterns(key+".tools", r.Tools)
}

// journal checks where the durable record is.
func (k *checker) journal(c *Config) {
	j := &c.Journal
	switch {
	case j.URL != "" && j.InMemory:
		k.add("journal.in_memory", "there is a journal.url too", "keep one of them")
	case j.URL == "" && j.Replicas > 1:
		k.add("journal.replicas", "several copies need a cluster", "set journal.url to an external NATS, or leave it out")
	case j.URL != "" && j.Replicas%2 == 0:
		k.add("journal.replicas", fmt.Sprintf("%d copies cannot agree", j.Replicas), "write 1, 3 or 5")
	case j.URL == "" && j.CAFile+j.CertFile+j.KeyFile+j.NKeyFile+j.CredentialsFile != "":
		k.add("journal.url", "is not set, and there is nothing to authenticate with", "set it, or remove the files")
	}
	if (j.CertFile == "") != (j.KeyFile == "") {
		k.add("journal.cert_file", "a certificate and its key go together", "set cert_file and key_file, or neither")
	}
	if j.NKeyFile != "" && j.CredentialsFile != "" {
		k.add("journal.nkey_file", "there is a credentials_file too", "keep one of them")
	}
	if j.URL == "" && j.MaxBytes < 2*c.Audit.MaxBytes {
		k.add("journal.max_bytes", "is less than twice audit.max_bytes", "raise it, or lower that")
	}
}

// PublicBase is the address that links are built from: public_url, or the
// address that the gateway listens on.
func (c *Config) PublicBase(listening net.Addr) string {
	if c.PublicURL != "" {
		return strings.TrimSuffix(c.PublicURL, "/")
	}
	if tcp, ok := listening.(*net.TCPAddr); ok && tcp.IP.IsUnspecified() {
		// It says nothing of where the gateway is reached, but for here.
		return fmt.Sprintf("http://127.0.0.1:%d", tcp.Port)
	}
	return "http://" + listening.String()
}
