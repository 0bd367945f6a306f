// Package bearer says who calls the MCP endpoint: it is the OAuth 2.1
// resource server of the gateway, and the check of static keys for set-ups
// that have no issuer.
//
// A token is a JWT of a configured issuer. It is taken when its signature
// verifies with a key of the very issuer that it names, and its type, issuer,
// audience, times, subject and scopes are right, all compared exactly. An ID
// token of the same issuer is refused although the issuer signed it: its
// audience is a client, not this resource. So that this holds even where an
// operator accepts a client's id as audience, tokens with claims that only ID
// tokens and security events have are refused as well. A token that is bound
// to a key of its holder is refused, because the proof is not checked here
// and a stolen one would pass for its owner's.
//
// # How long something withdrawn is still taken
//
// A token is taken until it expires, whatever its issuer thinks of it by
// then: nothing is asked of the issuer per token. A key that the issuer
// withdraws is given up within five minutes while the issuer can be reached;
// while it cannot, the keys last seen are used for one hour, and then nothing
// of that issuer is taken until it answers. Verified tokens are remembered
// for no longer than that: until they expire, five minutes have passed or the
// issuer's keys are due to be fetched again. A static key ends with the
// Bearer that has it: a new configuration makes a new Bearer, which remembers
// nothing.
//
// # What strangers can cause
//
// Keys are fetched on demand, by the request that needs them. A token that
// names an unknown issuer causes no request at all, one that names an unknown
// key at most one fetch per issuer in thirty seconds, and an issuer that
// fails is left alone for one second, then two, up to a minute. Only verified
// tokens are remembered, up to a limit.
//
// The package does not sign anybody in (package signin does), does not decide
// what somebody may use (identity.Rules do), and never hands a token on.
package bearer
