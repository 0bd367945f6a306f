package rig

import (
	"bytes"
	"io"
	"mime/multipart"
	"net/http"
	"net/textproto"
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
	return Follow(t, strings.TrimSpace(string(out)))
}

// Follow signs somebody in with a link that a gateway printed.
func Follow(t testing.TB, address string) *Person {
	t.Helper()
	link, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	p := &Person{t: t, base: link.Scheme + "://" + link.Host, client: httpClient(t), cookies: map[string]string{}}
	status, _ := p.Do(http.MethodPost, link.Path, url.Values{"token": {link.Query().Get("token")}})
	if status != http.StatusSeeOther {
		t.Fatalf("the local link signs nobody in: %d", status)
	}
	return p
}

// Answer opens the page of an ask and sends its form with these fields.
func (p *Person) Answer(path string, fields url.Values) (status int, body string) {
	p.t.Helper()
	fields.Set("token", p.Token(path))
	return p.Do(http.MethodPost, path, fields)
}

// Token opens the page of an ask and gives the token of its form.
func (p *Person) Token(path string) string {
	p.t.Helper()
	status, body := p.Do(http.MethodGet, path, nil)
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
	return token[1]
}

// Do makes one request with the person's cookies, and follows no redirect.
func (p *Person) Do(method, path string, form url.Values) (status int, body string) {
	p.t.Helper()
	return p.send(method, path, "application/x-www-form-urlencoded", strings.NewReader(form.Encode()))
}

// Part is a part of a form with files: a value, or a file where it has a name.
type Part struct{ Name, File, Content string }

// Upload posts a form with files, in the order given, as browsers do. Every
// file claims to be a PDF.
func (p *Person) Upload(path string, parts ...Part) (status int, body string) {
	p.t.Helper()
	kind, content := Multipart(p.t, parts...)
	return p.send(http.MethodPost, path, kind, strings.NewReader(content))
}

// Multipart writes a form with files, and gives its type.
func Multipart(t testing.TB, parts ...Part) (kind, body string) {
	t.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for _, part := range parts {
		h := textproto.MIMEHeader{"Content-Disposition": {`form-data; name="` + part.Name + `"`}}
		if part.File != "" {
			h.Set("Content-Disposition", h.Get("Content-Disposition")+`; filename="`+part.File+`"`)
			h.Set("Content-Type", "application/pdf")
		}
		to, err := w.CreatePart(h)
		if err == nil {
			_, err = io.WriteString(to, part.Content)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return w.FormDataContentType(), b.String()
}

func (p *Person) send(method, path, kind string, content io.Reader) (status int, body string) {
	p.t.Helper()
	req, err := http.NewRequestWithContext(p.t.Context(), method, p.base+path, content)
	if err != nil {
		p.t.Fatal(err)
	}
	if method == http.MethodPost {
		req.Header.Set("Content-Type", kind)
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
