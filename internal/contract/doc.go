// Package contract says what a surface and a backend are to the relay between
// them: the page to read first.
//
// A Backend hands out Lines. A Line carries a call, and tells a Sink what comes
// before the response: notifications and Questions. A Peer is the client's end
// of it. Nothing here does anything: who carries, waits and decides is in
// relay, lease and parking, who speaks a protocol is in surface and backend.
package contract
