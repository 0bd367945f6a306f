// Package lease keeps sessions at legacy backends for callers who have none
// of their own, and leases each to one request at a time: a question on a
// shared session could not be told to whom it belongs.
//
// It opens no session itself and knows nothing of messages: how a handshake
// is made, and what becomes of what a session sends, is its user's.
package lease
