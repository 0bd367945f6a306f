// Package conformance runs the MCP conformance suite through the gateway: its
// server scenarios against go-sdk's fixtures behind it, its client scenarios
// with go-sdk's client in front of it. Where client and server are of one era
// there is no list of expected failures; what a server cannot do in the other
// era is in across.txt, with the reason, and what the gateway does not do when
// it makes tasks of a server's calls is in tasks.txt.
//
// The runs themselves are behind the build tag conformance; `make conformance`
// sets it and says where the programs are.
package conformance
