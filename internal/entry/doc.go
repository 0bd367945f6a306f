// Package entry is what every way in for programs over HTTP does alike at
// its door: telling whom it does not know how to come back, reading a JSON body
// up to a limit, giving each reason its status, sending in time or not at all,
// and counting who is inside, so that closing can wait for them.
//
// It does not stand before the handlers, which is webguard's place, it does not
// know who anybody is, and it has no opinion on the shape of an error: each
// surface says no in the words of its own protocol.
package entry
