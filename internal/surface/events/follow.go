package events

import (
	"net/http"
	"strconv"
	"time"

	"github.com/answerback/answerback/internal/entry"
	"github.com/answerback/answerback/internal/wire/sse"
)

// retryAfter is how long a consumer is asked to wait before it comes back.
const retryAfter = time.Second

var keepAlive = append(sse.AppendComment(nil, "keep-alive"), '\n')

// follow streams the events of a call that come after the one numbered after,
// until the last one, or until the consumer goes or another takes its place.
// The call never waits for it.
func (s *Surface) follow(w http.ResponseWriter, r *http.Request, c *call, after uint64) {
	replaced := c.attach()
	defer c.detach(replaced)
	out := entry.NewPusher(w)
	out.Begin()
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
		if len(buf) > 0 && out.Push(buf) != nil || b.ended {
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
