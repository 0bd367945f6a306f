// Package demo is a server that asks, and a client that calls it: what it
// takes to see a question answered on a machine that has neither. The server
// is a whole modern MCP server on standard input and output; the client can
// show nothing, like many, so that its person answers on a page.
//
// It is no library for servers or clients, and the gateway between the two
// knows nothing of it.
package demo
