package webguard

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"
)

// A page to which files are posted has a limit of its own, and every other
// rule of pages: who posts from elsewhere, or too much, reaches no handler.
func TestAttackUploadToAPage(t *testing.T) {
	const limit = 3 << 20
	for name, c := range map[string]struct {
		size   int
		change func(*http.Request)
		status int
	}{
		"control: a file":         {2 << 20, func(*http.Request) {}, 200},
		"control: to the last":    {limit, func(*http.Request) {}, 200},
		"too large, and says so":  {limit + 1, func(*http.Request) {}, 413},
		"too large, without that": {limit + 1, func(r *http.Request) { r.ContentLength = -1 }, 400},
		"from another site":       {10, func(r *http.Request) { r.Header.Set("Origin", "https://evil.example") }, 403},
		"cross-site":              {10, func(r *http.Request) { r.Header.Del("Origin"); r.Header.Set("Sec-Fetch-Site", "cross-site") }, 403},
		"packed":                  {10, func(r *http.Request) { r.Header.Set("Content-Encoding", "gzip") }, 415},
		"by another method":       {10, func(r *http.Request) { r.Method = http.MethodPut }, 405},
		"under another host":      {10, func(r *http.Request) { r.Host = "evil.example" }, 403},
	} {
		t.Run(name, func(t *testing.T) {
			s := &spy{}
			h := newGuard(t, nil).Upload(s, limit)
			r := httptest.NewRequest(http.MethodPost, ourURL+"/asks/x", bytes.NewReader(make([]byte, c.size)))
			r.Header.Set("Content-Type", "multipart/form-data; boundary=b")
			r.Header.Set("Origin", ourURL)
			r.Header.Set("Authorization", "Bearer x")
			c.change(r)
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			if w.Code != c.status {
				t.Errorf("status %d, want %d", w.Code, c.status)
			}
			if c.status == 200 && (len(s.body) != c.size || s.calls[0].Header.Get("Authorization") != "") {
				t.Errorf("the handler got %d bytes and %v", len(s.body), s.calls[0].Header)
			}
			if c.status != 200 && c.status != 400 && len(s.calls) > 0 {
				t.Error("it reached the handler")
			}
		})
	}
}

// A file may take longer to come than a page has to be taken: the response to
// it still gets through.
func TestSlowUploadGetsItsResponse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGuard(t, func(c *Config) { c.PageTime, c.BodyTime, c.BodyRate = time.Minute, time.Hour, 1 })
		client, server := net.Pipe()
		ln := &oneConn{conn: server, done: make(chan struct{})}
		srv := g.Server(g.Upload(&spy{}, 1<<20))
		go srv.Serve(ln)
		go func() {
			io.WriteString(client, "POST /asks/x HTTP/1.1\r\nHost: "+ourHost+"\r\nOrigin: "+ourURL+"\r\nContent-Length: 5\r\n\r\n")
			for range 5 {
				time.Sleep(50 * time.Second)
				io.WriteString(client, "x")
			}
		}()
		head := make([]byte, len("HTTP/1.1 200 OK"))
		if _, err := io.ReadFull(client, head); err != nil || string(head) != "HTTP/1.1 200 OK" {
			t.Errorf("after four minutes: %q %v", head, err)
		}
		client.Close()
		srv.Close()
		synctest.Wait()
	})
}

// oneConn is a listener with one connection.
type oneConn struct {
	conn net.Conn
	done chan struct{}
}

func (l *oneConn) Accept() (net.Conn, error) {
	if c := l.conn; c != nil {
		l.conn = nil
		return c, nil
	}
	<-l.done
	return nil, net.ErrClosed
}

func (l *oneConn) Close() error {
	select {
	case <-l.done:
	default:
		close(l.done)
	}
	return nil
}

func (l *oneConn) Addr() net.Addr { return loopback }
