package webguard

import (
	"net/http"
	"strings"
)

// What pages of allowed origins may send and read. Values that never change
// are shared between responses.
var (
	corsMethods = []string{"POST, GET, DELETE"}
	corsExpose  = []string{"Mcp-Session-Id, WWW-Authenticate"}
	corsMaxAge  = []string{"600"}
	varyOrigin  = []string{"Origin"}
	varyAsk     = []string{"Origin, Access-Control-Request-Method, Access-Control-Request-Headers"}
	noSniff     = []string{"nosniff"}

	corsHeaders = map[string]bool{
		"accept": true, "authorization": true, "content-type": true, "last-event-id": true,
		"idempotency-key": true, "x-supports-elicitation": true, "x-supports-sampling": true,
		"mcp-method": true, "mcp-name": true, "mcp-protocol-version": true, "mcp-session-id": true,
	}
)

const (
	corsParam      = "mcp-param-"
	maxCorsHeaders = 64
	maxCorsName    = 128
)

// API guards the endpoints that programs call. Requests come under a host that
// is served, and from no web page but ours and those of the allowed origins,
// which are told so by CORS, always without credentials. The handler sees no
// cookie, no content encoding, and no forwarded header but a trusted proxy's.
func (g *Guard) API(h http.Handler) http.Handler {
	no := refuser{g, g.cfg.Refuse}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		g.strip(r)
		header := w.Header()
		header["Vary"] = varyOrigin
		header["X-Content-Type-Options"] = noSniff
		if !g.hostAllowed(r) {
			no.refuse(w, r, http.StatusForbidden, badHost)
			return
		}
		cors, ok := g.apiOrigin(r)
		if !ok {
			no.refuse(w, r, http.StatusForbidden, badOrigin)
			return
		}
		if cors != nil {
			if r.Method == http.MethodOptions && r.Header["Access-Control-Request-Method"] != nil {
				header["Vary"] = varyAsk
				if !preflight(header, r, cors) {
					no.refuse(w, r, http.StatusForbidden, badAsk)
					return
				}
				w.WriteHeader(http.StatusNoContent)
				return
			}
			header["Access-Control-Allow-Origin"] = cors
			header["Access-Control-Expose-Headers"] = corsExpose
		}
		if encoded(r) {
			no.refuse(w, r, http.StatusUnsupportedMediaType, badEncoding)
			return
		}
		delete(r.Header, "Cookie")
		h.ServeHTTP(w, r)
	})
}

// apiOrigin decides whether the API takes requests of the web page that sent
// this one, if a page did, and gives the origin where CORS must name it.
func (g *Guard) apiOrigin(r *http.Request) (cors []string, ok bool) {
	switch values := r.Header["Origin"]; len(values) {
	case 0:
		// Pages send some requests without an Origin, whose responses they
		// cannot read; they still have effects.
		site, ok := fetchSite(r)
		return nil, ok && (site == "" || site == "same-origin" || site == "none")
	case 1:
		origin := lower(values[0])
		if cors := g.origins[origin]; cors != nil {
			return cors, true
		}
		return nil, g.ourOrigin(origin, r)
	}
	return nil, false
}

// fetchSite gives what a browser says of the page that sent a request, "" when
// it says nothing. Two sayings are none.
func fetchSite(r *http.Request) (string, bool) {
	switch v := r.Header["Sec-Fetch-Site"]; len(v) {
	case 0:
		return "", true
	case 1:
		return v[0], v[0] != ""
	}
	return "", false
}

// preflight allows what a page wants to send, if all of it may be.
func preflight(header http.Header, r *http.Request, origin []string) bool {
	switch m := r.Header["Access-Control-Request-Method"]; {
	case len(m) != 1:
		return false
	case m[0] != http.MethodPost && m[0] != http.MethodGet && m[0] != http.MethodDelete:
		return false
	}
	var allowed []string
	for _, list := range r.Header["Access-Control-Request-Headers"] {
		for name := range strings.SplitSeq(list, ",") {
			name = lower(strings.Trim(name, " \t"))
			if !corsHeaders[name] && !isParam(name) || len(allowed) == maxCorsHeaders {
				return false
			}
			allowed = append(allowed, name)
		}
	}
	header["Access-Control-Allow-Origin"] = origin
	header["Access-Control-Allow-Methods"] = corsMethods
	header["Access-Control-Max-Age"] = corsMaxAge
	if allowed != nil {
		header["Access-Control-Allow-Headers"] = []string{strings.Join(allowed, ", ")}
	}
	return true
}

// isParam reports whether a header carries a parameter of a tool.
func isParam(name string) bool {
	rest, ok := strings.CutPrefix(name, corsParam)
	if !ok || rest == "" || len(name) > maxCorsName {
		return false
	}
	for i := range len(rest) {
		c := rest[i]
		if (c < '0' || c > '9') && (c < 'a' || c > 'z') && !strings.ContainsRune("!#$%&'*+-.^_`|~", rune(c)) {
			return false
		}
	}
	return true
}

// encoded reports whether a body would have to be unpacked. Nothing here
// unpacks, so that nothing can swell.
func encoded(r *http.Request) bool {
	values := r.Header["Content-Encoding"]
	return len(values) > 1 || len(values) == 1 && !strings.EqualFold(values[0], "identity")
}
