//go:build crash

package crash

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/answerback/answerback/test/peer"
	"github.com/answerback/answerback/test/rig"
)

// provider is a real OpenID provider, which rotates refresh tokens and takes
// the second use of one for theft, behind a tap that counts their uses.
type provider struct {
	URL string

	mu    sync.Mutex
	shown map[string]int               // how often each refresh token was shown
	of    map[string]string            // for which resource
	hooks map[string]func(when string) // by resource
}

// The moments at which a hook is called: the provider is about to get a
// refresh token, and it has answered, and nobody has heard.
const (
	onItsWay = "the request is on its way"
	answered = "the answer is on its way"
)

// newProvider starts a provider whose first access tokens are good for a
// second.
func newProvider(t testing.TB) *provider {
	t.Helper()
	p := &provider{shown: map[string]int{}, of: map[string]string{}, hooks: map[string]func(string){}}
	var at *url.URL
	forward := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(at)
		r.Out.Host = r.In.Host
	}}
	tap := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		resource := ""
		if r.URL.Path == "/token" {
			resource = p.count(r)
		}
		p.hook(resource, onItsWay)
		got := httptest.NewRecorder()
		forward.ServeHTTP(got, r.WithContext(context.WithoutCancel(r.Context()))) // what was sent arrives
		p.hook(resource, answered)
		for name, values := range got.Header() {
			w.Header()[name] = values
		}
		w.WriteHeader(got.Code)
		_, _ = got.Body.WriteTo(w) // whoever is dead does not read it
	}))
	t.Cleanup(tap.Close)
	p.URL = tap.URL
	var err error
	if at, err = url.Parse(peer.OpenID(t, "a-secret", "localhost", p.URL, "1")); err != nil {
		t.Fatal(err)
	}
	return p
}

// count notes the refresh token in a request, and gives the resource that it
// is for; "" where there is none.
func (p *provider) count(r *http.Request) string {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return ""
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	form, _ := url.ParseQuery(string(body))
	token, resource := form.Get("refresh_token"), form.Get("resource")
	if token == "" {
		return ""
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.shown[token]++
	p.of[token] = resource
	return resource
}

func (p *provider) hook(resource, when string) {
	p.mu.Lock()
	do := p.hooks[resource]
	p.mu.Unlock()
	if do != nil {
		do(when)
	}
}

// on has a function called at the moments of a refresh for a resource.
func (p *provider) on(resource string, do func(when string)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hooks[resource] = do
}

// uses gives how often the refresh tokens for a resource were shown, each.
func (p *provider) uses(resource string) (all []int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for token, n := range p.shown {
		if p.of[token] == resource {
			all = append(all, n)
		}
	}
	return all
}

// protected is a server that takes tokens of the provider for itself, and no
// others.
func protected(t testing.TB, p *provider, b *rig.Backend) (resource string) {
	t.Helper()
	const about = "/.well-known/oauth-protected-resource/mcp"
	var door *httptest.Server
	door = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == about {
			_ = json.NewEncoder(w).Encode(map[string]any{"resource": door.URL + "/mcp", "authorization_servers": []string{p.URL}, "scopes_supported": []string{"mcp"}})
			return
		}
		said := map[string]any{}
		if parts := strings.Split(r.Header.Get("Authorization"), "."); len(parts) == 3 {
			raw, _ := base64.RawURLEncoding.DecodeString(parts[1])
			_ = json.Unmarshal(raw, &said) // what cannot be read says nothing
		}
		if said["iss"] != p.URL || said["aud"] != door.URL+"/mcp" {
			w.Header().Set("WWW-Authenticate", `Bearer resource_metadata="`+door.URL+about+`"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		b.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		door.CloseClientConnections()
		door.Close()
	})
	return door.URL + "/mcp"
}

// connect has somebody connect their account for backend one, from the page
// behind a link.
func (b *browser) connect(ctx context.Context, link string) error {
	path := strings.TrimPrefix(link, b.g.base)
	page, body, err := b.send(ctx, http.MethodGet, path, nil)
	if err == nil && page.StatusCode == http.StatusSeeOther {
		path = page.Header.Get("Location")
		page, body, err = b.send(ctx, http.MethodGet, path, nil)
	}
	if err != nil {
		return err
	}
	_, form, open := strings.Cut(body, `action="/connect/one"`)
	token := formToken.FindStringSubmatch(form)
	if !open || token == nil {
		return errorOr(nil, page.StatusCode, body)
	}
	to, err := url.Parse(path)
	if err != nil {
		return err
	}
	page, body, err = b.send(ctx, http.MethodPost, to.Path, url.Values{"token": {token[1]}, "ask": {to.Query().Get("ask")}})
	if err != nil || page.StatusCode != http.StatusSeeOther {
		return errorOr(err, page.StatusCode, body)
	}
	back, err := agree(ctx, b.http, page.Header.Get("Location"))
	if err != nil {
		return err
	}
	page, body, err = b.send(ctx, http.MethodGet, back.RequestURI(), nil)
	if err == nil && page.StatusCode != http.StatusOK {
		err = errorOr(nil, page.StatusCode, body)
	}
	return err
}

// agree signs in at the provider, and gives where it sends people back to.
func agree(ctx context.Context, c *http.Client, at string) (*url.URL, error) {
	jar, err := cookiejar.New(nil)
	if err != nil {
		return nil, err
	}
	there := &http.Client{Transport: c.Transport, Jar: jar, CheckRedirect: func(r *http.Request, _ []*http.Request) error {
		if strings.HasPrefix(r.URL.Path, "/connect/") {
			return http.ErrUseLastResponse
		}
		return nil
	}}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return nil, err
	}
	login, err := there.Do(req)
	if err != nil {
		return nil, err
	}
	login.Body.Close()
	form := url.Values{"name": {"ann"}, "password": {"ann-password"}}
	req, err = http.NewRequestWithContext(ctx, http.MethodPost, login.Request.URL.String(), strings.NewReader(form.Encode()))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	back, err := there.Do(req)
	if err != nil {
		return nil, err
	}
	back.Body.Close()
	to, err := back.Location()
	if err != nil {
		return nil, fmt.Errorf("the provider sent nobody back: %s", back.Status)
	}
	return to, nil
}
