// Package aside keeps a list of what could not be taken up after a restart:
// the record of an ask, a call, a response, a task. What is on the list stays
// where it was stored. Everything else goes on, and the gateway starts.
//
// A thing that failed at two starts is not tried a third time until its
// operator says so. Nothing leaves the list by itself, unless it was taken up
// after all.
package aside
