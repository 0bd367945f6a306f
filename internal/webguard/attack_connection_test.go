package webguard

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

const (
	get  = "GET /a HTTP/1.1\r\nHost: mcp.example.com\r\n\r\n"
	post = "POST /a HTTP/1.1\r\nHost: mcp.example.com\r\nContent-Length: %d\r\n\r\n"
)

// drip sends a byte each second, and gives how long the server let it.
func drip(c net.Conn, raw string) time.Duration {
	start := time.Now()
	for i := range len(raw) {
		if _, err := c.Write([]byte{raw[i]}); err != nil {
			break
		}
		time.Sleep(time.Second)
	}
	return time.Since(start)
}

// listenTo reads what the server says until it closes the connection.
func listenTo(c net.Conn) <-chan string {
	said := make(chan string, 1)
	go func() {
		all, _ := io.ReadAll(c)
		said <- string(all)
	}()
	return said
}

// inBubble runs a test with a server that no real time passes for.
func inBubble(t *testing.T, h func(*Guard) http.Handler, test func(t *testing.T, m *memory)) {
	synctest.Test(t, func(t *testing.T) {
		g := newGuard(t, nil)
		m, stop := serve(t, g, h(g))
		defer stop()
		test(t, m)
	})
}

func apiSpy(s *spy) func(*Guard) http.Handler {
	return func(g *Guard) http.Handler { return g.API(s) }
}

func TestAttackSlowHeaders(t *testing.T) {
	s := &spy{}
	inBubble(t, apiSpy(s), func(t *testing.T, m *memory) {
		if got := send(t, m.dial(outside), get, 1); len(got) != 1 || got[0].StatusCode != 200 {
			t.Fatalf("control: %v", got)
		}
		c := m.dial(outside)
		said := listenTo(c)
		if took := drip(c, get); took > 12*time.Second {
			t.Errorf("slow headers held the connection for %s", took)
		}
		<-said
		c.Close()
		if s.reached() != 1 {
			t.Error("the handler was reached by half a request")
		}
	})
}

func TestAttackSilentConnection(t *testing.T) {
	inBubble(t, apiSpy(&spy{}), func(t *testing.T, m *memory) {
		c := m.dial(outside)
		start := time.Now()
		<-listenTo(c)
		if took := time.Since(start); took > 11*time.Second {
			t.Errorf("a connection without a request was kept for %s", took)
		}
		c.Close()
	})
}

func TestAttackIdleConnection(t *testing.T) {
	inBubble(t, apiSpy(&spy{}), func(t *testing.T, m *memory) {
		c := m.dial(outside)
		in := bufio.NewReader(c)
		for range 2 { // the second request is the control: idle for a minute is well
			go io.WriteString(c, get)
			if resp, err := http.ReadResponse(in, nil); err != nil || resp.StatusCode != 200 {
				t.Fatalf("control: %v", err)
			} else if _, err := io.ReadAll(resp.Body); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Minute)
		}
		start := time.Now()
		if _, err := in.ReadByte(); err != io.EOF {
			t.Error(err)
		}
		if took := time.Since(start); took > time.Minute+time.Second {
			t.Errorf("an idle connection was kept for another %s", took)
		}
		c.Close()
	})
}

func TestAttackSlowBody(t *testing.T) {
	for name, h := range map[string]func(*Guard, *spy) http.Handler{
		"api":     func(g *Guard, s *spy) http.Handler { return g.API(s) },
		"browser": func(g *Guard, s *spy) http.Handler { return g.Browser(s) },
		"refused": func(g *Guard, _ *spy) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) })
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := &spy{}
			inBubble(t, func(g *Guard) http.Handler { return h(g, s) }, func(t *testing.T, m *memory) {
				body := strings.Repeat("a", 600)
				c := m.dial(outside)
				said := listenTo(c)
				fmt.Fprintf(c, post, len(body))
				if took := drip(c, body[:20]); took != 20*time.Second {
					t.Errorf("control: within its time the body was taken for %s only", took)
				}
				if _, err := io.WriteString(c, body[20:]); err != nil {
					t.Errorf("control: %v", err)
				}
				synctest.Wait()
				c.Close()
				if got := <-said; !strings.HasPrefix(got, "HTTP/1.1 200") && !strings.HasPrefix(got, "HTTP/1.1 401") {
					t.Errorf("control: %q", got)
				}

				c = m.dial(outside)
				said = listenTo(c)
				fmt.Fprintf(c, post, len(body))
				if took := drip(c, body); took > 32*time.Second {
					t.Errorf("a slow body held the connection for %s", took)
				}
				<-said
				c.Close()
			})
			if name != "refused" && (s.reached() != 2 || s.err == nil) {
				t.Errorf("the handler was reached %d times, and last read with %v", s.reached(), s.err)
			}
		})
	}
}

