package mcp

import (
	"encoding/json"
	"errors"

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

// lifeBits are the bits of an event's number that count the events of one life
// of the gateway, and so for the names of streams. What is above them is the
// gateway's epoch: in what a session has from before a restart, nothing of two
// lives has the same number, and all of an earlier life counts as seen.
const lifeBits = 40

// firstOfLife is the number of the first event in this life of something from
// an earlier one.
func (s *Surface) firstOfLife() uint64 { return s.cfg.Epoch << lifeBits }

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
func (s *Surface) Return(raw []byte, id string, who ask.Principal, behind func(contract.Peer) *relay.Session) (relay.Returned, error) {
	var m mark
	if err := json.Unmarshal(raw, &m); err != nil {
		return relay.Returned{}, err
	}
	if m.Stream == "" || m.Stream == ownStream {
		return relay.Returned{}, errors.New("the mark names no stream of a call")
	}
	ss, rs, err := s.again(m, id, who, behind)
	if err != nil {
		return relay.Returned{}, err
	}
	first := s.firstOfLife()
	st := &stream{surface: s, sess: ss, accept: accepts{sse: true}, next: first, sent: first - 1, id: m.Stream}
	if !ss.takeUp(st) {
		return relay.Returned{}, errors.New("two calls have the same stream, " + m.Stream)
	}
	return relay.Returned{Session: rs, Life: ss.life, Peer: st, Finish: func(resp contract.Response) {
		st.respond(resp)
		ss.done(st)
		st.finish()
		ss.leave()
	}}, nil
}

// takeUp counts the stream of a call from before a restart in. It is false
// where there is one of its name.
func (ss *session) takeUp(st *stream) bool {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	if ss.streams[st.id] != nil {
		return false
	}
	ss.streams[st.id] = st
	ss.open = append(ss.open, st)
	ss.busy++
	return true
}

// again gives the session with this id, and the one behind it, making both
// where they are not there. The limits on sessions do not count: it was let in
// before.
func (s *Surface) again(m mark, id string, who ask.Principal, behind func(contract.Peer) *relay.Session) (*session, *relay.Session, error) {
	s.returning.Lock()
	defer s.returning.Unlock()
	if ss := s.sessions.find(who, id); ss != nil {
		rs, ok := ss.behind.(*relay.Session)
		if !ok || ss.at != m.At || ss.access != m.Access {
			return nil, nil, errors.New("two calls of the session say different things of it")
		}
		return ss, rs, nil
	}
	ss := s.newSession(m.At, contract.Caller{Principal: who}, id)
	first := s.firstOfLife()
	ss.access, ss.returned, ss.names = m.Access, true, first
	ss.own.next, ss.own.sent = first, first-1
	rs := behind(ss)
	ss.welcome(rs)
	s.sessions.restore(ss)
	ss.leave()
	return ss, rs, nil
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
