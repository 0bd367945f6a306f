package entry

import (
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/budget"
)

// What a body is refused for. Errors of reading that are neither have the
// code BadMessage.
var (
	NotJSON  = Refuse(http.StatusUnsupportedMediaType, ask.BadMessage, "The body must be application/json in UTF-8.")
	TooLarge = Refuse(http.StatusRequestEntityTooLarge, ask.TooLarge, "The body is larger than this gateway takes.")
)

// IsJSON reports whether a request says once, and clearly, that its body is
// JSON in UTF-8.
func IsJSON(h http.Header) bool {
	types := h["Content-Type"]
	if len(types) != 1 {
		return false
	}
	if types[0] == "application/json" { // what nearly everybody sends
		return true
	}
	kind, params, err := mime.ParseMediaType(types[0])
	if err != nil || kind != "application/json" {
		return false
	}
	switch strings.ToLower(params["charset"]) {
	case "", "utf-8", "utf8":
		return true
	}
	return false
}

// ReadJSON reads a body of at most limit bytes that says of itself that it is
// JSON. What is in it is not looked at. w is whose connection is closed after a
// larger one; nil where that is arranged already.
func ReadJSON(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, error) {
	if !IsJSON(r.Header) {
		return nil, NotJSON
	}
	return ReadBody(w, r, limit)
}

// ReadBody is ReadJSON for a body of any type.
func ReadBody(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, error) {
	raw, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	if err != nil {
		if _, large := errors.AsType[*http.MaxBytesError](err); large {
			return nil, TooLarge
		}
		if budget.IsFull(err) {
			return nil, err
		}
		return nil, ask.Wrap(ask.BadMessage, "The body could not be read to its end.", err)
	}
	return raw, nil
}

// WriteJSON answers a request with a value that nobody may keep.
func WriteJSON(w http.ResponseWriter, status int, body any) {
	raw, err := json.Marshal(body)
	if err != nil {
		status, raw = http.StatusInternalServerError, []byte(`{"error":{"code":"internal","message":"Something went wrong inside the gateway."}}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	// A client that has gone cannot be told so.
	_, _ = w.Write(append(raw, '\n'))
}
