package signin

import (
	"mime"
	"net/http"
	"net/url"
	"time"

	"github.com/answerback/answerback/internal/identity"
)

const (
	linkAge  = 15 * time.Minute
	maxLinks = 64 // waiting to be used; the oldest makes room
	maxForm  = 4 << 10
	// localAge is how long a local sign-in holds: the person who can read the
	// gateway's terminal can sign in again at any time, and nobody else can.
	localAge = 30 * 24 * time.Hour
	// returnAge is how long it is remembered which page somebody came for.
	returnAge = 30 * time.Minute
)

// localHelp says how somebody signs in where there is no provider.
const localHelp = "To sign in, open the link that the gateway printed, in this browser. " +
	"The command answerback signin, on the computer that the gateway runs on, prints a new one. After that you are back at the page that you came for."

// remember has the browser keep the page that somebody came for, while they
// fetch the link. It is checked again when it comes back.
func (s *Signin) remember(w http.ResponseWriter, page string) {
	http.SetCookie(w, &http.Cookie{
		Name: returnCookie, Value: s.returnPath(page), Path: "/", MaxAge: int(returnAge / time.Second),
		Secure: true, HttpOnly: true, SameSite: http.SameSiteLaxMode,
	})
}

// remembered gives that page, and has the browser forget it.
func (s *Signin) remembered(w http.ResponseWriter, r *http.Request) string {
	cookies := r.CookiesNamed(returnCookie)
	if len(cookies) == 0 {
		return "/"
	}
	setCookie(w, returnCookie, "", 0)
	if len(cookies) > 1 || cookies[0].Quoted {
		return "/"
	}
	return s.returnPath(cookies[0].Value)
}

// LocalLink makes a link that signs one browser in as identity.Local, once,
// within 15 minutes. Whoever has it can use it, so print it only where the
// operator alone reads. It is empty unless the gateway is Local.
func (s *Signin) LocalLink() string {
	if !s.cfg.Local {
		return ""
	}
	token := newSecret()
	s.links.put(digestOf(forLink, token), struct{}{})
	return s.origin + localPath + "?" + url.Values{"token": {token}}.Encode()
}

func (s *Signin) refuseLink(w http.ResponseWriter, r *http.Request) {
	s.refuse(w, r, &refusal{
		reason: BadLink, status: http.StatusForbidden,
		message: "This link was used already, or is too old. The command answerback signin prints a new one.",
	})
}

// showLocal asks for confirmation and uses nothing up: mail and chat programs
// open links by themselves to show a preview.
func (s *Signin) showLocal(w http.ResponseWriter, r *http.Request) {
	query, err := url.ParseQuery(r.URL.RawQuery)
	token, one := single(query, "token")
	if err != nil || !one || !s.cfg.Local {
		s.refuseLink(w, r)
		return
	}
	if _, ok := s.links.peek(digestOf(forLink, token)); !ok {
		s.refuseLink(w, r)
		return
	}
	s.cfg.Pages.ConfirmLocal(w, r, token)
}

// useLocal signs in. The token counts only in the body, so that no link can
// do it.
func (s *Signin) useLocal(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if kind != "application/x-www-form-urlencoded" || r.ParseForm() != nil {
		s.refuse(w, r, &refusal{reason: BadRequest, status: http.StatusBadRequest, message: "This is not the form that the gateway made. Open its link again."})
		return
	}
	token, one := single(r.PostForm, "token")
	if !one || !s.cfg.Local {
		s.refuseLink(w, r)
		return
	}
	if _, ok := s.links.take(digestOf(forLink, token)); !ok {
		s.refuseLink(w, r)
		return
	}
	if why := s.open(w, r, identity.Local, "", nil); why != nil {
		s.refuse(w, r, why)
		return
	}
	s.signedIn("local link", identity.Local)
	seeOther(w, s.remembered(w, r))
}
