// Package backup is the file of a backup: everything of a store that counts,
// in one sealed stream.
//
// A backup is complete in this sense: every write that the store acknowledged
// before the backup began is in it, or a later version of the same record.
// Later writes may be in it or not. The file is encrypted and authenticated
// with the key ring of the gateway, so it is of no use without that ring, and
// the ring is not in it. Reading and writing take little memory, whatever the
// size of the store.
//
// The package does not know what records mean. What becomes of them when a
// backup is restored is decided by the command that restores.
package backup
