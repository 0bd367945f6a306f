package webguard

import (
	"io"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/answerback/answerback/ask"
)

// What is refused in the same words each time.
var (
	badHost     = ask.Errorf(ask.NotAllowed, "This host name is not served here. Add it to the configuration as public_url if it is yours.")
	badOrigin   = ask.Errorf(ask.NotAllowed, "Requests from this origin are not taken.")
	badAsk      = ask.Errorf(ask.NotAllowed, "Pages of other origins may not send requests of this kind.")
	badSite     = ask.Errorf(ask.NotAllowed, "This page may not be used from another site. Open it directly.")
	badMethod   = ask.Errorf(ask.UnknownMethod, "This HTTP method is not served here.")
	badEncoding = ask.Errorf(ask.BadMessage, "A body with a content encoding is not taken: send it as it is.")
	badSize     = ask.Errorf(ask.TooLarge, "The request is larger than this page takes.")
)

// refuser answers requests of one kind of handler, and leaves a line about it.
type refuser struct {
	g     *Guard
	write func(http.ResponseWriter, int, *ask.Error)
}

func (f refuser) refuse(w http.ResponseWriter, r *http.Request, status int, e *ask.Error) {
	f.g.log.info("request refused", "code", e.Code, "status", status, "why", e.Message,
		"peer", r.RemoteAddr, "method", cut(r.Method), "host", cut(r.Host))
	f.write(w, status, e)
}

func refusePlain(w http.ResponseWriter, status int, e *ask.Error) {
	w.Header()["Content-Type"] = []string{"text/plain; charset=utf-8"}
	w.WriteHeader(status)
	// A browser that has gone cannot be told so.
	_, _ = io.WriteString(w, e.Message+"\n")
}

// cut keeps what a stranger chose short in the log.
func cut(s string) string {
	return s[:min(len(s), 100)]
}

// quiet logs at most one line a second, with the number of those left out: who
// can be refused can be refused often.
type quiet struct {
	log  *slog.Logger
	now  func() time.Time
	next atomic.Int64 // nanoseconds since 1970
	left atomic.Int64
}

func (q *quiet) info(msg string, args ...any) {
	now := q.now().UnixNano()
	next := q.next.Load()
	if now < next || !q.next.CompareAndSwap(next, now+int64(time.Second)) {
		q.left.Add(1)
		return
	}
	q.log.Info(msg, append(args, "unlogged", q.left.Swap(0))...)
}
