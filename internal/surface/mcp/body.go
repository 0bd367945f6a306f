package mcp

import (
	"bytes"
	"errors"
	"net/http"
	"sync"

	"github.com/answerback/answerback/ask"
)

// Bodies up to poolBelow are read into buffers that are used again.
const poolBelow = 256 << 10

var bodies = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// readBody reads a request's body. What it returns is usable until the buffer
// is recycled. With an error it returns the beginning of the body.
func (s *Surface) readBody(w http.ResponseWriter, r *http.Request) (*bytes.Buffer, *ask.Error) {
	buf := bodies.Get().(*bytes.Buffer)
	buf.Reset()
	limit := int64(s.cfg.MaxBody)
	if r.ContentLength > limit {
		// It will not be taken: only its id is still of interest.
		limit = min(limit, cutAt)
	} else if r.ContentLength > 0 {
		// No more than a part is believed before it has come.
		buf.Grow(int(min(r.ContentLength, poolBelow)) + bytes.MinRead)
	}
	_, err := buf.ReadFrom(http.MaxBytesReader(w, r.Body, limit))
	if err == nil {
		return buf, nil
	}
	// What is left of the body makes the connection useless for another request.
	w.Header()["Connection"] = closeConn
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return buf, ask.Errorf(ask.TooLarge, "The message is larger than this gateway takes.")
	}
	return buf, ask.Wrap(ask.BadMessage, "The body could not be read to its end.", err)
}

// recycle gives a body's buffer back. Nothing may use its bytes any more.
func recycle(buf *bytes.Buffer) {
	if buf.Cap() <= 2*poolBelow {
		bodies.Put(buf)
	}
}
