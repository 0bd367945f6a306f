package mcp

import (
	"context"
	"net/http"
	"strconv"
	"strings"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/budget"
	"github.com/answerback/answerback/internal/contract"
	"github.com/answerback/answerback/internal/era"
	"github.com/answerback/answerback/internal/flight"
	"github.com/answerback/answerback/internal/seal"
	"github.com/answerback/answerback/internal/wire"
)

// postLegacy serves one message of a legacy client. It reports whether the
// bytes of the message are free again.
func (s *Surface) postLegacy(w http.ResponseWriter, r *http.Request, at string, who contract.Caller, msg *wire.Message, accept accepts) bool {
	if msg.Kind == wire.Request && msg.Method() == "initialize" && r.Header[headerSession] == nil {
		trip, no := s.begin(who.Principal)
		if no != nil {
			refuseNow(w, msg.Field(msg.ID), no, era.Legacy)
			return true
		}
		defer trip.End()
		s.initialize(w, r, at, who, msg, accept)
		return false
	}
	ss, status, fault := s.session(r, at, who)
	if fault != nil {
		refuseMessage(w, status, requestID(msg), fault, era.Legacy)
		return true
	}
	defer ss.leave()

	switch msg.Kind {
	case wire.Request:
		trip, no := s.begin(who.Principal)
		if no != nil {
			refuseNow(w, msg.Field(msg.ID), no, era.Legacy)
			return true
		}
		defer trip.End()
		st := s.newStream(w, r, ss, accept)
		ss.begin(st)
		// The call lives as long as the session: a client that lost its
		// connection has not cancelled anything.
		st.respond(ss.behind.Call(flight.With(budget.With(ss.life, budget.From(r.Context())), trip), msg, st))
		ss.done(st)
		st.finish()
		return true
	case wire.Notification:
		ss.behind.Notify(ss.life, msg)
	default:
		s.answer(ss, msg)
	}
	w.WriteHeader(http.StatusAccepted)
	return false
}

// answer passes the answer to a question on. One that cannot be taken is no
// HTTP error: there are clients that end their session over one.
func (s *Surface) answer(ss *session, msg *wire.Message) {
	if err := ss.behind.Answer(msg); err != nil {
		s.cfg.Log.Info("answer not taken", "surface", "mcp", "principal", ss.who.String(), "code", ask.CodeOf(err), "err", err)
	}
}

func requestID(msg *wire.Message) []byte {
	if msg.Kind == wire.Request {
		return msg.Field(msg.ID)
	}
	return nil
}

// initialize opens a session.
func (s *Surface) initialize(w http.ResponseWriter, r *http.Request, at string, who contract.Caller, msg *wire.Message, accept accepts) {
	ss := s.newSession(at, who, s.cfg.Ring.Mint(seal.Session, s.cfg.Home, 0))
	instead, fault := s.sessions.reserve(ss)
	if fault != nil {
		ss.end(fault)
		s.cfg.Log.Warn("session refused", "surface", "mcp", "principal", who.String(), "code", fault.Code, "reason", fault.Message)
		refuseMessage(w, http.StatusTooManyRequests, msg.Field(msg.ID), fault, era.Legacy)
		return
	}
	if s.life.Err() != nil {
		// Close may have looked for sessions before this one was there.
		s.drop(s.life, ss, shuttingDown)
	}
	if instead != nil {
		s.inside.Go(func() { s.dropNow(instead, sessionIdle) })
	}
	w.Header()[headerSession] = []string{ss.id}
	st := s.newStream(w, r, ss, accept)
	ss.begin(st)
	behind, resp := s.cfg.Gateway.Initialize(ss.life, at, ss.id, who, msg, ss)
	ss.done(st)
	switch {
	case behind == nil:
		s.sessions.remove(ss)
		ss.shut()
		ss.end(clientEnded)
		st.withdrawSession()
	case !ss.welcome(behind):
		closing, cancel := context.WithTimeout(context.Background(), closeWait)
		defer cancel()
		behind.Close(closing, shuttingDown)
	}
	// Afterwards it may well go: it has what it came for.
	gone := r.Context().Err() != nil
	st.respond(resp)
	st.finish()
	ss.leave()
	if behind != nil && gone {
		// The client went away before it learned the id: nobody can use it.
		s.dropNow(ss, clientGone)
	}
}

