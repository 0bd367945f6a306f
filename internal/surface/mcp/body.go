package mcp

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"sync"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/budget"
)

const (
	// Bodies up to poolBelow are read into buffers that are used again.
	poolBelow = 256 << 10
	// smallBelow keeps small messages out of large buffers: a call can last
	// for days, and its message stays in its buffer.
	smallBelow = 16 << 10
)

// bodies are buffers to use again, those up to smallBelow apart from larger
// ones.
var bodies = [2]sync.Pool{{New: newBuffer}, {New: newBuffer}}

func newBuffer() any { return new(bytes.Buffer) }

// readBody reads a request's body into memory that it takes from hold before.
// What it returns is usable until the buffer is recycled. With an error it
// returns the beginning of the body.
func (s *Surface) readBody(w http.ResponseWriter, r *http.Request, hold *budget.Hold) (*bytes.Buffer, *ask.Error) {
	limit, class := int64(s.cfg.MaxBody), 0
	first, most := int64(0), limit // bytes that are expected at once, and that can be of use
	switch {
	case r.ContentLength > limit:
		// It will not be taken: only its id is still of interest.
		limit, most = min(limit, cutAt), cutAt
	case r.ContentLength > 0:
		// No more than a part is believed before it has come.
		first, most = min(r.ContentLength, poolBelow), r.ContentLength
	}
	if r.ContentLength > smallBelow && most > smallBelow {
		class = 1
	}
	buf := bodies[class].Get().(*bytes.Buffer)
	buf.Reset()
	err := fill(buf, http.MaxBytesReader(w, r.Body, limit), first, most, hold)
	if err == nil {
		return buf, nil
	}
	// What is left of the body makes the connection useless for another request.
	w.Header()["Connection"] = closeConn
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return buf, ask.Errorf(ask.TooLarge, "The message is larger than this gateway takes.")
	}
	if budget.IsFull(err) {
		if buf.Len() == 0 {
			// The id is in what has come already, as a rule.
			head := make([]byte, cutAt)
			n, _ := r.Body.Read(head)
			buf.Write(head[:n])
		}
		return buf, ask.From(err)
	}
	return buf, ask.Wrap(ask.BadMessage, "The body could not be read to its end.", err)
}

// fill reads body, of which first bytes are expected and most are of use, into
// an empty buffer. Small buffers are counted by what is in them, for there are
// more of these than of all others, and larger ones as they are.
func fill(buf *bytes.Buffer, body io.Reader, first, most int64, hold *budget.Hold) (err error) {
	raw := buf.AvailableBuffer()
	defer func() { *buf = *bytes.NewBuffer(raw) }()
	if cap(raw) > smallBelow {
		if err := hold.Grow(int64(cap(raw))); err != nil {
			raw = nil
			return err
		}
	}
	for {
		if len(raw) == cap(raw) {
			// A little more lets the reader see the end without growing.
			now := int64(cap(raw))
			next := min(max(2*now, first+bytes.MinRead), max(most, now)+bytes.MinRead)
			if raw, err = grown(raw, int(next), hold); err != nil {
				return err
			}
		}
		n, err := body.Read(raw[len(raw):cap(raw)])
		raw = raw[:len(raw)+n]
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			if err == nil && cap(raw) <= smallBelow {
				return hold.Grow(int64(len(raw)))
			}
			return err
		}
	}
}

// grown gives raw in a larger buffer, which is taken from hold in place of the
// old one.
func grown(raw []byte, size int, hold *budget.Hold) ([]byte, error) {
	if size > smallBelow {
		if err := hold.Grow(int64(size)); err != nil {
			return raw, err
		}
	}
	next := make([]byte, len(raw), size)
	copy(next, raw)
	if cap(raw) > smallBelow {
		hold.Shrink(int64(cap(raw)))
	}
	return next, nil
}

// recycle gives a body's buffer back. Nothing may use its bytes any more.
func recycle(buf *bytes.Buffer) {
	switch n := buf.Cap(); {
	case n <= smallBelow:
		bodies[0].Put(buf)
	case n <= 2*poolBelow:
		bodies[1].Put(buf)
	}
}
