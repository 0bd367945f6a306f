//go:build crash

package crash

import (
	"context"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
)

// browser is somebody at the pages of one gateway process. Its requests fail
// with the process, and do not fail the test.
type browser struct {
	g       *gateway
	http    *http.Client
	cookies []*http.Cookie
}

// signIn signs somebody in with the link that the gateway printed. All people
// of a test share the session: the link is good once.
func signIn(ctx context.Context, g *gateway, c *http.Client) (*browser, error) {
	b := &browser{g: g, http: c}
	status, body, err := b.do(ctx, http.MethodPost, "/signin/local", url.Values{"token": {g.link}})
	if err == nil && status != http.StatusSeeOther {
		err = fmt.Errorf("the link signs nobody in: %d %s", status, body)
	}
	return b, err
}

func (b *browser) do(ctx context.Context, method, path string, form url.Values) (int, string, error) {
	resp, text, err := b.send(ctx, method, path, form)
	if err != nil {
		return 0, "", err
	}
	return resp.StatusCode, text, nil
}

// send sends a request and reads the response. It follows nothing.
func (b *browser) send(ctx context.Context, method, path string, form url.Values) (*http.Response, string, error) {
	req, err := http.NewRequestWithContext(ctx, method, b.g.base+path, strings.NewReader(form.Encode()))
	if err != nil {
		return nil, "", err
	}
	if method == http.MethodPost {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		req.Header.Set("Origin", b.g.base)
	}
	for _, c := range b.cookies {
		req.AddCookie(c)
	}
	resp, err := b.http.Transport.RoundTrip(req)
	if err != nil {
		return nil, "", err
	}
	defer resp.Body.Close()
	if b.cookies == nil {
		b.cookies = resp.Cookies()
	}
	text, err := io.ReadAll(resp.Body)
	return resp, string(text), err
}

// item is a question in the list.
type item struct {
	id string
	n  int
}

var listed = regexp.MustCompile(`id="q-([^"]+)"><bdi>Question (\d+)</bdi>`)

// inbox lists what waits. Everything in the list is promised to be kept.
func (b *browser) inbox(ctx context.Context, l *ledger) ([]item, error) {
	status, body, err := b.do(ctx, http.MethodGet, "/", nil)
	if err != nil || status != http.StatusOK {
		return nil, errorOr(err, status, body)
	}
	var all []item
	for _, m := range listed.FindAllStringSubmatch(body, -1) {
		n, _ := strconv.Atoi(m[2])
		all = append(all, item{m[1], n})
		l.keep(n, "the reader of the inbox")
	}
	return all, nil
}

var formToken = regexp.MustCompile(`name="token" value="([^"]+)"`)

// page opens the page of a question. token is empty where it is not open.
func (b *browser) page(ctx context.Context, l *ledger, it item) (token string, status int, body string, err error) {
	status, body, err = b.do(ctx, http.MethodGet, "/asks/"+it.id, nil)
	if err != nil || status != http.StatusOK {
		return "", status, body, err
	}
	// The first token of a page may be that of the form for signing out.
	_, form, open := strings.Cut(body, `action="/asks/`+it.id+`"`)
	m := formToken.FindStringSubmatch(form)
	if !open || m == nil {
		return "", status, body, nil
	}
	l.keep(it.n, "the reader of the page")
	return m[1], status, body, nil
}

// submit sends an answer, and puts on record that it was acknowledged.
func (b *browser) submit(ctx context.Context, l *ledger, it item, token, value string) (status int, body string, err error) {
	status, body, err = b.do(ctx, http.MethodPost, "/asks/"+it.id, url.Values{"token": {token}, "action": {"accept"}, "f0": {value}})
	switch {
	case err != nil || status != http.StatusOK:
	case strings.Contains(body, "on its way back"):
		l.ack(it.n, value)
	case strings.Contains(body, "could not be delivered"):
		l.ack(it.n, value)
		l.wrong(it.n, "was answered, and its backend is said to be gone")
	}
	return status, body, err
}

// answer opens a page and answers what is open there.
func (b *browser) answer(ctx context.Context, l *ledger, it item) error {
	token, _, _, err := b.page(ctx, l, it)
	if err == nil && token != "" {
		_, _, err = b.submit(ctx, l, it, token, newValue(it.n, "page"))
	}
	return err
}

var values atomic.Int64

// newValue is an answer to question n that nobody else gives.
func newValue(n int, from string) string { return fmt.Sprintf("%d:%s-%d", n, from, values.Add(1)) }

func errorOr(err error, status int, body string) error {
	if err != nil {
		return err
	}
	return fmt.Errorf("%d %s", status, shorten(body))
}

var tags = regexp.MustCompile(`(?s)<style.*?</style>|<[^>]*>`)

// shorten gives the words of a page.
func shorten(body string) string {
	words := strings.Join(strings.Fields(html.UnescapeString(tags.ReplaceAllString(body, " "))), " ")
	return words[:min(len(words), 400)]
}
