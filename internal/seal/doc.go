// Package seal is the key ring of a gateway: it makes and checks ids that
// nobody else can make, and keeps what it encrypts from being read or moved.
//
// Every use has a Purpose, and every purpose its own keys, derived from the
// ring's: an id or a token of one purpose means nothing for another. A ring
// holds several keys so that keys can be rotated: the first one makes, all of
// them check and open. The ring and the gateway's Home are kept in the data
// directory.
//
// It does not say who may use an id (holding one authorises nothing), nor
// when a token expires or whether it was used before: that belongs into what
// is sealed, and to whoever unseals it.
package seal
