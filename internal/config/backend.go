package config

import (
	"maps"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/answerback/answerback/internal/secret"
)

// ownHeaders are set by the gateway itself on requests to a backend; a
// configured value would break the protocol or the connection.
var ownHeaders = []string{
	"Accept", "Connection", "Content-Encoding", "Content-Length", "Content-Type", "Host", "Keep-Alive",
	"Last-Event-Id", "Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Upgrade",
}

// maxName bounds the names of environment variables and headers.
const maxName = 256

// backend checks one backend. Messages never quote what may be secret: the
// command's arguments, the url, and the values of env and headers.
func (k *checker) backend(key, name string, b Backend) {
	if !backendName.MatchString(name) {
		k.add(key, "this is not a backend name", "use 1 to 24 of the characters a-z, 0-9 and -")
	}
	k.bounds(key, reflect.ValueOf(b))
	switch {
	case b.Command == "" && b.URL == "":
		k.add(key, "has neither command nor url", "write command for a program to start, or url for a server to call")
	case b.Command != "" && b.URL != "":
		k.add(key, "has both command and url", "keep one of them")
	case b.Command != "":
		k.program(key, b)
	default:
		k.address(key, b)
	}
	k.agent(key, b)
	k.patterns(key+".tools.allow", b.Tools.Allow)
	k.patterns(key+".tools.deny", b.Tools.Deny)
}

// agent checks what only A2A agents have.
func (k *checker) agent(key string, b Backend) {
	if len(b.CardOrigins) > 0 && b.Transport != "a2a" {
		k.add(key+".card_origins", "is for A2A agents, and this backend is none", "remove it, or write transport: a2a")
		return
	}
	for i, o := range b.CardOrigins {
		if u, err := url.Parse(o); err != nil || !isBase(u) || u.Path != "" {
			k.add(key+".card_origins["+strconv.Itoa(i)+"]", quoted(o)+" is not an origin", "write scheme and host only, as in https://agents.example.com")
		}
	}
}

func (k *checker) program(key string, b Backend) {
	if b.Transport == "http" || b.Transport == "sse" || b.Transport == "a2a" {
		k.add(key+".transport", "is "+b.Transport+", but a command speaks stdio", "leave transport out, or give a url instead of the command")
	}
	if len(b.Headers) > 0 {
		k.add(key+".headers", "a command takes no headers", "pass what the program needs in env")
	}
	k.noNUL(key+".command", b.Command)
	k.noNUL(key+".dir", b.Dir)
	for i, arg := range b.Args {
		k.noNUL(key+".args["+strconv.Itoa(i)+"]", arg)
	}
	odd := func(r rune) bool { return r <= ' ' || r >= 0x7f || r == '=' }
	for _, name := range slices.Sorted(maps.Keys(b.Env)) {
		at := key + ".env." + name
		if name == "" || len(name) > maxName || strings.ContainsFunc(name, odd) {
			k.add(at, "is not the name of an environment variable", "use letters, digits and _")
		}
		k.noNUL(at, b.Env[name].Reveal())
	}
}

// noNUL refuses what cannot be handed to a program.
func (k *checker) noNUL(key, s string) {
	if strings.ContainsRune(s, 0) {
		k.add(key, "contains a NUL character", "remove it")
	}
}

func (k *checker) address(key string, b Backend) {
	if b.Transport == "stdio" {
		k.add(key+".transport", "is stdio, but a url is called over HTTP", "leave transport out, or give a command instead of the url")
	}
	for _, not := range []struct {
		key   string
		given bool
	}{{"args", len(b.Args) > 0}, {"env", len(b.Env) > 0}, {"dir", b.Dir != ""}} {
		if not.given {
			k.add(key+"."+not.key, "belongs to a command, and this backend has a url", "remove it")
		}
	}
	u, err := url.Parse(b.URL)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Opaque != "" || !isHost(u.Hostname()) || !isPort(u):
		k.add(key+".url", "is not an http or https address", "write it as https://mcp.example.com/mcp")
	case u.User != nil:
		k.add(key+".url", "contains a user name or password", "send them in headers, as Authorization: Basic …")
	case u.Fragment != "" || strings.Contains(b.URL, "#"):
		k.add(key+".url", "contains a fragment (#), which no server sees", "remove it")
	}
	k.headers(key+".headers", b.Headers)
}

func (k *checker) headers(key string, headers map[string]secret.Text) {
	seen := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		at, canonical := key+"."+name, http.CanonicalHeaderKey(name)
		other, twice := seen[canonical]
		seen[canonical] = name
		switch {
		case !isToken(name):
			k.add(at, "is not the name of a header", "use letters, digits and -")
		case twice:
			k.add(at, "is the same header as "+other, "keep one of them")
		case slices.Contains(ownHeaders, canonical) || strings.HasPrefix(canonical, "Mcp-") || strings.HasPrefix(canonical, "A2a-"):
			k.add(at, "is set by the gateway itself", "remove it")
		}
		if strings.ContainsFunc(headers[name].Reveal(), func(r rune) bool { return r != '\t' && r < ' ' || r == 0x7f }) {
			k.add(at, "contains a line break or another control character", "remove it; a variable's value may end in one")
		}
	}
}

// isToken reports whether s can be the name of a header.
func isToken(s string) bool {
	odd := func(r rune) bool {
		return r <= ' ' || r >= 0x7f || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, r)
	}
	return s != "" && len(s) <= maxName && !strings.ContainsFunc(s, odd)
}

func (k *checker) patterns(key string, patterns []string) {
	for i, p := range patterns {
		at := key + "[" + strconv.Itoa(i) + "]"
		if p == "" {
			k.add(at, "is empty and matches no tool", "write a tool's name, or * for all")
		}
		k.pattern(at, p)
	}
}

func (k *checker) pattern(key, p string) {
	if strings.ContainsAny(p, `[]{}\!`) {
		k.add(key, quoted(p)+" has one of the characters []{}\\!", "only * for any characters and ? for one have a meaning")
	}
}
