//go:build worlds

package worlds

import (
	"context"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strings"
	"sync"

	"github.com/answerback/answerback/test/rig"
)

// person is one of the people of a world, at a browser, at a program and at a
// terminal. What fails because the gateway is away fails with an error, and
// fails no test.
type person struct {
	number int
	name   string
	site   *site
	book   *ledger
	issuer *rig.Issuer
	http   *http.Client

	mu      sync.Mutex
	cookies map[string]string
	keys    int
	account string // the key that is connected; "" for none
}

// token is an access token of this person for the gateway.
func (p *person) token() string {
	return p.issuer.Sign("at+jwt", p.issuer.Claims(p.name, p.site.base()+"/mcp", map[string]any{"scope": "answerback:answer"}))
}

func (p *person) do(ctx context.Context, method, path string, form url.Values) (*http.Response, string, error) {
	req, err := http.NewRequestWithContext(ctx, method, p.site.base()+path, strings.NewReader(form.Encode()))
	if err != nil {
		return nil, "", err
	}
	req.Header.Set("Sec-Fetch-Site", "same-origin")
	if method == http.MethodPost {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		req.Header.Set("Origin", p.site.base())
	}
	p.mu.Lock()
	for name, value := range p.cookies {
		req.AddCookie(&http.Cookie{Name: name, Value: value})
	}
	p.mu.Unlock()
	resp, err := p.http.Transport.RoundTrip(req)
	if err != nil {
		return nil, "", err
	}
	defer resp.Body.Close()
	p.mu.Lock()
	for _, c := range resp.Cookies() {
		p.cookies[c.Name] = c.Value
	}
	p.mu.Unlock()
	body, err := io.ReadAll(resp.Body)
	return resp, string(body), err
}

// visit opens a page, after signing in where the gateway wants that.
func (p *person) visit(ctx context.Context, path string) (int, string, error) {
	for range 2 {
		resp, body, err := p.do(ctx, http.MethodGet, path, nil)
		if err != nil {
			return 0, "", err
		}
		to := resp.Header.Get("Location")
		if resp.StatusCode < 300 || resp.StatusCode >= 400 || !strings.Contains(to, "/signin") {
			if to != "" {
				return resp.StatusCode, to, nil
			}
			if resp.StatusCode != http.StatusUnauthorized && !strings.Contains(body, `href="/signin`) && !strings.Contains(body, `action="/signin"`) {
				return resp.StatusCode, body, nil
			}
		}
		if err := p.signIn(ctx); err != nil {
			return 0, "", err
		}
	}
	return 0, "", fmt.Errorf("person %d cannot sign in", p.number)
}

func (p *person) signIn(ctx context.Context) error {
	resp, body, err := p.do(ctx, http.MethodGet, "/signin?return=%2F", nil)
	if err != nil {
		return err
	}
	to := resp.Header.Get("Location")
	if !strings.HasPrefix(to, p.issuer.URL) {
		return fmt.Errorf("sign-in leads to %d %q: %s", resp.StatusCode, to, words(body))
	}
	resp, body, err = p.do(ctx, http.MethodGet, p.issuer.Approve(to, p.name).RequestURI(), nil)
	if err == nil && resp.StatusCode != http.StatusSeeOther {
		err = fmt.Errorf("sign-in ended with %d: %s", resp.StatusCode, words(body))
	}
	return err
}

var tags = regexp.MustCompile(`(?s)<style.*?</style>|<[^>]*>`)

func words(body string) string {
	text := strings.Join(strings.Fields(html.UnescapeString(tags.ReplaceAllString(body, " "))), " ")
	return text[:min(len(text), 300)]
}

var inList = regexp.MustCompile(`id="q-([^"]+)"><bdi>Question ([\d.]+)</bdi>`)

// list opens the list, and gives the ids of the questions in it.
func (p *person) list(ctx context.Context) (map[string]string, error) {
	before := p.book.ended()
	status, body, err := p.visit(ctx, "/")
	if err != nil {
		return nil, err
	}
	if status != http.StatusOK {
		return nil, fmt.Errorf("the list: %d %s", status, words(body))
	}
	ids := map[string]string{}
	for _, m := range inList.FindAllStringSubmatch(body, -1) {
		ids[m[2]] = m[1]
		p.book.listed(p.number, m[2], before)
	}
	return ids, nil
}

var formToken = regexp.MustCompile(`name="token" value="([^"]+)"`)

// tokenOf is the token of the form that posts to path.
func tokenOf(body, path string) string {
	_, form, _ := strings.Cut(body, `action="`+path+`"`)
	if m := formToken.FindStringSubmatch(form); m != nil {
		return m[1]
	}
	return ""
}

