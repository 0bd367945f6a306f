package e2e

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/answerback/answerback/test/rig"
)

// place is an address of a gateway, and what a good request to it gets.
type place struct {
	method, path, body string
	want               int
}

// places are the addresses of a gateway, some of each kind.
func places(t testing.TB, g *guarded) []place {
	return []place{
		{http.MethodPost, "/mcp", initialize, 200},
		{http.MethodPost, "/mcp/one", initialize, 200},
		{http.MethodGet, "/mcp", "", 405},
		{http.MethodOptions, "/mcp", "", 405},
		{http.MethodGet, "/", "", 303},
		{http.MethodGet, "/asks/x", "", 303},
		{http.MethodPost, "/asks/x", "", 401},
		{http.MethodGet, "/signin", "", 303},
		{http.MethodGet, "/signin/callback", "", 400},
		{http.MethodGet, "/signin/local", "", 403},
		{http.MethodPost, "/signout", "", 200},
		{http.MethodGet, "/nothing", "", 404},
		{http.MethodGet, sheet(t, g), "", 200},
		{http.MethodGet, "/.well-known/oauth-protected-resource", "", 200},
		{http.MethodGet, "/.well-known/oauth-protected-resource/mcp", "", 200},
		{http.MethodGet, "/.well-known/oauth-protected-resource/mcp/one", "", 200},
	}
}

// visit sends the request with ann's token, which only the endpoint reads.
func (p place) visit(t testing.TB, g *guarded, headers ...string) reply {
	t.Helper()
	return send(t, newRequest(t, p.method, g.base+p.path, p.body, append(headers,
		"Authorization", "Bearer "+g.token("ann"), "Content-Type", "application/json", "Accept", "application/json, text/event-stream")...))
}

// sheet finds the path of the style sheet.
func sheet(t testing.TB, g *guarded) string {
	t.Helper()
	v := &visitor{t: t, base: g.base, cookies: map[string]string{}}
	_, rest, _ := strings.Cut(v.get("/nothing").body, `rel="stylesheet" href="`)
	path, _, ok := strings.Cut(rest, `"`)
	if !ok {
		t.Fatal("the pages have no style sheet")
	}
	return path
}

// TestAttackDNSRebinding: under a name that is not the gateway's own, nothing
// is served at any address, however the name is dressed up.
func TestAttackDNSRebinding(t *testing.T) {
	t.Parallel()
	g := guard(t, "", "  one: { url: "+newAsker(t).URL+" }\n")
	_, port, _ := strings.Cut(strings.TrimPrefix(g.base, "http://"), ":")
	for _, p := range places(t, g) {
		for _, host := range []string{
			"evil.example", "evil.example:" + port, "localhost.evil.example:" + port, "127.0.0.1.evil.example", "127.0.0.1.:" + port,
			"evil.example:80", "0.0.0.0:" + port, "[::ffff:192.0.2.1]:" + port, "2130706433:" + port, "0x7f.1:" + port, "localhost@evil.example",
		} {
			t.Run(p.method+" "+p.path+" as "+host, func(t *testing.T) {
				r := p.visit(t, g, "Host", host)
				if r.status != http.StatusForbidden && r.status != http.StatusBadRequest || r.header.Get("Location") != "" || r.header.Get("Mcp-Session-Id") != "" {
					t.Errorf("got %d %v", r.status, r.header)
				}
			})
		}
		for _, host := range []string{"127.0.0.1:" + port, "localhost:" + port} {
			if r := p.visit(t, g, "Host", host); r.status != p.want {
				t.Errorf("control: %s as %s got %d, want %d: %s", p.path, host, r.status, p.want, r.body)
			}
		}
	}
}

