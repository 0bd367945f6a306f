// Package mcp speaks to MCP servers: over Streamable HTTP in both eras, over
// stdio in both eras, and over the HTTP+SSE transport of 2024-11-05. It gives
// out lines, and decides which call a question of the server belongs to.
//
// It gives no meaning to what it carries. Request ids and progress tokens are
// its own where calls share a session; everything else passes byte for byte.
// It knows nothing of clients, catalogs, asks or eras beyond how each is
// spoken: which era a server speaks, and what to do with an answer, is decided
// by whoever calls.
package mcp
