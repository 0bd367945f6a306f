// Package natsjournal is the journal on NATS JetStream: embedded for one
// gateway (in-process, no listener, one directory, every acknowledged write
// synced), or an external cluster that several gateways share. One code path
// serves both; only where the connection comes from differs.
//
// Asks are spread over shards, one stream each, by the hash of their
// addressee; shelves share one stream; the audit is one stream. A stream keeps
// the last message of each subject:
//
//	<prefix>.ask.<shard>.<addressee's hash>.<home>.<id>
//	<prefix>.shelf.<shelf>.<key>
//	<prefix>.audit
//
// What was stored is republished below <prefix>.on; watches listen there,
// because on the subjects themselves refused attempts can be heard too. Every
// write is published with the sequence that it replaces and its time to live
// together. Reads go to the stream's leader.
//
// Every version of a record says when it expires and until when it must stay
// in the store, never for less time than the version that it replaces. Readers
// ignore what has expired; the engine removes it later. So what the engine
// finds again after a crash, when it has lost a removal, does not count. Ends
// are records like any other. docs/decisions/018 says why.
//
// Every message is a frame with our format version and checksum. An embedded
// store also keeps a ledger: each frame says how many records of each stream
// must be there and what they sum up to, so that what the engine dropped
// silently is missed at the next start, without a write of its own. See
// ledger.go for what this can tell and what not.
//
// Only this package knows NATS. It does not interpret bodies, and decides
// nothing about asks.
package natsjournal