// TestAttackForwardedHeaders: from a peer that is no listed proxy, what
// proxies say changes nothing: no address, no link, no redirect, no refusal.
func TestAttackForwardedHeaders(t *testing.T) {
	t.Parallel()
	g := guard(t, "", "  one: { url: "+newAsker(t).URL+" }\n")
	seen := func(t *testing.T, p place, headers ...string) string {
		r := p.visit(t, g, headers...)
		at, _ := url.Parse(r.header.Get("Location"))
		q := at.Query()
		return fmt.Sprint(r.status, at.Host, at.Path, q.Get("redirect_uri"), q.Get("return"), r.header.Get("WWW-Authenticate"), r.header.Get("Strict-Transport-Security")) +
			formToken.ReplaceAllString(r.body, "")
	}
	plain := map[place]string{}
	for _, p := range places(t, g) {
		plain[p] = seen(t, p)
		if !strings.HasPrefix(plain[p], fmt.Sprint(p.want)) {
			t.Errorf("control: %s %s: %s", p.method, p.path, plain[p])
		}
	}
	for name, value := range map[string]string{
		"X-Forwarded-Host": "evil.example", "x-forwarded-host": "evil.example", "X-FORWARDED-HOST": "evil.example", "X_Forwarded_Host": "evil.example",
		"X-Forwarded-Proto": "https", "X-Forwarded-Scheme": "https", "X-Forwarded-Port": "443", "X-Forwarded-Server": "evil.example",
		"X-Forwarded-Prefix": "/evil", "X-Forwarded-For": "203.0.113.9", "X-Forwarded-User": "ann", "X-Forwarded-Email": "ann@example.com",
		"Forwarded": "for=203.0.113.9;host=evil.example;proto=https", "X-Real-Ip": "203.0.113.9", "X-Original-Url": "/asks/y", "X-Rewrite-Url": "/asks/y",
		"X-Original-Host": "evil.example", "X-Host": "evil.example", "X-Http-Host-Override": "evil.example", "Front-End-Https": "on",
		"X-Url-Scheme": "https", "True-Client-Ip": "203.0.113.9", "Cf-Connecting-Ip": "203.0.113.9", "X-Remote-User": "ann", "Remote-User": "ann",
		"X-Auth-Request-User": "ann", "X-Http-Method-Override": "DELETE", "X-Client-Ip": "203.0.113.9",
	} {
		t.Run(name, func(t *testing.T) {
			for p, without := range plain {
				if got := seen(t, p, name, value); got != without {
					t.Errorf("%s %s: got %s\nwithout the header %s", p.method, p.path, got, without)
				}
			}
		})
	}
}

// TestAttackBeforeAuthentication: a stranger who sends too much, or what would
// swell, is turned away at once, and the gateway goes on.
func TestAttackBeforeAuthentication(t *testing.T) {
	t.Parallel()
	b := newAsker(t)
	g := guard(t, "", "  one: { url: "+b.URL+" }\n")
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, _ = z.Write(make([]byte, 1<<20))
	_ = z.Close()
	deep := `{"jsonrpc":"2.0","id":1,"method":"ping","params":` + strings.Repeat(`{"a":`, 100_000) + "1" + strings.Repeat("}", 100_001)
	for name, attack := range map[string]struct {
		head string
		body func(w io.Writer)
		want []int
	}{
		"headers without end":      {"POST /mcp HTTP/1.1\r\nHost: HOST\r\n" + strings.Repeat("X-A: "+strings.Repeat("a", 1000)+"\r\n", 200) + "\r\n", nil, []int{431}},
		"one long header":          {"GET / HTTP/1.1\r\nHost: HOST\r\nCookie: " + strings.Repeat("a", 200<<10) + "\r\n\r\n", nil, []int{431}},
		"a long address":           {"GET /" + strings.Repeat("a", 200<<10) + " HTTP/1.1\r\nHost: HOST\r\n\r\n", nil, []int{431, 414}},
		"a packed bomb":            {"POST /mcp HTTP/1.1\r\nHost: HOST\r\nContent-Type: application/json\r\nContent-Encoding: gzip\r\nContent-Length: " + fmt.Sprint(packed.Len()) + "\r\n\r\n", func(w io.Writer) { _, _ = w.Write(packed.Bytes()) }, []int{415}},
		"a packed form":            {"POST /asks/x HTTP/1.1\r\nHost: HOST\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Encoding: deflate\r\nContent-Length: 1\r\n\r\n", func(w io.Writer) { _, _ = io.WriteString(w, "x") }, []int{415}},
		"a body of a gigabyte":     {"POST /mcp HTTP/1.1\r\nHost: HOST\r\nContent-Type: application/json\r\nContent-Length: 1073741824\r\n\r\n", nil, []int{401, 413}},
		"a form of a gigabyte":     {"POST /asks/x HTTP/1.1\r\nHost: HOST\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 1073741824\r\n\r\n", nil, []int{401, 413}},
		"chunks without end":       {"POST /mcp HTTP/1.1\r\nHost: HOST\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n", func(w io.Writer) { chunks(w, 64) }, []int{401, 413}},
		"chunks to a form":         {"POST /signin/local HTTP/1.1\r\nHost: HOST\r\nContent-Type: application/x-www-form-urlencoded\r\nTransfer-Encoding: chunked\r\n\r\n", func(w io.Writer) { chunks(w, 64) }, []int{400, 403, 413}},
		"JSON a mile deep":         {"POST /mcp HTTP/1.1\r\nHost: HOST\r\nContent-Type: application/json\r\nContent-Length: " + fmt.Sprint(len(deep)) + "\r\n\r\n", func(w io.Writer) { _, _ = io.WriteString(w, deep) }, []int{401}},
		"two lengths":              {"POST /mcp HTTP/1.1\r\nHost: HOST\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabc", nil, []int{400}},
		"two hosts":                {"GET / HTTP/1.1\r\nHost: HOST\r\nHost: evil.example\r\n\r\n", nil, []int{400}},
		"an absolute address":      {"GET http://evil.example/ HTTP/1.1\r\nHost: HOST\r\n\r\n", nil, []int{400, 403}},
		"CONNECT":                  {"CONNECT evil.example:443 HTTP/1.1\r\nHost: evil.example:443\r\n\r\n", nil, []int{400, 403, 404, 405}},
		"OPTIONS *":                {"OPTIONS * HTTP/1.1\r\nHost: HOST\r\n\r\n", nil, []int{400, 401, 403, 404, 405}},
		"a token of sixty kB":      {"POST /mcp HTTP/1.1\r\nHost: HOST\r\nAuthorization: Bearer " + strings.Repeat("a", 60<<10) + "\r\nContent-Length: 0\r\n\r\n", nil, []int{400, 401}},
		"a token with five dots":   {"POST /mcp HTTP/1.1\r\nHost: HOST\r\nAuthorization: Bearer " + strings.Repeat("e30.", 5) + "\r\nContent-Length: 0\r\n\r\n", nil, []int{401}},
		"a token that is not ours": {"POST /mcp HTTP/1.1\r\nHost: HOST\r\nAuthorization: Bearer eyJhbGciOiJub25lIn0.eyJzdWIiOiJhbm4ifQ.\r\nContent-Length: 0\r\n\r\n", nil, []int{401}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			status := rawRequest(t, g, attack.head, attack.body)
			for _, want := range attack.want {
				if status == want {
					return
				}
			}
			t.Errorf("got %d, want one of %v", status, attack.want)
		})
	}
	t.Run("control", func(t *testing.T) {
		t.Parallel()
		head := fmt.Sprintf("POST /mcp HTTP/1.1\r\nHost: HOST\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\nContent-Length: %d\r\n\r\n%s", g.token("ann"), len(initialize), initialize)
		if status := rawRequest(t, g, head, nil); status != 200 {
			t.Errorf("a good request got %d", status)
		}
	})
}