// A large body may take long, as long as it keeps coming; one that stops is
// given up on.
func TestAttackBodyThatStops(t *testing.T) {
	for name, stopped := range map[string]bool{"control": false, "stops": true} {
		t.Run(name, func(t *testing.T) {
			s := &spy{}
			inBubble(t, apiSpy(s), func(t *testing.T, m *memory) {
				const each, times = 40 << 10, 90
				c := m.dial(outside)
				said := listenTo(c)
				fmt.Fprintf(c, post, each*times)
				chunk := []byte(strings.Repeat("a", each))
				var err error
				for i := 0; i < times && err == nil; i++ {
					if stopped && i == times-1 {
						time.Sleep(10 * time.Minute)
					}
					_, err = c.Write(chunk)
					time.Sleep(time.Second)
				}
				synctest.Wait()
				c.Close()
				<-said
				if stopped != (err != nil) || stopped != (s.err != nil) || !stopped && len(s.body) != each*times {
					t.Errorf("sent with %v, read %d bytes with %v", err, len(s.body), s.err)
				}
			})
		})
	}
}

// What came quickly buys no time to keep the rest waiting.
func TestAttackBodyThatStopsEarlyOrLate(t *testing.T) {
	for _, part := range []int{1, 64 << 10, 3 << 20, 30 << 20} {
		inBubble(t, apiSpy(&spy{}), func(t *testing.T, m *memory) {
			c := m.dial(outside)
			said := listenTo(c)
			fmt.Fprintf(c, post, 31<<20)
			if _, err := c.Write(make([]byte, part)); err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			<-said
			if took := time.Since(began); took < 28*time.Second || took > 32*time.Second {
				t.Errorf("after %d bytes and silence the body was given up on after %s", part, took)
			}
			c.Close()
		})
	}
}

// A body that comes as fast as it must, for ever, ends as well.
func TestAttackEndlessBody(t *testing.T) {
	inBubble(t, func(g *Guard) http.Handler {
		return g.API(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) }))
	}, func(t *testing.T, m *memory) {
		c := m.dial(outside)
		said := listenTo(c)
		io.WriteString(c, "POST /a HTTP/1.1\r\nHost: mcp.example.com\r\nTransfer-Encoding: chunked\r\n\r\n")
		chunk := []byte("10000\r\n" + strings.Repeat("a", 64<<10) + "\r\n")
		began := time.Now()
		var err error
		for err == nil && time.Since(began) < time.Hour {
			_, err = c.Write(chunk)
			time.Sleep(time.Second)
		}
		if took := time.Since(began); err == nil || took < 29*time.Minute || took > 31*time.Minute {
			t.Errorf("an endless body was taken for %s: %v", took, err)
		}
		<-said
		c.Close()
	})
}

// The time for the body is not the time for the response.
func TestLongResponseOutlivesTheBodyDeadline(t *testing.T) {
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.ReadAll(r.Body); err != nil {
			return
		}
		rc := http.NewResponseController(w)
		for range 60 {
			time.Sleep(time.Minute)
			if r.Context().Err() != nil {
				return
			}
			if _, err := io.WriteString(w, "event\n"); err != nil || rc.Flush() != nil {
				return
			}
		}
	})
	for name, raw := range map[string]string{
		"length":  fmt.Sprintf(post, 3) + "abc",
		"chunked": "POST /a HTTP/1.1\r\nHost: mcp.example.com\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
		"none":    get,
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(g *Guard) http.Handler { return g.API(h) }, func(t *testing.T, m *memory) {
				got := send(t, m.dial(outside), raw, 1)
				if len(got) != 1 {
					t.Fatal("no response")
				}
				if all, _ := io.ReadAll(got[0].Body); strings.Count(string(all), "event") != 60 {
					t.Errorf("the stream ended after %q", all)
				}
			})
		})
	}
}

