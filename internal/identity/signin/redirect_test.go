package signin_test

import (
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
)

// redirects are ways to leave the origin that people have found to work
// somewhere: each lead before each host, with what may come before and after.
func redirects() []string {
	leads := []string{
		"http:", "https:", "http:/", "https:/", "http://", "https://", "HTTPS://", "hTtP:\\\\", "https:\\", "https:///", "https:////",
		"//", "///", "////", "/\\", "\\\\", "\\/", "\\", "/\\/", "//\\", "/\t/", "/\n/", "/\r/", "/\r\n/", "\t//", " //", "\x00//", "/\x00/", "/ /",
		"/%2f", "/%2F%2f", "%2f%2f", "/%5c", "/%5C%5c", "/%09/", "/%0a/", "/%0d%0a/", "/%00/", "/%252f", "/%c0%af", "/%e3%80%82/", "/%ef%bc%8f",
		"/.//", "/..//", "/./\\", "/%2e//", "/%2e%2e//", "/a/..//", "/a/../\\", "/asks/..//", "/asks/%2e%2e//", "/;//", "/?//", "/#//", ".//", "..//", "./", "?//", "#//",
		"/／", "／／", "/⁄", "/∕", "＼＼", "/\u2028/", "\u00a0//", "\ufeff//", "/\u200b/", "//\u3002",
		"javascript:", "javascript://%0a", "java\tscript:", " javascript:", "data:text/html,", "vbscript:", "file:///", "ftp://", "ws://", "blob:", "mailto:", "x:", "//x@", "https://gate.example@", "//gate.example@", "https://gate.example:443@", "https://gate.example.", "https://gate.example", "//gate.example.", "//gate.example:1@",
	}
	hosts := []string{"evil.example", "evil.example/asks/1", "evil%2eexample", "[::1]", "evil.example:443/?x=//y", "evil.example\\@gate.example", "gate.example@evil.example"}
	var all []string
	for _, lead := range leads {
		for _, host := range hosts {
			all = append(all, lead+host)
		}
	}
	return append(all, "", " ", "/\n", "/asks/1\n", "/asks/1\r\nSet-Cookie: a=b", "/asks/1\r\nLocation: //evil.example", "asks/1", "/asks/\x7f", "/asks/é", "/asks/1#frag", "/signin", "/signin/local", "/signin?return=/", "/signin/callback?code=1", "/signout", "/asks/1?x=<b>", "/"+strings.Repeat("a", 512), "/../..", "/a/./b", "/a//b")
}

var (
	scheme  = regexp.MustCompile(`^([A-Za-z][A-Za-z0-9+.-]*):`)
	special = map[string]bool{"http": true, "https": true, "ws": true, "wss": true, "ftp": true, "file": true}
)

// staysOn reports whether a browser at https://host that is sent to the
// location stays there. It follows the URL standard's states for relative
// references, and takes whatever it cannot read for leaving.
func staysOn(host, location string) bool {
	s := strings.TrimFunc(location, func(c rune) bool { return c <= ' ' })
	s = strings.NewReplacer("\t", "", "\n", "", "\r", "").Replace(s)
	if m := scheme.FindStringSubmatch(s); m != nil {
		name := strings.ToLower(m[1])
		if !special[name] {
			return false
		}
		s = strings.ReplaceAll(s[len(m[0]):], `\`, "/")
		if name != "https" {
			return false
		}
		if !strings.HasPrefix(s, "//") {
			return true // relative to the base, whose scheme it has
		}
	} else {
		s = strings.ReplaceAll(s, `\`, "/")
	}
	if !strings.HasPrefix(s, "//") {
		return true
	}
	authority := strings.TrimLeft(s, "/")
	if i := strings.IndexAny(authority, "/?#"); i >= 0 {
		authority = authority[:i]
	}
	if i := strings.LastIndex(authority, "@"); i >= 0 {
		authority = authority[i+1:]
	}
	return strings.EqualFold(strings.TrimSuffix(authority, ":443"), host)
}

// TestAttackOpenRedirect sends people through a whole sign-in for each.
func TestAttackOpenRedirect(t *testing.T) {
	payloads := redirects()
	g := newRig(t)
	leaving := 0
	for _, p := range payloads {
		if !staysOn("gate.example", p) {
			leaving++
		}
		b := g.browser()
		location := b.location(b.get(path(t, g.one.authorize(b.begin(p)))))
		decoded := location
		for range 3 {
			if once, err := url.PathUnescape(decoded); err == nil {
				decoded = once
			}
		}
		for _, l := range []string{location, decoded} {
			if !staysOn("gate.example", l) || !strings.HasPrefix(l, "/") || strings.ContainsAny(l, "\\\r\n\t\x00") {
				t.Errorf("%q sends to %q", p, location)
			}
		}
		if _, ok := b.person(); !ok {
			t.Fatalf("%q: not signed in", p)
		}
		r := httptest.NewRequest("GET", "/", nil)
		r.URL = &url.URL{Path: p}
		w := httptest.NewRecorder()
		g.s.Challenge(w, r)
		if back := param(w.Header().Get("Location"), "return"); !staysOn("gate.example", back) || !strings.HasPrefix(back, "/") {
			t.Errorf("a challenge at the path %q sends back to %q", p, back)
		}
	}
	if len(payloads) < 500 || leaving < 300 {
		t.Errorf("of %d payloads %d leave the origin: the corpus is not worth much", len(payloads), leaving)
	}
}

func TestReturnsToOwnPages(t *testing.T) {
	g := newRig(t)
	for _, p := range []string{"/", "/asks/1", "/asks/a-b_c.d~e", "/asks/1/", "/asks/1?from=inbox&n=2", "/?x=a%20b+c", "/signing", "/" + strings.Repeat("a", 511)} {
		b := g.browser()
		if l := b.location(b.get(path(t, g.one.authorize(b.begin(p))))); l != p {
			t.Errorf("%q sends to %q", p, l)
		}
	}
}