// chunks writes megabytes until nobody takes them any more.
func chunks(w io.Writer, megabytes int) {
	piece := "100000\r\n" + strings.Repeat(" ", 1<<20) + "\r\n"
	for range megabytes {
		if _, err := io.WriteString(w, piece); err != nil {
			return
		}
	}
}

// rawRequest writes a request as it stands and gives the status of the answer.
// The body is written while the answer is awaited.
func rawRequest(t *testing.T, g *guarded, head string, body func(io.Writer)) int {
	t.Helper()
	host := strings.TrimPrefix(g.base, "http://")
	conn, err := net.Dial("tcp", host)
	if err != nil {
		t.Fatal(err)
	}
	if err := conn.SetDeadline(time.Now().Add(rig.Patience)); err != nil {
		t.Fatal(err)
	}
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		if _, err := io.WriteString(conn, strings.Replace(head, "HOST", host, 1)); err == nil && body != nil {
			body(conn)
		}
	}()
	defer func() {
		conn.Close()
		<-sent
	}()
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Errorf("no answer came: %v", err)
		return 0
	}
	return resp.StatusCode
}

// TestAttackSlowHeaders: a connection on which the headers of a request trickle
// in is cut after its ten seconds, whoever it says it is from, and many of them
// keep nobody waiting.
func TestAttackSlowHeaders(t *testing.T) {
	t.Parallel()
	g := guard(t, "", "  one: { url: "+newAsker(t).URL+" }\n")
	host := strings.TrimPrefix(g.base, "http://")
	began := time.Now()
	cut := make(chan error, 100)
	for n := range cap(cut) {
		conn, err := net.Dial("tcp", host)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		start := []string{"POST /mcp HTTP/1.1\r\nHost: " + host + "\r\nAuthorization: Bearer ", "GET / HTTP/1.1\r\n", "P"}[n%3]
		if _, err := io.WriteString(conn, start); err != nil {
			t.Fatal(err)
		}
		go trickle(conn, cut)
	}
	if r := send(t, post(t, g.Gateway.URL, initialize, "Authorization", "Bearer "+g.token("ann"))); r.status != 200 {
		t.Errorf("control: beside them a good request got %d", r.status)
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("control: beside them a good request took %v", took)
	}
	limit := time.After(15 * time.Second)
	for range cap(cut) {
		select {
		case <-cut:
		case <-limit:
			t.Fatal("a slow connection is still open after 15 seconds")
		}
	}
	if took := time.Since(began); took < 9*time.Second {
		t.Errorf("they were cut after %v, before their time was up", took)
	}
}

// trickle sends a byte now and then, until the other end has had enough.
func trickle(conn net.Conn, cut chan<- error) {
	gone := make(chan error, 1)
	go func() {
		_, err := io.Copy(io.Discard, conn)
		gone <- err
	}()
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case err := <-gone:
			cut <- err
			return
		case <-tick.C:
			_, _ = io.WriteString(conn, "a")
		}
	}
}
