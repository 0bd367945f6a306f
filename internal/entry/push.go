package entry

import (
	"errors"
	"net/http"
	"time"
)

// PushTime is how long a client may take to accept what is pushed to it.
const PushTime = 30 * time.Second

// Pusher sends a response piece by piece, each at once. It is for one goroutine
// at a time.
type Pusher struct {
	W  http.ResponseWriter
	rc *http.ResponseController
}

// NewPusher makes the Pusher of a response.
func NewPusher(w http.ResponseWriter) Pusher {
	return Pusher{w, http.NewResponseController(w)}
}

// Header values that never change, shared between responses.
var (
	typeEvents  = []string{"text/event-stream"}
	noCache     = []string{"no-cache, no-transform"}
	noBuffering = []string{"no"}
)

// Begin makes the response a stream of events, which nothing on the way keeps
// back.
func (p Pusher) Begin() {
	h := p.W.Header()
	h["Content-Type"] = typeEvents
	h["Cache-Control"] = noCache
	h["X-Accel-Buffering"] = noBuffering
	p.W.WriteHeader(http.StatusOK)
}

// Push sends bytes that belong together. An error means that the client did
// not get them in time; none does not mean that it did.
func (p Pusher) Push(b []byte) error {
	p.deadline(time.Now().Add(PushTime))
	// A deadline left behind would end an HTTP/2 stream that is only quiet.
	defer p.deadline(time.Time{})
	if _, err := p.W.Write(b); err != nil {
		return err
	}
	return p.Flush()
}

// Flush sends what has been written, where the server can.
func (p Pusher) Flush() error {
	if err := p.rc.Flush(); !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	return nil
}

// deadline bounds the writes that follow, where the server can.
func (p Pusher) deadline(t time.Time) { _ = p.rc.SetWriteDeadline(t) }