// onPage ends a question at its page. ok is false where it was not open.
func (p *person) onPage(ctx context.Context, key, id, action, value string) (ok bool, err error) {
	path := "/asks/" + id
	status, body, err := p.visit(ctx, path)
	if err != nil {
		return false, err
	}
	token := tokenOf(body, path)
	if status != http.StatusOK || token == "" {
		return false, nil
	}
	p.book.keep(key)
	p.book.give(key, value)
	resp, body, err := p.do(ctx, http.MethodPost, path, url.Values{"token": {token}, "action": {action}, "f0": {value}})
	if err != nil {
		return false, err
	}
	switch {
	case resp.StatusCode == http.StatusOK && strings.Contains(body, "on its way back"), resp.StatusCode == http.StatusOK && action != "accept":
		p.book.ack(key, value)
		return true, nil
	case resp.StatusCode == http.StatusOK && strings.Contains(body, "could not be delivered"):
		p.book.with(key, func(q *questionNote) {
			if q.excuse == "" {
				q.excuse = excuseServer
			}
		})
	}
	return false, nil
}

// api sends a request to the API as this person.
func (p *person) api(ctx context.Context, method, path, body string) (int, string, error) {
	req, err := http.NewRequestWithContext(ctx, method, p.site.base()+path, strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	req.Header.Set("Authorization", "Bearer "+p.token())
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := p.http.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(b), err
}

// byAPI ends a question through the API.
func (p *person) byAPI(ctx context.Context, key, id, action, value string) (ok bool, err error) {
	body := `{"action":"` + action + `"}`
	if action == "accept" {
		body = fmt.Sprintf(`{"action":"accept","content":{"value":%q}}`, value)
	}
	p.book.give(key, value)
	status, text, err := p.api(ctx, http.MethodPost, "/v1/asks/"+id+"/answer", body)
	if err != nil || status != http.StatusOK {
		return false, err
	}
	var got struct{ Delivered bool }
	if err := json.Unmarshal([]byte(text), &got); err != nil {
		return false, err
	}
	p.book.ack(key, value)
	if !got.Delivered {
		p.book.with(key, func(q *questionNote) {
			if q.excuse == "" {
				q.excuse = excuseServer
			}
		})
	}
	return true, nil
}

// atTerminal declines a question with the command line.
func (p *person) atTerminal(key, id, value string) (bool, error) {
	p.book.give(key, value)
	cmd := p.site.command("asks", "decline", id, "--url", p.site.base())
	cmd.Env = append(cmd.Env, "ANSWERBACK_TOKEN="+p.token())
	if cmd.Run() != nil {
		return false, nil // the gateway is away, or the question has ended
	}
	p.book.ack(key, value)
	return true, nil
}

// connect enters a new key on the page of the keyed backend.
func (p *person) connect(ctx context.Context, path string) error {
	status, body, err := p.visit(ctx, path)
	if err == nil && status == http.StatusSeeOther {
		path = strings.TrimPrefix(body, p.site.base())
		status, body, err = p.visit(ctx, path)
	}
	if err != nil || status != http.StatusOK {
		return err
	}
	at, err := url.Parse(path)
	if err != nil {
		return err
	}
	token := tokenOf(body, at.Path)
	if token == "" {
		return nil // it is not open any more
	}
	p.mu.Lock()
	p.keys++
	key := fmt.Sprintf("key-of-%s-%d-%d", p.name, p.keys, os.Getpid())
	p.mu.Unlock()
	p.book.change(func() { p.book.keys[key] = &keyNote{person: p.number} })
	resp, _, err := p.do(ctx, http.MethodPost, at.Path, url.Values{"token": {token}, "ask": {at.Query().Get("ask")}, "key": {key}})
	if err == nil && resp.StatusCode == http.StatusOK {
		p.mu.Lock()
		p.account = key
		p.mu.Unlock()
	}
	return err
}

// revoke disconnects the account. Once the page has said so, no key that this
// person ever entered may be used again.
func (p *person) revoke(ctx context.Context) error {
	status, body, err := p.visit(ctx, "/connections")
	token := tokenOf(body, "/connections")
	if err != nil || status != http.StatusOK || token == "" {
		return err
	}
	resp, body, err := p.do(ctx, http.MethodPost, "/connections", url.Values{"token": {token}, "backend": {keyedKind}})
	if err == nil && resp.StatusCode == http.StatusOK && strings.Contains(body, "is disconnected") {
		life := p.site.life()
		p.book.change(func() {
			for _, k := range p.book.keys {
				if k.person == p.number && k.revoked == 0 {
					k.revoked = life
				}
			}
		})
	}
	return err
}
