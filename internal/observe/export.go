package observe

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/answerback/answerback/internal/journal"
	"github.com/answerback/answerback/internal/wire"
)

const (
	// exportPage is how many records are looked at for one response.
	exportPage = 50_000
	// exportTime bounds how long one response takes, its reader included.
	exportTime = time.Minute
	// NextHeader is the trailer of a response to which there is more: the
	// position to ask from.
	NextHeader = "Answerback-Next"
)

// Filter says which records of the audit are wanted. Its zero value wants all.
type Filter struct {
	Since, Until time.Time // from Since on, and before Until; zero for no bound
	Ask          string
	Backend      string
}

// Query writes f as Export reads it.
func (f Filter) Query() url.Values {
	q := url.Values{}
	for key, t := range map[string]time.Time{"since": f.Since, "until": f.Until} {
		if !t.IsZero() {
			q.Set(key, t.UTC().Format(time.RFC3339Nano))
		}
	}
	for key, s := range map[string]string{"ask": f.Ask, "backend": f.Backend} {
		if s != "" {
			q.Set(key, s)
		}
	}
	return q
}

func readFilter(q url.Values) (f Filter, from uint64, err error) {
	f.Ask, f.Backend = q.Get("ask"), q.Get("backend")
	for key, to := range map[string]*time.Time{"since": &f.Since, "until": &f.Until} {
		if s := q.Get(key); s != "" {
			var bad error
			if *to, bad = time.Parse(time.RFC3339Nano, s); bad != nil {
				err = fmt.Errorf("%s is not a time such as 2026-07-28T09:00:00Z", key)
			}
		}
	}
	if s := q.Get("from"); s != "" {
		var bad error
		if from, bad = strconv.ParseUint(s, 10, 64); bad != nil {
			err = errors.New("from is not a position")
		}
	}
	return f, from, err
}

// wants reports whether a line is of those that f wants. One that cannot be
// read is given only where nothing is asked for in particular.
func (f *Filter) wants(line []byte) bool {
	if *f == (Filter{}) {
		return true
	}
	whole, err := wire.Value(line)
	if err != nil {
		return false
	}
	word := func(key string) string {
		s, _ := wire.Unquote(wire.Get(line, whole, key).Of(line))
		return s
	}
	if f.Ask != "" && word("ask") != f.Ask || f.Backend != "" && word("backend") != f.Backend {
		return false
	}
	if f.Since.IsZero() && f.Until.IsZero() {
		return true
	}
	at, err := time.Parse(time.RFC3339Nano, word("at"))
	return err == nil && !at.Before(f.Since) && (f.Until.IsZero() || at.Before(f.Until))
}

// Export serves the audit as JSON lines, oldest first: GET with the members of
// a Filter, and from, a position. One response looks at a bounded number of
// records; where there are more, its trailer Answerback-Next says from where.
// A response that is cut off by a failure ends without the end of its body.
// It does not ask who reads: it is for a socket that only the owner can open.
func Export(j journal.Audit, log *slog.Logger) http.Handler {
	return &export{journal: j, log: log}
}

type export struct {
	journal journal.Audit
	log     *slog.Logger
}

func (e *export) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	filter, from, err := readFilter(r.URL.Query())
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	// What cannot set a deadline has none, as a recorder in tests.
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(exportTime))
	next, begun, err := e.page(r.Context(), w, filter, from)
	switch {
	case err == nil:
		if next > 0 {
			w.Header().Set(http.TrailerPrefix+NextHeader, strconv.FormatUint(next, 10))
		}
	case r.Context().Err() != nil: // the reader has gone
	default:
		e.failed(w, err, begun)
	}
}

// page writes one response's share of the audit. It gives the position of the
// next one, zero where there is none, and whether anything was written.
func (e *export) page(ctx context.Context, w http.ResponseWriter, filter Filter, from uint64) (next uint64, begun bool, err error) {
	out := bufio.NewWriterSize(w, 64<<10)
	looked, last := 0, uint64(0)
	for entry, err := range e.journal.ReadAudit(ctx, from) {
		if err != nil {
			return 0, begun, err
		}
		// Records that were stored together share a position: a page ends
		// between two positions.
		if looked >= exportPage && entry.Pos != last {
			next = entry.Pos
			break
		}
		looked, last = looked+1, entry.Pos
		if !filter.wants(entry.Data) {
			continue
		}
		if !begun {
			begun = true
			w.Header().Set("Content-Type", "application/jsonl")
		}
		if _, err := out.Write(entry.Data); err != nil {
			return 0, begun, err
		}
		if err := out.WriteByte('\n'); err != nil {
			return 0, begun, err
		}
	}
	return next, begun, out.Flush()
}

// failed says that the audit cannot be read, or cuts off what was begun so
// that its reader does not take it for the whole.
func (e *export) failed(w http.ResponseWriter, err error, begun bool) {
	e.log.Error("the audit cannot be read", "err", err)
	if begun {
		panic(http.ErrAbortHandler)
	}
	http.Error(w, journal.Refusal(err).Message, http.StatusServiceUnavailable)
}
