package era

import (
	"encoding/base64"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/answerback/answerback/internal/wire"
)

// The headers that mirror fields of a request's body, in canonical form.
const (
	VersionHeader = "Mcp-Protocol-Version"
	MethodHeader  = "Mcp-Method"
	NameHeader    = "Mcp-Name"
	paramPrefix   = "Mcp-Param-"
)

const (
	sentinelOpen  = "=?base64?"
	sentinelClose = "?="
)

// strictBase64 takes one spelling of each value only.
var strictBase64 = base64.StdEncoding.Strict()

// EncodeHeader gives v in the form that Mcp-Name and Mcp-Param-* carry: as it
// is where a header can hold it, else in the base64 form of the
// specification. v is valid UTF-8.
func EncodeHeader(v string) string {
	if isPlain(v) && !isSentinel(v) {
		return v
	}
	return sentinelOpen + strictBase64.EncodeToString([]byte(v)) + sentinelClose
}

// isPlain reports whether a header carries v as it is to every receiver. Tabs
// are legal inside a value, but not every proxy keeps them.
func isPlain(v string) bool {
	for i := range len(v) {
		if v[i] < ' ' || v[i] > '~' {
			return false
		}
	}
	return v == strings.Trim(v, " ")
}

func isSentinel(v string) bool {
	return strings.HasPrefix(v, sentinelOpen) && strings.HasSuffix(v, sentinelClose)
}

// DecodeHeader reverses EncodeHeader. White space around the value does not
// belong to it. It is false for a value with characters that a header must
// not have, and for bad base64 or bad UTF-8 in the base64 form.
func DecodeHeader(v string) (string, bool) {
	v = strings.Trim(v, " \t")
	if !isSentinel(v) {
		for i := range len(v) {
			if (v[i] < ' ' && v[i] != '\t') || v[i] > '~' {
				return "", false
			}
		}
		return v, true
	}
	if len(v) < len(sentinelOpen)+len(sentinelClose) {
		return "", false // the two markers share a character
	}
	inner := v[len(sentinelOpen) : len(v)-len(sentinelClose)]
	if strings.ContainsAny(inner, "\r\n") {
		return "", false // the decoder would skip them
	}
	b, err := strictBase64.DecodeString(inner)
	if err != nil || !utf8.Valid(b) {
		return "", false
	}
	return string(b), true
}

// NameOf gives what the Mcp-Name header of a request must carry: the name of
// the tool or prompt, the URI of the resource, the id of the task. It is false
// where the method has no such header, or the body no such value.
func NameOf(m *wire.Message) (string, bool) {
	var at wire.Span
	switch method := m.Method(); {
	case method == "tools/call", method == "prompts/get":
		at = m.Name
	case method == "resources/read":
		at = m.URI
	case strings.HasPrefix(method, "tasks/"):
		at = wire.Get(m.Raw, m.Params, "taskId")
	}
	if at.IsZero() {
		return "", false
	}
	return wire.Unquote(m.Field(at))
}

// needsName reports whether the specification demands the Mcp-Name header.
func needsName(method string) bool {
	return method == "tools/call" || method == "prompts/get" || method == "resources/read"
}

// SetHeaders sets the headers of a modern request on its way to a backend:
// name is the backend's own name of what is called, "" for none.
func SetHeaders(h http.Header, m *wire.Message, version, name string) {
	h.Set(VersionHeader, version)
	h.Set(MethodHeader, EncodeHeader(m.Method()))
	if name == "" {
		h.Del(NameHeader)
	} else {
		h.Set(NameHeader, EncodeHeader(name))
	}
}

// ParamHeaders gives a copy of the Mcp-Param-* headers, nil where there are
// none.
func ParamHeaders(h http.Header) http.Header {
	var out http.Header
	for k, v := range h {
		if len(k) > len(paramPrefix) && strings.HasPrefix(k, paramPrefix) {
			if out == nil {
				out = http.Header{}
			}
			out[k] = slices.Clone(v)
		}
	}
	return out
}
