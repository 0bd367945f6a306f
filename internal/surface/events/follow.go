package events

import (
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/answerback/answerback/internal/wire/sse"
)

const (
	// writeTimeout is how long a consumer may take to accept what is sent.
	writeTimeout = 30 * time.Second
	// retryAfter is how long a consumer is asked to wait before it comes back.
	retryAfter = time.Second
)

var keepAlive = append(sse.AppendComment(nil, "keep-alive"), '\n')

// follow streams the events of a call that come after the one numbered after,
// until the last one, or until the consumer goes or another takes its place.
// The call never waits for it.
func (s *Surface) follow(w http.ResponseWriter, r *http.Request, c *call, after uint64) {
	replaced := c.attach()
	defer c.detach(replaced)
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-cache, no-transform")
	h.Set("X-Accel-Buffering", "no")
	w.WriteHeader(http.StatusOK)
	out := sender{w, http.NewResponseController(w)}
	beat := time.NewTicker(s.cfg.KeepAlive)
	defer beat.Stop()

	buf := append(sse.AppendRetry(nil, retryAfter), '\n')
	for {
		b := c.log.since(after)
		if b.lost {
			buf = append(buf, frame(0, typeLost, lostEvent{typeLost, after})...)
		}
		for _, f := range b.frames {
			buf = append(buf, f...)
		}
		after = b.after
		if len(buf) > 0 && out.send(buf) != nil || b.ended {
			return
		}
		buf = nil
		select {
		case <-b.news:
		case <-beat.C:
			buf = keepAlive
		case <-replaced:
			return
		case <-r.Context().Done():
			return
		}
	}
}

// sender writes to a consumer, which must take it in time.
type sender struct {
	w  http.ResponseWriter
	rc *http.ResponseController
}

func (s sender) send(b []byte) error {
	_ = s.rc.SetWriteDeadline(time.Now().Add(writeTimeout))
	_, err := s.w.Write(b)
	if err == nil {
		if err = s.rc.Flush(); errors.Is(err, http.ErrNotSupported) {
			err = nil
		}
	}
	// A deadline left behind would end an HTTP/2 stream that is only quiet.
	_ = s.rc.SetWriteDeadline(time.Time{})
	return err
}

// lastEvent reads the number of the last event that a consumer has seen, 0
// where it has seen none.
func lastEvent(r *http.Request, c *call) (uint64, error) {
	v := r.Header["Last-Event-Id"]
	if len(v) == 0 || len(v) == 1 && v[0] == "" {
		return 0, nil
	}
	n, err := strconv.ParseUint(v[0], 10, 64)
	if len(v) != 1 || err != nil || !c.log.issued(n) {
		return 0, bad("The header Last-Event-ID names no event of this call.")
	}
	return n, nil
}
