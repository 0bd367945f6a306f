//go:build crash

// Package lossyfs is a disk for tests that loses what was not synced when its
// power is cut, and that can be made to fail: full, read-only, slow, broken.
//
// It models a file system with a journal, as ext4 and XFS are: syncing a file
// makes its contents durable, and with them every creation, renaming and
// removal so far; of a file that was never synced its name may be left, with
// nothing in it. Everything is in memory. It is mounted with FUSE, which takes
// root and /dev/fuse.
//
// It does not model a disk that lies about syncing, nor one that changes what
// it has stored.
package lossyfs
