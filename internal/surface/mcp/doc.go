// Package mcp is the MCP endpoint towards clients, in both eras of the
// protocol, over HTTP and over standard streams.
//
// It translates at the edge and nowhere else: an HTTP request or a line of
// input becomes a call of the gateway behind it, and what comes back becomes
// JSON, server-sent events or lines. It holds what belongs to the transport:
// legacy sessions and whose they are, streams and the events kept for
// Last-Event-ID, keep-alives, batches, and the checks that are made before a
// message is looked at.
//
// It does not know backends, names, capabilities or questions, and it never
// decides what a message means beyond its kind, its id and its era.
package mcp
