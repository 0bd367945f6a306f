// Package journal is the contract of the durable store: asks that are kept,
// shelves of small records, and the audit.
//
// A write that returned without an error is on disk, and stays there through
// the death of the process and of the machine, as far as the disk is honest.
// Every write is a compare-and-set, so that of many who settle one ask one
// wins. An open ask ends by being settled, and a settled one is forgotten when
// its time is over. What is over never counts again, whatever an engine loses
// or finds after a crash: docs/decisions/018 has the rule. An ask that is
// still open long after its deadline, because no gateway was there to settle
// it, counts as over too.
//
// The package holds words, limits and checks that every store shares. It
// stores nothing, knows no state machine, and does not read the bodies that
// it is given: what is in them is the desk's. Stores are in memjournal and
// natsjournal; journaltest says whether one keeps this contract.
package journal
