package mcp

import (
	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/contract"
	"github.com/answerback/answerback/internal/wire"
)

var (
	_ contract.Peer = (*stream)(nil)
	_ contract.Peer = (*session)(nil)
)

// Notify sends a notification that belongs to the stream's call. Where the
// client can get nothing on this stream it goes to the session's own, if
// somebody follows that.
func (st *stream) Notify(msg []byte) {
	if st.send(msg, false) == lost && st.sess != nil {
		st.sess.own.sendLive(msg)
	}
}

// Show puts a question of the stream's call before the client.
func (st *stream) Show(a *ask.Ask) error {
	if st.sess == nil {
		return noRequestsHere
	}
	msg := appendQuestion(nil, a)
	if st.send(msg, true) == kept || st.sess.own.sendLive(msg) == kept {
		return nil
	}
	return clientAway
}

// Withdraw takes a question of the stream's call back.
func (st *stream) Withdraw(id string, why *ask.Error) {
	if st.sess == nil {
		return
	}
	msg := appendWithdrawal(nil, id, why)
	if st.send(msg, false) != kept {
		st.sess.own.sendLive(msg)
	}
}

// Notify sends a notification that belongs to no call. It is kept for a
// client that does not follow its stream now.
func (ss *session) Notify(msg []byte) { ss.own.send(msg, false) }

// Show puts a question that belongs to the session before the client: on the
// session's own stream, or on that of the newest call.
func (ss *session) Show(a *ask.Ask) error {
	if ss.carry(appendQuestion(nil, a)) != kept {
		return clientAway
	}
	return nil
}

// Withdraw takes a question that belongs to the session back.
func (ss *session) Withdraw(id string, why *ask.Error) {
	ss.carry(appendWithdrawal(nil, id, why))
}

// carry sends a message where the client is sure to see it: on what it
// follows now, else where it can come back for it.
func (ss *session) carry(msg []byte) fate {
	if ss.own.sendLive(msg) == kept {
		return kept
	}
	if ss.onNewest(func(st *stream) fate { return st.sendLive(msg) }) == kept {
		return kept
	}
	if ss.own.send(msg, true) == kept {
		return kept
	}
	return ss.onNewest(func(st *stream) fate { return st.send(msg, true) })
}

// appendQuestion writes a question as a request whose id is the ask's. The
// params are the backend's own bytes.
func appendQuestion(dst []byte, a *ask.Ask) []byte {
	dst = append(dst, `{"jsonrpc":"2.0","id":`...)
	dst = wire.AppendString(dst, a.ID)
	dst = append(dst, `,"method":`...)
	dst = wire.AppendString(dst, a.Method)
	if len(a.Params) > 0 {
		dst = append(dst, `,"params":`...)
		dst = append(dst, a.Params...)
	}
	return append(dst, '}')
}

// appendWithdrawal writes the notification that a question is not to be
// answered any more.
func appendWithdrawal(dst []byte, id string, why *ask.Error) []byte {
	dst = append(dst, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":`...)
	dst = wire.AppendString(dst, id)
	if why != nil && why.Message != "" {
		dst = append(dst, `,"reason":`...)
		dst = wire.AppendString(dst, why.Message)
	}
	return append(dst, "}}"...)
}
