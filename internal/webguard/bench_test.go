package webguard

import (
	"net/http"
	"testing"
)

type nowhere struct{ header http.Header }

func (n *nowhere) Header() http.Header         { return n.header }
func (n *nowhere) Write(p []byte) (int, error) { return len(p), nil }
func (n *nowhere) WriteHeader(int)             {}

func nothing(http.ResponseWriter, *http.Request) {}

// plainCall is the request of a typical MCP client.
func plainCall() *http.Request {
	r := request("POST")
	with("Accept", "application/json, text/event-stream", "Accept-Encoding", "gzip", "Authorization", "Bearer x",
		"Content-Type", "application/json", "Content-Length", "3", "Mcp-Session-Id", "x", "Mcp-Protocol-Version", "2025-11-25",
		"User-Agent", "bench")(r)
	return r
}

func BenchmarkAPI(b *testing.B) {
	for name, change := range map[string]func(*http.Request){
		"program":  func(*http.Request) {},
		"page":     with("Origin", appURL, "Sec-Fetch-Site", "cross-site"),
		"loopback": func(r *http.Request) { *r = *from(r, loopback); r.Host = "127.0.0.1:8080" },
	} {
		b.Run(name, func(b *testing.B) {
			h := newGuard(b, nil).API(http.HandlerFunc(nothing))
			r, w := plainCall(), &nowhere{http.Header{}}
			change(r)
			b.ReportAllocs()
			for b.Loop() {
				h.ServeHTTP(w, r)
			}
		})
	}
}

// The guard is on the way of every call: it makes no garbage.
func TestAPIDoesNotAllocate(t *testing.T) {
	h := newGuard(t, nil).API(http.HandlerFunc(nothing))
	r, w := plainCall(), &nowhere{http.Header{}}
	if n := testing.AllocsPerRun(100, func() { h.ServeHTTP(w, r) }); n > 0 {
		t.Errorf("%v allocations a request", n)
	}
}
