// Package sse reads and writes server-sent events.
//
// It follows the event stream format of the HTML standard, with one difference
// that MCP needs: an event without data is not lost when it carries an id or a
// retry time. It knows nothing of HTTP, of reconnecting, or of what the data
// is.
package sse

import (
	"bytes"
	"strconv"
	"strings"
	"time"
)

// Event is one server-sent event.
type Event struct {
	ID       string
	HasID    bool // the event has an id, which may be empty
	Name     string
	Data     []byte // nil when the event has no data field; valid until the next Next
	Retry    time.Duration
	HasRetry bool
}

// Append appends one event: `id` when id is not empty, `event` when name is
// not empty, and data, with a line for each of its lines. All three line ends
// count in data and are read back as \n; a JSON message has them only between
// its tokens, where they mean nothing. What could end the line of an id or a
// name is left out of it.
func Append(dst []byte, id, name string, data []byte) []byte {
	if id != "" {
		dst = appendField(dst, "id: ", id)
	}
	if name != "" {
		dst = appendField(dst, "event: ", name)
	}
	for {
		line, rest, more := cutLine(data)
		dst = append(dst, "data: "...)
		dst = append(dst, line...)
		dst = append(dst, '\n')
		if !more {
			return append(dst, '\n')
		}
		data = rest
	}
}

// AppendRetry appends a retry field, in whole milliseconds and not below zero.
// It is a part of the event that is appended next.
func AppendRetry(dst []byte, d time.Duration) []byte {
	dst = append(dst, "retry: "...)
	dst = strconv.AppendInt(dst, max(d, 0).Milliseconds(), 10)
	return append(dst, '\n')
}

// AppendComment appends a comment, which readers skip: a sign of life. It ends
// no event.
func AppendComment(dst []byte, text string) []byte {
	return appendField(dst, ": ", text)
}

// appendField appends one line. The value cannot break out of it.
func appendField(dst []byte, field, value string) []byte {
	dst = append(dst, field...)
	if strings.ContainsAny(value, "\r\n\x00") {
		value = strings.NewReplacer("\r", "", "\n", "", "\x00", "").Replace(value)
	}
	dst = append(dst, value...)
	return append(dst, '\n')
}

// cutLine cuts b at its first line end; more tells whether there was one.
func cutLine(b []byte) (line, rest []byte, more bool) {
	n := lineEnd(b)
	if n < 0 {
		return b, nil, false
	}
	rest = b[n+1:]
	if b[n] == '\r' && len(rest) > 0 && rest[0] == '\n' {
		rest = rest[1:]
	}
	return b[:n], rest, true
}

// lineEnd gives the place of the first \n or \r, -1 for none.
func lineEnd(b []byte) int {
	n := bytes.IndexByte(b, '\n')
	if n >= 0 {
		b = b[:n]
	}
	if r := bytes.IndexByte(b, '\r'); r >= 0 {
		return r
	}
	return n
}
