package mcp

import (
	"context"
	"encoding/json"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/contract"
	"github.com/answerback/answerback/internal/seal"
)

// blocked is what a resume handle holds: where a call stood when the server
// asked in it.
type blocked struct {
	Session  string          `json:"s"`
	Version  string          `json:"v"`
	Cursor   string          `json:"c"` // the event that brought the question
	Call     int64           `json:"n"`
	Method   string          `json:"m"`
	Own      json.RawMessage `json:"i"`           // the client's id
	Token    json.RawMessage `json:"t,omitempty"` // the client's progress token
	Question json.RawMessage `json:"q"`           // its id
	Asked    string          `json:"a"`           // its method
	Progress json.RawMessage `json:"p,omitempty"` // its progress token
}

// seal makes the handle of a question. Without a session the server would
// not know what is being resumed.
func (l *legacyLine) seal(who ask.Principal, c *call, q *question, cursor string) []byte {
	if l.session == "" {
		return nil
	}
	plain, err := json.Marshal(blocked{
		Session: l.session, Version: l.version, Cursor: cursor,
		Call: c.id, Method: c.method, Own: c.own, Token: c.token, Question: q.id, Asked: q.method, Progress: q.token,
	})
	if err != nil {
		return nil
	}
	return []byte(l.backend.cfg.Ring.Seal(seal.Resume, l.backend.bind(who), plain))
}

// bind is what a handle is tied to.
func (b *Backend) bind(who ask.Principal) []byte {
	bound, _ := json.Marshal([]string{b.cfg.Name, b.cfg.URL, who.Issuer, who.Subject})
	return bound
}

// Resume implements contract.Backend. A command's process does not outlive the
// gateway, so its calls cannot be taken up.
func (b *Backend) Resume(hello contract.Hello, sink contract.Sink, handles ...[]byte) (*contract.Resumed, error) {
	if b.url == nil || b.cfg.Ring == nil || len(handles) == 0 {
		return nil, ask.Errorf(ask.BackendLost, "Backend "+b.cfg.Name+" cannot take a call up again after a restart.")
	}
	all := make([]blocked, len(handles))
	for i, h := range handles {
		plain, err := b.cfg.Ring.Unseal(seal.Resume, b.bind(hello.Principal), string(h))
		if err != nil {
			return nil, err
		}
		if err := json.Unmarshal(plain, &all[i]); err != nil || all[i].Session != all[0].Session || all[i].Call != all[0].Call {
			return nil, ask.Wrap(ask.BadState, "The resume handles are not of one call.", err)
		}
	}
	line, err := b.rejoin(hello, &all[0])
	if err != nil {
		return nil, err
	}
	return line.takeUp(sink, all)
}

// rejoin gives the line of a session: the one that has it, or a new one.
func (b *Backend) rejoin(hello contract.Hello, at *blocked) (*legacyLine, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return nil, b.shut()
	}
	if l := b.sessions[at.Session]; l != nil {
		return l, nil
	}
	l := b.newLegacyLine(hello)
	l.session, l.version = at.Session, at.Version
	l.identify()
	// Ids are unique in a session. Those of this life of the gateway are
	// beyond any of an earlier one's.
	l.next.Store(max(int64(b.cfg.Epoch%maxLives), at.Call>>lifeBits+1) << lifeBits)
	l.up.Store(true)
	b.sessions[at.Session] = l
	b.lines[l] = struct{}{}
	return l, nil
}

const (
	// lifeBits are the bits of an id that count the calls of one life of the
	// gateway. What is above them is its epoch.
	lifeBits = 32
	// maxLives keeps ids within the 53 bits that JSON numbers can hold
	// everywhere.
	maxLives = 1 << (53 - lifeBits)
)

// takeUp puts a call of an earlier life, and what was asked in it, back on
// the board.
func (l *legacyLine) takeUp(sink contract.Sink, all []blocked) (*contract.Resumed, error) {
	last := &all[len(all)-1]
	rctx, cancel := context.WithCancelCause(l.life)
	c := &call{
		id: last.Call, method: last.Method, own: last.Own, token: last.Token,
		sink: sink, wake: func() { cancel(errElsewhere) },
		hold: l.held(),
	}
	l.mu.Lock()
	taken := l.calls[c.id] != nil
	if !taken {
		l.calls[c.id] = c
	}
	l.mu.Unlock()
	if taken {
		cancel(nil)
		return nil, ask.Errorf(ask.BackendLost, "The call is being carried already.")
	}
	r := &contract.Resumed{Line: l}
	for _, at := range all {
		q := l.newQuestion(at.Asked, at.Question, at.Progress, []*call{c})
		if !l.readmit(q) {
			q.leave(nil)
			cancel(nil)
			err := ask.Errorf(ask.BackendLost, "The question is being asked already.")
			l.close(c, err)
			return nil, err
		}
		c.asked = append(c.asked, q)
		r.Questions = append(r.Questions, q.public())
	}
	s := &stream{line: l, call: c, ctx: rctx, cancel: cancel, cursor: last.Cursor, retry: -1}
	r.Wait = func(ctx context.Context) (contract.Reply, error) {
		reply, err := s.conduct(ctx, func() error { return s.follow(nil) })
		return *reply, err
	}
	return r, nil
}
