package rig

import (
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
)

// Person is somebody at a browser, as far as pages without a script need one.
type Person struct {
	t       testing.TB
	base    string
	client  *http.Client
	cookies map[string]string
}

var formToken = regexp.MustCompile(`name="token" value="([^"]+)"`)

// SignIn signs somebody in at a gateway that authenticates nobody, with a
// link that its operator asks it for.
func SignIn(t testing.TB, g *Gateway) *Person {
	t.Helper()
	out, err := command(t, "signin", "--config", g.File).Output()
	if err != nil {
		t.Fatalf("answerback signin: %v", err)
	}
	p := &Person{t: t, base: strings.TrimSuffix(g.URL, "/mcp"), client: httpClient(t), cookies: map[string]string{}}
	link, err := url.Parse(strings.TrimSpace(string(out)))
	if err != nil {
		t.Fatal(err)
	}
	status, _ := p.Do(http.MethodPost, "/signin/local", url.Values{"token": {link.Query().Get("token")}})
	if status != http.StatusSeeOther {
		t.Fatalf("the local link signs nobody in: %d", status)
	}
	return p
}

// Answer opens the page of an ask and sends its form with these fields.
func (p *Person) Answer(path string, fields url.Values) (status int, body string) {
	p.t.Helper()
	status, body = p.Do(http.MethodGet, path, nil)
	if status != http.StatusOK {
		p.t.Fatalf("the page %s: %d %s", path, status, body)
	}
	// The first token of a page may be that of the form for signing out.
	at := strings.Index(body, `action="`+path+`"`)
	if at < 0 {
		p.t.Fatalf("the page %s has no form: %s", path, body)
	}
	token := formToken.FindStringSubmatch(body[at:])
	if token == nil {
		p.t.Fatalf("the form of %s has no token", path)
	}
	fields.Set("token", token[1])
	return p.Do(http.MethodPost, path, fields)
}

// Do makes one request with the person's cookies, and follows no redirect.
func (p *Person) Do(method, path string, form url.Values) (status int, body string) {
	p.t.Helper()
	req, err := http.NewRequestWithContext(p.t.Context(), method, p.base+path, strings.NewReader(form.Encode()))
	if err != nil {
		p.t.Fatal(err)
	}
	if method == http.MethodPost {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		req.Header.Set("Origin", p.base)
	}
	for name, value := range p.cookies {
		req.AddCookie(&http.Cookie{Name: name, Value: value})
	}
	resp, err := p.client.Transport.RoundTrip(req)
	if err != nil {
		p.t.Fatal(err)
	}
	defer resp.Body.Close()
	for _, c := range resp.Cookies() {
		p.cookies[c.Name] = c.Value
	}
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}
