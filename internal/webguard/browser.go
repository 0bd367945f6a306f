package webguard

import (
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

const (
	// contentPolicy lets a page show and do what came from here as a file of
	// its own: nothing inline, nothing evaluated, nothing from elsewhere.
	contentPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
		formSelf + "; frame-ancestors 'none'; base-uri 'none'"
	// Browsers hold the redirect that follows a form against this as well.
	formSelf = "form-action 'self'"
)

var (
	denyFrames  = []string{"DENY"}
	sameOrigin  = []string{"same-origin"}
	noFeatures  = []string{"camera=(), display-capture=(), geolocation=(), microphone=(), payment=(), usb=()"}
	noStore     = []string{"no-store"}
	forever     = []string{"public, max-age=31536000, immutable"}
	onlySecure  = []string{"max-age=31536000"}
	closeConn   = []string{"close"}
	pageAllow   = []string{"GET, HEAD, POST"}
	staticAllow = []string{"GET, HEAD"}
)

// Browser guards pages for people. They come under a host that is served, are
// not framed, embedded or cached, and nothing of another site runs in them. A
// request that changes something was sent by one of our own pages, as far as
// the browser tells; forms must prove it with a token besides, since old
// browsers do not tell. The handler sees no Authorization header, no content
// encoding and no forwarded header but a trusted proxy's, gets a body of
// limited size, and must have its response taken within a limited time.
func (g *Guard) Browser(h http.Handler) http.Handler { return g.browser(h, g.cfg.PageBody) }

// Upload is Browser for pages to which files are posted: with a limit of its
// own for the body, and time for the response that begins anew while the body
// comes.
func (g *Guard) Upload(h http.Handler, limit int64) http.Handler {
	return g.browser(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Body != nil && r.Body != http.NoBody {
			r.Body = &arriving{ReadCloser: r.Body, more: func() { g.limitResponse(w) }}
		}
		h.ServeHTTP(w, r)
	}), limit)
}

// arriving is a body that gives the response more time as it comes. How slow
// it may be is seen to by the server.
type arriving struct {
	io.ReadCloser
	more func()
}

func (a *arriving) Read(p []byte) (int, error) {
	n, err := a.ReadCloser.Read(p)
	a.more()
	return n, err
}

func (g *Guard) browser(h http.Handler, limit int64) http.Handler {
	no := refuser{g, g.cfg.RefusePage}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header := w.Header()
		g.setPage(header)
		header["Cache-Control"] = noStore
		if !g.enterPage(no, w, r) {
			return
		}
		switch r.Method {
		case http.MethodGet, http.MethodHead, http.MethodPost:
		default:
			header["Allow"] = pageAllow
			no.refuse(w, r, http.StatusMethodNotAllowed, badMethod)
			return
		}
		if !g.pageOrigin(r) {
			no.refuse(w, r, http.StatusForbidden, badSite)
			return
		}
		if r.ContentLength > limit {
			header["Connection"] = closeConn
			no.refuse(w, r, http.StatusRequestEntityTooLarge, badSize)
			return
		}
		if r.Body != nil && r.Body != http.NoBody {
			r.Body = http.MaxBytesReader(w, r.Body, limit)
		}
		delete(r.Header, "Authorization")
		h.ServeHTTP(w, r)
	})
}

// Static guards the files that pages load and that never change under their
// name: as Browser does, but they carry nobody's data and are kept by caches.
// The handler sees no credentials and no body.
func (g *Guard) Static(h http.Handler) http.Handler {
	no := refuser{g, g.cfg.RefusePage}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header := w.Header()
		g.setPage(header)
		header["Cache-Control"] = noStore
		if !g.enterPage(no, w, r) {
			return
		}
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			header["Allow"] = staticAllow
			no.refuse(w, r, http.StatusMethodNotAllowed, badMethod)
			return
		}
		delete(r.Header, "Cookie")
		delete(r.Header, "Authorization")
		r.Body = http.NoBody
		h.ServeHTTP(&keeping{ResponseWriter: w}, r)
	})
}

// enterPage does what pages and their files have in common.
func (g *Guard) enterPage(no refuser, w http.ResponseWriter, r *http.Request) bool {
	g.strip(r)
	g.limitResponse(w)
	if !g.hostAllowed(r) {
		no.refuse(w, r, http.StatusForbidden, badHost)
		return false
	}
	if encoded(r) {
		no.refuse(w, r, http.StatusUnsupportedMediaType, badEncoding)
		return false
	}
	return true
}

// pageOrigin decides whether a page may be used by whoever sent the request:
// from another site it may be opened by a link, and nothing else.
func (g *Guard) pageOrigin(r *http.Request) bool {
	site, ok := fetchSite(r)
	if !ok {
		return false
	}
	if r.Method != http.MethodPost {
		return site == "" || site == "same-origin" || site == "none" || opened(r)
	}
	switch values := r.Header["Origin"]; len(values) {
	case 0:
	case 1:
		if !g.ourOrigin(lower(values[0]), r) {
			return false
		}
	default:
		return false
	}
	return g.forged.Check(r) == nil
}

// opened reports whether a request is for a page of its own window, not for a
// part of somebody else's.
func opened(r *http.Request) bool {
	return r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document"
}

// LeadTo lets the forms of the page with these headers lead, by a redirect,
// to the origin of another address too. What is no address changes nothing.
func (g *Guard) LeadTo(header http.Header, address string) {
	u, err := url.Parse(address)
	if err != nil {
		return
	}
	if origin, err := parseOrigin(u.Scheme + "://" + u.Host); err == nil && origin != "" {
		header["Content-Security-Policy"] = []string{strings.Replace(g.csp[0], formSelf, formSelf+" "+origin, 1)}
	}
}

func (g *Guard) setPage(header http.Header) {
	header["Content-Security-Policy"] = g.csp
	header["X-Frame-Options"] = denyFrames
	header["X-Content-Type-Options"] = noSniff
	// With no-referrer browsers send "Origin: null" with our own forms, and
	// could not be told from strangers where they send no Sec-Fetch-Site,
	// which is so on plain http. Other sites learn no address either way.
	header["Referrer-Policy"] = sameOrigin
	header["Cross-Origin-Opener-Policy"] = sameOrigin
	header["Cross-Origin-Resource-Policy"] = sameOrigin
	header["Permissions-Policy"] = noFeatures
	g.setSecure(header)
}

// setSecure makes browsers come back by https only. Other hosts of the same
// domain are not ours to decide about.
func (g *Guard) setSecure(header http.Header) {
	if g.secure {
		header["Strict-Transport-Security"] = onlySecure
	}
}

// limitResponse ends a connection on which a response is not taken. The server
// lifts the limit after the response.
func (g *Guard) limitResponse(w http.ResponseWriter) {
	// A writer without a connection has nobody to wait for.
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(g.cfg.PageTime))
}

// keeping lets caches keep what was found, and that only: a file that is
// missing now may be there after an update.
type keeping struct {
	http.ResponseWriter
	wrote bool
}

func (k *keeping) WriteHeader(status int) {
	if !k.wrote && status >= 200 {
		k.wrote = true
		switch status {
		case http.StatusOK, http.StatusPartialContent, http.StatusNotModified:
			k.Header()["Cache-Control"] = forever
		default:
			k.Header()["Cache-Control"] = noStore
		}
	}
	k.ResponseWriter.WriteHeader(status)
}

func (k *keeping) Write(p []byte) (int, error) {
	if !k.wrote {
		k.WriteHeader(http.StatusOK)
	}
	return k.ResponseWriter.Write(p)
}

func (k *keeping) Unwrap() http.ResponseWriter { return k.ResponseWriter }
