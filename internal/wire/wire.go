// Package wire reads and rewrites JSON-RPC messages without decoding them.
//
// A Message is its raw bytes and the spans of the few fields that routing
// needs; rewriting is splicing at those spans, so that everything else passes
// byte for byte. What two parsers could read differently (duplicate, escaped
// or case-variant routing keys, bad UTF-8) is refused, so that the bytes
// forwarded can mean only what was decided on them.
//
// It knows nothing of sessions, eras or transports, and gives no meaning to
// what it finds.
package wire
