// Package journal is the contract of the durable store: asks that are kept,
// shelves of small records, and the audit.
//
// A write that returned without an error is on disk, and stays there through
// the death of the process and of the machine, as far as the disk is honest.
// Every write is a compare-and-set, so that of many who settle one ask one
// wins. An open ask never vanishes by itself: it ends by being settled, and
// only a settled one is forgotten when its time is over.
//
// The package holds words, limits and checks that every store shares. It
// stores nothing, knows no state machine, and does not read the bodies that
// it is given: what is in them is the desk's. Stores are in memjournal and
// natsjournal; journaltest says whether one keeps this contract.
package journal
