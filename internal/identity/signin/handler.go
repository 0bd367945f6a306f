package signin

import (
	"errors"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

const (
	signinPath   = "/signin"
	callbackPath = "/signin/callback"
	localPath    = "/signin/local"
	signoutPath  = "/signout"
)

// flowAge is how long somebody has to sign in at their provider.
const flowAge = 10 * time.Minute

// flow is a sign-in under way, kept under the digest of its state.
type flow struct {
	provider *provider
	browser  digest // of the flow cookie of the browser that began it
	nonce    string
	verifier string
	returnTo string
}

// Handler serves /signin, /signin/callback, /signin/local and /signout, and
// nothing else.
func (s *Signin) Handler() http.Handler {
	routes := map[string]map[string]http.HandlerFunc{
		signinPath:   {http.MethodGet: s.begin},
		callbackPath: {http.MethodGet: s.callback},
		localPath:    {http.MethodGet: s.showLocal, http.MethodPost: s.useLocal},
		signoutPath:  {http.MethodPost: s.signOut},
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		private(w)
		route, ok := routes[r.URL.Path]
		if !ok {
			s.cfg.Pages.Problem(w, r, http.StatusNotFound, "There is no such page.")
			return
		}
		handle, ok := route[r.Method]
		if !ok {
			w.Header().Set("Allow", strings.Join(slices.Sorted(maps.Keys(route)), ", "))
			s.cfg.Pages.Problem(w, r, http.StatusMethodNotAllowed, "This page cannot be used in that way.")
			return
		}
		if r.Method == http.MethodPost && !s.sameOrigin(r) {
			s.refuse(w, r, &refusal{reason: CrossSite, status: http.StatusForbidden, message: "This was sent from another site, so nothing was changed."})
			return
		}
		handle(w, r)
	})
}

// sameOrigin reports whether a form was posted from a page of this gateway.
// Sec-Fetch-Site goes first, because a page with a strict referrer policy
// posts with the origin "null". A request with neither header comes from no
// browser that could be tricked.
func (s *Signin) sameOrigin(r *http.Request) bool {
	if site := r.Header.Values("Sec-Fetch-Site"); len(site) > 0 {
		return len(site) == 1 && site[0] == "same-origin"
	}
	origin := r.Header.Values("Origin")
	return len(origin) == 0 || len(origin) == 1 && origin[0] == s.origin
}

// begin sends the browser to a provider.
func (s *Signin) begin(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	returnTo := s.returnPath(query.Get("return"))
	if len(s.providers) == 0 {
		message := "Nobody can sign in here: the gateway has no sign-in configured."
		if s.cfg.Local {
			s.remember(w, returnTo)
			message = localHelp
		}
		s.cfg.Pages.Problem(w, r, http.StatusUnauthorized, message)
		return
	}
	p := s.chosen(query.Get("provider"))
	if p == nil {
		s.cfg.Pages.Choose(w, r, s.choices(returnTo), returnTo)
		return
	}
	found, err := p.discover(r.Context())
	if err != nil {
		s.refuse(w, r, p.failed("cannot be reached", err))
		return
	}
	state := newSecret()
	f := flow{provider: p, nonce: newSecret(), verifier: newSecret(), returnTo: returnTo}
	f.browser = s.knowBrowser(w, r)
	s.flows.put(digestOf(forFlow, state), f)
	seeOther(w, found.authURL(state, f))
}

// knowBrowser marks the browser, so that what it begins nobody else ends. A
// browser keeps its mark while it lasts: people open two links in two tabs.
// A mark that was not given out here is not adopted.
func (s *Signin) knowBrowser(w http.ResponseWriter, r *http.Request) digest {
	mark, ok := cookieValue(r, flowCookie)
	if ok {
		_, ok = s.browsers.peek(digestOf(forBrowser, mark))
	}
	if !ok {
		mark = newSecret()
	}
	known := digestOf(forBrowser, mark)
	s.browsers.put(known, struct{}{})
	setCookie(w, flowCookie, mark, flowAge)
	return known
}