func TestAttackSlowReader(t *testing.T) {
	var ended chan error // made in the bubble, whose clock waits for it
	page := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, err := w.Write(make([]byte, 1<<20))
		ended <- err
	})
	inBubble(t, func(g *Guard) http.Handler { ended = make(chan error, 2); return g.Browser(page) }, func(t *testing.T, m *memory) {
		if got := send(t, m.dial(outside), get, 1); len(got) != 1 {
			t.Error("control: no response")
		}
		if err := <-ended; err != nil {
			t.Errorf("control: %v", err)
		}
		c := m.dial(outside)
		start := time.Now()
		if _, err := io.WriteString(c, get); err != nil {
			t.Fatal(err)
		}
		if err := <-ended; err == nil {
			t.Error("the page was written to nobody")
		}
		if took := time.Since(start); took > 61*time.Second {
			t.Errorf("a client that reads nothing held a page for %s", took)
		}
		c.Close()
	})
}

func TestAttackHeaderBomb(t *testing.T) {
	head := "GET /a HTTP/1.1\r\nHost: mcp.example.com\r\n"
	for name, c := range map[string]struct{ control, attack string }{
		"one large header":     {head + "A: " + strings.Repeat("a", 60<<10) + "\r\n\r\n", head + "A: " + strings.Repeat("a", 80<<10) + "\r\n\r\n"},
		"many headers":         {head + strings.Repeat("A: b\r\n", 10<<10) + "\r\n", head + strings.Repeat("A: b\r\n", 20<<10) + "\r\n"},
		"a header without end": {head + "A: b\r\n\r\n", head + strings.Repeat("a", 1<<20)},
		"a long address": {
			"GET /" + strings.Repeat("a", 60<<10) + " HTTP/1.1\r\nHost: mcp.example.com\r\n\r\n",
			"GET /" + strings.Repeat("a", 80<<10) + " HTTP/1.1\r\nHost: mcp.example.com\r\n\r\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := &spy{}
			inBubble(t, apiSpy(s), func(t *testing.T, m *memory) {
				if got := send(t, m.dial(outside), c.control, 1); len(got) != 1 || got[0].StatusCode != 200 {
					t.Errorf("control: %v", got)
				}
				if got := send(t, m.dial(outside), c.attack, 1); len(got) != 1 || got[0].StatusCode != 431 {
					t.Errorf("%v", got)
				}
				if s.reached() != 1 {
					t.Errorf("the handler was reached %d times", s.reached())
				}
			})
		})
	}
}

