package bearer

import (
	"net/http"
	"net/url"
	"strings"
	"unicode"
)

// maxToken is how long a token or key may be, in bytes.
const maxToken = 16 << 10

// credential takes the one bearer credential out of a request. Tokens are
// read from the Authorization header only: in an address they end up in logs
// and histories, so one there is refused even beside a good header. What it
// gives is bounded in length, but may be any text.
func (b *Bearer) credential(r *http.Request) (string, *Refusal) {
	if r.URL.RawQuery != "" && inQuery(r.URL.RawQuery) {
		return "", b.malformed("A token stands in the address. Send it in the Authorization header.")
	}
	switch values := r.Header["Authorization"]; len(values) {
	case 0:
		return "", b.absent("A token is needed.")
	case 1:
		return b.parse(values[0])
	default:
		return "", b.malformed("There are several Authorization headers.")
	}
}

func (b *Bearer) parse(value string) (string, *Refusal) {
	scheme, token, _ := strings.Cut(value, " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return "", b.absent("A bearer token is needed.")
	}
	token = strings.TrimLeft(token, " ")
	if len(token) > maxToken {
		return "", b.malformed("The token is too long.")
	}
	return token, nil
}

func inQuery(query string) bool {
	values, err := url.ParseQuery(query)
	return values.Has("access_token") || err != nil && strings.Contains(query, "access_token")
}

// isToken68 reports whether text is what RFC 6750 calls a b64token.
func isToken68(text string) bool {
	const characters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~+/"
	body := strings.TrimRight(text, "=")
	return body != "" && strings.TrimLeft(body, characters) == ""
}

// hidden reports whether text has characters that cannot be seen, with which
// one name or subject could pass for another.
func hidden(text string) bool {
	return strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsGraphic(r) || r == unicode.ReplacementChar })
}
