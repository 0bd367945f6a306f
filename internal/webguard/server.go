package webguard

import (
	"io"
	"log/slog"
	"net/http"
	"time"
)

// Server makes the server that handlers run in: it gives nobody more than a
// limited time and size for the headers of a request, a body must keep coming,
// and nothing is taken after a request whose end is in doubt. How long a
// response takes is not limited. The caller serves and closes it.
func (g *Guard) Server(h http.Handler) *http.Server {
	return &http.Server{
		Handler:           g.pace(h),
		ReadHeaderTimeout: g.cfg.HeaderTime,
		IdleTimeout:       g.cfg.IdleTime,
		MaxHeaderBytes:    g.cfg.HeaderBytes,
		ErrorLog:          slog.NewLogLogger(g.cfg.Log.Handler(), slog.LevelWarn),
		// The server would answer "OPTIONS *" without asking anybody.
		DisableGeneralOptionsHandler: true,
	}
}

// pace gives bodies their time and connections their end.
func (g *Guard) pace(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// Where a request ends can be read in two ways when it is chunked and
		// has a Content-Length as well, or is chunked in HTTP/1.0. net/http
		// chooses one and hides the other, so what follows such a request on
		// its connection, a smuggled one perhaps, is never read.
		if r.TransferEncoding != nil || !r.ProtoAtLeast(1, 1) {
			w.Header()["Connection"] = closeConn
		}
		if r.Body == nil || r.Body == http.NoBody {
			h.ServeHTTP(w, r)
			return
		}
		b := &pacedBody{ReadCloser: r.Body, w: w, start: time.Now(), grace: g.cfg.BodyTime, rate: int64(g.cfg.BodyRate)}
		b.allow(b.grace)
		// The server looks at the body of its own request to decide what to
		// do with the part that nobody read, so that request stays as it is.
		mine := r.WithContext(r.Context())
		mine.Body = b
		defer func() {
			if mine.MultipartForm != nil {
				_ = mine.MultipartForm.RemoveAll()
			}
		}()
		h.ServeHTTP(w, mine)
	})
}

// pacedBody earns time to be read by coming. A body that is never read keeps
// its first allowance, which bounds how long the server looks for its end.
type pacedBody struct {
	io.ReadCloser
	w       http.ResponseWriter
	start   time.Time
	grace   time.Duration
	rate    int64 // bytes per second
	read    int64
	allowed time.Duration
}

func (b *pacedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.read += int64(n)
	switch {
	case err == io.EOF:
		// Left behind, the deadline would pass for the client's going away
		// in the middle of a long response. net/http lifts it too, but does
		// not promise to.
		_ = http.NewResponseController(b.w).SetReadDeadline(time.Time{})
	case err == nil:
		earned := b.grace + time.Duration(b.read/b.rate)*time.Second
		if earned > b.allowed {
			b.allow(earned)
		}
	}
	return n, err
}

func (b *pacedBody) allow(d time.Duration) {
	b.allowed = d
	// A writer without a connection has nobody to wait for.
	_ = http.NewResponseController(b.w).SetReadDeadline(b.start.Add(d))
}
