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
		now := time.Now()
		b := &pacedBody{ReadCloser: r.Body, w: w, start: now, since: now, grace: min(g.cfg.BodyTime, g.cfg.BodyCap), most: g.cfg.BodyCap, rate: int64(g.cfg.BodyRate)}
		b.allow(now.Add(b.grace))
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

// pacedBody earns time to be read by coming: in each second that it takes
// beyond its grace, a second's bytes must come. What came faster before earns
// nothing ahead, so that nobody can send most of a body and then keep it
// waiting. A body that is never read keeps its grace, which bounds how long the
// server looks for its end.
type pacedBody struct {
	io.ReadCloser
	w     http.ResponseWriter
	start time.Time
	grace time.Duration
	most  time.Duration // for all of it
	rate  int64         // bytes per second
	since time.Time     // when the grace began that counts now
	read  int64         // bytes since
	until time.Time     // the deadline
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
		b.earn(time.Now())
	}
	return n, err
}

// earn moves the deadline after bytes came. It stands a grace, and the time
// that the bytes since have paid for, after the moment from which they count;
// where they have paid for more than has passed, that moment is now.
func (b *pacedBody) earn(now time.Time) {
	paid := time.Duration(b.read) * time.Second / time.Duration(b.rate)
	if now.Sub(b.since) <= paid {
		b.since, b.read, paid = now, 0, 0
	}
	until := b.since.Add(b.grace + paid)
	if last := b.start.Add(b.most); until.After(last) {
		until = last
	}
	// Setting it costs, and the second does not matter.
	if until.Sub(b.until) >= b.grace/16 {
		b.allow(until)
	}
}

func (b *pacedBody) allow(until time.Time) {
	b.until = until
	// A writer without a connection has nobody to wait for.
	_ = http.NewResponseController(b.w).SetReadDeadline(until)
}
