package door

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/answerback/answerback/internal/secret"
)

// Header checks the headers that are configured for a backend, and gives what
// every request to it has. Who uses it does not modify it.
func Header(static map[string]secret.Text) (http.Header, error) {
	h := make(http.Header, len(static)+8)
	for name, value := range static {
		key := http.CanonicalHeaderKey(name)
		switch {
		case !validName(name) || !ValidValue(value.Reveal()):
			return nil, fmt.Errorf("header %q is not a valid HTTP header", name)
		case strings.HasPrefix(key, "Mcp-") || strings.HasPrefix(key, "A2a-") || reserved[key]:
			return nil, fmt.Errorf("header %q belongs to the transport and cannot be configured", name)
		}
		h[key] = []string{value.Reveal()}
	}
	if _, ok := h["User-Agent"]; !ok {
		h["User-Agent"] = []string{"answerback"}
	}
	return h, nil
}

var reserved = map[string]bool{
	"Accept": true, "Accept-Encoding": true, "Connection": true, "Content-Encoding": true,
	"Content-Length": true, "Content-Type": true, "Host": true, "Last-Event-Id": true,
	"Te": true, "Trailer": true, "Transfer-Encoding": true, "Upgrade": true,
}

func validName(s string) bool {
	for i := range len(s) {
		c := s[i]
		if c <= ' ' || c >= 0x7f || strings.IndexByte(`()<>@,;:\"/[]?={}`, c) >= 0 {
			return false
		}
	}
	return s != ""
}

// ValidValue reports whether s can be the value of a header.
func ValidValue(s string) bool {
	for i := range len(s) {
		if (s[i] < ' ' && s[i] != '\t') || s[i] == 0x7f {
			return false
		}
	}
	return true
}