// What two readers could take for different requests is refused, or the last
// thing that is read from its connection.
func TestAttackSmuggling(t *testing.T) {
	const (
		line    = "POST /a HTTP/1.1\r\nHost: mcp.example.com\r\n"
		chunked = "Transfer-Encoding: chunked\r\n"
		end     = "0\r\n\r\n"
		next    = "GET /smuggled HTTP/1.1\r\nHost: mcp.example.com\r\n\r\n"
	)
	control := line + "Content-Length: 5\r\n\r\n" + end + next
	for name, c := range map[string]struct {
		raw    string
		status int
	}{
		"chunked with a length":       {line + "Content-Length: 5\r\n" + chunked + "\r\n" + end + next, 200},
		"chunked with a short length": {line + chunked + "Content-Length: 1\r\n\r\n" + end + next, 200},
		"chunked in HTTP/1.0":         {"POST /a HTTP/1.0\r\nHost: mcp.example.com\r\nConnection: keep-alive\r\n" + chunked + "\r\n" + end + next, 200},
		"two lengths":                 {line + "Content-Length: 5\r\nContent-Length: 6\r\n\r\n" + end + next, 400},
		"a list of lengths":           {line + "Content-Length: 5, 5\r\n\r\n" + end + next, 400},
		"a signed length":             {line + "Content-Length: +5\r\n\r\n" + end + next, 400},
		"a negative length":           {line + "Content-Length: -1\r\n\r\n" + end + next, 400},
		"a hexadecimal length":        {line + "Content-Length: 0x5\r\n\r\n" + end + next, 400},
		"unknown transfer encoding":   {line + "Transfer-Encoding: xchunked\r\n\r\n" + end + next, 501},
		"chunked then identity":       {line + "Transfer-Encoding: chunked, identity\r\n\r\n" + end + next, 501},
		"two transfer encodings":      {line + chunked + "Transfer-Encoding: identity\r\n\r\n" + end + next, 501},
		"a space before the colon":    {line + "Transfer-Encoding : chunked\r\n\r\n" + end + next, 400},
		"two hosts":                   {line + "Host: evil.example.com\r\nContent-Length: 5\r\n\r\n" + end + next, 400},
		"a bare CR":                   {line + "A: b\rContent-Length: 5\r\n\r\n" + end + next, 400},
		"a NUL":                       {line + "A: \x00\r\nContent-Length: 5\r\n\r\n" + end + next, 400},
		"a negative chunk":            {line + chunked + "\r\n-1\r\n\r\n" + end + next, 400},
		"a chunk larger than numbers": {line + chunked + "\r\n10000000000000005\r\n" + end + next, 400},
		"a chunk that ends in LF":     {line + chunked + "\r\n1\na\r\n" + end + next, 400},
		"another host as address":     {"POST http://evil.example.com/a HTTP/1.1\r\nHost: mcp.example.com\r\nConnection: close\r\nContent-Length: 5\r\n\r\n" + end + next, 403},
		"a request for the server":    {"OPTIONS * HTTP/1.1\r\nHost: evil.example.com\r\nConnection: close\r\n\r\n" + next, 403},
	} {
		t.Run(name, func(t *testing.T) {
			s := &spy{}
			inBubble(t, apiSpy(s), func(t *testing.T, m *memory) {
				got := send(t, m.dial(outside), control, 2)
				if len(got) != 2 || s.reached() != 2 || s.last(t).URL.Path != "/smuggled" {
					t.Fatalf("control: %d responses, reached %d times", len(got), s.reached())
				}
				got = send(t, m.dial(outside), c.raw, 2)
				if len(got) != 1 || got[0].StatusCode != c.status || !got[0].Close {
					t.Errorf("%d responses %v", len(got), got)
				}
				for _, r := range s.calls[2:] {
					if r.URL.Path == "/smuggled" {
						t.Error("the second request was served")
					}
				}
			})
		})
	}
}

// Expect must not become a way to keep a refusal, and so the connection, back.
func TestRefusalDoesNotWaitForAnExpectedBody(t *testing.T) {
	refuse := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) })
	inBubble(t, func(*Guard) http.Handler { return refuse }, func(t *testing.T, m *memory) {
		start := time.Now()
		got := send(t, m.dial(outside), "POST /a HTTP/1.1\r\nHost: mcp.example.com\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n", 1)
		if len(got) != 1 || got[0].StatusCode != 401 || time.Since(start) > time.Second {
			t.Errorf("%v after %s", got, time.Since(start))
		}
	})
}

func TestMultipartFilesAreRemoved(t *testing.T) {
	var form *http.Request
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		form = r
		if err := r.ParseMultipartForm(1); err != nil {
			t.Error(err)
		}
	})
	part := "--b\r\nContent-Disposition: form-data; name=f; filename=x\r\n\r\n" + strings.Repeat("a", 11<<20) + "\r\n--b--\r\n"
	raw := fmt.Sprintf("POST /a HTTP/1.1\r\nHost: mcp.example.com\r\nContent-Type: multipart/form-data; boundary=b\r\nContent-Length: %d\r\n\r\n%s", len(part), part)
	inBubble(t, func(*Guard) http.Handler { return h }, func(t *testing.T, m *memory) {
		if got := send(t, m.dial(outside), raw, 1); len(got) != 1 {
			t.Fatal("no response")
		}
		if f, err := form.MultipartForm.File["f"][0].Open(); err == nil {
			f.Close()
			t.Error("the file of the form is still there")
		}
	})
}

var errAccept = errors.New("accept failed")

type failing struct{ net.Listener }

func (failing) Accept() (net.Conn, error) { return nil, errAccept }

func TestListenerPassesErrorsOn(t *testing.T) {
	if _, err := newGuard(t, nil).Listener(failing{}, 0, 0).Accept(); err != errAccept {
		t.Error(err)
	}
}
