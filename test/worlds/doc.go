//go:build worlds

// Package worlds plays whole situations, made from a seed, against the real
// gateway: several people with clients of different kinds call several
// backends at once, while the gateway is killed, loses power, is restarted,
// reconfigured, backed up and restored, and while time passes.
//
// A ledger outside the gateway notes what every person and every client was
// told and what every backend saw. After each world the ledger is held against
// the promises of docs/guarantees.md. A world that fails prints its script,
// which replays it.
//
// It is run by make worlds. It is not for one fault at one exact point: that is
// in test/crash.
package worlds
