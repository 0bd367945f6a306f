// Package oauth is the gateway as an OAuth 2.1 client of other people's
// authorization servers: it finds the server of a resource (RFC 9728, RFC
// 8414, OpenID Connect Discovery), registers with it (RFC 7591), builds and
// checks the authorization request (PKCE, RFC 8707, RFC 9207), and exchanges,
// refreshes and revokes tokens (RFC 6749, RFC 7009).
//
// Everything that comes from a server is hostile: addresses are https, or http
// on loopback, bodies and times are bounded, redirects are not followed,
// issuers are compared letter by letter, and what a server says in its errors
// is repeated nowhere but for the error codes that the standards define.
//
// It keeps nothing, and knows nothing of people: package grant does.
package oauth
