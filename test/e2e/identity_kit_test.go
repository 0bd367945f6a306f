package e2e

import (
	"context"
	"crypto/rand"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/answerback/answerback/test/rig"
)

// What the tests of identity configure. Each is a secret that must stay where
// it belongs, so each is unlike all other text.
const (
	clientSecret = rig.PagesSecret
	nobodysKey   = "canary-robot-key-0123456789abcdef"
	annsKey      = "canary-ann-key-fedcba9876543210"
)

func random() string { return rand.Text() }

// guarded is a gateway that wants to know who everybody is.
type guarded struct {
	*rig.Gateway
	*rig.Issuer
	base string
	t    testing.TB
}

// guard starts a gateway with an issuer, a key of nobody and a key of ann.
// More is what identity has besides, then the backends.
func guard(t testing.TB, more, backends string) *guarded {
	t.Helper()
	i := rig.NewIssuer(t)
	g := rig.Start(t, `identity:
  issuers:
    corp: `+i.Config()+`
  keys:
    robot: { key: "`+nobodysKey+`", claims: { groups: [robots] } }
    ann: { key: "`+annsKey+`", issuer: corp, subject: ann }
`+more+"backends:\n"+backends)
	return &guarded{Gateway: g, Issuer: i, t: t, base: strings.TrimSuffix(g.URL, "/mcp")}
}

// token is an access token for this gateway.
func (g *guarded) token(who string) string {
	return g.Sign("at+jwt", g.Claims(who, g.Gateway.URL, nil))
}

// reply is an HTTP response, read to its end.
type reply struct {
	status int
	header http.Header
	body   string
}

// send sends a request and follows nothing. A stream is not read.
func send(t testing.TB, req *http.Request) reply {
	t.Helper()
	tr := &http.Transport{DisableKeepAlives: true, DisableCompression: true}
	ctx, cancel := context.WithTimeout(context.Background(), rig.Patience)
	defer cancel()
	resp, err := tr.RoundTrip(req.WithContext(ctx))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	r := reply{status: resp.StatusCode, header: resp.Header}
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		return r
	}
	all, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	r.body = string(all)
	return r
}

// newRequest makes a request; headers are pairs of name and value.
func newRequest(t testing.TB, method, address, body string, headers ...string) *http.Request {
	t.Helper()
	req, err := http.NewRequest(method, address, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for n := 0; n < len(headers); n += 2 {
		if headers[n] == "Host" {
			req.Host = headers[n+1]
			continue
		}
		req.Header.Add(headers[n], headers[n+1])
	}
	return req
}

// visitor is somebody's browser, as far as the gateway can tell.
type visitor struct {
	t       testing.TB
	base    string
	cookies map[string]string
}

func (v *visitor) do(method, path string, form url.Values, headers ...string) reply {
	v.t.Helper()
	headers = append([]string{"Sec-Fetch-Site", "same-origin", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document"}, headers...)
	if method == http.MethodPost {
		headers = append(headers, "Origin", v.base, "Content-Type", "application/x-www-form-urlencoded")
	}
	req := newRequest(v.t, method, v.base+path, form.Encode(), headers...)
	for name, value := range v.cookies {
		req.AddCookie(&http.Cookie{Name: name, Value: value})
	}
	r := send(v.t, req)
	for _, c := range (&http.Response{Header: r.header}).Cookies() {
		if v.cookies[c.Name] = c.Value; c.MaxAge < 0 {
			delete(v.cookies, c.Name)
		}
	}
	return r
}

func (v *visitor) get(path string) reply { v.t.Helper(); return v.do(http.MethodGet, path, nil) }

const (
	sessionCookie = "__Host-answerback-session"
	flowCookie    = "__Host-answerback-flow"
)

// signIn gives a browser in which somebody has signed in.
func (g *guarded) signIn(who string) *visitor {
	g.t.Helper()
	v := &visitor{t: g.t, base: g.base, cookies: map[string]string{}}
	r := v.get("/signin?return=%2F")
	back := g.Approve(r.header.Get("Location"), who)
	r = v.get(back.RequestURI())
	if r.status != http.StatusSeeOther || r.header.Get("Location") != "/" || v.cookies[sessionCookie] == "" {
		g.t.Fatalf("%s was not signed in: %d %s", who, r.status, r.body)
	}
	return v
}

var formToken = regexp.MustCompile(`name="token" value="([^"]+)"`)

// tokens gives the tokens of the forms on a page.
func tokens(page string) (all []string) {
	for _, m := range formToken.FindAllStringSubmatch(page, -1) {
		all = append(all, m[1])
	}
	return all
}

const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"raw","version":"1"}}}`

// post is a message to the endpoint as anybody might send it.
func post(t testing.TB, address, body string, headers ...string) *http.Request {
	t.Helper()
	return newRequest(t, http.MethodPost, address, body, append([]string{"Content-Type", "application/json", "Accept", "application/json, text/event-stream"}, headers...)...)
}

// newAsker makes a legacy backend with a tool that asks for a yes, one that
// asks for a name, and one that asks nothing; it lists the first and the last.
func newAsker(t testing.TB) *rig.Backend {
	b := rig.NewBackend(t, map[string]rig.Script{
		"tools/call ask": func(c *rig.Call) {
			a := c.Ask(c.ID(), "elicitation/create", formParams)
			if a.Kind != 0 {
				c.Result(`{"got":` + string(a.Field(a.Result)) + `}`)
			}
		},
		"tools/call name": func(c *rig.Call) {
			c.Ask(c.ID(), "elicitation/create", nameForm)
			c.Result(`{"content":[]}`)
		},
		"tools/call echo": func(c *rig.Call) { c.Result(`{"content":[]}`) },
		"tools/list": func(c *rig.Call) {
			c.Result(`{"tools":[{"name":"ask","inputSchema":{"type":"object"}},{"name":"echo","inputSchema":{"type":"object"}}]}`)
		},
	})
	b.LegacyOnly = true
	return b
}
