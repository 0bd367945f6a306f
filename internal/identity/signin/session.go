package signin

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/identity"
)

// The prefix makes browsers refuse the cookies from anywhere but this host
// itself, so that no neighbour or eavesdropper can plant one.
const (
	sessionCookie = "__Host-answerback-session"
	flowCookie    = "__Host-answerback-flow"
	returnCookie  = "__Host-answerback-return"
)

// maxSeenAge is how often the store is told, at most, that a session is used.
const maxSeenAge = time.Minute

// cookieValue gives the one cookie of that name. Of two, one was put there
// by somebody else, and nothing says which.
func cookieValue(r *http.Request, name string) (string, bool) {
	cookies := r.CookiesNamed(name)
	if len(cookies) != 1 || cookies[0].Quoted || !isSecret(cookies[0].Value) {
		return "", false
	}
	return cookies[0].Value, true
}

// setCookie keeps value in the browser for that long; with age 0 it is removed.
func setCookie(w http.ResponseWriter, name, value string, age time.Duration) {
	seconds := int(age / time.Second)
	if seconds <= 0 {
		seconds = -1
	}
	http.SetCookie(w, &http.Cookie{
		Name: name, Value: value, Path: "/", MaxAge: seconds,
		Secure: true, HttpOnly: true, SameSite: http.SameSiteLaxMode,
	})
}

// session gives the live session of r and the cookie's value.
func (s *Signin) session(r *http.Request) (value string, record Record, ok bool) {
	value, ok = cookieValue(r, sessionCookie)
	if !ok {
		return "", Record{}, false
	}
	key := digestOf(forSession, value).String()
	record, ok, err := s.store.Get(r.Context(), key)
	if err != nil {
		s.cfg.Log.Error("sessions cannot be read, so nobody is signed in", "cause", err.Error())
	}
	if err != nil || !ok {
		return "", Record{}, false
	}
	if !s.vouched(record.Principal) {
		return "", Record{}, false // by nobody that the configuration still names
	}
	now := s.cfg.Now()
	if record.ended(now, s.cfg.Idle) || !now.Before(record.Created.Add(s.cfg.SessionAge)) {
		s.drop(r.Context(), key)
		return "", Record{}, false
	}
	if now.Sub(record.Seen) >= min(maxSeenAge, s.cfg.Idle/10) {
		if err := s.store.Touch(r.Context(), key, now); err != nil {
			s.cfg.Log.Warn("the use of a session could not be noted; it may end early", "cause", err.Error())
		}
	}
	return value, record, true
}

// vouched reports whether whoever vouched for somebody would still be asked: a
// session may be older than the configuration.
func (s *Signin) vouched(who ask.Principal) bool {
	if who == identity.Local {
		return s.cfg.Local
	}
	return slices.ContainsFunc(s.providers, func(p *provider) bool { return p.cfg.Issuer == who.Issuer })
}

// open signs somebody in: a new session under a new value, whatever the
// browser came with, and the end of the session it had.
func (s *Signin) open(w http.ResponseWriter, r *http.Request, who ask.Principal, name string, claims json.RawMessage) *refusal {
	for _, c := range r.CookiesNamed(sessionCookie) {
		if isSecret(c.Value) {
			s.drop(r.Context(), digestOf(forSession, c.Value).String())
		}
	}
	now := s.cfg.Now()
	value := newSecret()
	err := s.store.Put(r.Context(), digestOf(forSession, value).String(), Record{
		Principal: who, Name: name, Claims: claims,
		Created: now, Seen: now, Expires: now.Add(s.cfg.SessionAge),
	})
	if err != nil {
		setCookie(w, sessionCookie, "", 0)
		if e, ok := errors.AsType[*ask.Error](err); ok && e.Code == ask.TooManyOpen {
			return &refusal{reason: TooMany, status: http.StatusServiceUnavailable, message: e.Message}
		}
		return &refusal{reason: StoreFailed, status: http.StatusServiceUnavailable, message: "You could not be signed in, because the gateway cannot keep sessions now. Try again later.", cause: err}
	}
	setCookie(w, sessionCookie, value, s.cfg.SessionAge)
	return nil
}

// drop deletes a session that is over. If the store fails, the session still
// ends by itself.
func (s *Signin) drop(ctx context.Context, key string) {
	if err := s.store.Delete(ctx, key); err != nil {
		s.cfg.Log.Warn("a session that is over could not be deleted", "cause", err.Error())
	}
}

func (s *Signin) signOut(w http.ResponseWriter, r *http.Request) {
	value, record, ok := s.session(r)
	if ok {
		if err := s.store.Delete(r.Context(), digestOf(forSession, value).String()); err != nil {
			s.refuse(w, r, &refusal{reason: StoreFailed, status: http.StatusServiceUnavailable, message: "You are still signed in, because the gateway cannot change sessions now. Try again later.", cause: err})
			return
		}
		s.cfg.Log.Info("signed out", "principal", record.Principal.String())
		s.audit(Event{Kind: SignedOut, Principal: record.Principal})
	}
	if len(r.CookiesNamed(sessionCookie)) > 0 {
		setCookie(w, sessionCookie, "", 0)
	}
	s.cfg.Pages.SignedOut(w, r)
}
