package mcp

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"
)

// writeTimeout is how long a client may take to accept one event.
const writeTimeout = 30 * time.Second

// conn is an open HTTP response, for as long as a stream holds it. The
// stream's lock guards it.
type conn struct {
	w     http.ResponseWriter
	rc    *http.ResponseController
	ctx   context.Context // the HTTP request's; it ends when the client goes away
	began bool            // the response is a stream of events, and its headers are out
	ended chan struct{}   // closed when the stream lets go of it; nil where nobody waits for that
}

// alive reports whether the client is still there, as far as is known.
func (c *conn) alive() bool { return c.ctx.Err() == nil }

// begin makes the response a stream of events.
func (c *conn) begin() {
	h := c.w.Header()
	h[headerContentType] = typeSSE
	h["Cache-Control"] = noCache
	h["X-Accel-Buffering"] = noBuffering
	c.w.WriteHeader(http.StatusOK)
	c.began = true
}

// write sends bytes at once: one event, or several that belong together.
func (c *conn) write(b []byte) error {
	if err := c.ctx.Err(); err != nil {
		return err
	}
	c.deadline(time.Now().Add(writeTimeout))
	_, err := c.w.Write(b)
	if err == nil {
		err = c.flush()
	}
	// A deadline left behind would end an HTTP/2 stream that is only quiet.
	c.deadline(time.Time{})
	return err
}

// json makes the response one JSON value. An error means that the client did
// not get it; none does not mean that it did.
func (c *conn) json(status int, body []byte) error {
	if err := c.ctx.Err(); err != nil {
		return err
	}
	h := c.w.Header()
	h[headerContentType] = typeJSON
	h["Content-Length"] = []string{strconv.Itoa(len(body))}
	c.deadline(time.Now().Add(writeTimeout))
	c.w.WriteHeader(status)
	_, err := c.w.Write(body)
	if err == nil {
		err = c.flush()
	}
	c.deadline(time.Time{})
	return err
}

// deadline bounds the writes that follow, where the server can.
func (c *conn) deadline(t time.Time) { _ = c.rc.SetWriteDeadline(t) }

func (c *conn) flush() error {
	if err := c.rc.Flush(); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	return nil
}
