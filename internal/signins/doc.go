// Package signins keeps the sign-ins of people at browsers on a shelf of the
// journal, sealed, so that they outlive the gateway. A sign-in is found by a
// digest of its cookie, which opens nothing by itself. Its end is a record that
// stays for as long as the sign-in would have: one that was signed out does not
// come back, whatever becomes of older versions in the store.
//
// Who somebody is and how long that holds is decided by package signin, whose
// Store this is.
package signins
