package sse

import (
	"bytes"
	"io"
	"math"
	"strconv"
	"sync"
	"time"

	"github.com/answerback/answerback/ask"
)

const (
	// waitBuffer is what a stream holds while nothing comes, which may be for
	// hours; it takes a sign of life. What is larger goes on in a readBuffer.
	waitBuffer = 128
	readBuffer = 4 << 10
	// keepBuffer is what a busy stream may hold on to after a large event.
	keepBuffer = 64 << 10
)

var readBuffers = sync.Pool{New: func() any { return new([readBuffer]byte) }}

// Reader reads the events of one stream. It is not safe for concurrent use.
type Reader struct {
	src io.Reader
	max int
	err error // what the source ended with; lines before it may still wait in buf
	bad error // an event was too large: nothing after it is read

	buf     []byte            // read and not yet used: buf[pos:]
	wait    []byte            // what buf is while nothing comes
	pooled  *[readBuffer]byte // what buf is otherwise, unless that is too small
	pos     int
	looked  int  // how far from pos there is no line end
	skipLF  bool // the last line ended with \r: a \n now belongs to it
	started bool // the first line, which may have a byte order mark, is over

	data    []byte
	partial []byte
	lastID  string

	count func(change int) error
}

// NewReader makes a Reader of r. The data of one event, and any line, may have
// at most maxEvent bytes, which must be positive.
func NewReader(r io.Reader, maxEvent int) *Reader {
	return &Reader{src: r, max: maxEvent}
}

// Count has the memory of the Reader counted: count is called with how many
// bytes its buffers are about to grow, and may refuse that with an error, which
// Next then returns; and with a negative number when buffers were let go. The
// data of an event is in such a buffer until the next call of Next. Count is
// called before Next, if at all.
func (r *Reader) Count(count func(change int) error) { r.count = count }

// Next gives the next event as soon as the blank line that ends it has come.
// Comments, unknown fields and events without data, id or retry are skipped.
//
// It returns io.EOF at the end of the stream, where an unfinished event is
// dropped; an *ask.Error with code TooLarge for an event beyond the limit; and
// otherwise the error of the underlying reader. After an error it returns the
// same error again.
func (r *Reader) Next() (Event, error) {
	if r.bad != nil {
		return Event{}, r.bad
	}
	r.data = r.data[:0]
	if cap(r.data) > keepBuffer {
		r.drop(r.data)
		r.data = nil
	}
	var ev Event
	hasData := false
	for {
		line, err := r.line(hasData)
		if err != nil {
			return Event{}, err
		}
		if len(line) == 0 {
			if !hasData && !ev.HasID && !ev.HasRetry {
				ev = Event{}
				continue
			}
			if ev.HasID {
				r.lastID = ev.ID
			}
			if hasData {
				ev.Data = r.data
			}
			return ev, nil
		}
		field, value := cutField(line)
		switch string(field) {
		case "data":
			size := len(r.data) + len(value)
			if hasData {
				size++ // the newline between them
			}
			if size > r.max {
				return Event{}, r.tooLarge(line, hasData)
			}
			if err := r.addData(value, hasData); err != nil {
				return Event{}, err
			}
			hasData = true
		case "event":
			ev.Name = string(value)
		case "id":
			if bytes.IndexByte(value, 0) < 0 {
				ev.ID, ev.HasID = string(value), true
			}
		case "retry":
			if d, ok := parseRetry(value); ok {
				ev.Retry, ev.HasRetry = d, true
			}
		}
	}
}

// Partial gives the head of the data of the event that was too large, nil when
// none was. It is valid until the Reader is let go.
func (r *Reader) Partial() []byte { return r.partial }

// LastID gives the id of the last event that had one, "" for none: what to
// resume the stream after.
func (r *Reader) LastID() string { return r.lastID }

// line gives the next line without its end, valid until the next call.
func (r *Reader) line(hasData bool) ([]byte, error) {
	for {
		if r.skipLF && r.pos < len(r.buf) {
			if r.buf[r.pos] == '\n' {
				r.pos++
			}
			r.skipLF = false
		}
		rest := r.buf[r.pos:]
		n := lineEnd(rest[r.looked:])
		size := len(rest)
		if n >= 0 {
			n += r.looked
			size = n
		}
		if size > r.max+len("data: ") {
			return nil, r.tooLarge(rest[:size], hasData)
		}
		if n >= 0 {
			r.pos += n + 1
			r.looked = 0
			r.skipLF = rest[n] == '\r'
			line := rest[:n]
			if !r.started {
				r.started = true
				line = bytes.TrimPrefix(line, []byte("\ufeff"))
			}
			return line, nil
		}
		r.looked = len(rest)
		if err := r.fill(hasData); err != nil {
			return nil, err
		}
	}
}

