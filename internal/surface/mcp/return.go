package mcp

import (
	"context"
	"encoding/json"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/contract"
	"github.com/answerback/answerback/internal/relay"
)

// A client that was connected before a restart comes back with the id of its
// session, and with that of the last event that it saw. What it takes to know
// it again is kept with the questions that it was promised.

var _ relay.Returning = (*Surface)(nil)

// mark is what a client is found by after a restart.
type mark struct {
	At     string
	Access string
	Stream string // that of the call
}

// lifeOf is how many streams and events one life of the gateway can have in a
// session: those of the next life are beyond.
const lifeOf = 1 << 40

// Mark is what the client that follows this stream is found by.
func (st *stream) Mark() []byte {
	if st.sess == nil || !st.accept.sse {
		return nil
	}
	st.mu.Lock()
	name := st.id
	if name == "" {
		if st.named == "" {
			st.named = st.sess.name(st)
		}
		name = st.named
	}
	st.mu.Unlock()
	b, err := json.Marshal(mark{At: st.sess.at, Access: st.sess.access, Stream: name})
	if err != nil {
		return nil // there is nothing in it that cannot be written
	}
	return b
}

// Mark is empty: what belongs to no call does not outlive the gateway.
func (ss *session) Mark() []byte { return nil }

// Return makes the session and the stream of a call from before a restart
// again. Several calls of one session find the same session.
func (s *Surface) Return(raw []byte, id string, who ask.Principal, behind func(context.Context, contract.Peer) *relay.Session) (context.Context, contract.Peer, func(contract.Response), error) {
	var m mark
	if err := json.Unmarshal(raw, &m); err != nil {
		return nil, nil, nil, err
	}
	ss, err := s.again(m, id, who, behind)
	if err != nil {
		return nil, nil, nil, err
	}
	st := &stream{surface: s, sess: ss, accept: accepts{sse: true}, next: lifeOf, sent: lifeOf - 1, id: m.Stream}
	ss.mu.Lock()
	ss.streams[m.Stream] = st
	ss.busy++
	ss.mu.Unlock()
	ss.begin(st)
	return ss.life, st, func(resp contract.Response) {
		st.respond(resp)
		ss.done(st)
		st.finish()
		ss.leave()
	}, nil
}

// again gives the session with this id, making it where it is not there.
func (s *Surface) again(m mark, id string, who ask.Principal, behind func(context.Context, contract.Peer) *relay.Session) (*session, error) {
	s.returning.Lock()
	defer s.returning.Unlock()
	if ss := s.sessions.find(who, id); ss != nil {
		return ss, nil
	}
	ss := s.newSession(m.At, contract.Caller{Principal: who}, id)
	ss.access, ss.returned, ss.names = m.Access, true, lifeOf
	ss.own.next, ss.own.sent = lifeOf, lifeOf-1
	if _, fault := s.sessions.reserve(ss); fault != nil {
		ss.end(fault)
		return nil, fault
	}
	ss.welcome(behind(ss.life, ss))
	ss.leave()
	return ss, nil
}

// admit tells the session behind one from before a restart what its caller
// may use: that is known once the caller is back.
func (ss *session) admit(who contract.Caller) {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	if !ss.returned {
		return
	}
	ss.returned = false
	ss.behind.Admit(who.Access)
}
