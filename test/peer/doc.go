// Package peer puts real MCP clients and servers around a gateway: programs
// of other people, and small ones of ours on other people's SDKs, which live
// in test/peers. Every client takes the same jobs and gives the same report.
//
// It judges nothing: what must come of a job is for the tests to say. Peers
// that speak raw bytes are in test/rig.
package peer
