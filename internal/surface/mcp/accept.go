package mcp

import (
	"net/http"
	"strings"

	"github.com/answerback/answerback/internal/entry"
)

// accepts is what a client can take as a response.
type accepts struct{ json, sse bool }

// acceptOf reads the Accept header. No header at all, and wildcards, allow
// everything.
func acceptOf(h http.Header) accepts {
	values := h[headerAccept]
	if len(values) == 0 {
		return accepts{json: true, sse: true}
	}
	if len(values) == 1 && (values[0] == "application/json, text/event-stream" || values[0] == "text/event-stream, application/json") {
		return accepts{json: true, sse: true}
	}
	var a accepts
	for _, value := range values {
		for part := range strings.SplitSeq(value, ",") {
			a.add(part)
		}
	}
	return a
}

func (a *accepts) add(part string) {
	kind, params, _ := strings.Cut(part, ";")
	if refused(params) {
		return
	}
	switch strings.ToLower(strings.TrimSpace(kind)) {
	case "*/*":
		a.json, a.sse = true, true
	case "application/json", "application/*":
		a.json = true
	case "text/event-stream", "text/*":
		a.sse = true
	}
}

// refused reports whether the parameters of a media range weigh it with zero.
func refused(params string) bool {
	for p := range strings.SplitSeq(params, ";") {
		q, ok := strings.CutPrefix(strings.ToLower(strings.ReplaceAll(p, " ", "")), "q=")
		if ok && strings.Trim(q, "0.") == "" {
			return true
		}
	}
	return false
}

// isJSON reports whether a request declares a plain JSON body.
func isJSON(h http.Header) bool {
	if e := h.Get("Content-Encoding"); e != "" && !strings.EqualFold(e, "identity") {
		return false
	}
	return entry.IsJSON(h)
}
