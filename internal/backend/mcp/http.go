package mcp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/door"
	"github.com/answerback/answerback/internal/wire"
)

const (
	typeJSON   = "application/json"
	typeStream = "text/event-stream"

	sessionHeader = "Mcp-Session-Id"
	cursorHeader  = "Last-Event-Id"
)

// payload is a request body that knows whether somebody began to read it:
// while nobody did, the server has not seen the request.
type payload struct {
	bytes.Reader
	begun *atomic.Bool
}

func (p *payload) Read(b []byte) (int, error) {
	p.begun.Store(true)
	return p.Reader.Read(b)
}

func (*payload) Close() error { return nil }

// post sends a message. sent is false where an error means that the server
// never saw it. The header is shared and not modified.
func post(ctx context.Context, by door.Door, u *url.URL, header http.Header, msg []byte) (resp *http.Response, sent bool, err error) {
	begun := new(atomic.Bool)
	open := func() (io.ReadCloser, error) {
		p := &payload{begun: begun}
		p.Reset(msg)
		return p, nil
	}
	body, _ := open()
	req := (&http.Request{
		Method: http.MethodPost, URL: u, Host: u.Host, Header: header,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Body: body, ContentLength: int64(len(msg)),
		// It is used where a kept connection turned out to be closed before
		// anything was written to it, and where the server refused to look.
		GetBody: open,
	}).WithContext(ctx)
	resp, err = by.Do(req)
	return resp, begun.Load(), err
}

// get opens a stream, and with a method of its own also ends a session.
func get(ctx context.Context, by door.Door, method string, u *url.URL, header http.Header) (*http.Response, error) {
	req := (&http.Request{
		Method: method, URL: u, Host: u.Host, Header: header,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}).WithContext(ctx)
	return by.Do(req)
}

// with gives a copy of h with a few more fields. Values are shared.
func with(h http.Header, pairs ...string) http.Header {
	c := make(http.Header, len(h)+len(pairs)/2)
	for k, v := range h {
		c[k] = v
	}
	for i := 0; i < len(pairs); i += 2 {
		c[pairs[i]] = []string{pairs[i+1]}
	}
	return c
}

// mediaType gives the type of a response's body, without parameters.
func mediaType(h http.Header) string {
	v := h.Get("Content-Type")
	if v == typeJSON || v == typeStream {
		return v
	}
	t, _, err := mime.ParseMediaType(v)
	if err != nil {
		t, _, _ = strings.Cut(v, ";")
		return strings.ToLower(strings.TrimSpace(t))
	}
	return t
}

// encoded reports whether a body has a content encoding, which nobody asked for.
func encoded(h http.Header) bool {
	e := h.Get("Content-Encoding")
	return e != "" && !strings.EqualFold(e, "identity")
}

var errTooLarge = errors.New("body beyond the limit")

// readAll reads a body of at most limit bytes. It does not believe the length
// that the server announces before the bytes have come, and takes the memory
// for them by grow, if that is given.
func readAll(resp *http.Response, limit int, grow func(change int) error) ([]byte, error) {
	if resp.ContentLength > int64(limit) {
		return nil, errTooLarge
	}
	const first = 64 << 10
	most := limit + 1
	next := 2 << 10
	if resp.ContentLength >= 0 {
		// One more byte lets the reader see the end without growing.
		most = int(resp.ContentLength) + 1
		next = min(most, first)
	}
	var buf []byte
	for {
		if len(buf) == cap(buf) {
			if len(buf) > limit {
				return nil, errTooLarge
			}
			next = max(min(next, most), len(buf)+1)
			if grow != nil {
				if err := grow(next); err != nil {
					return nil, err
				}
			}
			old := buf
			buf = make([]byte, len(old), next)
			copy(buf, old)
			if grow != nil && cap(old) > 0 {
				_ = grow(-cap(old))
			}
			next = 2 * cap(buf)
		}
		n, err := resp.Body.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		if len(buf) > limit {
			return nil, errTooLarge
		}
		if err == io.EOF {
			return buf, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// readFault reads the body of an HTTP error as far as it can be a JSON-RPC
// error response.
func readFault(resp *http.Response, limit int) (wire.Message, bool) {
	if mediaType(resp.Header) != typeJSON || encoded(resp.Header) {
		return wire.Message{}, false
	}
	body, err := readAll(resp, min(limit, 1<<20), nil)
	if err != nil {
		return wire.Message{}, false
	}
	m, err := wire.Scan(body, wire.Limits{})
	return m, err == nil && m.Kind == wire.Failure
}

// failedToSend is the error of a request that got no response at all.
func failedToSend(backend, method string, sent bool, err error) *ask.Error {
	if refused, ok := errors.AsType[*ask.Error](err); ok {
		return refused // nothing was executed
	}
	if sent {
		return lost(backend, method, "the connection broke", err)
	}
	return unreachable(backend, "no connection could be made; check that it runs and that its url is right", err)
}

// drainTime is how long a finished stream may take to end, so that its
// connection can be used again.
const drainTime = 250 * time.Millisecond

// drain reads a finished body to its end, within limits, and closes it.
func drain(body io.ReadCloser, cancel func()) {
	timer := time.AfterFunc(drainTime, cancel)
	_, _ = io.CopyN(io.Discard, body, 64<<10)
	timer.Stop()
	body.Close()
	cancel()
}

// tail notes whether a body has been read to its end.
type tail struct {
	io.ReadCloser
	eof bool
}

func (t *tail) Read(p []byte) (int, error) {
	n, err := t.ReadCloser.Read(p)
	if err == io.EOF {
		t.eof = true
	}
	return n, err
}

// acknowledged checks the response to a notification or a response of ours
// and lets it go.
func acknowledged(backend string, resp *http.Response) error {
	defer resp.Body.Close()
	_, _ = io.CopyN(io.Discard, resp.Body, 64<<10)
	if resp.StatusCode >= 200 && resp.StatusCode < 300 {
		return nil
	}
	e := badStatus(backend, "", resp.StatusCode, resp.Header.Get("Location"))
	e.Cause = fmt.Errorf("a message was answered with %s", resp.Status)
	return e
}
