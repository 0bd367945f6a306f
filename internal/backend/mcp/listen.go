package mcp

import (
	"net/http"
	"sync"
	"time"
)

// listenWait is how long Listen waits for the server to open the stream: some
// send nothing before the first event.
const listenWait = 500 * time.Millisecond

// Listen opens the session's own stream, once, for what belongs to no call.
func (l *legacyLine) Listen() {
	l.listening.Do(func() {
		answered := make(chan struct{})
		if !l.crew.spawn(func() { l.listen(sync.OnceFunc(func() { close(answered) })) }) {
			return
		}
		timer := time.NewTimer(listenWait)
		defer timer.Stop()
		select {
		case <-answered:
		case <-timer.C:
		}
	})
}

// listen keeps the session's own stream open for as long as the server has
// one and the line lives. It calls answered when the server first answered.
func (l *legacyLine) listen(answered func()) {
	defer answered()
	cursor, retry, failures := "", time.Duration(-1), 0
	for {
		header := l.headers.Load().get
		if cursor != "" {
			header = with(header, cursorHeader, cursor)
		}
		resp, err := get(l.life, l.door, http.MethodGet, l.backend.url, header)
		answered()
		switch {
		case err != nil:
			failures++
		case l.gone(resp.StatusCode):
			resp.Body.Close()
			l.lose(resp.StatusCode)
			return
		case resp.StatusCode == http.StatusOK && mediaType(resp.Header) == typeStream && !encoded(resp.Header):
			heard := false
			cursor, retry, heard = l.hear(resp, cursor, retry)
			if failures++; heard {
				failures = 0
			}
		default:
			resp.Body.Close()
			if !worthRetrying(resp.StatusCode) {
				l.log.Debug("backend has no stream of its own", "status", resp.StatusCode)
				return
			}
			failures++
		}
		if !pause(l.life, retry, failures) {
			return
		}
	}
}

// worthRetrying reports whether a status that is no stream may become one.
func worthRetrying(status int) bool {
	return status == http.StatusConflict || status == http.StatusRequestTimeout ||
		status == http.StatusTooManyRequests || status >= 500
}

// hear reads the session's own stream until it ends.
func (l *legacyLine) hear(resp *http.Response, cursor string, retry time.Duration) (string, time.Duration, bool) {
	defer resp.Body.Close()
	heard := false
	hold := l.held()
	defer hold.Release()
	r := newReader(l.life, resp.Body, l.limits.MessageBytes, hold)
	for {
		ev, err := r.Next()
		if err != nil {
			if head := r.Partial(); head != nil {
				l.unread(head, err, nil)
				cursor = "" // or the same event would come again
			}
			return cursor, retry, heard
		}
		heard = true
		if ev.HasID {
			cursor = ev.ID
		}
		if ev.HasRetry {
			retry = ev.Retry
		}
		if len(ev.Data) > 0 && (ev.Name == "" || ev.Name == "message") {
			l.inbound(ev.Data, nil, "")
		}
	}
}
