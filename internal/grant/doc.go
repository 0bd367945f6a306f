// Package grant keeps what people let the gateway use in their name at the
// servers behind it: for each principal and backend one grant, an OAuth token
// or a key.
//
// Whoever calls a backend asks For what to send. The answer is a header, or a
// *Needed, which says that the person must connect their account first, and
// where. Wanted tells whoever waits that they have; then For is asked again. What a
// backend refuses is told with Refused, which says whether another attempt
// makes sense. The page side is Plan, Begin, Finish and EnterKey; all of them
// take a Visit, who sits at the browser, and a grant is only ever stored for
// the one who sits there.
//
// Grants are sealed before they are stored and bound to their principal and
// backend. One refresh runs at a time, in a process by being shared and between
// gateways by a compare-and-set, and what it brings is stored before it is
// used. The package draws no page, asks nobody, and does not decide whether a
// call waits; package oauth speaks to authorization servers.
package grant
