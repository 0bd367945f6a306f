// Package webguard stands before every HTTP handler of the gateway, so that
// none of them has to think of hostile browsers, proxies and connections: under
// which name and from which web page a request may come, what a browser may do
// with a page, which headers are believed, and how much of a connection anybody
// gets before they are known.
//
// There are two kinds of handlers, and what counts as authority at one does not
// exist at the other: API handlers never see a cookie, pages never see an
// Authorization header.
//
// It authenticates nobody, limits no rate, and does not read bodies: how large
// a message to the API may be, and what is in it, its handler decides.
package webguard