// withdrawSession takes the session id out of a response that has not begun.
func (st *stream) withdrawSession() {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.conn != nil && !st.conn.began {
		delete(st.conn.out.W.Header(), headerSession)
	}
}

// session finds the session that a request belongs to and counts the request
// in; the caller must leave it. Otherwise it gives the HTTP status to refuse
// the request with. A session lives with the access it was opened with: a
// caller whose access has changed opens another.
func (s *Surface) session(r *http.Request, at string, who contract.Caller) (*session, int, *ask.Error) {
	ids := r.Header[headerSession]
	if len(ids) != 1 || ids[0] == "" {
		return nil, http.StatusBadRequest, noSession
	}
	if v := r.Header.Get(headerVersion); v != "" {
		if e, ok := era.Of(v); !ok || e != era.Legacy {
			return nil, http.StatusBadRequest, badLegacyVersion
		}
	}
	if _, err := s.cfg.Ring.Verify(seal.Session, ids[0]); err != nil {
		return nil, http.StatusNotFound, unknownSession
	}
	ss := s.sessions.find(who.Principal, ids[0])
	if ss == nil || ss.at != at || ss.access != accessKey(who) || !ss.enter() {
		return nil, http.StatusNotFound, unknownSession
	}
	ss.admit(who)
	select {
	case <-ss.behind.Done():
		ss.leave()
		s.inside.Go(func() { s.dropNow(ss, backendEnded) })
		return nil, http.StatusNotFound, unknownSession
	default:
		return ss, 0, nil
	}
}

// get opens a session's own stream, or takes up a stream that broke off.
func (s *Surface) get(w http.ResponseWriter, r *http.Request, at string, who contract.Caller) {
	if s.sessionless(w, r) {
		return
	}
	if !acceptOf(r.Header).sse {
		refuse(w, http.StatusNotAcceptable, notAcceptable)
		return
	}
	ss, status, fault := s.session(r, at, who)
	if fault != nil {
		refuse(w, status, fault)
		return
	}
	defer ss.leave()

	st, after := ss.own, uint64(0)
	if last := r.Header.Get(headerLastEvent); last != "" {
		if st, after = ss.find(last); st == nil {
			refuse(w, http.StatusBadRequest, ask.Errorf(ask.BadMessage, "The header Last-Event-ID names no event that this session still has."))
			return
		}
	}
	ended := st.follow(r.Context(), w, after)
	defer st.unfollow(ended)
	if st == ss.own {
		ss.behind.Listen()
	}
	select {
	case <-ended:
	case <-r.Context().Done():
	case <-ss.life.Done():
	case <-ss.behind.Done():
		s.dropNow(ss, backendEnded)
	}
}

// find reads an event id: the stream, and the number on it.
func (ss *session) find(eventID string) (*stream, uint64) {
	name, number, ok := strings.Cut(eventID, ".")
	if !ok {
		return nil, 0
	}
	n, err := strconv.ParseUint(number, 10, 64)
	if err != nil {
		return nil, 0
	}
	st := ss.stream(name)
	if st == nil || !st.issued(n) {
		return nil, 0
	}
	return st, n
}

// delete ends a session.
func (s *Surface) delete(w http.ResponseWriter, r *http.Request, at string, who contract.Caller) {
	if s.sessionless(w, r) {
		return
	}
	ss, status, fault := s.session(r, at, who)
	if fault != nil {
		refuse(w, status, fault)
		return
	}
	ss.leave()
	s.dropNow(ss, clientEnded)
	w.WriteHeader(http.StatusNoContent)
}

// sessionless answers a GET or DELETE of a client that has no sessions. A
// legacy client that only forgot to name its session is told that instead.
func (s *Surface) sessionless(w http.ResponseWriter, r *http.Request) bool {
	version, known := era.Of(r.Header.Get(headerVersion))
	legacy := known && version == era.Legacy
	if legacy || (r.Header[headerSession] != nil && !known) {
		return false
	}
	w.Header()["Allow"] = allowPost
	refuse(w, http.StatusMethodNotAllowed, noStreamHere)
	return true
}
