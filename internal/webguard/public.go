package webguard

import "net/http"

var (
	anyOrigin     = []string{"*"}
	publicMethods = []string{"GET, HEAD"}
	publicHeaders = []string{"Accept, Content-Type, MCP-Protocol-Version"}
	publicAllow   = []string{"GET, HEAD, OPTIONS"}
)

// Public guards documents that anybody may read from anywhere, such as the
// metadata by which clients find out how to authenticate. The handler sees no
// credentials and no body.
func (g *Guard) Public(h http.Handler) http.Handler {
	no := refuser{g, g.cfg.RefusePage}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		g.strip(r)
		header := w.Header()
		header["X-Content-Type-Options"] = noSniff
		g.setSecure(header)
		if !g.hostAllowed(r) {
			no.refuse(w, r, http.StatusForbidden, badHost)
			return
		}
		header["Access-Control-Allow-Origin"] = anyOrigin
		switch r.Method {
		case http.MethodGet, http.MethodHead:
		case http.MethodOptions:
			header["Access-Control-Allow-Methods"] = publicMethods
			header["Access-Control-Allow-Headers"] = publicHeaders
			header["Access-Control-Max-Age"] = corsMaxAge
			header["Allow"] = publicAllow
			w.WriteHeader(http.StatusNoContent)
			return
		default:
			header["Allow"] = publicAllow
			no.refuse(w, r, http.StatusMethodNotAllowed, badMethod)
			return
		}
		if encoded(r) {
			no.refuse(w, r, http.StatusUnsupportedMediaType, badEncoding)
			return
		}
		delete(r.Header, "Cookie")
		delete(r.Header, "Authorization")
		g.limitResponse(w)
		r.Body = http.NoBody
		h.ServeHTTP(w, r)
	})
}
