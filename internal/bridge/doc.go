// Package bridge makes a modern server a session for a legacy client: it is a
// contract.Line over the server's stateless one.
//
// The handshake is answered from server/discover, every request gets the
// _meta of its era, and a result that wants input becomes questions on the
// call that caused it, after whose answers the request is sent again. The
// opposite direction, a legacy server for a modern client, needs calls that
// outlive their requests and is the relay's.
package bridge