// fill reads more, after making room for it.
func (r *Reader) fill(hasData bool) error {
	if r.err != nil {
		return r.err
	}
	if r.pos > 0 {
		n := copy(r.buf, r.buf[r.pos:])
		r.buf, r.pos = r.buf[:n], 0
	}
	if len(r.buf) == 0 {
		if err := r.rest(hasData); err != nil {
			return err
		}
	}
	if err := r.widen(); err != nil {
		return err
	}
	// A reader may give nothing without an error, but not for ever.
	for range 100 {
		n, err := r.src.Read(r.buf[len(r.buf):cap(r.buf)])
		r.buf = r.buf[:len(r.buf)+n]
		r.err = err
		if n > 0 {
			return nil
		}
		if err != nil {
			return err
		}
	}
	r.err = io.ErrNoProgress
	return r.err
}

// rest lets go of what is not needed until something comes.
func (r *Reader) rest(hasData bool) error {
	if r.wait == nil {
		if err := r.take(waitBuffer); err != nil {
			return err
		}
		r.wait = make([]byte, 0, waitBuffer)
	}
	if cap(r.buf) > waitBuffer {
		r.drop(r.buf)
	}
	r.unpool()
	r.buf = r.wait
	if !hasData {
		r.drop(r.data)
		r.data = nil
	}
	return nil
}

// widen makes room in the buffer where it is full.
func (r *Reader) widen() error {
	switch {
	case len(r.buf) < cap(r.buf):
	case cap(r.buf) < readBuffer:
		// The wait buffer stays, and stays counted.
		if err := r.take(readBuffer); err != nil {
			return err
		}
		r.pooled = readBuffers.Get().(*[readBuffer]byte)
		r.buf = append(r.pooled[:0], r.buf...)
	default:
		wide, err := r.grow(r.buf, readBuffer, r.max+readBuffer)
		if err != nil {
			return err
		}
		r.buf = wide
		r.unpool()
	}
	return nil
}

// unpool gives the pooled buffer back, if there is one, once buf is another.
func (r *Reader) unpool() {
	if r.pooled != nil {
		readBuffers.Put(r.pooled)
		r.pooled = nil
	}
}

// grow gives a buffer in which more bytes have room, with no more capacity than
// most if that is enough.
func (r *Reader) grow(buf []byte, more, most int) ([]byte, error) {
	need := len(buf) + more
	if need <= cap(buf) {
		return buf, nil
	}
	size := max(need, min(2*cap(buf), most))
	if err := r.take(size); err != nil {
		return buf, err
	}
	next := make([]byte, len(buf), size)
	copy(next, buf)
	r.drop(buf)
	return next, nil
}

// take counts a buffer before it is made. A refusal ends the stream.
func (r *Reader) take(size int) error {
	if r.count == nil {
		return nil
	}
	if err := r.count(size); err != nil {
		r.bad = err
		return err
	}
	return nil
}

// drop counts a buffer as let go.
func (r *Reader) drop(buf []byte) {
	if r.count != nil && cap(buf) > 0 {
		_ = r.count(-cap(buf))
	}
}

// addData adds a line of data, after a newline when it is not the first.
func (r *Reader) addData(value []byte, hasData bool) (err error) {
	if r.data, err = r.grow(r.data, len(value)+1, r.max+1); err != nil {
		return err
	}
	if hasData {
		r.data = append(r.data, '\n')
	}
	r.data = append(r.data, value...)
	return nil
}

// tooLarge ends the stream at an event that goes on with the line head.
func (r *Reader) tooLarge(head []byte, hasData bool) error {
	if field, value := cutField(head); string(field) == "data" {
		// Only the beginning is of use to anybody.
		if err := r.addData(value[:min(len(value), keepBuffer)], hasData); err != nil {
			return err
		}
	}
	r.partial = r.data
	r.bad = ask.Errorf(ask.TooLarge, "An event of the stream has more than "+strconv.Itoa(r.max)+" bytes.")
	return r.bad
}

// cutField splits a line into its field and value; a comment's field is empty.
func cutField(line []byte) (field, value []byte) {
	field, value, _ = bytes.Cut(line, []byte(":"))
	return field, bytes.TrimPrefix(value, []byte(" "))
}

// parseRetry reads a time of whole milliseconds, digits only.
func parseRetry(value []byte) (time.Duration, bool) {
	for _, c := range value {
		if c < '0' || c > '9' {
			return 0, false
		}
	}
	n, err := strconv.ParseInt(string(value), 10, 64)
	if err != nil || n > math.MaxInt64/int64(time.Millisecond) {
		return 0, false
	}
	return time.Duration(n) * time.Millisecond, true
}
