// Package era knows the two eras of MCP and what differs between them: the
// versions, the headers, the fields of _meta, the capabilities of clients,
// the questions that servers ask, and the numbers of errors.
//
// Legacy is every version up to 2025-11-25: a handshake, then a session.
// Modern is 2026-07-28: each request carries its version and the client's
// capabilities.
//
// It reads raw messages and gives raw bytes. It holds no connection and no
// session, sends nothing (a Prober calls the function it was given), and does
// not decide who is asked or where a message goes.
package era
