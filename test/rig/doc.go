// Package rig is the bench on which the whole gateway is tested: the real
// binary as a process, and peers that speak and record raw bytes on both its
// sides.
//
// It is for what real SDKs would hide (exact bytes, broken streams, hostile
// messages). Real SDKs are peers too, in test/e2e; this package does not
// replace them.
package rig
