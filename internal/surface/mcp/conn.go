package mcp

import (
	"context"
	"strconv"

	"github.com/answerback/answerback/internal/entry"
)

// conn is an open HTTP response, for as long as a stream holds it. The
// stream's lock guards it.
type conn struct {
	out   entry.Pusher
	ctx   context.Context // the HTTP request's; it ends when the client goes away
	began bool            // the response is a stream of events, and its headers are out
	ended chan struct{}   // closed when the stream lets go of it; nil where nobody waits for that
}

// alive reports whether the client is still there, as far as is known.
func (c *conn) alive() bool { return c.ctx.Err() == nil }

// begin makes the response a stream of events.
func (c *conn) begin() {
	c.out.Begin()
	c.began = true
}

// write sends bytes at once: one event, or several that belong together.
func (c *conn) write(b []byte) error {
	if err := c.ctx.Err(); err != nil {
		return err
	}
	return c.out.Push(b)
}

// json makes the response one JSON value. An error means that the client did
// not get it; none does not mean that it did.
func (c *conn) json(status int, body []byte) error {
	if err := c.ctx.Err(); err != nil {
		return err
	}
	h := c.out.W.Header()
	h[headerContentType] = typeJSON
	h["Content-Length"] = []string{strconv.Itoa(len(body))}
	c.out.W.WriteHeader(status)
	return c.out.Push(body)
}