// chosen gives the provider of that name, or the only one; nil when somebody
// has to choose.
func (s *Signin) chosen(name string) *provider {
	if len(s.providers) == 1 {
		return s.providers[0]
	}
	for _, p := range s.providers {
		if p.cfg.Name == name {
			return p
		}
	}
	return nil
}

func (s *Signin) choices(returnTo string) []Choice {
	var choices []Choice
	for _, p := range s.providers {
		link := signinPath + "?" + url.Values{"provider": {p.cfg.Name}, "return": {returnTo}}.Encode()
		choices = append(choices, Choice{Name: p.cfg.Name, URL: link})
	}
	return choices
}

// callback takes what the provider sent the browser back with.
func (s *Signin) callback(w http.ResponseWriter, r *http.Request) {
	f, answer, why := s.claim(r)
	if why != nil {
		s.refuse(w, r, why)
		return
	}
	found, err := f.provider.discover(r.Context())
	if err != nil {
		s.refuse(w, r, f.provider.failed("cannot be reached", err))
		return
	}
	who, why := found.redeem(r.Context(), f, answer)
	if why == nil {
		why = s.open(w, r, who.principal, who.name, who.claims)
	}
	if why != nil {
		why.issuer = f.provider.cfg.Issuer
		s.refuse(w, r, why)
		return
	}
	s.signedIn(f.provider.cfg.Name, who.principal)
	seeOther(w, f.returnTo)
}

// answer is what a provider says through the browser, so anybody may have
// written it.
type answer struct {
	code, failure, issuer string
	named                 bool // issuer was given
}

// claim takes the flow that the request ends, at most once, and for the
// browser that began it alone. Another browser does not use it up.
func (s *Signin) claim(r *http.Request) (flow, answer, *refusal) {
	malformed := &refusal{reason: BadRequest, status: http.StatusBadRequest, message: "The sign-in came back incomplete. Sign in again."}
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return flow{}, answer{}, malformed
	}
	for _, name := range []string{"state", "code", "error", "iss"} {
		if len(query[name]) > 1 {
			malformed.cause = errors.New("the parameter " + name + " is given twice")
			return flow{}, answer{}, malformed
		}
	}
	a := answer{code: query.Get("code"), failure: query.Get("error"), issuer: query.Get("iss"), named: query.Has("iss")}
	state := query.Get("state")
	if !isSecret(state) || (a.code == "") == (a.failure == "") {
		return flow{}, answer{}, malformed
	}
	unknown := &refusal{reason: UnknownFlow, status: http.StatusBadRequest, message: "This sign-in took too long or was finished already. Sign in again."}
	key := digestOf(forFlow, state)
	f, ok := s.flows.peek(key)
	if !ok {
		return flow{}, answer{}, unknown
	}
	mark, ok := cookieValue(r, flowCookie)
	if !ok || digestOf(forBrowser, mark) != f.browser {
		return flow{}, answer{}, &refusal{
			reason: OtherBrowser, status: http.StatusBadRequest, issuer: f.provider.cfg.Issuer,
			message: "This sign-in was begun in another browser. Sign in here.",
		}
	}
	f, ok = s.flows.take(key)
	if !ok {
		return flow{}, answer{}, unknown
	}
	return f, a, nil
}

// single gives the one value of a field.
func single(values url.Values, name string) (string, bool) {
	v := values[name]
	if len(v) != 1 || !isSecret(v[0]) {
		return "", false
	}
	return v[0], true
}

// private keeps answers, and addresses that hold codes, out of caches and of
// what other sites are told.
func private(w http.ResponseWriter) {
	w.Header().Set("Cache-Control", "no-store")
	// Whoever stands before has perhaps said more: under no-referrer browsers
	// post our own forms as if they came from nowhere.
	if w.Header().Get("Referrer-Policy") == "" {
		w.Header().Set("Referrer-Policy", "same-origin")
	}
}

// seeOther redirects to the target as it stands; http.Redirect would rewrite
// the path that was checked.
func seeOther(w http.ResponseWriter, target string) {
	w.Header().Set("Location", target)
	w.WriteHeader(http.StatusSeeOther)
}
