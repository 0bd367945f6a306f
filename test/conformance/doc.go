// Package conformance runs the MCP conformance suite through the gateway: its
// server scenarios against go-sdk's fixtures behind it, its client scenarios
// with go-sdk's client in front of it. There is no list of expected failures.
//
// The runs themselves are behind the build tag conformance; `make conformance`
// sets it and says where the programs are.
package conformance
